"""The contract of every primitive: one body, run over the registry.

What each rule says is compared with what follows from NumPy's meaning alone: shapes and dtypes with the arrays it gives, jvp
with difference quotients (also that of the jvp: second order), vjp with jvp, vmap with a Python loop.
"""

import itertools

import numpy as np
import pytest

import funcgrad.bridge.eager  # noqa: F401  (the floor of the interpreter stack)
import funcgrad.ops as ops
from funcgrad.api.jit import jit
from funcgrad.bridge.array import from_numpy
from funcgrad.core import dtypes as dt
from funcgrad.core.aval import shaped
from funcgrad.core.errors import DtypeError, ShapeError
from funcgrad.ir.check import check
from funcgrad.ir.evaluate import evaluate
from funcgrad.ir.primitive import REGISTRY, LinearArg
from funcgrad.loops import interpreter
from funcgrad.loops.compile import compile_program
from funcgrad.ops._family import batch_at, full
from funcgrad.passes import simplify
from funcgrad.trace.stage import stage
from funcgrad.trace.value import Value, aval_of
from funcgrad.transforms.jvp import current_apply, jvp
from funcgrad.transforms.linearize import linearize
from funcgrad.transforms.transpose import backward
from funcgrad.transforms.vmap import vmap

assert ops
PRIMITIVES = {name: p for name, p in sorted(REGISTRY.items()) if callable(p.samples)}
DTYPES = [d for d in sorted(dt.ANY - dt.FLOAT8, key=str)]
WIDE = [dt.float64, dt.complex128]
# Rounding, or a tangent that is zero by definition, or that of a distribution and not of the method that draws from it: a difference
# quotient says nothing about these.
NO_QUOTIENT = {
    "bitcast_convert_type", "convert_element_type", "nextafter", "random_gamma", "reduce_precision", "stop_gradient",
}  # fmt: skip


def cases(name, dtype, seed=0):
    """The sample operands, as NumPy arrays, and params."""
    return list(PRIMITIVES[name].samples(np.random.default_rng(seed), dtype))


def pairs(dtypes):
    return [(name, d) for name, p in PRIMITIVES.items() for d in dtypes if d in p.dtypes]


def ids(pair):
    return f"{pair[0]}-{dt.short_name(pair[1])}"


def numbers(x):
    return np.asarray(x._np if isinstance(x, Value) else x)


def listed(p, out):
    return list(out) if p.multiple_results else [out]


def close(got, want, tolerance=1e-6, what=""):
    got, want = numbers(got), numbers(want)
    assert got.shape == want.shape, (what, got.shape, want.shape)
    if got.dtype == dt.KEY or got.dtype.kind in "biu":
        np.testing.assert_array_equal(got, want, err_msg=what)
    else:
        wide = np.complex128 if got.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(got.astype(wide), want.astype(wide), rtol=tolerance, atol=tolerance, err_msg=what)


@pytest.mark.parametrize("name", sorted(PRIMITIVES))
def test_dtypes_that_it_does_not_list_are_refused(name):
    """Before anything runs, so that eager and compiled calls say the same."""
    p = PRIMITIVES[name]
    base = dt.float32 if dt.float32 in p.dtypes else min(p.dtypes, key=str)
    for dtype in sorted((dt.ANY | dt.BOOLS | {dt.KEY}) - p.dtypes, key=str):
        for args, params in cases(name, base):
            avals = [from_numpy(a).aval for a in args]
            if any(a.dtype == base for a in avals):
                other = [shaped(a.shape, dtype) if a.dtype == base else a for a in avals]
                with pytest.raises((DtypeError, ShapeError)):
                    p.abstract(*other, **params)


@pytest.mark.parametrize("pair", pairs(DTYPES), ids=ids)
def test_shape_and_dtype_are_those_of_the_numpy_meaning(pair):
    name, dtype = pair
    p = PRIMITIVES[name]
    for args, params in cases(name, dtype):
        avals = p.abstract(*[from_numpy(a).aval for a in args], **params)
        with np.errstate(all="ignore"):
            outs = p.numpy(*args, **params)
        for aval, out in zip(listed(p, avals), listed(p, outs), strict=True):
            out = np.asarray(out)
            assert out.shape == aval.shape and (out.dtype == aval.dtype or name in ("population_count", "clz")), (args, params)
            assert not aval.weak_type


