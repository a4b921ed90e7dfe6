"""How a reduction starts, takes in a value, and ends: the words that a row or column loop is made of.

A float32 sum is summed in float32 inside a block (where LLVM may reassociate, and so use vectors) and the
blocks are summed in float64: exact to a few units in the last place whatever the length. Other reductions
keep one accumulator of their own type.
"""

from funcgrad.codegen.canonical import ReductionForm
from funcgrad.codegen.scalars import Scalars
from funcgrad.codegen.target import ATOM

BLOCK = 512  # elements that are summed in the element type before they join the total

_LOWEST = {f"i{b}": str(-(1 << (b - 1))) for b in (8, 16, 32, 64)} | {f"u{b}": "0" for b in (8, 16, 32, 64)}
_HIGHEST = {f"i{b}": str((1 << (b - 1)) - 1) for b in (8, 16, 32, 64)}
_HIGHEST |= {f"u{b}": str((1 << b) - 1) for b in (8, 16, 32, 64)}


def total_code(reduction: ReductionForm) -> str:
    """The type that a sum is carried in across blocks."""
    if reduction.op == "add" and not reduction.running:
        return {"f32": "f64", "c64": "c128"}.get(reduction.code, reduction.code)
    return reduction.code


def in_blocks(reduction: ReductionForm) -> bool:
    """Does this reduction need a partial result for each block?"""
    if reduction.running:
        return False
    if reduction.op == "add":
        return reduction.code in ("f32", "f64")
    return reduction.op in ("argmax", "argmin")


def value_code(reduction: ReductionForm, scalars: Scalars) -> str:
    """The type of what is folded: for argmax the value's own, otherwise the accumulator's."""
    if reduction.op in ("argmax", "argmin"):
        code = scalars.form.nodes[reduction.value][1]
        return "u8" if code == "b1" else code
    return reduction.code


def start(op: str, code: str, scalars: Scalars) -> str:
    """The value that changes nothing."""
    if op == "add" or op == "xor":
        value = "False" if code == "b1" else "0"
    elif op == "or":
        value = "False" if code == "b1" else "0"
    elif op == "mul":
        value = "True" if code == "b1" else "1"
    elif op == "and":
        value = "True" if code == "b1" else "-1" if code[0] == "i" else _HIGHEST[code]
    elif op in ("max", "argmax"):
        value = "False" if code == "b1" else "-inf" if code[0] == "f" else _LOWEST[code]
    else:
        value = "True" if code == "b1" else "inf" if code[0] == "f" else _HIGHEST[code]
    if code[0] in "fc" and value[-1].isdigit():
        value = f"{value}.0" if code[0] == "f" else f"{value}+0j"
    return scalars.constant(value, code)[0]


_FOLDS = {"add": "sum_into", "mul": "product_into", "max": "max_into", "min": "min_into"}
_FOLDS |= {"argmax": "max_into", "argmin": "min_into", "and": "and", "or": "or", "xor": "xor"}
_ORDERED = {"add": "add", "mul": "mul", "max": "max", "min": "min", "and": "and", "or": "or", "xor": "xor"}


def fold(op: str, code: str, acc: str, value: tuple[str, int], scalars: Scalars, ordered=False) -> tuple[str, int]:
    """`acc` with `value` taken in, and how it binds; `ordered` keeps LLVM from changing the order of a sum."""
    spelling = scalars.target.spelling((_ORDERED if ordered else _FOLDS)[op], code)
    return spelling.write([(acc, ATOM), value], code)


def better(op: str, code: str, value: str, best: str, place: str) -> str:
    """Condition: `value` takes the place of `best` (the first of equals stays, the first NaN wins)."""
    sign = ">" if op == "argmax" else "<"
    condition = f"({place} < 0) | ({value} {sign} {best})"
    if code[0] == "f":
        condition += f" | (({value} != {value}) & ({best} == {best}))"
    return condition
