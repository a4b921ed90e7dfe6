"""Lower: every equation becomes a node of the graph, or a view of one.

In: a Jaxpr without calls (passes/inline has run). Out: a `Graph`. Structural primitives become affine
maps, pointwise ones become templates applied at every index, and what kernels cannot do becomes a host
node. Nothing is decided here about what exists in memory, except where memory is what an operator needs.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.ir import loop_rules as rules
from funcgrad.ir.effects import effectful
from funcgrad.ir.jaxpr import Eqn, Jaxpr, Literal, Var
from funcgrad.loops.carried import carried
from funcgrad.loops.contract import dot_general, reduce_node
from funcgrad.loops.control import lower_control
from funcgrad.loops.convolution import convolution
from funcgrad.loops.graph import Arg, Graph, Node, Number, Random, Ref, Region
from funcgrad.loops.program import View as ArrayView
from funcgrad.loops.templates import (
    KERNEL_DTYPES,
    cast_template,
    copy_template,
    fold_template,
    read_in_place,
    storage_dtype,
    template,
    without_handles,
)
from funcgrad.loops.views import Strided

INT64 = np.dtype(np.int64)
BOOL = np.dtype(np.bool_)

# A fold of more elements than this is cut into parts, so that threads can share it.
SPLIT = 1 << 19
SPLIT_COLUMNS = 1 << 22  # where several values are kept, and threads can share these
PART = 1 << 15  # elements of a part, about
PARTS = 8  # at least so many
SMALL_WINDOW = 4  # what is written into an array is small from this ratio of sizes on
_FOLDS = frozenset({"add", "mul", "max", "min", "and", "or", "xor"})


class HostCall:
    """A primitive's NumPy meaning on the arrays of a host step, with its literals in their places."""

    __slots__ = ("primitive", "params", "literals")

    def __init__(self, primitive: Any, params: dict[str, Any], literals: tuple[Any, ...]):
        self.primitive, self.params, self.literals = primitive, params, literals

    def __call__(self, *arrays: np.ndarray) -> Any:
        with np.errstate(all="ignore"):
            return self.primitive.numpy(*self.operands(arrays), **self.params)

    def operands(self, arrays: Sequence[np.ndarray]) -> list[Any]:
        rest = iter(arrays)
        return [next(rest) if x is None else x for x in self.literals]

    def into(self, ins: Sequence[np.ndarray], outs: Sequence[np.ndarray]) -> bool:
        """Write the results where they are to be, if the primitive can; whether it did."""
        into = getattr(self.primitive.loop, "into", None)
        if into is not None:
            into(self.operands(ins), outs, **self.params)
        return into is not None

    def native(self, ins: Sequence[ArrayView], outs: Sequence[ArrayView]) -> Any:
        """How the driver can do it, if it can."""
        native = getattr(self.primitive.loop, "native", None)
        if native is None:
            return None
        told = [(v.shape, v.strides, v.dtype) for v in (*ins, *outs)]
        return native(self.operands(told[: len(ins)]), told[len(ins) :], **self.params)  # type: ignore[arg-type]


