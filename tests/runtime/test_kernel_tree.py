"""A kernel's syntax tree: helpers compute what Python computes, and what is not in the language is refused."""

import ctypes

import pytest

from funcgrad.core.errors import CompileError
from funcgrad.runtime import compile, frontend, loader
from funcgrad.runtime.pointers import DTYPES

SOURCES = {
    "straight": """
def straight(a, b):
    \"\"\"Names that are values, and one that is assigned to twice.\"\"\"
    c = a * 3 - (b + -1)
    d = c
    c = c + (a & 6) + (5 << 2) + (c >> 1) - (a ^ b)
    return c * 100 + d
""",
    "branches": """
def branches(a, b):
    if a == b:
        return 1
    if a < b and b < 7:
        c = 10
    elif a > b or not b == 2:
        c = 5
        if not (a != 3 and b != 2):
            b = 20
    else:
        c = 30
    return c * 100 + b
""",
    "loops": """
def loops(a, b):
    total = 0
    last = 0
    for k in range(a):
        total = total * 3 + k
        k = 100
        if total > 1000:
            break
        for j in range(b, a + 3, 2):
            if j == 5:
                break
            total += j + k
            seen = j
            last = seen
    for k in range(8, b, -3):
        total = total + k * last
    while total > 50 or total == b:
        total = total - 17
    return total
""",
    "carried": """
def carried(a, b):
    before = a
    for k in range(b):
        kept = before
        before = a + k
        a = kept
    while True:
        a += 2
        if a >= b:
            return a * 1000 + before
        while True:
            a = a + 1
            break
""",
}


@pytest.mark.parametrize("name", SOURCES)
def test_as_in_python(name):
    source = SOURCES[name]
    space: dict = {}
    exec(source, space)
    i64 = DTYPES["i64"]
    symbol = "test_tree_" + name
    text, result = frontend.lower_function(compile.function_from(source), (i64, i64), symbol, i64)
    assert result == i64
    (address,) = loader.load_all([symbol], compile.tidy_code(text))
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(address)
    for a in range(9):
        for b in range(9):
            assert function(a, b) == space[name](a, b), (a, b)


@pytest.mark.parametrize(
    "body",
    [
        "a, b = b, a",
        "return a < b < 3",
        "return [a]",
        "return unknown",
        "return a if b else b",
        "return add(a, y=b)",
        "for k in (1, 2): pass",
        "for k in range(a):\n        break\n    else:\n        return a",
        "while a < b: continue",
        "with a: pass",
    ],
)
def test_refused(body):
    kernel = compile.function_from(f"def f(a, b):\n    {body}\n")
    with pytest.raises(SyntaxError, match="no word of a kernel's language"):
        frontend.lower_function(kernel, (DTYPES["i64"],) * 2, "f")


def test_a_place_has_one_type():
    source = """
def kernel(buffers, dims, lo, hi, scratch):
    y = ptr_f32(buffers, 0)
    for i in range(lo, hi):
        w = i32(i)
        w = f32(w)
        y[i] = w
"""
    with pytest.raises(CompileError, match="w is assigned values of different types"):
        compile.compile_source(source)
