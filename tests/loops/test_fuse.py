"""How many kernels programs become, which ones they share, and that fusion keeps them right."""

import ast
import re
import time

import numpy as np
import pytest

import funcgrad.bridge.eager  # noqa: F401  (the floor of the interpreter stack)
from funcgrad.api.autodiff import grad, value_and_grad
from funcgrad.codegen.cpu import CPU
from funcgrad.codegen.printer import print_nest
from funcgrad.core.aval import shaped
from funcgrad.core.config import config
from funcgrad.ir.evaluate import evaluate_numpy
from funcgrad.loops.compile import compile_program
from funcgrad.loops.interpreter import run
from funcgrad.loops.program import Gemm, HostStep, KernelStep
from funcgrad.ops.contract import dot_general
from funcgrad.ops.convert import convert, stop_gradient
from funcgrad.ops.elementwise import add, div, eq, exp, log, log1p, max_, mul, neg, pow_, rsqrt, sin, sqrt, sub, tanh
from funcgrad.ops.reduce import reduce_max, reduce_sum
from funcgrad.ops.shape import broadcast_in_dim, iota, reshape, slice_, transpose
from funcgrad.passes import simplify
from funcgrad.trace.stage import stage
from funcgrad.trace.value import aval_of

F32 = np.dtype(np.float32)
f32 = np.float32


def program_of(fun, *shapes, dtypes=None, donated=()):
    """The program of `fun` (arrays -> list of arrays), after it has been run and compared with NumPy where it is small."""
    avals = [shaped(s, d) for s, d in zip(shapes, dtypes or [F32] * len(shapes))]
    jaxpr, consts = stage(fun, avals)
    with config.override(check_ir=True):
        program = compile_program(simplify(jaxpr), donated)
    if sum(a.size for a in avals) < 50_000:
        rng = np.random.default_rng(0)
        xs = [
            rng.uniform(0.1, 1, a.shape).astype(F32) if a.dtype == F32 else rng.integers(0, 5, a.shape).astype(a.dtype)
            for a in avals
        ]
        for x, y in zip(run(program, xs), evaluate_numpy(jaxpr, consts, xs), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)
    return program


def kernels(program):
    return [s for s in program.steps if isinstance(s, KernelStep)]


def distinct(program):
    return {id(s.nest): s.nest for s in kernels(program)}


def spread(x, like, dims):
    return broadcast_in_dim(x, shape=aval_of(like).shape, dims=dims)


def softmax(x):
    e = exp(sub(x, spread(stop_gradient(reduce_max(x, axes=(1,))), x, (0,))))
    return div(e, spread(reduce_sum(e, axes=(1,)), e, (0,)))


def log_softmax(x):
    s = sub(x, spread(stop_gradient(reduce_max(x, axes=(1,))), x, (0,)))
    return sub(s, spread(log(reduce_sum(exp(s), axes=(1,))), s, (0,)))


def normalise(x, axis):
    n, dims = f32(1 / aval_of(x).shape[axis]), (1 - axis,)
    d = sub(x, spread(mul(reduce_sum(x, axes=(axis,)), n), x, dims))
    var = mul(reduce_sum(mul(d, d), axes=(axis,)), n)
    return mul(d, spread(rsqrt(add(var, f32(1e-5))), x, dims))


def layernorm(x, g, b):
    y = normalise(x, 1)
    return add(mul(y, spread(g, y, (1,))), spread(b, y, (1,)))


def weighted(fun):
    """The sum of fun(...) weighted by the last argument: a scalar to differentiate."""
    return lambda *args: reduce_sum(mul(fun(*args[:-1]), args[-1]), axes=(0, 1))


