"""`python -m jacana script.py [args]`: run a program written for JAX on jacana.

python -m jacana script.py [args ...]
python -m jacana -m module [args ...]
python -m jacana -c "code" [args ...]
python -m jacana cache info|clear

`jacana` alone does as `python -m jacana`.
"""

import builtins
import importlib.util
import os
import runpy
import sys
import types

from jacana import compat
from jacana.compat.children import include_children
from jacana.runtime import cache

USAGE = (__doc__ or "").strip()


def main(argv: list[str] | None = None) -> int:
    """Run what the command line names; the program's own exit status is the process's."""
    args = list(sys.argv[1:] if argv is None else argv)
    if not args or args[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if args else 2
    if args[0] == "cache" and not os.path.exists("cache"):
        return run_cache_command(args[1:])
    if args[0] in ("-m", "-c") and len(args) < 2:
        print(f"jacana: argument expected for {args[0]}\n{USAGE}", file=sys.stderr)
        return 2
    if args[0].startswith("-") and args[0] not in ("-m", "-c"):
        print(f"jacana: unknown option {args[0]}\n{USAGE}", file=sys.stderr)
        return 2
    compat.install()
    include_children()
    if args[0] == "-m":
        sys.argv = args[1:]
        sys.path[0] = os.getcwd()
        if not is_module(args[1]):
            print(f"jacana: No module named {args[1]}", file=sys.stderr)
            return 1
        runpy.run_module(args[1], run_name="__main__", alter_sys=True)
        return 0
    if args[0] == "-c":
        sys.argv = ["-c", *args[2:]]
        sys.path[0] = ""
        run_source(args[1], "<string>")
        return 0
    sys.argv = args
    return run_file(args[0])


def run_cache_command(args: list[str]) -> int:
    """`jacana cache info` and `jacana cache clear`."""
    if args not in (["info"], ["clear"]):
        print(f"jacana: cache takes one word, info or clear\n{USAGE}", file=sys.stderr)
        return 2
    before = cache.info()
    if before.folder is None:
        print("nothing is kept on disk: the cache is turned off, or has no folder to be in")
        return 0
    if args == ["clear"]:
        cache.clear()
        print(f"removed {before.entries:,} entries from {before.folder}")
        return 0
    limit = cache.default_cache().size_limit
    print(f"folder:  {before.folder}")
    print(f"entries: {before.entries:,} (kernels and programs)")
    print(f"size:    {before.nbytes / 1e6:,.1f} MB of at most {limit / 1e6:,.0f} MB")
    return 0


def is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def run_file(path: str) -> int:
    """Run a script, or a folder or archive that has a __main__.py."""
    if os.path.isdir(path) or path.endswith((".zip", ".pyz")):
        runpy.run_path(path, run_name="__main__")
        return 0
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as e:
        print(f"jacana: cannot open {path}: {e.strerror}", file=sys.stderr)
        return 2
    sys.path[0] = os.path.dirname(os.path.abspath(path))
    run_source(source, path, path)
    return 0


def run_source(source: str | bytes, name: str, path: str | None = None) -> None:
    """Run a program as the module __main__, which lives until the process ends, as Python's does.

    Functions that the program registers for the exit, and pickles of its classes, need it there.
    """
    module = types.ModuleType("__main__")
    module.__dict__["__builtins__"] = builtins
    if path is not None:
        module.__file__ = path
    sys.modules["__main__"] = module
    exec(compile(source, name, "exec", dont_inherit=True), module.__dict__)


if __name__ == "__main__":
    raise SystemExit(main())