@pytest.mark.parametrize("pair", pairs([dt.float32, dt.int32, dt.bool_, dt.KEY]), ids=ids)
def test_operands_need_not_be_contiguous(pair):
    name, dtype = pair
    p = PRIMITIVES[name]
    for args, params in cases(name, dtype):
        strided = [np.repeat(a, 2, axis=-1)[..., ::2] if a.ndim else a for a in args]
        turned = [np.asarray(a, order="F") for a in args]
        with np.errstate(all="ignore"):
            want = listed(p, p.numpy(*args, **params))
            for other in (strided, turned):
                for x, y in zip(listed(p, p.numpy(*other, **params)), want, strict=True):
                    close(x, y, what=f"{params}")


@pytest.mark.parametrize("pair", pairs([dt.float64, dt.int32, dt.bool_]), ids=ids)
def test_operands_are_not_written(pair):
    name, dtype = pair
    p = PRIMITIVES[name]
    for args, params in cases(name, dtype):
        arrays = [from_numpy(a) for a in args]  # read-only memory
        p(*arrays, **params)
        for a, b in zip(arrays, args, strict=True):
            np.testing.assert_array_equal(a._np, b)


# --- derivatives --------------------------------------------------------------------------------------------------


def moving(args):
    return [np.asarray(a).dtype in dt.INEXACT for a in args]


def direction(rng, x):
    t = rng.uniform(-1, 1, x.shape)
    return np.asarray(t + 1j * rng.uniform(-1, 1, x.shape) if x.dtype.kind == "c" else t).astype(x.dtype)


def jvp_arrays(fun, args, ts):
    """Outputs and tangents (zeros for None) as NumPy arrays."""
    outs, t_outs = jvp(fun, [from_numpy(a) for a in args], [None if t is None else from_numpy(t) for t in ts])
    return [numbers(x) for x in outs], [
        np.zeros(aval_of(x).shape, aval_of(x).dtype) if t is None else numbers(t) for x, t in zip(outs, t_outs, strict=True)
    ]


def quotient(fun, args, ts, h=1e-5):
    """The central difference of a function of NumPy arrays along `ts`."""

    def at(step):
        return fun([a if t is None else a + step * t for a, t in zip(args, ts, strict=True)])

    return [(p - m) / (2 * h) if p.dtype.kind in "fc" else np.zeros_like(p) for p, m in zip(at(h), at(-h), strict=True)]


def smooth_cases(name, dtype):
    p = PRIMITIVES[name]
    for args, params in cases(name, dtype):
        if any(moving(args)):
            yield (lambda *xs, params=params: listed(p, p(*xs, **params))), args, params


SMOOTH = [pair for pair in pairs(WIDE) if pair[0] not in NO_QUOTIENT]


@pytest.mark.parametrize("pair", SMOOTH, ids=ids)
def test_jvp_is_the_limit_of_difference_quotients(pair):
    name, dtype = pair
    rng = np.random.default_rng(1)
    for fun, args, params in smooth_cases(name, dtype):
        for which in [moving(args), *([i == k and m for i, m in enumerate(moving(args))] for k in range(len(args)))]:
            if not any(which):
                continue
            ts = [direction(rng, a) if w else None for a, w in zip(args, which, strict=True)]
            outs, t_outs = jvp_arrays(fun, args, ts)
            want = quotient(lambda xs, fun=fun: [numbers(x) for x in fun(*[from_numpy(x) for x in xs])], args, ts)
            for out, t, q in zip(outs, t_outs, want, strict=True):
                if out.dtype.kind in "fc":
                    assert t.dtype == out.dtype
                    close(t, q, 2e-5, f"{name} {params} {which}")


@pytest.mark.parametrize("pair", SMOOTH, ids=ids)
def test_second_derivative_is_the_limit_of_difference_quotients(pair):
    name, dtype = pair
    rng = np.random.default_rng(2)
    for fun, args, params in smooth_cases(name, dtype):
        ts = [direction(rng, a) if m else None for a, m in zip(args, moving(args), strict=True)]
        ss = [direction(rng, a) if m else None for a, m in zip(args, moving(args), strict=True)]

        def first(*xs, fun=fun, ts=ts):
            outs, t_outs = jvp(fun, xs, [None if t is None else from_numpy(t) for t in ts])
            return [t for t in t_outs if t is not None]

        _, second = jvp_arrays(first, args, ss)
        want = quotient(lambda xs, first=first: [numbers(x) for x in first(*[from_numpy(x) for x in xs])], args, ss)
        for t, q in zip(second, want, strict=True):
            close(t, q, 5e-5, f"{name} {params}")


def dot(xs, ys):
    return sum((np.sum(x * y) for x, y in zip(xs, ys, strict=True)), 0.0)


