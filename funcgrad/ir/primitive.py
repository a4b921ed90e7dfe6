"""What is known of an operator.

A `Primitive` is a name and its rules. Rules are plain functions; the families in `ops/` fill most of them.
Nothing here runs an operator: `trace.bind` does.

The signatures of the rules (x are values, `None` is a symbolic zero):
    abstract(*avals, **params)           -> aval, or a list of avals with multiple_results
    numpy(*arrays, **params)             -> the meaning, on np.ndarray: an array, or a sequence of them
    jvp(primals, tangents, **params)     -> (out, tangent_out); lists with multiple_results
    transpose(ct, *args, **params)       -> a cotangent (or a `Placed`) or None for each arg; linear args come as `LinearArg`;
                                            with multiple_results ct is a list that may hold None
    batch(size, args, dims, **params)    -> (out, dim_out); args are batched along dims[i], or not where it is None
    batch_named(axis, args, dims, **params) -> as batch, for a batch whose axis (axis.size) has a name (axis.name); for
                                            operators that speak of named axes, or carry programs or functions that may
    partial_eval(known, args, params)    -> how a call splits into what is known and what is not (calls only)
    mask_transpose(mask, *args, **params) -> as transpose, for the boolean array that says where a cotangent is live;
                                            None where the mask cannot be carried on
    blocks                               -> its transpose blocks cotangents somewhere (select): mask_transpose then also
                                            takes mask=None, which means that all of the cotangent is live
    run(*values, **params)               -> how it is evaluated eagerly, where not by `numpy`: calls user functions as they are
    stage(trace, args, params)           -> how it is recorded, where that is not as one equation of these params
    loop                                 -> a descriptor from `ir.loop_rules`
    dtypes                               -> those that its array operands may have
    samples(rng, dtype)                  -> [(args, params), ...] for tests, args np.ndarrays of that dtype where it applies
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from funcgrad.core.aval import ShapedArray

# A rule that does not exist says why.
Rule = Callable[..., Any] | str


class LinearArg:
    """Stands for the unknown argument of a linear operator while it is transposed."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval


class Placed:
    """A cotangent of this aval that is zero but in some places: `into(x)` is `x` with it added there. A transpose rule may give
    one, so that many of them (each step of a loop reads one element of an array) are added up at the price of what they hold.

    `pieces`, where they are known, are (first corner, last corner, cotangent) of windows: of them the whole is put together
    without adding up arrays of zeros."""

    __slots__ = ("aval", "into", "pieces")

    def __init__(self, aval: ShapedArray, into: Callable[[Any], Any], pieces: tuple[tuple[Any, Any, Any], ...] = ()):
        self.aval, self.into, self.pieces = aval, into, pieces


class Primitive:
    """An operator of the IR. Every rule is given, or is a text that says why there is none."""

    __slots__ = (
        "name", "multiple_results", "abstract", "numpy", "jvp", "transpose", "batch", "batch_named", "loop", "partial_eval",
        "mask_transpose", "blocks", "run", "stage", "dtypes", "samples", "doc", "effectful", "__weakref__",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        *,
        abstract: Callable[..., Any],
        numpy: Callable[..., Any],
        jvp: Rule,
        transpose: Rule,
        batch: Rule,
        loop: Any,
        dtypes: frozenset,
        samples: Callable[..., Iterable[Any]] | str,
        multiple_results: bool = False,
        batch_named: Callable[..., Any] | None = None,
        partial_eval: Callable[..., Any] | None = None,
        mask_transpose: Callable[..., Any] | None = None,
        blocks: bool = False,
        run: Callable[..., Any] | None = None,
        stage: Callable[..., Any] | None = None,
        effectful: bool = False,
        doc: str = "",
    ):
        for rule_name, rule in (("jvp", jvp), ("transpose", transpose), ("batch", batch)):
            if not callable(rule) and not (isinstance(rule, str) and len(rule) > 8):
                raise TypeError(f"{name}: rule {rule_name} is missing; give it, or a text that says why there is none")
        self.name, self.multiple_results = name, multiple_results
        self.abstract, self.numpy = abstract, numpy
        self.jvp, self.transpose, self.batch, self.loop = jvp, transpose, batch, loop
        self.batch_named, self.partial_eval, self.mask_transpose = batch_named, partial_eval, mask_transpose
        self.blocks, self.run, self.stage = blocks, run, stage
        self.dtypes, self.samples, self.doc, self.effectful = dtypes, samples, doc, effectful

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple:
        return primitive, (self.name,)


# Every primitive, by name. Tests, docs and exports walk it.
REGISTRY: dict[str, Primitive] = {}


P = TypeVar("P", bound=Primitive)


def register(p: P) -> P:
    """Enter `p` into the registry. One name, one primitive."""
    if p.name in REGISTRY:
        raise ValueError(f"primitive {p.name!r} is declared twice")
    REGISTRY[p.name] = p
    return p


def primitive(name: str) -> Primitive:
    return REGISTRY[name]