S, D = (64, 96), (96,)
ROWS = {
    "softmax": (lambda x: [softmax(x)], [S], 1),
    "log_softmax": (lambda x: [log_softmax(x)], [S], 1),
    "layernorm": (lambda x, g, b: [layernorm(x, g, b)], [S, D, D], 1),
    "normalised columns": (lambda x: [normalise(x, 0)], [S], 1),
    "gradient of softmax": (lambda x, c: [grad(weighted(softmax))(x, c)], [S, S], 1),
    "gradient of log_softmax": (lambda x, c: [grad(weighted(log_softmax))(x, c)], [S, S], 1),
    # one over rows, one over columns
    "gradient of layernorm": (lambda *a: list(grad(weighted(layernorm), argnums=(0, 1, 2))(*a)), [S, D, D, S], 2),
    "elementwise": (lambda x: [add(mul(tanh(add(mul(x, f32(2)), f32(1))), exp(neg(mul(x, x)))), log1p(x))], [S], 1),
    "value and gradient": (lambda x: [tanh(x), grad(lambda y: reduce_sum(tanh(y), axes=(0, 1)))(x)], [S], 1),
    "siblings": (lambda x, y: [mul(x, y), exp(x), sub(x, y)], [S, S], 1),
    "both sides of a fold": (lambda x: [sqrt(reduce_sum(mul(x, x), axes=(1,)))], [S], 1),
    "a map that is also folded": (lambda x: [exp(x), reduce_sum(exp(x), axes=(0,))], [S], 1),
    "folds of one array": (lambda x: [reduce_sum(x, axes=(1,)), reduce_max(x, axes=(1,))], [S], 1),
    "through a reshape": (lambda x, b: [mul(reshape(exp(x), shape=(96 * 64,)), b)], [S, (96 * 64,)], 1),
    "an outer sum": (
        lambda a, b: [add(broadcast_in_dim(a, shape=S, dims=(0,)), broadcast_in_dim(b, shape=S, dims=(1,)))],
        [(64,), D],
        1,
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_kernel_counts(name):
    fun, shapes, count = ROWS[name]
    program = program_of(fun, *shapes)
    assert len(program.steps) == len(kernels(program)) == count


def test_rows_too_long_for_the_cache_use_memory_instead_of_scratch():
    short, long = (program_of(lambda x: [softmax(x)], (16, n)) for n in (96, 20_000))
    assert short.arena == 0 and kernels(short)[0].scratch > 0
    assert kernels(long)[0].scratch == 0 and len(kernels(long)) == 1


def test_a_costly_value_is_computed_once():
    program = program_of(lambda x: [transpose(exp(x), permutation=(1, 0)), reshape(exp(x), shape=(96, 64))], S)
    exps = [k for k in kernels(program) if "exp" in {e.op for p in k.nest.passes for s in p.stores for e in walk(s.value)}]
    assert len(exps) == 1


def walk(e):
    return [e] + [x for a in e.args for x in walk(a)]


def test_no_cycle_comes_of_joining_siblings():
    # exp(x) and the last line share x, but between them lies a product of matrices.
    def fun(x):
        a = exp(x)
        b = dot(a, transpose(a, permutation=(1, 0)))
        return [a, mul(add(x, f32(1)), b)]

    program = program_of(fun, (8, 8))
    assert [type(s) for s in program.steps] == [KernelStep, Gemm, KernelStep]


# --- training steps ---------------------------------------------------------------------------------------------


def dot(x, w):
    return dot_general(x, w, dimension_numbers=(((1,), (0,)), ((), ())), preferred_element_type=None)


def loss(params, x, y):
    for w, b in params[:-1]:
        h = dot(x, w)
        x = max_(add(h, spread(b, h, (1,))), f32(0))
    w, b = params[-1]
    h = dot(x, w)
    p = log_softmax(add(h, spread(b, h, (1,))))
    hot = eq(spread(y, p, (0,)), iota(dtype=np.dtype(np.int32), shape=aval_of(p).shape, dimension=1))
    return mul(reduce_sum(mul(p, convert(hot, F32)), axes=(0, 1)), f32(-1 / aval_of(x).shape[0]))


def momentum(params, gradients, state):
    out = []
    for p, g, m in zip(params, gradients, state):
        m = add(mul(m, f32(0.9)), g)
        out += [m, sub(p, mul(m, f32(0.1)))]
    return out


def adam(params, gradients, state, t):
    out, count = [], len(params)
    c1, c2 = (sub(f32(1), pow_(f32(beta), t)) for beta in (0.9, 0.999))
    for p, g, m, v in zip(params, gradients, state[:count], state[count:]):
        m = add(mul(m, f32(0.9)), mul(g, f32(0.1)))
        v = add(mul(v, f32(0.999)), mul(mul(g, g), f32(0.001)))
        hat = div(m, broadcast_in_dim(c1, shape=aval_of(p).shape, dims=()))
        root = sqrt(div(v, broadcast_in_dim(c2, shape=aval_of(p).shape, dims=())))
        out += [m, v, sub(p, mul(div(hat, add(root, f32(1e-8))), f32(0.001)))]
    return out


def step_jaxpr(batch, sizes, optimizer):
    """The Jaxpr of a training step of a relu network."""
    leaves = [s for a, b in zip(sizes, sizes[1:]) for s in ((a, b), (b,))]
    n, copies = len(leaves), 2 if optimizer == "momentum" else 3
    avals = [shaped(s, F32) for s in leaves * copies]
    avals += [shaped((), F32), shaped((batch, sizes[0]), F32), shaped((batch,), np.dtype(np.int32))]

    def fun(*xs):
        *xs, t, x, y = xs
        value, g = value_and_grad(loss)(list(zip(xs[:n:2], xs[1:n:2])), x, y)
        flat = [leaf for pair in g for leaf in pair]
        update = momentum(xs[:n], flat, xs[n:]) if optimizer == "momentum" else adam(xs[:n], flat, xs[n:], t)
        return [value, *update]

    return stage(fun, avals)[0]


def step_program(batch, sizes, optimizer):
    with config.override(check_ir=True):
        return compile_program(simplify(step_jaxpr(batch, sizes, optimizer)))


@pytest.mark.parametrize("optimizer,few", [("momentum", 6), ("adam", 7)])
def test_a_training_step_is_few_kernels_and_the_same_ones_for_every_batch(optimizer, few):
    sizes = (784, 512, 512, 10)
    base = step_program(128, sizes, optimizer)
    gemms = [s for s in base.steps if isinstance(s, Gemm)]
    assert len(gemms) == 8  # 3 forward, 3 for weights, 2 for activations; no copies for transposes
    assert len(distinct(base)) <= few
    assert not any(isinstance(s, HostStep) for s in base.steps)
    for batch in (1, 7, 64, 100, 1000):
        assert distinct(step_program(batch, sizes, optimizer)).keys() == distinct(base).keys()
    # Another width or depth shares them as well: the update, the layers and their gradients.
    deep = distinct(step_program(32, (100, 30, 40, 50, 10), optimizer))
    assert deep.keys() == distinct(base).keys()


@pytest.mark.parametrize("optimizer", ["momentum", "adam"])
def test_a_small_training_step_is_right(optimizer):
    jaxpr = step_jaxpr(8, (12, 9, 7, 5), optimizer)
    rng = np.random.default_rng(1)
    xs = [
        np.asarray(rng.uniform(0.1, 1, v.aval.shape), F32) if v.aval.dtype == F32 else rng.integers(0, 5, v.aval.shape, np.int32)
        for v in jaxpr.invars
    ]
    want = evaluate_numpy(jaxpr, [], xs)
    with config.override(check_ir=True):
        donating = compile_program(simplify(jaxpr), tuple(range(len(xs) - 2)))
    assert len(donating.donated) >= len(want) - 1
    for program in (compile_program(simplify(jaxpr)), donating):
        for x, y in zip(run(program, xs), want, strict=True):
            np.testing.assert_allclose(x, y, rtol=2e-4, atol=1e-5)


def test_updates_of_leaves_of_any_rank_are_one_kernel():
    shapes = [(), (5,), (4, 6), (2, 3, 4)]

    def fun(*xs):
        n = len(shapes)
        return momentum(xs[:n], xs[n : 2 * n], xs[2 * n :])

    program = program_of(fun, *(shapes * 3))
    assert len(kernels(program)) == 4 and len(distinct(program)) == 1
    (nest,) = distinct(program).values()
    assert [o.role for o in nest.operands] == ["in", "in", "in", "out", "out"]


def test_literals_are_not_in_the_nest():
    one, two = (program_of(lambda x, c=c: [add(mul(x, f32(c)), f32(1))], S) for c in (3, 5))
    assert distinct(one).keys() == distinct(two).keys()


def test_a_long_chain_does_not_overflow_the_stack():
    def fun(x):
        for _ in range(1500):
            x = sub(tanh(x), f32(0.5))
        return [x]

    assert len(program_of(fun, (3,)).steps) >= 1


@pytest.mark.parametrize("op, most", [(sin, 8), (tanh, 18), (log1p, 18)])
def test_a_long_chain_is_cut_into_equal_kernels(op, most):
    def fun(x):
        for k in range(10 * most):
            x = mul(op(x), f32(0.3 + k / 1000))
        return [x]

    program = program_of(fun, (50,))
    assert len(kernels(program)) == 10
    assert len(distinct(program)) == 1


def test_heavy_branches_that_meet_are_cut_apart():
    def branch(x, c):
        for _ in range(5):
            x = mul(sin(x), f32(c))
        return x

    program = program_of(lambda x: [add(branch(x, 1.1), branch(x, 0.9))], S)
    assert len(kernels(program)) == 2


def test_the_gradient_of_a_long_chain_is_few_distinct_kernels():
    def fun(x):
        y = x
        for _ in range(100):
            y = mul(sin(y), f32(1.01))
        return reduce_sum(y, axes=(0,))

    program = program_of(lambda x: [grad(fun)(x)], (50,))
    assert len(distinct(program)) < 12
    assert all(count_of(nest, ("sin", "cos")) <= 8 for nest in distinct(program).values())


def count_of(nest, ops):
    """How many of `ops` the expressions of a nest hold."""
    found, stack = {}, [s for p in nest.passes for s in p.stores] + [r for p in nest.passes for r in p.reductions]
    while stack:
        e = stack.pop()
        if id(e) in found:
            continue
        found[id(e)] = e
        stack += [e.value] if hasattr(e, "value") else e.args
    return sum([getattr(e, "op", None) in ops for e in found.values() if hasattr(e, "args")])


@pytest.mark.parametrize("shape", [(2, 3, 2), (0, 3, 2), (2, 0, 2)])
def test_a_long_expression_of_scalars_after_a_fold_over_several_axes(shape):
    # The part of the rows' axes that do not merge is a loop; scalars from outside, which have a stride of 0 there, are read after it.
    def fun(x, *scalars):
        first = slice_(x, start_indices=(0, 0, 0), limit_indices=(*shape[:2], 1), strides=(1, 1, 1))
        total = reduce_sum(mul(first, broadcast_in_dim(scalars[0], shape=(*shape[:2], 1), dims=())), axes=(0, 1, 2))
        for s in (*scalars[1:], scalars[0]):
            total = add(total, s)
        return [total, mul(total, scalars[0])]

    avals = [shaped(shape, F32), *[shaped((), F32)] * 5]
    program = compile_program(simplify(stage(fun, avals)[0]))
    for nest in distinct(program).values():
        source = print_nest(nest, CPU).text
        names = {n.id for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        assert set(re.findall(r"\bt[0-9]+\b", source)) <= names, source
    program_of(fun, shape, *[()] * 5)


def test_the_budget_of_a_retrace():
    # A generous bound for busy machines: the figure is about 2 ms for 155 equations.
    jaxpr = step_jaxpr(128, (784, 512, 512, 10), "adam")
    compile_program(simplify(jaxpr))
    times = []
    for _ in range(5):
        start = time.process_time()
        compile_program(simplify(jaxpr))
        times.append(time.process_time() - start)
    assert min(times) < 0.02
