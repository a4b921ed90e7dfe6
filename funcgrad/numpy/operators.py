"""What users see on arrays and tracers: operators, conversions to Python, iteration, methods. Installed on `trace.value.Value`.

An operator returns NotImplemented for objects that are no numbers, so that other libraries' reflected operators get
their turn. Conversions (`bool`, `int`, `float`, `len`) read concrete values, also those under `grad`; a traced value raises an
error that says what to write instead.
"""

import ast
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from funcgrad.core import source
from funcgrad.core.errors import (
    ConcretizationTypeError,
    ImmutableArrayError,
    ShapeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    asked_at,
    describe,
    message,
)
from funcgrad.numpy import arithmetic, compare, contract, elementwise, integers
from funcgrad.numpy._axes import concrete
from funcgrad.numpy._promote import NOT_FOREIGN
from funcgrad.numpy.at import At
from funcgrad.numpy.index import read
from funcgrad.trace.interpreter import Tracer
from funcgrad.trace.value import Value


def _binary(f: Callable[..., Any], name: str, reflected: bool) -> Callable[..., Any]:
    def forward(self: Value, other: Any) -> Any:
        if isinstance(other, NOT_FOREIGN):
            return f(self, other)
        return _foreign(name, self, other)

    def backward(self: Value, other: Any) -> Any:
        if isinstance(other, NOT_FOREIGN):
            return f(other, self)
        return _foreign(name, self, other)

    return backward if reflected else forward


def _foreign(name: str, self: Value, other: Any) -> Any:
    if isinstance(other, (list, tuple, range)):  # Python's own answer to == would be a silent False
        raise TypeError(
            message(
                f"{name}: got {self.aval.str_short()} and a {type(other).__name__}{asked_at()}",
                "arrays and scalars; sequences are not converted silently, because that is slow inside a trace",
                f"x {name} fnp.asarray(...)",
            )
        )
    return NotImplemented


_OPERATORS = {
    "add": ("+", elementwise.add),
    "sub": ("-", elementwise.subtract),
    "mul": ("*", elementwise.multiply),
    "truediv": ("/", elementwise.divide),
    "floordiv": ("//", arithmetic.floor_divide),
    "mod": ("%", arithmetic.remainder),
    "divmod": ("divmod", arithmetic.divmod),
    "pow": ("**", arithmetic.power),
    "matmul": ("@", contract.matmul),
    "and": ("&", integers.bitwise_and),
    "or": ("|", integers.bitwise_or),
    "xor": ("^", integers.bitwise_xor),
    "lshift": ("<<", integers.left_shift),
    "rshift": (">>", integers.right_shift),
}
_COMPARISONS = {
    "eq": ("==", compare.equal),
    "ne": ("!=", compare.not_equal),
    "lt": ("<", compare.less),
    "le": ("<=", compare.less_equal),
    "gt": (">", compare.greater),
    "ge": (">=", compare.greater_equal),
}

# --- to Python --------------------------------------------------------------------------------------------------------------


def _one(x: Value, what: str) -> Any:
    numbers = np.asarray(concrete(x))
    if numbers.size != 1:
        raise ShapeError(
            message(
                f"{what}: got {x.aval.str_short()}",
                "an array with one element",
                "x.item(i), x[i], or fnp.any / fnp.all for truth",
            )
        )
    return numbers


def _bool(self: Value) -> bool:
    if concrete(self) is None:
        picked = self.pick(bool)  # type: ignore[attr-defined]
        if picked is None:
            raise TracerBoolConversionError(self)
        return picked
    if self.aval.size != 1:
        raise ValueError(
            message(
                f"the truth value of {self.aval.str_short()} is ambiguous",
                "arrays with one element",
                "fnp.any(x) or fnp.all(x), `&` `|` `~` for and/or/not",
            )
        )
    return bool(_one(self, "bool()").reshape(())[()])


def _int(self: Value) -> int:
    if concrete(self) is None:
        return _picked_int(self)
    return int(_scalar(self, "int()"))


def _picked_int(self: Any) -> int:
    picked = self.pick(int)
    if picked is None:
        raise TracerIntegerConversionError(self)
    return picked


def _scalar(x: Value, what: str) -> Any:
    if x.aval.ndim:
        # NumPy allows one element in any rank only with a warning; an index says which one.
        raise TypeError(
            message(f"{what}: got {x.aval.str_short()}", "a scalar (an array without axes)", "x.item(), x[0] or x.sum()")
        )
    return concrete(x)[()]


def _index(self: Value) -> int:
    if concrete(self) is None:
        if self.aval.dtype.kind not in "iu":
            raise TracerIntegerConversionError(self)
        return _picked_int(self)
    if self.aval.ndim or self.aval.dtype.kind not in "iu":
        raise TypeError(
            message(f"an integer was needed, got {self.aval.str_short()}", "an integer scalar", "int(x), or x.astype(int)")
        )
    return operator.index(concrete(self)[()])


def _float(self: Value) -> float:
    if concrete(self) is None:
        raise ConcretizationTypeError(self, "float() was called on it")
    return float(_scalar(self, "float()"))


def _complex(self: Value) -> complex:
    if concrete(self) is None:
        raise ConcretizationTypeError(self, "complex() was called on it")
    return complex(_scalar(self, "complex()"))


