"""The canonical form of a nest: its structure as plain hashable data.

In: a `Nest`, whose expressions are a DAG shared by identity. Out: a `Form`, in which structurally equal
expressions are one numbered node, numbered so that arguments come first. The form's `key` says everything
that the printed text depends on, so equal keys mean equal kernels, and it is cheap enough (a few tens of
microseconds) to be taken on every retrace.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from funcgrad.loops.expr import Expr
from funcgrad.loops.nest import Nest

# Short names of the scalar types, used in keys and in printed text. Bool is `b1` as a value and one byte
# (`u8`) in memory; a structured 8-byte dtype (a PRNG key) is one `u64`.
CODES: dict[np.dtype, str] = {
    np.dtype(name): code
    for name, code in {
        "bool": "b1",
        "int8": "i8",
        "int16": "i16",
        "int32": "i32",
        "int64": "i64",
        "uint8": "u8",
        "uint16": "u16",
        "uint32": "u32",
        "uint64": "u64",
        "float32": "f32",
        "float64": "f64",
        "complex64": "c64",
        "complex128": "c128",
    }.items()
}
DTYPES: dict[str, np.dtype] = {code: dtype for dtype, code in CODES.items()}

NodeKey = tuple[str, str, Any, tuple[int, ...]]  # op, code, attr, arguments


def code_of(dtype: np.dtype) -> str:
    """The short name of a scalar type that kernels have."""
    code = CODES.get(dtype)
    if code is None:
        if dtype.kind == "V" and dtype.itemsize == 8:
            return "u64"
        raise TypeError(
            f"kernel: got a value of dtype {dtype}; kernels compute on bool, 8 to 64-bit integers, float32/64 "
            "and complex64/128; give this operator to a host step, or cast it first"
        )
    return code


def storage_code(code: str) -> str:
    """The code of what lies in memory for a value of type `code`."""
    return "u8" if code == "b1" else code


@dataclass(frozen=True, slots=True)
class StoreForm:
    operand: int
    value: int
    indices: tuple[int, ...]
    combine: str | None
    guard: int | None


@dataclass(frozen=True, slots=True)
class ReductionForm:
    number: int
    op: str
    value: int
    code: str
    index_value: int | None
    running: bool


@dataclass(frozen=True, slots=True)
class CarryForm:
    number: int
    start: int
    next: int
    code: str


@dataclass(frozen=True, slots=True)
class PassForm:
    level: str
    stores: tuple[StoreForm, ...]
    reductions: tuple[ReductionForm, ...]
    carries: tuple[CarryForm, ...] = ()
    test: int | None = None


@dataclass(frozen=True, slots=True)
class Form:
    """A nest as numbered nodes. `nodes[k]` refers to nodes below k only."""

    nodes: tuple[NodeKey, ...]
    passes: tuple[PassForm, ...]
    codes: tuple[str, ...]  # of the operands
    params: tuple[str, ...]
    key: tuple


def _constant(value: Any, dtype: np.dtype) -> str:
    """A constant as text that tells apart what compares equal (0.0 and -0.0, nan)."""
    if dtype.kind == "V":
        dtype = np.dtype(np.uint64)
    item = dtype.type(value).item()
    if dtype == np.float32:
        # The shortest decimal of the float32 itself, where reading it back through a double is exact.
        short = str(np.float32(value))
        return short if np.float32(float(short)) == item else repr(item)
    return repr(item)


class _Numbering:
    """Gives structurally equal expressions one number, arguments before their users."""

    def __init__(self) -> None:
        self.nodes: list[NodeKey] = []
        self.table: dict[NodeKey, int] = {}
        self.numbers: dict[int, int] = {}

    def add(self, key: NodeKey) -> int:
        number = self.table.get(key)
        if number is None:
            number = self.table[key] = len(self.nodes)
            self.nodes.append(key)
        return number

    def visit(self, root: Expr) -> int:
        numbers = self.numbers
        done = numbers.get(id(root))
        if done is not None:
            return done
        stack = [root]
        while stack:
            expr = stack[-1]
            if id(expr) in numbers:
                stack.pop()
                continue
            waiting = [a for a in expr.args if id(a) not in numbers]
            if waiting:
                waiting.reverse()
                stack.extend(waiting)
                continue
            stack.pop()
            numbers[id(expr)] = self.node(expr, tuple([numbers[id(a)] for a in expr.args]))
        return numbers[id(root)]

    def node(self, expr: Expr, args: tuple[int, ...]) -> int:
        op, attr = expr.op, expr.attr
        code = CODES.get(expr.dtype) or code_of(expr.dtype)
        if op == "const":
            attr = _constant(attr, expr.dtype)
        elif op == "external":
            attr = attr.name
        elif op == "threefry_hi" or op == "threefry_lo":
            # Both words come from one block: one node computes it as a u64, two read its halves.
            block = self.add(("threefry", "u64", None, args))
            return self.add(("high_word" if op == "threefry_hi" else "low_word", "u32", None, (block,)))
        elif op == "bitcast" or op == "cast":
            source = self.nodes[args[0]][1]
            if source == code:
                return args[0]
            if source == "b1" or code == "b1":  # a bool's byte is 0 or 1
                op = "cast"
        return self.add((op, code, attr, args))


def canonical(nest: Nest) -> Form:
    """Number the expressions of `nest` and gather all that its text depends on."""
    numbering = _Numbering()
    visit = numbering.visit
    passes = []
    parts: list[tuple] = []
    for p in nest.passes:
        stores = tuple(
            StoreForm(
                s.operand,
                visit(s.value),
                tuple([visit(e) for e in s.indices]),
                s.combine,
                None if s.guard is None else visit(s.guard),
            )
            for s in p.stores
        )
        reductions = tuple(
            ReductionForm(
                r.number,
                r.op,
                visit(r.value),
                code_of(r.dtype),
                None if r.index_value is None else visit(r.index_value),
                r.running,
            )
            for r in p.reductions
        )
        carries = tuple([CarryForm(c.number, visit(c.start), visit(c.next), code_of(c.dtype)) for c in p.carries])
        test = None if p.test is None else visit(p.test)
        passes.append(PassForm(p.level, stores, reductions, carries, test))
        parts.append(
            (
                p.level,
                tuple([(s.operand, s.value, s.indices, s.combine, s.guard) for s in stores]),
                tuple([(r.number, r.op, r.value, r.code, r.index_value, r.running) for r in reductions]),
                tuple([(c.number, c.start, c.next, c.code) for c in carries]),
                test,
            )
        )
    codes = tuple([code_of(o.dtype) for o in nest.operands])
    params = tuple([code_of(d) for d in nest.params])
    nodes = tuple(numbering.nodes)
    operands = tuple([(c, o.role, o.strides, o.indirect) for c, o in zip(codes, nest.operands, strict=True)])
    key = (nest.outer, nest.inner, nest.layout, nest.sequential, nest.block, operands, params, nodes, tuple(parts))
    return Form(nodes, tuple(passes), codes, params, key)


def nest_key(nest: Nest) -> tuple:
    """Hashable structure of `nest`: equal keys print equal kernels."""
    return canonical(nest).key
