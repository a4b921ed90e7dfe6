"""What an import costs, and who may import whom."""

import ast
import functools
import os
import re
import subprocess
import sys
from pathlib import Path

import funcgrad

PACKAGE = Path(funcgrad.__file__).parent
FOUNDATION = "import numpy, numba, scipy.linalg"

# For each room, the rooms that it may import from. The faces and the api lie above all of these.
BELOW = {
    "core": set(),
    "ir": {"core"},
    "trace": {"core", "ir"},
    "ops": {"core", "ir", "trace"},  # ops.segment_sum and its relatives are put there by numpy/segments.py, from above
    "transforms": {"core", "ir", "trace", "ops"},
    "passes": {"core", "ir", "trace"},  # an operator that others define is inlined by tracing its definition
    "loops": {"core", "ir"},
    "codegen": {"core", "ir", "loops"},
    "runtime": {"core", "ir", "loops", "codegen"},
    "bridge": {"core", "ir", "trace", "ops", "transforms", "passes", "loops", "codegen", "runtime"},
}


@functools.cache
def files():
    """(path, its imports, the lines of those inside functions) of each file; the trees themselves are not kept."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text()
        tree = ast.parse(text)
        inside = sorted(inner_imports(tree)) if re.search(r"^(?!import |from ).*\bimport\b", text, re.M) else []
        found.append((path.relative_to(PACKAGE), list(imports(tree)), inside))
    return found


def inner_imports(tree):
    return {
        node.lineno
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }


def imported(node):
    """The modules that an import statement names, absolute."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    assert node.level == 0, "relative imports are not used"
    return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]


def imports(tree):
    """(module, line) of each import that runs, at once or lazily: what stands under `if TYPE_CHECKING:` does not."""
    nodes = list(ast.walk(tree))
    skipped = {
        inner for node in nodes if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test) for inner in ast.walk(node)
    }
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom) and node not in skipped:
            for module in imported(node):
                yield module, node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "LazyModule":
            yield ast.literal_eval(node.args[0]), node.lineno  # later, and an import all the same


def room(module):
    parts = module.split(".")
    return parts[1] if parts[0] == "funcgrad" and len(parts) > 1 else None


def test_imports_go_down():
    wrong = [
        f"{path}:{line} imports {module}"
        for path, all_imports, _ in files()
        if path.parts[0] in BELOW
        for module, line in all_imports
        if (target := room(module)) is not None and target != path.parts[0] and target not in BELOW[path.parts[0]]
    ]
    assert not wrong, "\n".join(wrong)


def test_numba_stays_in_the_runtime():
    wrong = [
        f"{path}:{line} imports {module}"
        for path, all_imports, _ in files()
        for module, line in all_imports
        if module.split(".")[0] in ("numba", "llvmlite", "numba_cuda")
        and (
            path.parts[0] != "runtime"
            or ((module.startswith("numba.cuda") or module.startswith("numba_cuda")) and not path.name.startswith("cuda"))
        )
    ]
    assert not wrong, "\n".join(wrong)


def test_no_import_inside_a_function():
    wrong = [f"{path}:{line}" for path, _, inside in files() for line in inside]
    assert not wrong, "\n".join(wrong)
    assert inner_imports(ast.parse("def f():\n    def g():\n        import a\n    return lambda: g")) == {3}


def seconds(code):
    """Processor time of a new interpreter."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = os.times()
    subprocess.run([sys.executable, "-c", code], check=True, env=env, cwd=PACKAGE.parent)
    end = os.times()
    return end.children_user + end.children_system - start.children_user - start.children_system


def test_import_time():
    """At most 100 ms above numpy, numba and scipy.linalg. Half of their time is allowed here, since the machine may be busy."""
    seconds("import funcgrad")  # writes bytecode
    rounds = [(seconds("import funcgrad"), seconds(FOUNDATION)) for _ in range(5)]
    ours, theirs = map(min, zip(*rounds))
    assert ours < 1.5 * theirs + 0.1


def test_import_compiles_nothing(tmp_path):
    code = (
        "import os, sys, funcgrad, funcgrad.numpy, funcgrad.lax, funcgrad.nn, funcgrad.random\n"
        "from funcgrad.runtime.counters import counters\n"
        "assert counters.snapshot()['compiled'] == counters.snapshot()['loaded'] == 0, counters\n"
        "assert not os.listdir(sys.argv[1]), os.listdir(sys.argv[1])\n"
        "for extra in ('numba', 'llvmlite', 'sklearn', 'matplotlib', 'tqdm', 'pytest', 'hypothesis'): assert extra not in sys.modules, extra\n"
    )
    env = {"FUNCGRAD_CACHE_DIR": str(tmp_path), "PATH": "", "PYTHONPATH": str(PACKAGE.parent)}
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, env=env)


WARM = """
import sys
import funcgrad as fg, funcgrad.numpy as fnp
from funcgrad.runtime.counters import counters

def loss(w, x):
    return fg.lax.fori_loop(0, 3, lambda i, y: fnp.tanh(y @ w), x).sum()

print(fg.jit(fg.grad(loss))(fnp.eye(40), fnp.ones((8, 40))).sum())
print(counters.compiled, "numba" in sys.modules)
"""


def test_numba_is_imported_to_compile_only(tmp_path):
    """A process whose kernels, and whose driver, are all on disk does without."""
    env = {**os.environ, "FUNCGRAD_CACHE_DIR": str(tmp_path), "FUNCGRAD_CACHE": "1", "PYTHONPATH": str(PACKAGE.parent)}
    outputs = [
        subprocess.run([sys.executable, "-c", WARM], check=True, env=env, capture_output=True, text=True).stdout.split()
        for _ in range(2)
    ]
    (cold, compiled, there), (warm, *rest) = outputs
    assert int(compiled) > 0 and there == "True"
    assert warm == cold and rest == ["0", "False"]


def test_a_broken_off_import_leaves_the_garbage_collector_on():
    code = (
        "import gc, sys\n"
        "sys.modules['funcgrad.nn'] = None\n"
        "try:\n"
        "    import funcgrad\n"
        "except ImportError:\n"
        "    assert gc.isenabled()\n"
        "    del sys.modules['funcgrad.nn']\n"
        "    gc.disable()\n"
        "    import funcgrad\n"
        "    sys.exit(gc.isenabled())\n"
        "sys.exit(2)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)})
