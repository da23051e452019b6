"""The house rules that a program can check: layers, imports, sizes, names."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "jacana"

# Lowest first; packages of one rank may import each other's public names, never upwards.
LAYERS = [
    ["core"],
    ["kernel"],
    ["ops"],
    ["transforms"],
    ["higher_order"],
    ["compiler"],
    ["runtime"],
    ["api"],
    ["lax"],
    ["numpy"],
    ["PUBLIC"],  # random, nn, scipy, image, tree_util, ...: every name that is not listed
    ["compat"],
    ["testing"],
]
RANKS = {name: rank for rank, names in enumerate(LAYERS) for name in names}
# `import jacana` gives the public names, so it stands right below what is built on those; the files
# that assemble it see everything.
PUBLIC, TOP = RANKS["PUBLIC"], len(LAYERS)

FORBIDDEN = {"jax", "jaxlib", "torch", "tensorflow", "numba"}
# Slow to import, so loaded by the function that needs them.
LAZY = {"scipy", "llvmlite", "opt_einsum", "tqdm", "logging", "difflib"}
LLVM_HOME = PACKAGE / "compiler" / "llvm"
# Binds libraries by address, for which it needs to know where scipy lies; `import scipy` is quick.
LIBRARY_HOME = PACKAGE / "compiler" / "library"

MAX_FILE, MAX_FUNCTION, MAX_COLUMNS = 600, 60, 100

BANNED_WORDS = {
    "utils": "say what the functions are about",
    "util": "say what the functions are about",
    "misc": "say what the functions are about",
    "helper": "say what it does",
    "helpers": "say what they do",
    "common": "name what is shared",
    "fancy": "say what it does",
    "new": "say what makes it differ, or what is done (add, make); replace old versions",
}
# Given by JAX's and NumPy's API.
ALLOWED_NAMES = re.compile(
    r"^(flatten_util|relu6|tree_util|test_util|api_util|linear_util|source_info_util|newaxis"
    r"|__new__|new_ref|mesh_utils|new_jaxpr_eqn|deflinear2|unzip2)$"
)
GENERATION = re.compile(r"(_v\d+|[a-z]{4,}[2-9])$")
# Digits that are mathematics or a dtype.
MATHEMATICAL = re.compile(r"(log|exp|atan|arctan|logaddexp|fft|fftn|float|uint)\d$")


def sources(folder: Path = PACKAGE) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def shown(path: Path, line: int | None = None) -> str:
    return f"{path.relative_to(ROOT)}{'' if line is None else f':{line}'}"


def layer_of(module: str) -> tuple[str, int]:
    """The name and rank of the layer that a module `jacana.x.y` belongs to."""
    parts = module.split(".")
    if len(parts) == 1:
        return "jacana", PUBLIC
    return parts[1], TOP if parts[1].startswith("__") else RANKS.get(parts[1], PUBLIC)


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)


def imported(node: ast.stmt) -> list[str]:
    """The modules that an import statement names."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    if node.module == "jacana":
        return [f"jacana.{alias.name}" for alias in node.names]
    return [node.module or "."]


