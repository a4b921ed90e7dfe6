"""The scalar instructions of a loop while they are written: equal ones once, integer arithmetic on constants done.

In: operations on instruction numbers. Out: a `Template` over `args` (references to arrays, numbers), whose positions are lanes.
"""

from typing import Any

import numpy as np

from funcgrad.loops import scalar_numpy as scalar
from funcgrad.loops.elements import Unfit
from funcgrad.loops.graph import Arg, Number
from funcgrad.loops.templates import BOOL, INT64, Template, burden_of, cost_of, storage_dtype

LONGEST = 1500  # instructions
HEAVIEST = 8000  # burden: such a kernel takes a second to compile; kernels of single operators take less together

Instr = tuple[str, np.dtype, tuple[int, ...], Any]


class Tape:
    """Instructions so far."""

    def __init__(self) -> None:
        self.instrs: list[Instr] = []
        self.table: dict[Any, int] = {}
        self.args: list[Arg] = []
        self.arg_of: dict[Any, int] = {}
        self.weight = 0.0
        self.burden = 0  # on the compile time of the kernel

    def add(self, op: str, dtype: np.dtype, args: tuple[int, ...] = (), attr: Any = None) -> int:
        instrs = self.instrs
        if op == "select" and instrs[args[0]][0] == "const":
            return args[1] if instrs[args[0]][3] else args[2]
        if op == "and" and dtype == BOOL:
            for x, y in (args, args[::-1]):
                if instrs[x][0] == "const":
                    return y if instrs[x][3] else x
        if args and op in scalar.BINARY and all([instrs[a][0] == "const" and instrs[a][1].kind in "bi" for a in args]):
            with np.errstate(all="ignore"):
                value = scalar.BINARY[op](*[np.asarray(instrs[a][3], instrs[a][1]) for a in args])
            return self.const(value, dtype)
        if op == "check":
            i, n = (instrs[a] for a in args)
            if i[0] == n[0] == "const" and 0 <= i[3] < n[3]:
                return args[0]
        return self.plain(op, dtype, args, attr)

    def plain(self, op: str, dtype: np.dtype, args: tuple[int, ...], attr: Any) -> int:
        key = (op, dtype, args, repr(attr))
        k = self.table.get(key)
        if k is None:
            if len(self.instrs) >= LONGEST:
                raise Unfit(f"more than {LONGEST} instructions")
            self.burden += burden_of(op, dtype)
            if self.burden > HEAVIEST:
                raise Unfit(f"a burden of more than {HEAVIEST}")
            k = self.table[key] = len(self.instrs)
            self.instrs.append((op, dtype, args, attr))
            self.weight += cost_of(op)
        return k

    def const(self, value: Any, dtype: np.dtype) -> int:
        return self.plain("const", dtype, (), dtype.type(value).item())

    def int64(self, value: int) -> int:
        return self.const(value, INT64)

    def both(self, x: int | None, y: int) -> int:
        """x and y, where no x means true."""
        return y if x is None else self.add("and", BOOL, (x, y))

    def carry(self, number: int, dtype: np.dtype) -> int:
        return self.plain("carry", storage_dtype(dtype), (), number)

    def number(self, value: Any, dtype: np.dtype) -> int:
        """A literal of the program: a param."""
        return self.arg(("number", repr(value), dtype), Number(value, dtype), dtype)

    def arg(self, key: Any, arg: Arg, dtype: np.dtype) -> int:
        k = self.arg_of.get(key)
        if k is None:
            k = self.arg_of[key] = len(self.args)
            self.args.append(arg)
        return self.plain("arg", storage_dtype(dtype), (), k)

    def random(self, key: Any, arg: Arg) -> int:
        """The number of an argument that is read at indices."""
        k = self.arg_of.get(key)
        if k is None:
            k = self.arg_of[key] = len(self.args)
            self.args.append(arg)
        return k

    def constant(self, k: int) -> int | None:
        """The integer that instruction k is, if it is one."""
        op, dtype, _, attr = self.instrs[k]
        return int(attr) if op == "const" and dtype.kind in "iu" else None

    def template(self) -> Template:
        """All instructions, as one body with as many results."""
        return Template(tuple(self.instrs), tuple(range(len(self.instrs))), None, self.weight, True)