class Lowering:
    """One run of `lower`: the graph so far, and what each variable is."""

    def __init__(self, jaxpr: Jaxpr, pairs: dict[int, int] | None):
        self.graph = Graph()
        self.pairs = pairs
        self.env: dict[Var, Any] = {}  # Strided or Number
        self.effect: Node | None = None  # the last host node with effects: they run in the program's order
        self.permuted = _transposed(jaxpr)
        for i, var in enumerate(jaxpr.constvars + jaxpr.invars):
            node = Node(self.graph, "input", var.aval.shape, var.aval.dtype)
            node.input, node.must = i, True
            self.graph.inputs.append(node)
            self.env[var] = node.view()

    def value(self, atom: Any) -> Any:
        """What an atom is: a Strided, or a Number for a literal."""
        if atom.__class__ is Literal:
            return Number(atom.value, atom.aval.dtype)
        return self.env[atom]

    def array(self, atom: Any) -> Strided:
        """The operand as a view; a literal becomes a 0-d node."""
        value = self.value(atom)
        if value.__class__ is Number:
            dtype = storage_dtype(value.dtype)
            return self.graph.map((), value.dtype, copy_template(dtype), (value,)).view()
        return value

    def random(self, atom: Any) -> Random:
        v = self.array(atom)
        if 0 in v.shape:
            # A select may evaluate a read that it does not take: let there be something to read.
            dtype = storage_dtype(v.node.dtype)
            zero = self.graph.map((), v.node.dtype, copy_template(dtype), (Number(np.zeros((), v.node.dtype)[()], v.node.dtype),))
            return Random(zero, 0, v.shape, (0,) * v.ndim)
        return Random(v.node, v.offset, v.shape, v.strides)

    def ref(self, atom: Any, ndim: int) -> Arg:
        """The operand as it is read at each index of a space of rank `ndim`; a scalar stands still."""
        v: Any = self.env[atom] if atom.__class__ is not Literal else Number(atom.value, atom.aval.dtype)
        if v.__class__ is Number:
            return v
        if len(v.shape) != ndim:
            return Ref(v.node, v.offset, (0,) * ndim)
        return Ref(v.node, v.offset, v.strides)

    # --- one method for each kind of rule -----------------------------------------------------------------

    def pointwise(self, eqn: Eqn, rule: rules.Pointwise) -> None:
        out = eqn.outputs[0].aval
        ndim = len(out.shape)
        args = tuple([self.ref(x, ndim) for x in eqn.inputs])
        dtypes = tuple([x.aval.dtype for x in eqn.inputs])
        self.maps(eqn, template(rule.fn, dtypes, tuple([v.aval.dtype for v in eqn.outputs]), eqn.params), args)

    def maps(self, eqn: Eqn, body: Any, args: tuple[Arg, ...]) -> None:
        for k, var in enumerate(eqn.outputs):
            node = self.graph.map(var.aval.shape, var.aval.dtype, body, args, k)
            node.source = eqn.source
            self.env[var] = Strided(node, 0, node.shape, node.strides)

    def indexed(self, eqn: Eqn, rule: rules.Indexed) -> None:
        ndim = len(eqn.outputs[0].aval.shape)
        handles = range(len(eqn.inputs)) if rule.random is None else rule.random
        if any(0 in eqn.inputs[i].aval.shape for i in handles):  # there is nothing that a load could read
            self.host(eqn, rule)
            return
        shape = eqn.outputs[0].aval.shape
        if rule.window is not None and eqn.outputs[0].aval.size >= SMALL_WINDOW * eqn.inputs[1].aval.size:
            self.window(eqn, rule.window)
            return
        ranks = tuple([len(x.aval.shape) if i in handles else None for i, x in enumerate(eqn.inputs)])
        dtypes = tuple([x.aval.dtype for x in eqn.inputs])
        body = template(rule.fn, dtypes, tuple([v.aval.dtype for v in eqn.outputs]), eqn.params, ranks)
        here = tuple([k for k in read_in_place(body, ndim) if eqn.inputs[k].aval.shape == shape])
        if here:
            body = without_handles(body, here)
        args = [self.random(x) if i in handles and i not in here else self.ref(x, ndim) for i, x in enumerate(eqn.inputs)]
        self.maps(eqn, body, tuple(args))

    def view(self, eqn: Eqn, rule: rules.View) -> None:
        v = self.value(eqn.inputs[0])
        if v.__class__ is Number:
            v = self.array(eqn.inputs[0])
        self.env[eqn.outputs[0]] = rule.fn(v, **eqn.params)

    def reduce(self, eqn: Eqn, rule: rules.Reduce) -> None:
        v, out = self.array(eqn.inputs[0]), eqn.outputs[0]
        axes, dtype = tuple(eqn.params["axes"]), out.aval.dtype
        if rule.op not in _FOLDS:
            self.env[out] = self.arg_fold(v, axes, rule.op, dtype)
            return
        if v.node.dtype != dtype:
            body = cast_template(v.node.dtype, dtype)
            v = self.graph.map(v.shape, dtype, body, (Ref(v.node, v.offset, v.strides),)).view()
        self.env[out] = self.fold(v, axes, rule.op, dtype) if axes else v

    def fold(self, v: Strided, axes: tuple[int, ...], op: str, dtype: np.dtype) -> Strided:
        """A reduction, in two stages where one stage would be one thread's work."""
        v, axes = _descending(v, axes)
        kept = 1
        total = 1
        for i, n in enumerate(v.shape):
            total *= n
            kept *= 1 if i in axes else n
        if total > (SPLIT if kept == 1 else SPLIT_COLUMNS) and kept < 4096 and axes[0] == 0:
            n = v.shape[0]
            if len(axes) > 1 and n >= 2 * PARTS and total // n // kept >= PART >> 7:
                part = reduce_node(self.graph, v, axes[1:], op, dtype)
                return self.fold(part, (0,), op, dtype)
            rows = max(1, PART * n // total)
            if n // rows >= PARTS:
                return self.in_parts(v, axes, rows, op, dtype)
        return reduce_node(self.graph, v, axes, op, dtype)

    def in_parts(self, v: Strided, axes: tuple[int, ...], rows: int, op: str, dtype: np.dtype) -> Strided:
        """A fold over the first axis (and others) as folds over `rows` of it, what is left over, and a fold of these."""
        n, tail = v.shape[0], v.shape[1:]
        parts = n // rows
        ones = (1,) * v.ndim
        zeros = (0,) * v.ndim
        whole = v.slice(zeros, (parts * rows, *tail), ones).reshape((parts, rows, *tail))
        part = reduce_node(self.graph, whole, tuple([a + 1 for a in axes]), op, dtype)
        out = reduce_node(self.graph, part, (0,), op, dtype)
        if parts * rows == n:
            return out
        rest = reduce_node(self.graph, v.slice((parts * rows, *zeros[1:]), v.shape, ones), axes, op, dtype)
        refs = tuple([Ref(x.node, x.offset, x.strides) for x in (out, rest)])
        return self.graph.map(out.shape, dtype, fold_template(op, dtype), refs).view()

    def arg_fold(self, v: Strided, axes: tuple[int, ...], op: str, dtype: np.dtype) -> Strided:
        found = reduce_node(self.graph, v, axes, op, INT64)
        if dtype == INT64:
            return found
        ref = Ref(found.node, 0, found.strides)
        return self.graph.map(found.shape, dtype, cast_template(INT64, dtype), (ref,)).view()

    def scan(self, eqn: Eqn, rule: rules.Scan) -> None:
        v, out = self.array(eqn.inputs[0]), eqn.outputs[0]
        axis, dtype = eqn.params["axis"], out.aval.dtype
        node = Node(self.graph, "scan", v.shape, dtype)
        place = node.view()
        if eqn.params.get("reverse", False):
            v, place = v.reverse((axis,)), place.reverse((axis,))
        node.axes, node.op, node.must = (axis,), rule.op, True
        node.args = (Ref(v.node, v.offset, v.strides),)
        node.call = (place.offset, place.strides)
        self.graph.read(node)
        self.env[out] = node.view()

    def assemble(self, eqn: Eqn, rule: rules.Assemble) -> None:
        out = eqn.outputs[0]
        fill, parts = rule.fn([x.aval for x in eqn.inputs], out.aval, **eqn.params)
        node = Node(self.graph, "assemble", out.aval.shape, out.aval.dtype)
        regions = []
        if fill is not None:
            arg = self.ref(eqn.inputs[fill], node.view().ndim)
            regions.append(Region(node.shape, 0, node.strides, arg))
        for number, out_view, in_view in parts:
            place = node.view() if out_view is None else out_view(node.view())
            arg = self.value(eqn.inputs[number])
            if arg.__class__ is Strided:
                v = arg if in_view is None else in_view(arg)
                arg = Ref(v.node, v.offset, v.strides if v.ndim == place.ndim else (0,) * place.ndim)
            if 0 not in place.shape:
                regions.append(Region(place.shape, place.offset, place.strides, arg))
        node.regions, node.must = tuple(regions), True
        node.args = tuple([r.arg for r in regions])
        for region in regions:
            if region.arg.__class__ is Ref:
                region.arg.node.uses.append((node, region.arg, region.shape))
        self.env[out] = node.view()

    def scatter(self, eqn: Eqn, rule: rules.Scatter) -> None:
        x, indices, updates = eqn.inputs[:3]
        handle = self.random(indices)
        body = template(rule.fn, (indices.aval.dtype,), (INT64,), eqn.params, (len(handle.shape),))
        self.write(eqn, x, (handle,), updates, body, rule.combine)

    def window(self, eqn: Eqn, fn: Callable[..., Any]) -> None:
        """A window written into its operand's memory, or into a copy of it."""
        x, updates, *starts = eqn.inputs
        dtypes = tuple([i.aval.dtype for i in starts])
        args = tuple([self.ref(i, updates.aval.ndim) for i in starts])
        self.write(eqn, x, args, updates, template(fn, dtypes, (INT64,), {}), None)

    def write(self, eqn: Eqn, x: Any, indices: tuple[Arg, ...], updates: Any, body: Any, combine: str | None) -> None:
        out = eqn.outputs[0]
        space = updates.aval.shape
        old, new = self.ref(x, out.aval.ndim), self.ref(updates, updates.aval.ndim)
        if old.__class__ is Ref and out.aval.size >= SMALL_WINDOW * updates.aval.size:
            new = self.read_before(old.node, new, space)
        node = Node(self.graph, "scatter", out.aval.shape, out.aval.dtype)
        node.space, node.op, node.template, node.source, node.must = space, combine, body, eqn.source, True
        node.args = (old, *indices, new)
        for arg in node.args:
            if arg.__class__ is Ref:
                arg.node.uses.append((node, arg, node.shape if arg is old else node.space))
            elif arg.__class__ is Random:
                arg.node.randoms.append((node, arg))
        self.env[out] = node.view()

    def read_before(self, x: Node, new: Arg, space: Any) -> Arg:
        """Small values that are made of `x` are computed before it is written over, so that this can be done."""
        for reader in [u[0] for u in x.uses] + [r[0] for r in x.randoms]:
            if reader.kind == "map" and SMALL_WINDOW * reader.size <= x.size:
                reader.must = True
        if new.__class__ is Ref and new.node is x:
            v = self.graph.copy(Strided(x, new.offset, space, new.strides))
            v.node.must = True
            return Ref(v.node, 0, v.strides)
        return new

    def dot(self, eqn: Eqn, rule: rules.Dot) -> None:
        a, b = (self.array(x) for x in eqn.inputs)
        (ka, kb), (ba, bb) = eqn.params["dimension_numbers"]
        out = eqn.outputs[0]
        self.env[out] = dot_general(self.graph, a, b, ((ka, kb), (ba, bb)), out.aval.dtype, self.permuted.get(out))

    def convolution(self, eqn: Eqn, rule: rules.Convolution) -> None:
        x, y = (self.array(v) for v in eqn.inputs)
        out = eqn.outputs[0]
        self.env[out] = convolution(self.graph, x, y, eqn.params, out.aval.shape, out.aval.dtype)

    def host(self, eqn: Eqn, rule: Any) -> None:
        args = [self.value(x) for x in eqn.inputs]
        literals = tuple([a.dtype.type(a.value) if a.__class__ is Number else None for a in args])
        views = tuple([Random(a.node, a.offset, a.shape, a.strides) for a in args if a.__class__ is Strided])
        results: list[Node] = []
        for var in eqn.outputs:
            node = Node(self.graph, "result" if results else "host", var.aval.shape, var.aval.dtype)
            node.args = (Random(results[0], 0, results[0].shape, results[0].strides),) if results else views
            node.must = True
            results.append(node)
            self.env[var] = node.view()
        for a in views:
            a.node.must = True
        effect = effectful(eqn)
        if not results and not effect:
            return
        node = results[0] if results else Node(self.graph, "host", (), BOOL)  # without results it is a place in the order
        node.args, node.must, node.results = views, True, results
        node.call = (eqn.primitive.name, HostCall(eqn.primitive, eqn.params, literals))
        if effect:
            node.after, self.effect = self.effect, node

    def control(self, eqn: Eqn, rule: rules.Loop) -> None:
        if not carried(eqn, self):
            lower_control(self, eqn)

    def fence(self, eqn: Eqn, rule: rules.Fence) -> None:
        """A second name for the operand's memory, which is a step of its own in the order of things."""
        v = self.array(eqn.inputs[0])
        node = Node(self.graph, "fence", v.node.shape, v.node.dtype)
        node.args, node.must, v.node.must = (Random(v.node, 0, v.node.shape, v.node.strides),), True, True
        self.env[eqn.outputs[0]] = Strided(node, v.offset, v.shape, v.strides)

    def output(self, number: int, atom: Any) -> None:
        v = self.value(atom)
        if v.__class__ is Number:
            v = self.array(atom)
        node = v.node
        forward = self.pairs is None or self.pairs.get(number) == node.input
        if node.kind == "input" and forward and v.whole() and v.shape == node.shape:
            self.graph.outputs.append(node)
            return
        if node.kind == "input" or node.kind == "fence" or node.output is not None or not v.whole():
            node = self.graph.fresh_copy(v)
        node.output, node.must = number, True
        self.graph.outputs.append(node)


def _transposed(jaxpr: Jaxpr) -> dict[Var, tuple[int, ...]]:
    """Products and results of loops whose only reader transposes them -> its permutation."""
    makers = [e for e in jaxpr.eqns if e.primitive.loop.__class__ in (rules.Dot, rules.Loop)]
    readers: dict[Any, list[Eqn | None]] = {v: [] for e in makers for v in e.outputs}
    if not readers:
        return {}
    for eqn in jaxpr.eqns:
        for x in eqn.inputs:
            if x in readers:
                readers[x].append(eqn)
    for x in jaxpr.outvars:
        if x in readers:
            readers[x].append(None)
    found = {}
    for var, eqns in readers.items():
        if len(eqns) == 1 and eqns[0] is not None and eqns[0].primitive.name == "transpose":
            found[var] = tuple(eqns[0].params["permutation"])
    return found


def _descending(v: Strided, axes: tuple[int, ...]) -> tuple[Strided, tuple[int, ...]]:
    """A fold does not mind the order of its axes: put them as they lie in memory, if the kept ones keep their order."""
    order = sorted(range(v.ndim), key=lambda i: -abs(v.strides[i]))
    kept = [i for i in order if i not in axes]
    if order == list(range(v.ndim)) or kept != sorted(kept) or 0 in v.strides:
        return v, axes
    return v.transpose(order), tuple([p for p, i in enumerate(order) if i in axes])


_RULES: dict[type, Callable[[Lowering, Eqn, Any], None]] = {
    rules.Pointwise: Lowering.pointwise,
    rules.Indexed: Lowering.indexed,
    rules.View: Lowering.view,
    rules.Reduce: Lowering.reduce,
    rules.Scan: Lowering.scan,
    rules.Assemble: Lowering.assemble,
    rules.Scatter: Lowering.scatter,
    rules.Dot: Lowering.dot,
    rules.Convolution: Lowering.convolution,
    rules.Host: Lowering.host,
    rules.Loop: Lowering.control,
    rules.Fence: Lowering.fence,
}
_ANY_DTYPE = frozenset({rules.View, rules.Assemble, rules.Host, rules.Loop, rules.Fence})
_HOSTED: dict[Any, Any] = {rules.Inline: Lowering.host}  # where dtypes have no kernels


def lower(jaxpr: Jaxpr, pairs: dict[int, int] | None = None) -> Graph:
    """The graph of a Jaxpr. Raises TypeError for an equation that a pass should have replaced.

    `pairs`: of a program inside another one, the outputs that may lie in an input's memory; other outputs never are an input."""
    lowering = Lowering(jaxpr, pairs)
    for eqn in jaxpr.eqns:
        rule = eqn.primitive.loop
        kind = rule.__class__
        method = _RULES.get(kind)
        narrow = kind not in _ANY_DTYPE and any([x.aval.dtype not in KERNEL_DTYPES for x in eqn.inputs + eqn.outputs])
        if narrow:
            method = Lowering.host if method is not None else _HOSTED.get(kind)
        if method is None:
            raise TypeError(
                f"lower: got {eqn.primitive.name} with the rule {rule!r}; calls and inlined operators are replaced by "
                "passes.simplify before lowering; call that first"
            )
        method(lowering, eqn, rule)
    for number, atom in enumerate(jaxpr.outvars):
        lowering.output(number, atom)
    lowering.graph.out_types = tuple([(x.aval.shape, x.aval.dtype) for x in jaxpr.outvars])
    return lowering.graph
