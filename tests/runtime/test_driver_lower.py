"""The driver's language: its functions compute what Python computes, and what is not in it is refused."""

import ast
import ctypes
import inspect

import llvmlite.binding as llvm
import pytest
from llvmlite import ir

from funcgrad.runtime import compile, driver_compile, driver_lower, loader
from funcgrad.runtime.driver_layout import PREFIX
from funcgrad.runtime.pointers import I64

LIMIT = 7


def arithmetic(a, b):
    c = a * 3 - (b + -1)
    c = c + (a & 6) + (5 << 2) + (c >> 1)
    c -= 4
    return c


def branches(a, b):
    if a == b:
        return 1
    if a < b and b < LIMIT:
        a = 10
    elif a > b or b == 2:
        if a != 3:
            b = 20
    else:
        b = 30
    return a * 100 + b


def short_circuit(a, b):
    if b != 0 and (a // b > 2 or a % b == 1):
        return 1
    return 0


def loops(a, b):
    total = 0
    for k in range(a):
        total = total * 3 + k
        k = 100
        if total > 1000:
            break
        for j in range(b):
            if j == 2:
                break
            total += j + k
    while total > 50 or total == b:
        total = total - 17
    return total


def endless(a, b):
    while True:
        a += 2
        if a >= b:
            return a
        while True:
            a = a + 1
            break


def words(a, b):
    return max_(min_(a, 5), calls(b, a))  # noqa: F821  # pyright: ignore[reportUndefinedVariable]


def calls(a, b):
    return arithmetic(b, a) - a


FUNCTIONS = (arithmetic, branches, short_circuit, loops, endless, words, calls)


def tree_of(source):
    (tree,) = ast.parse(source).body
    assert isinstance(tree, ast.FunctionDef)
    return tree


@pytest.fixture(scope="module")
def compiled():
    trees = [tree_of(inspect.getsource(f)) for f in FUNCTIONS]
    module = ir.Module("driver")
    kind = ir.FunctionType(I64, [I64, I64])
    functions = {tree.name: ir.Function(module, kind, "test_driver_" + tree.name) for tree in trees}
    for tree in trees:
        driver_lower.lower(tree, functions, {"LIMIT": LIMIT})
    symbols = [f.name for f in functions.values()]
    addresses = loader.load_all(symbols, compile.tidy_code(str(module)))
    made = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
    return {f.__name__: made(address) for f, address in zip(FUNCTIONS, addresses, strict=True)}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_in_python(compiled, function, monkeypatch):
    monkeypatch.setitem(globals(), "min_", min)
    monkeypatch.setitem(globals(), "max_", max)
    for a in range(9):
        for b in range(9):
            assert compiled[function.__name__](a, b) == function(a, b), (a, b)


@pytest.mark.parametrize(
    "body",
    [
        "return a / b",
        "return a < b",
        "return peek(a, b)",
        "return a ** b",
        "return unknown",
        "return unknown(a)",
        "return 1.5",
        "a, b = b, a",
        "return",
        "for k in range(a, b): pass",
        "for k in (1, 2): pass",
        "if a: return b",
        "if not a == b: return b",
        "if a < b < 3: return b",
        "while a < b: continue",
        "while a < b:\n        break\n    else:\n        return a",
        "peek(address=a)",
    ],
)
def test_refused(body):
    tree = tree_of(f"def f(a, b):\n    {body}\n")
    function = ir.Function(ir.Module("driver"), ir.FunctionType(I64, [I64, I64]), "f")
    with pytest.raises(SyntaxError, match="no word of the driver's language"):
        driver_lower.lower(tree, {"f": function}, {})


def test_only_entries_are_seen_from_outside():
    module = llvm.parse_assembly(driver_compile.lowered(("prepare", "worker")))
    seen = [f.name for f in module.functions if not f.is_declaration and f.linkage != llvm.Linkage.internal]
    assert sorted(seen) == [PREFIX + "prepare", PREFIX + "worker"]
