"""`python -m jacana script.py [args]`: run a program written for JAX on jacana.

    python -m jacana script.py [args ...]
    python -m jacana -m module [args ...]
    python -m jacana -c "code" [args ...]
"""
import os
import runpy
import sys

from jacana import compat

USAGE = (__doc__ or "").strip()


def main(argv: list[str] | None = None) -> int:
    """Run what the command line names; the program's own exit status is the process's."""
    args = list(sys.argv[1:] if argv is None else argv)
    if not args or args[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if args else 2
    compat.install()
    if args[0] in ("-m", "-c"):
        if len(args) < 2:
            print(USAGE, file=sys.stderr)
            return 2
        kind, target = args[0], args[1]
        sys.argv = [kind if kind == "-c" else target, *args[2:]]
        sys.path[0] = ""
        if kind == "-m":
            runpy.run_module(target, run_name="__main__", alter_sys=True)
        else:
            exec(compile(target, "<string>", "exec"), {"__name__": "__main__"})
        return 0
    sys.argv = args
    try:
        with open(args[0], "rb"):
            pass
    except OSError as e:
        print(f"jacana: cannot open {args[0]}: {e.strerror}", file=sys.stderr)
        return 2
    sys.path[0] = os.path.dirname(os.path.abspath(args[0]))
    runpy.run_path(args[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