@pytest.mark.parametrize("pair", pairs(WIDE), ids=ids)
def test_vjp_is_the_transpose_of_jvp(pair):
    name, dtype = pair
    rng = np.random.default_rng(3)
    for fun, args, params in smooth_cases(name, dtype):
        for which in [moving(args), *([i == k and m for i, m in enumerate(moving(args))] for k in range(len(args)))]:
            if not any(which):
                continue
            line = linearize(fun, [from_numpy(a) for a in args], which)
            if not line.jaxpr.outvars:
                continue
            ts = [direction(rng, a) for a, w in zip(args, which, strict=True) if w]
            t_outs = [numbers(t) for t in evaluate(current_apply, line.jaxpr, line.residuals, [from_numpy(t) for t in ts])]
            cts = [direction(rng, t) for t in t_outs]
            unknown = [LinearArg(v.aval) for v in line.jaxpr.invars]
            back = backward(line.jaxpr, line.residuals, unknown, [from_numpy(ct) for ct in cts])
            for t, b in zip(ts, back, strict=True):
                if b is not None:
                    assert numbers(b).shape == t.shape and numbers(b).dtype == t.dtype, (name, params)
            got = dot(ts, [np.zeros_like(t) if b is None else numbers(b) for t, b in zip(ts, back, strict=True)])
            want = dot(cts, t_outs)
            # The pairing is real-linear: of complex numbers the real part is what must agree.
            exact = all(t.dtype.itemsize >= 8 * (1 + (t.dtype.kind == "c")) for t in t_outs) and name != "reduce_precision"
            tolerance = 1e-9 if exact else 1e-2 if name == "reduce_precision" else 1e-6
            np.testing.assert_allclose(np.real(got), np.real(want), tolerance, tolerance, err_msg=f"{name} {params}")


# --- vmap ---------------------------------------------------------------------------------------------------------


def stack(xs, axis):
    return np.stack([np.asarray(x) for x in xs], axis)


def vmap_cases(args):
    """Each operand alone at its first and last place, and all of them, at mixed places."""
    for k, a in enumerate(args):
        for axis in {0, np.ndim(a)}:
            yield [axis if i == k else None for i in range(len(args))]
    if len(args) > 1:
        yield [0] * len(args)
        yield [np.ndim(a) if i % 2 else 0 for i, a in enumerate(args)]


@pytest.mark.parametrize("pair", pairs([dt.float64, dt.int32, dt.bool_, dt.complex128, dt.KEY]), ids=ids)
def test_vmap_is_a_loop(pair):
    name, dtype = pair
    p = PRIMITIVES[name]
    for examples in zip(*[cases(name, dtype, seed) for seed in range(3)], strict=True):
        params = examples[0][1]
        lanes = [args for args, _ in examples]
        for dims in vmap_cases(lanes[0]):
            xs = [from_numpy(lanes[0][k] if d is None else stack([lane[k] for lane in lanes], d)) for k, d in enumerate(dims)]
            outs, out_dims = vmap(lambda *xs, params=params: listed(p, p(*xs, **params)), xs, dims, 3)
            wants = []
            for lane in lanes:
                one = [from_numpy(lanes[0][k] if d is None else lane[k]) for k, d in enumerate(dims)]
                wants.append([numbers(x) for x in listed(p, p(*one, **params))])
            for out, d, *want in zip(outs, out_dims, *wants, strict=True):
                got = numbers(out)
                got = np.stack([got] * 3) if d is None else np.moveaxis(got, d, 0)
                close(got, np.stack(want), 1e-9, f"{name} {params} {dims}")


# --- programs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRIMITIVES)
def test_a_tangent_costs_few_equations(name):
    """Traces stay small: what the linear part of a jvp has is what a backward pass executes."""
    for dtype in WIDE[:1]:
        if dtype not in PRIMITIVES[name].dtypes:
            continue
        for fun, args, _ in itertools.islice(smooth_cases(name, dtype), 1):
            line = linearize(fun, [from_numpy(a) for a in args], moving(args))
            assert len(line.jaxpr.eqns) <= 60, (name, [e.primitive.name for e in line.jaxpr.eqns])


@pytest.mark.parametrize("name", PRIMITIVES)
def test_a_program_of_one_equation(name):
    """Staging records the equation with the types that its rule states."""
    p = PRIMITIVES[name]
    dtype = next(d for d in (dt.float32, dt.int32, dt.bool_, dt.complex64, dt.KEY, dt.uint32) if d in p.dtypes)
    args, params = cases(name, dtype)[0]
    jaxpr, consts = stage(lambda *xs: listed(p, p(*xs, **params)), [from_numpy(a).aval for a in args])
    assert [e.primitive for e in jaxpr.eqns] == [p] and not consts
    hash(tuple(params.items()))


