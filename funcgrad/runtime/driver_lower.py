"""One function of the driver -> LLVM's instructions.

Enters: the syntax tree of a function in which every value is an int64. Leaves: the body of its LLVM function.

The language: assignments to names, `if`, `while`, `for _ in range(n)`, `break`, `return`, the arithmetic and the comparisons
below, `and` and `or` in a test, constants of driver_layout.py, calls of each other and of the words of system_words.py.
Anything else is refused. A name that is assigned to is a place in memory, which LLVM's first pass turns into registers.
"""

import ast
from typing import Any

from llvmlite import ir
from numba.core import types

from funcgrad.runtime.pointers import I64, Word
from funcgrad.runtime.system_words import SYSTEM

_WORDS = {ast.FloorDiv: "div", ast.Mod: "rem"}  # of counts, which are never negative; by 0 they give 0
_BINARY = _WORDS | {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "and_", ast.BitOr: "or_"}
_BINARY |= {ast.LShift: "shl", ast.RShift: "ashr"}
_COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


class _SameType:
    """What a word asks of numba's lowering: a cast, which from int64 to int64 is none."""

    @staticmethod
    def cast(builder, value, source, target):
        return value


class _Body:
    """A function's body while it is written."""

    def __init__(self, tree: ast.FunctionDef, functions: dict[str, ir.Function], constants: dict[str, int]):
        self.functions, self.constants = functions, constants
        self.function = functions[tree.name]
        self.builder: Any = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.exits: list[ir.Block] = []  # where `break` goes, the innermost loop last
        self.values: dict[str, Any] = {a.arg: v for a, v in zip(tree.args.args, self.function.args, strict=True)}
        assigned = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        self.places = {name: self.builder.alloca(I64) for name in dict.fromkeys(assigned)}
        for name in self.places.keys() & self.values.keys():
            self.builder.store(self.values[name], self.places[name])

    # ---- values ----

    def value(self, node: ast.AST) -> Any:
        match node:
            case ast.Constant(value=int() as number):
                return I64(number)
            case ast.Name(id=name) if name in self.places:
                return self.builder.load(self.places[name], typ=I64)
            case ast.Name(id=name) if name in self.values:
                return self.values[name]
            case ast.Name(id=name) if name in self.constants:
                return I64(self.constants[name])
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)):
                return I64(-number)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return self.binary(op, self.value(left), self.value(right))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if self.takes(name, len(arguments)):
                return self.call(name, [self.value(a) for a in arguments])
        raise _refused(node)

    def binary(self, op: ast.operator, left, right) -> Any:
        name = _BINARY[type(op)]
        return self.call(name, [left, right]) if type(op) in _WORDS else getattr(self.builder, name)(left, right)

    def takes(self, name: str, count: int) -> bool:
        """Whether there is such a function of so many integers."""
        if name in self.functions:
            return len(self.functions[name].args) == count
        signature = SYSTEM[name].get_call_type(None, [types.int64] * count, {}) if isinstance(SYSTEM.get(name), Word) else None
        return signature is not None and signature.return_type == types.int64

    def call(self, name: str, values: list) -> Any:
        if name in self.functions:
            return self.builder.call(self.functions[name], values)
        word = SYSTEM[name]
        signature = word.get_call_type(None, [types.int64] * len(values), {})
        return word.build(_SameType, signature)(_SameType, self.builder, signature, values)

    def test(self, node: ast.expr, yes: ir.Block, no: ir.Block) -> None:
        """Go to `yes` or to `no`."""
        match node:
            case ast.Constant(value=True):
                self.builder.branch(yes)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
                left, right = self.value(left), self.value(right)
                self.builder.cbranch(self.builder.icmp_signed(_COMPARE[type(op)], left, right), yes, no)
            case ast.BoolOp(op=op, values=[*firsts, last]):
                for first in firsts:
                    following = self.block()
                    self.test(first, *((following, no) if isinstance(op, ast.And) else (yes, following)))
                    self.builder.position_at_end(following)
                self.test(last, yes, no)
            case _:
                raise _refused(node)

    # ---- statements ----

    def block(self) -> ir.Block:
        return self.function.append_basic_block()

    def go(self, target: ir.Block) -> None:
        """From the end of what was written, unless it has left already."""
        if not self.builder.block.is_terminated:
            self.builder.branch(target)

    def statements(self, nodes: list[ast.stmt]) -> None:
        for node in nodes:
            self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                pass
            case ast.Expr(value=ast.Call() as call):
                self.value(call)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.builder.store(self.value(value), self.places[name])
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value) if type(op) in _BINARY:
                before = self.builder.load(self.places[name], typ=I64)
                self.builder.store(self.binary(op, before, self.value(value)), self.places[name])
            case ast.Return(value=ast.AST() as value):
                self.builder.ret(self.value(value))
            case ast.Break():
                self.builder.branch(self.exits[-1])
            case ast.If(test=test, body=body, orelse=other):
                self.branch(test, body, other)
            case ast.While(test=test, body=body, orelse=[]):
                self.loop(test, body)
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=[count]), body=body, orelse=[]):
                self.count(self.places[name], self.value(count), body)
            case _:
                raise _refused(node)

    def branch(self, test: ast.expr, body: list[ast.stmt], other: list[ast.stmt]) -> None:
        yes, after = self.block(), self.block()
        no = self.block() if other else after
        self.test(test, yes, no)
        for start, nodes in ((yes, body), (no, other)):
            if nodes:
                self.builder.position_at_end(start)
                self.statements(nodes)
                self.go(after)
        self.builder.position_at_end(after)

    def loop(self, test: ast.expr, body: list[ast.stmt]) -> None:
        head, inside, after = (self.block() for _ in range(3))
        self.go(head)
        self.builder.position_at_end(head)
        self.test(test, inside, after)
        self.inside(inside, body, after)
        self.go(head)
        self.builder.position_at_end(after)

    def inside(self, start: ir.Block, body: list[ast.stmt], after: ir.Block) -> None:
        self.builder.position_at_end(start)
        self.exits.append(after)
        self.statements(body)
        self.exits.pop()

    def count(self, place, count, body: list[ast.stmt]) -> None:
        """`for place in range(count)`. The turns are counted apart: the body may assign to the name."""
        head, start, after = (self.block() for _ in range(3))
        before = self.builder.block
        self.go(head)
        self.builder.position_at_end(head)
        turn = self.builder.phi(I64)
        turn.add_incoming(I64(0), before)
        self.builder.cbranch(self.builder.icmp_signed("<", turn, count), start, after)
        self.builder.position_at_end(start)
        self.builder.store(turn, place)
        following = self.builder.add(turn, I64(1), flags=("nsw",))
        self.inside(start, body, after)
        if not self.builder.block.is_terminated:
            turn.add_incoming(following, self.builder.block)
            self.builder.branch(head)
        self.builder.position_at_end(after)


def _refused(node: ast.AST) -> SyntaxError:
    return SyntaxError(f"no word of the driver's language: {ast.unparse(node)}")


def lower(tree: ast.FunctionDef, functions: dict[str, ir.Function], constants: dict[str, int]) -> None:
    """Write the body of `functions[tree.name]`, which may call each of `functions`."""
    body = _Body(tree, functions, constants)
    body.statements(tree.body)
    if not body.builder.block.is_terminated:
        body.builder.unreachable()  # after an endless loop; every function ends with a return