def _len(self: Value) -> int:
    if not self.aval.ndim:
        raise TypeError(message(f"len(): got {self.aval.str_short()}, a scalar", "an array with axes", "x.size"))
    return self.aval.shape[0]


def _iter(self: Value) -> Iterator[Any]:
    if not self.aval.ndim:
        raise TypeError(message(f"iteration over {self.aval.str_short()}, a scalar", "an array with axes", "x.reshape(-1)"))
    return iter([self[i] for i in range(self.aval.shape[0])])  # type: ignore[index]


def _contains(self: Value, item: Any) -> bool:
    return bool(compare.equal(self, item).any())


def _format(self: Value, spec: str) -> str:
    if not spec or concrete(self) is None:
        return str(self)
    return format(_scalar(self, f"format with {spec!r}"), spec)


def _setitem(self: Value, index: Any, value: Any) -> None:
    raise ImmutableArrayError(_how_to_set(self, ".set"))


def _how_to_set(self: Value, _method: str) -> str:
    """The text of the error of `x[i] = v`, with the user's line rewritten where it can be read."""
    return message(
        f"x[...] = v was written for {describe(self)}{asked_at()}",
        "arrays are immutable; an update returns a new array",
        rewrite_assignment(source.current()),
    )


def rewrite_assignment(here: Any) -> str:
    """`x = x.at[0].set(1)` for a source line `x[0] = 1`, with `+=` and its relatives as `.add(...)`."""
    text = "" if here is source.UNKNOWN else here.statement()
    try:
        # A header without its body (`if c: x[0] = 1` has one) is no program, and half of a statement neither.
        found = [node for node in ast.walk(ast.parse(text)) if _item_assigned(node) is not None]
    except SyntaxError:
        found = []
    if len(found) != 1:  # which of two it was is not known
        return "x = x.at[i].set(v); .add(v), .multiply(v), .max(v) ... for x[i] += v and its relatives"
    node: Any = found[0]
    item = _item_assigned(node)
    parts = (item.value, item.slice, node.value)
    # As it was written, or on one line.
    name, index, value = [ast.unparse(p) if p.lineno < (p.end_lineno or 0) else ast.get_source_segment(text, p) for p in parts]
    change = _AUGMENTED.get(type(getattr(node, "op", None)))
    if change is None:  # `=`, and what .at has no word for: x[i] %= v
        value = value if isinstance(node, ast.Assign) else ast.unparse(ast.BinOp(_loaded(item), node.op, node.value))
        change = "set"
    return f"{name} = {name}.at[{index}].{change}({value})"


_AUGMENTED: dict[type, str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.Pow: "power",
}  # fmt: skip


def _item_assigned(node: ast.AST) -> Any:
    """The `x[i]` that a statement assigns to, where it is one of the kind `x[i] = v` or `x[i] += v`."""
    target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    target = node.target if isinstance(node, ast.AugAssign) else target
    return target if isinstance(target, ast.Subscript) else None


def _loaded(item: ast.Subscript) -> ast.expr:
    """`x[i]` as an expression."""
    return ast.Subscript(item.value, item.slice, ast.Load())


def _delitem(self: Value, index: Any) -> None:
    raise ImmutableArrayError(message(f"del x[...] was written for {describe(self)}", "arrays are immutable", "fnp.delete(x, i)"))


def _hash(self: Value) -> int:
    traced = concrete(self) is None
    raise TypeError(
        message(
            f"{'a traced value' if traced else 'an array'} {describe(self)} cannot be hashed (as a dict key, in a set)",
            "keys that are known while tracing: it has no numbers yet" if traced else "hashable keys",
            "a name or a number in its place, or jit(f, static_argnums=...) where it is an argument that takes few values"
            if traced
            else "x.tobytes(), or tuple(x.tolist())",
        )
    )


def _array(self: Value, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    known = concrete(self)
    if known is None:
        raise TracerArrayConversionError(self)
    return np.asarray(known, dtype) if not copy else np.array(known, dtype)


def install() -> None:
    """Put the operators on `Value`. Called once, by `funcgrad.numpy`."""
    cls: Any = Value
    for name, (sign, f) in _OPERATORS.items():
        setattr(cls, f"__{name}__", _binary(f, sign, False))
        setattr(cls, f"__r{name}__", _binary(f, sign, True))
    for name, (sign, f) in _COMPARISONS.items():
        setattr(cls, f"__{name}__", _binary(f, sign, False))
    cls.__neg__ = lambda self: elementwise.negative(self)
    cls.__pos__ = lambda self: elementwise.positive(self)
    cls.__abs__ = lambda self: elementwise.absolute(self)
    cls.__invert__ = lambda self: integers.invert(self)
    cls.__round__ = lambda self, ndigits=None: arithmetic.round(self, ndigits or 0)
    cls.__bool__, cls.__int__, cls.__float__, cls.__complex__ = _bool, _int, _float, _complex
    cls.__index__, cls.__len__, cls.__iter__, cls.__contains__ = _index, _len, _iter, _contains
    cls.__format__, cls.__hash__ = _format, _hash
    cls.__getitem__, cls.__setitem__, cls.__delitem__ = read, _setitem, _delitem
    cls.at = property(At, doc="`x.at[i].set(v)`: a new array with the elements at `i` replaced; also add, multiply, min, max ...")
    cls.__array_priority__ = 100.0
    Tracer.__array__ = _array  # type: ignore[attr-defined]