# --- eager = compiled -----------------------------------------------------------------------------------------------

KERNEL_DTYPES = [d for d in DTYPES if d not in (dt.float16, dt.bfloat16)]


def program(name, args, params):
    p = PRIMITIVES[name]
    jaxpr, consts = stage(lambda *xs: listed(p, p(*xs, **params)), [from_numpy(a).aval for a in args])
    assert not consts
    return compile_program(simplify(jaxpr))


def agree(got, want, what):
    """Bits for integers; for floats what a kernel's formulas and NumPy's may differ by."""
    tolerance = {dt.float32: 3e-6, dt.complex64: 1e-5, dt.float64: 1e-12, dt.complex128: 1e-11}.get(np.asarray(want).dtype, 0)
    close(got, want, tolerance, what)


@pytest.mark.parametrize("pair", pairs(KERNEL_DTYPES), ids=ids)
def test_loops_agree_with_the_numpy_meaning(pair):
    """The loop rule, lowered, scheduled, and interpreted without a compile."""
    name, dtype = pair
    p = PRIMITIVES[name]
    for args, params in cases(name, dtype):
        with np.errstate(all="ignore"):
            want = listed(p, p.numpy(*args, **params))
        got = interpreter.run(program(name, args, params), args)
        for g, w in zip(got, want, strict=True):
            agree(g, w, f"{name} {params}")


def row_gradient(fun, which):
    """The gradient of a weighted sum of the outputs with respect to the operands that move: a function of one row."""

    def grad(*args):
        line = linearize(fun, args, which)
        cts = [full(v.aval.shape, v.aval.dtype.type(0.5)) for v in line.jaxpr.outvars]
        unknown = [LinearArg(v.aval) for v in line.jaxpr.invars]
        back = backward(line.jaxpr, line.residuals, unknown, cts)
        return [
            full(v.aval.shape, v.aval.dtype.type(0)) if b is None else b for b, v in zip(back, line.jaxpr.invars, strict=True)
        ]

    return grad


@pytest.mark.parametrize("pair", pairs([dt.float64]), ids=ids)
def test_program_of_gradients_of_rows_is_a_loop(pair):
    """vmap(grad), staged and lowered, against the gradient of each row."""
    name, dtype = pair
    p = PRIMITIVES[name]
    for examples in zip(*[cases(name, dtype, seed) for seed in range(2)], strict=True):
        params = examples[0][1]
        lanes = [args for args, _ in examples]
        which = moving(lanes[0])
        if not any(which):
            continue
        grad = row_gradient(lambda *xs, params=params: listed(p, p(*xs, **params)), which)
        xs = [stack(column, 0) for column in zip(*lanes, strict=True)]

        def rows(*xs, grad=grad):
            outs, dims = vmap(grad, xs, [0] * len(xs), 2)
            return [batch_at(x, d, 2) for x, d in zip(outs, dims, strict=True)]

        jaxpr, consts = stage(rows, [from_numpy(x).aval for x in xs])
        assert not consts
        got = interpreter.run(compile_program(simplify(check(jaxpr))), xs)
        wants = [[numbers(g) for g in grad(*[from_numpy(a) for a in lane])] for lane in lanes]
        for g, *want in zip(got, *wants, strict=True):
            close(g, np.stack(want), 1e-9, f"{name} {params}")


NATIVE = [
    (name, next((d for d in (dt.float32, dt.int32, dt.bool_, dt.complex64, dt.KEY) if d in p.dtypes), None))
    for name, p in PRIMITIVES.items()
]


@pytest.mark.parametrize("pair", [pair for pair in NATIVE if pair[1] is not None], ids=ids)
def test_kernels_agree_with_the_numpy_meaning(pair):
    """All samples of one dtype as one compiled program."""
    name, dtype = pair
    p = PRIMITIVES[name]
    samples = cases(name, dtype)
    samples = samples[:: 1 + len(samples) // 12]  # kernels are compiled here, and many samples share their structure
    fun = jit(lambda rows: [p(*args, **params) for args, (_, params) in zip(rows, samples, strict=True)])
    outs = fun([[from_numpy(a) for a in args] for args, _ in samples])
    for (args, params), out in zip(samples, outs, strict=True):
        with np.errstate(all="ignore"):
            want = listed(p, p.numpy(*args, **params))
        for g, w in zip(listed(p, out), want, strict=True):
            agree(g, w, f"{name} {params}")


def test_every_primitive_is_described():
    assert [name for name, p in PRIMITIVES.items() if not p.doc] == []
