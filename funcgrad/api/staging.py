"""Looking at programs without running them: make_jaxpr, eval_shape, ShapeDtypeStruct."""

import functools
import operator
from collections.abc import Callable
from typing import Any

from funcgrad.api.autodiff import abstract_leaf
from funcgrad.bridge.flat import FlatFunction, check_callable, normalise_argnums
from funcgrad.core import dtypes as dt
from funcgrad.core.aval import ShapedArray
from funcgrad.core.errors import UsageError, message
from funcgrad.core.pytree import tree_flatten, tree_unflatten
from funcgrad.core.tracebacks import api_boundary
from funcgrad.ir.jaxpr import ClosedJaxpr
from funcgrad.numpy._axes import shape_of
from funcgrad.trace.interpreter import Interpreter, current, running
from funcgrad.trace.stage import stage


class ShapeDtypeStruct:
    """The shape and dtype of an array, without its numbers. Accepted wherever only these matter.

    >>> x = fg.ShapeDtypeStruct((2, 3), np.float32)
    >>> fg.eval_shape(lambda x: x.T @ x, x)
    ShapeDtypeStruct(shape=(3, 3), dtype=float32)
    """

    __slots__ = ("shape", "dtype", "weak_type")

    def __init__(
        self,
        shape: Any,
        dtype: Any,
        *,
        sharding: Any = None,
        weak_type: bool = False,
        manual_axis_type: Any = None,
        is_ref: bool = False,
    ):
        if sharding is not None or manual_axis_type is not None or is_ref:
            raise UsageError(
                message("ShapeDtypeStruct: got sharding=, manual_axis_type= or is_ref=", "none is supported", "leave it out")
            )
        if dtype is None:
            raise UsageError(message("ShapeDtypeStruct: got dtype=None", "a dtype", "write dtype='float32'"))
        self.shape, self.dtype, self.weak_type = shape_of(shape, "fg.ShapeDtypeStruct"), dt.canonical(dtype), bool(weak_type)

    @classmethod
    def of(cls, aval: ShapedArray) -> "ShapeDtypeStruct":
        """The description of an abstract value."""
        return cls(aval.shape, aval.dtype, weak_type=aval.weak_type)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        n = 1
        for extent in self.shape:
            n *= extent
        return n

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, ShapeDtypeStruct) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple:
        return (self.shape, self.dtype, self.weak_type)

    def __repr__(self) -> str:
        dtype = dt.short_name(self.dtype) if self.dtype == dt.KEY else self.dtype.name
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={dtype})"


@api_boundary
def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes that `fun(*args, **kwargs)` would return, as ShapeDtypeStructs, computing nothing.

    args may hold arrays, Python numbers or ShapeDtypeStructs.

    >>> fg.eval_shape(lambda x: {"sum": x.sum(), "pairs": x[:, None] * x}, fnp.ones(3))
    {'pairs': ShapeDtypeStruct(shape=(3, 3), dtype=float32), 'sum': ShapeDtypeStruct(shape=(), dtype=float32)}
    """
    check_callable("eval_shape", fun)
    leaves, in_tree = tree_flatten((args, kwargs))
    flat = FlatFunction("eval_shape", fun, in_tree, lambda both: fun(*both[0], **both[1]))
    jaxpr, _ = stage(flat, [abstract_leaf("eval_shape", x) for x in leaves])
    return tree_unflatten(flat.out_tree, [ShapeDtypeStruct.of(a) for a in jaxpr.out_avals])


def _axes(axis_env: Any) -> tuple[tuple[Any, int], ...]:
    try:
        return tuple([(name, operator.index(size)) for name, size in axis_env])
    except (TypeError, ValueError):
        raise UsageError(
            message(f"make_jaxpr: got axis_env={axis_env!r}", "a sequence of pairs (name, size)", "write axis_env=[('i', 4)]")
        ) from None


def make_jaxpr(
    fun: Callable[..., Any], static_argnums: Any = (), axis_env: Any = None, return_shape: bool = False
) -> Callable[..., Any]:
    """A function that gives the program of `fun` for arguments like the ones it is called with.

    static_argnums: positional arguments that are passed as they are. axis_env: pairs (name, size) of named axes that are to be
    bound, as inside vmap(..., axis_name=name). return_shape: give also the output's ShapeDtypeStructs.
    The result prints in the notation that JAX users know; it is a `ClosedJaxpr`, its arrays from outside are in `.consts`.

    >>> import funcgrad as fg, funcgrad.numpy as fnp
    >>> fg.make_jaxpr(fnp.sin)(fnp.zeros(3))
    { lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }
    """
    check_callable("make_jaxpr", fun)
    axes = _axes(axis_env or ())

    @functools.wraps(fun, updated=())
    @api_boundary
    def maker(*args: Any, **kwargs: Any) -> Any:
        statics = normalise_argnums("make_jaxpr", static_argnums, len(args)) if static_argnums != () else ()
        dynamic = [a for i, a in enumerate(args) if i not in statics]
        leaves, in_tree = tree_flatten((dynamic, kwargs))

        def call(both: Any) -> Any:
            given = iter(both[0])
            return fun(*[args[i] if i in statics else next(given) for i in range(len(args))], **both[1])

        flat = FlatFunction("make_jaxpr", fun, in_tree, call)
        with running(Interpreter(current(), axes)):
            jaxpr, consts = stage(flat, [abstract_leaf("make_jaxpr", x) for x in leaves])
        closed = ClosedJaxpr(jaxpr, consts)
        if return_shape:
            return closed, tree_unflatten(flat.out_tree, [ShapeDtypeStruct.of(a) for a in jaxpr.out_avals])
        return closed

    return maker