def is_type_checking(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def imports(tree: ast.AST, inside: str = "") -> Iterator[tuple[ast.stmt, str]]:
    """Import statements and the function each stands in, those for type checkers left out."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.stmt) and is_type_checking(node):
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, inside
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        yield from imports(node, node.name if is_function else inside)


def report(faults: list[str], remedy: str) -> None:
    if faults:
        pytest.fail("\n".join([*faults, "", remedy]), pytrace=False)


def test_imports_point_down():
    faults = []
    for path in sources():
        importer, rank = layer_of(module_of(path))
        for node, _ in imports(parsed(path)):
            for module in imported(node):
                if module.split(".")[0] != "jacana":
                    continue
                layer, other = layer_of(module)
                if other > rank and layer != importer:
                    faults.append(f"{shown(path, node.lineno)}: {importer} imports {module}")
    report(
        faults,
        "A package imports itself and what stands before it: core < kernel < ops < transforms < "
        "higher_order < compiler < runtime < api < lax < numpy < random, nn, ... < compat < "
        "testing. If you need one upwards, the concept is in the wrong layer: move it down, or "
        "pass it in as an argument.",
    )


def test_imports_are_at_module_level():
    faults = [
        f"{shown(path, node.lineno)}: {module} is imported inside {function}()"
        for path in sources()
        for node, function in imports(parsed(path))
        for module in imported(node)
        if function and module.split(".")[0] not in LAZY
    ]
    report(
        faults,
        "Move the import to the top of the file. If that makes a cycle, one of the two is in the "
        f"wrong layer. Only {', '.join(sorted(LAZY))} may be imported inside a function.",
    )


def test_slow_packages_are_imported_where_they_are_used():
    faults = []
    for path in sources():
        for node, function in imports(parsed(path)):
            for module in imported(node):
                name = module.split(".")[0]
                if name == "llvmlite" and LLVM_HOME not in path.parents:
                    faults.append(
                        f"{shown(path, node.lineno)}: only jacana/compiler/llvm may import llvmlite"
                    )
                elif module == "scipy" and LIBRARY_HOME in path.parents:
                    continue
                elif name in LAZY - {"llvmlite"} and not function:
                    faults.append(f"{shown(path, node.lineno)}: {name} at module level")
    report(
        faults,
        "`import jacana` must be quick: import scipy, opt_einsum and tqdm inside the function that "
        "needs them; reach LLVM through jacana.compiler.llvm.",
    )


def test_other_frameworks_are_not_imported():
    faults = [
        f"{shown(path, node.lineno)}: imports {module}"
        for path in sources()
        for node, _ in imports(parsed(path))
        for module in imported(node)
        if module.split(".")[0] in FORBIDDEN
    ]
    report(
        faults, "jacana stands alone: nothing in it imports another framework, jax least of all."
    )


def test_imports_are_absolute():
    faults = [
        shown(path, node.lineno)
        for path in sources()
        for node, _ in imports(parsed(path))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    report(faults, "Write `from jacana.x import y`: the layer shows in the line.")


def test_files_are_one_sitting():
    faults = [
        f"{shown(path)}: {lines} lines"
        for folder in ("jacana", "tests", "bench", "examples")
        for path in sources(ROOT / folder)
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MAX_FILE
    ]
    report(faults, f"Split by concept: a file has at most {MAX_FILE} lines.")


def test_functions_are_short():
    faults = []
    for path in sources():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > MAX_FUNCTION:
                    faults.append(f"{shown(path, node.lineno)}: {node.name} has {lines} lines")
    report(
        faults, f"Give its steps names of their own: a function has at most {MAX_FUNCTION} lines."
    )


def test_lines_fit():
    faults = [
        f"{shown(path, number)}: {len(line)} columns"
        for folder in ("jacana", "tests", "bench", "examples")
        for path in sources(ROOT / folder)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > MAX_COLUMNS
    ]
    report(faults, f"A line has at most {MAX_COLUMNS} columns; `make format` breaks most of them.")


def defined_names(path: Path) -> Iterator[tuple[str, int]]:
    """What a file names for others: itself, its functions and classes."""
    yield path.stem, 1
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno


def fault_of_name(name: str) -> str:
    """What is wrong with a name, or nothing."""
    if ALLOWED_NAMES.match(name):
        return ""
    for word in re.findall(r"[a-z0-9]+", re.sub(r"([A-Z])", r"_\1", name).lower()):
        if word in BANNED_WORDS:
            return f"`{word}`: {BANNED_WORDS[word]}"
    if GENERATION.search(name) and not MATHEMATICAL.search(name):
        return "a digit for a generation: replace the old one instead"
    return ""


def test_names_say_what_things_are():
    faults = [
        f"{shown(path, line)}: {name}: {fault}"
        for path in sources()
        for name, line in defined_names(path)
        if (fault := fault_of_name(name))
    ]
    report(
        faults,
        "Rename it. If JAX's API gave the name, or the digit is mathematics, add it to "
        "ALLOWED_NAMES or MATHEMATICAL in this test.",
    )


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("array_utils", False), ("CommonRules", False), ("linearize2", False), ("f_v2", False),
        ("new_pass", False), ("do_helper", False), ("log2", True), ("atan2", True), ("x2", True),
        ("irfft2", True), ("float8", True), ("newaxis", True), ("tree_util", True),
    ],
)  # fmt: skip
def test_which_names_are_refused(name, good):
    assert (fault_of_name(name) == "") is good


def test_no_star_imports():
    faults = [
        shown(path, node.lineno)
        for path in sources()
        for node, _ in imports(parsed(path))
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
    ]
    report(faults, "Name what you import, so that a reader finds where it comes from.")
