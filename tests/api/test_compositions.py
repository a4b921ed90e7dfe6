"""Compositions: programs of every kind under every transform, against finite differences and Python loops, in float64.

Each program is a scalar function of a vector, beside a twin in NumPy and plain Python that the truth is computed from. Programs that
are NumPy code themselves are their own twins (`m` is funcgrad.numpy or numpy).
"""

import functools

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.codegen import emulate
from funcgrad.codegen.cpu import CPU
from funcgrad.codegen.printer import print_nest
from funcgrad.loops import interpreter
from funcgrad.loops.compile import compile_program
from funcgrad.passes import simplify

RNG = np.random.default_rng(3)
XS = np.array([[0.7, -0.4, 1.3], [0.2, 0.9, -0.8]])
T = np.array([0.5, -1.0, 0.25])
W = np.array([[0.3, -0.2, 0.5], [0.7, 0.1, -0.4], [-0.6, 0.2, 0.9]])
C = np.array([1.0, -2.0, 0.5])
WEIGHTS = np.array([1.0, -0.5])
PROGRAMS: dict = {}
REVERSE_ONLY = set()  # programs with a custom reverse rule: no jvp


def both(name, f):
    PROGRAMS[name] = (functools.partial(f, fnp), functools.partial(f, np))


def program(name, twin, jvp=True):
    def enter(f):
        PROGRAMS[name] = (f, twin)
        if not jvp:
            REVERSE_ONLY.add(name)
        return f

    return enter


# --- NumPy code --------------------------------------------------------------------------------------------------------

both("rosenbrock", lambda m, x: m.sum(10 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))
both("logsumexp", lambda m, x: m.log(m.sum(m.exp(x))))
both("matrix chain", lambda m, x: m.tanh(W @ x) @ W @ m.sin(x))
both("outer", lambda m, x: m.sum(m.outer(x, m.cos(x)) * W))
both("product", lambda m, x: m.prod(x) + m.prod(x[:2] - 0.7))
both("running sums", lambda m, x: m.sum(m.cumsum(x) ** 2 * x))
both("sorted", lambda m, x: m.sort(x) @ (C * x))
both("largest", lambda m, x: m.max(x) * x[0] + m.min(x) ** 2)
both("norm", lambda m, x: m.sqrt(m.sum(x * x)) * m.sum(m.abs(x)))
both("where", lambda m, x: m.sum(m.where(x > 0.3, m.sin(x), x**3)))
both("indexed", lambda m, x: m.sum(x[np.array([2, 0, 0])] * x[np.array([1, 1, 2])] ** 2))
both("joined", lambda m, x: m.concatenate([x, x[::-1] ** 2]) @ m.concatenate([x * C, C]))
both("powers", lambda m, x: m.sum((x**2 + 1) ** x))
both("complex", lambda m, x: m.abs(m.sum(m.exp(1j * x) * (C + 0.5j))) ** 2)
both("variance", lambda m, x: m.mean((x - m.mean(x)) ** 2) / (1 + m.var(x * x)))
both("rolled", lambda m, x: m.roll(x, 1) @ x**2 + m.sum(m.stack([x, x * x], 1) @ C[:2]))

# --- scan --------------------------------------------------------------------------------------------------------------


def fold(step, carry, xs):
    ys = []
    for x in xs:
        carry, y = step(carry, x)
        ys.append(y)
    return carry, np.stack(ys)


def tanh_step(m):
    return lambda c, x: (m.tanh(c * 0.9 + x), c * x)


def last_and_rows(out):
    return out[0] * 2 + (out[1] ** 2).sum()


program("scan", lambda x: last_and_rows(fold(tanh_step(np), 0.1, x)))(
    lambda x: last_and_rows(lax.scan(tanh_step(fnp), np.float64(0.1), x))
)
program("scan reverse", lambda x: last_and_rows(fold(tanh_step(np), 0.1, x[::-1])))(
    lambda x: last_and_rows(lax.scan(tanh_step(fnp), np.float64(0.1), x, reverse=True))
)
program("scan unroll", lambda x: last_and_rows(fold(tanh_step(np), 0.1, x)))(
    lambda x: last_and_rows(lax.scan(tanh_step(fnp), np.float64(0.1), x, unroll=2))
)
program("scan length 0", lambda x: np.sin(x[0]))(
    lambda x: lax.scan(lambda c, y: (c * y, y), fnp.sin(x[0]), x[:0])[0]
)  # fmt: skip


@program("scan closure, no xs", lambda x: sum_of(steps(lambda c: np.sin(W @ c) + 0.1 * x, x, 4)))
def _(x):
    return lax.scan(lambda c, _: (fnp.sin(W @ c) + 0.1 * x, None), x, None, length=4)[0].sum()


def steps(f, c, n):
    for _ in range(n):
        c = f(c)
    return c


def sum_of(x):
    return np.sum(x)


@program("scan pytree carry", lambda x: pytree_twin(x))
def _(x):
    def step(c, row):
        a, b = c["a"] * row[0] + c["n"], c["b"] + c["a"] * row
        return {"a": a, "b": b, "n": c["n"] + 1}, (a, {"sum": b.sum()})

    c, (ys, zs) = lax.scan(step, {"a": x[0], "b": x, "n": 0}, fnp.outer(x, x))
    return c["a"] + c["b"] @ C + (ys * zs["sum"]).sum()


def pytree_twin(x):
    a, b, total = x[0], x, 0.0
    for n, row in enumerate(np.outer(x, x)):
        a, b = a * row[0] + n, b + a * row
        total += a * b.sum()
    return a + b @ C + total


@program("scan in scan", lambda x: sum(steps(lambda c, y=y: np.sin(c) * y, x[0], 3) for y in np.cumsum(x)))
def _(x):
    inner = lambda y: lax.scan(lambda c, _: (fnp.sin(c) * y, None), x[0], None, length=3)[0]
    return lax.scan(lambda s, y: (s + y, inner(s + y)), np.float64(0), x)[1].sum()


def branchy(m, c, y):
    return m.sin(c) * y if c > 0.5 else c * c + y


@program("cond in scan", lambda x: functools.reduce(lambda c, y: branchy(np, c, y), x, 0.6))
def _(x):
    step = lambda c, y: (lax.cond(c > 0.5, lambda: fnp.sin(c) * y, lambda: c * c + y), None)
    return lax.scan(step, np.float64(0.6), x)[0]


def grow(c, y):
    n = 0
    while c < 1.9 and n < 5:
        c, n = c * 1.5 + 0.1 * y, n + 1
    return c


@program("while in scan", lambda x: functools.reduce(lambda c, y: np.sin(grow(c, y)), x, x[0] ** 2))
def _(x):
    step = lambda c, y: (fnp.sin(lax.while_loop(lambda c: c < 1.9, lambda c: c * 1.5 + 0.1 * y, c, max_steps=5)), None)
    return lax.scan(step, x[0] ** 2, x)[0]


@program("checkpoint in scan", lambda x: last_and_rows(fold(tanh_step(np), 0.1, x)))
def _(x):
    return last_and_rows(lax.scan(fg.checkpoint(tanh_step(fnp)), np.float64(0.1), x))


@program("fori_loop", lambda x: sum_of(functools.reduce(lambda c, i: c * x + i, range(1, 4), x)))
def _(x):
    return lax.fori_loop(1, 4, lambda i, c: c * x + i, x).sum()


program("map", lambda x: np.sum(np.sin(np.outer(x, x)).sum(1) ** 2))(
    lambda x: fnp.sum(lax.map(lambda y: fnp.sin(y * x).sum(), x) ** 2)
)
program("map in batches", lambda x: np.sum(np.sin(np.outer(x, x)).sum(1) ** 2))(
    lambda x: fnp.sum(lax.map(lambda y: fnp.sin(y * x).sum(), x, batch_size=2) ** 2)
)
program("associative_scan", lambda x: np.sum(np.cumprod(x) * C))(lambda x: fnp.sum(lax.associative_scan(fnp.multiply, x) * C))


@program("scan random keys", lambda x: float(noisy(x, fg.random.key(7))))
def _(x):
    def step(state, y):
        key, c = state
        key, now = fg.random.split(key)
        return (key, c * y + fg.random.uniform(now)), None

    return lax.scan(step, (fg.random.key(7), x[0]), x)[0][1]


def noisy(x, key):
    c = x[0]
    for y in x:
        key, now = fg.random.split(key)
        c = c * y + float(fg.random.uniform(now))
    return c


# --- cond, switch, while -----------------------------------------------------------------------------------------------

program("cond", lambda x: np.sin(x).sum() if x[0] > 0.5 else (x**3).sum())(
    lambda x: lax.cond(x[0] > 0.5, lambda x: fnp.sin(x).sum(), lambda x: (x**3).sum(), x)
)
program("cond closure", lambda x: x[1] * x[2] if x[0] > 0.5 else np.exp(x[1]))(
    lambda x: lax.cond(x[0] > 0.5, lambda: x[1] * x[2], lambda: fnp.exp(x[1]))
)
program("cond constant branch", lambda x: 1.0 if x[0] < 0.5 else x[0] * x[1])(
    lambda x: lax.cond(x[0] < 0.5, lambda: np.float64(1), lambda: x[0] * x[1])
)
program("where of a bad branch", lambda x: sum(np.sqrt(a - 0.5) if a > 0.5 else a**2 for a in x))(
    lambda x: fnp.where(x > 0.5, fnp.sqrt(x - 0.5), x**2).sum()
)
program("cond of a bad branch", lambda x: x[1] ** 2)(lambda x: lax.cond(x[0] > 2, lambda: fnp.log(x[1] - 5), lambda: x[1] ** 2))


@program("cond pytree", lambda x: x[0] * x[1] + np.sum(x * x) if x[2] > 0 else x[0] + np.sum(np.sin(x)))
def _(x):
    out = lax.cond(
        x[2] > 0, lambda p: {"a": p[0], "b": p[1] ** 2}, lambda p: {"a": p[2], "b": fnp.sin(p[1])}, (x[0] * x[1], x, x[0])
    )
    return out["a"] + out["b"].sum()


def switched(x):
    i = int(np.clip(np.floor(x[0] * 4), 0, 2))
    return [np.sum(x * C), np.prod(x), np.sum(x**2) * x[1]][i]


@program("switch", switched)
def _(x):
    index = fnp.floor(x[0] * 4).astype("int32")
    return lax.switch(index, [lambda x: fnp.sum(x * C), fnp.prod, lambda x: fnp.sum(x**2) * x[1]], x)


@program("cond in cond", lambda x: (np.sin(x[0]) if x[1] > 0 else x[0] ** 3) * x[2] if x[0] > 0 else x[1])
def _(x):
    inner = lambda: lax.cond(x[1] > 0, fnp.sin, lambda y: y**3, x[0]) * x[2]
    return lax.cond(x[0] > 0, inner, lambda: x[1])


@program("loop in cond", lambda x: steps(lambda c: np.sin(c) + x[1], x[0], 3) if x[0] > 0.5 else x[0] * x[2])
def _(x):
    loop = lambda: lax.fori_loop(0, 3, lambda i, c: fnp.sin(c) + x[1], x[0])
    return lax.cond(x[0] > 0.5, loop, lambda: x[0] * x[2])


@program("select_n", lambda x: np.sum([np.sin(x[0]), x[1] ** 2, x[2]][int(x[0] > 0.5) + 1] * x))
def _(x):
    which = (x[0] > 0.5).astype("int32") + 1
    return fnp.sum(lax.select_n(which, fnp.sin(x[0]), x[1] ** 2, x[2]) * x)


def newton(x):
    y = np.sum(x * x) + 1
    return steps(lambda r: 0.5 * (r + y / r), y, 4)


@program("while newton", newton)
def _(x):
    y = fnp.sum(x * x) + 1
    state = (y, np.int64(0))
    return lax.while_loop(lambda s: s[1] < 4, lambda s: (0.5 * (s[0] + y / s[0]), s[1] + 1), state, max_steps=6)[0]


def doubled(x):
    c = x * x + 0.1
    while c.sum() < 20:
        c = c * (1 + x * x) + 1
    return np.sum(c * C)


@program("while vector carry", doubled)
def _(x):
    c = lax.while_loop(lambda c: c.sum() < 20, lambda c: c * (1 + x * x) + 1, x * x + 0.1, max_steps=30)
    return fnp.sum(c * C)


@program("while in cond", lambda x: grow(x[0] ** 2, x[1]) if x[2] > 0 else x[2] ** 3)
def _(x):
    loop = lambda: lax.while_loop(lambda c: c < 1.9, lambda c: c * 1.5 + 0.1 * x[1], x[0] ** 2, max_steps=5)
    return lax.cond(x[2] > 0, loop, lambda: x[2] ** 3)


@program("fori_loop, traced bound", lambda x: steps(lambda c: c * 0.5 + x[1], x[0], 3 if x[0] > 0.5 else 2))
def _(x):
    def step(s):
        return s[0] + 1, s[1] * 0.5 + x[1]

    n = fnp.where(x[0] > 0.5, 3, 2)
    return lax.while_loop(lambda s: s[0] < n, step, (0, x[0]), max_steps=4)[1]


# --- custom rules ------------------------------------------------------------------------------------------------------


@fg.custom_jvp
def sine(x):
    return fnp.sin(x)


@sine.defjvp
def _(primals, tangents):
    return sine(primals[0]), fnp.cos(primals[0]) * tangents[0]


@fg.custom_jvp
def product(x, y):
    return x * y


product.defjvps(lambda t, out, x, y: t * y, lambda t, out, x, y: x * t)


@fg.custom_vjp
def exp_of(p):
    return fnp.exp(p["x"]) * p["scale"]


exp_of.defvjp(
    lambda p: (fnp.exp(p["x"]) * p["scale"], (p, fnp.exp(p["x"]))),
    lambda res, ct: ({"x": ct * res[1] * res[0]["scale"], "scale": fnp.sum(ct * res[1])},),
)


@functools.partial(fg.custom_vjp, nondiff_argnums=(0,))
def applied(f, x):
    return f(x)


applied.defvjp(lambda f, x: (f(x), x), lambda f, x, ct: (ct * fg.jvp(f, (x,), (fnp.ones_like(x),))[1],))


@fg.custom_vjp
def first(x, unused):
    return x**3


first.defvjp(lambda x, unused: (x**3, x), lambda x, ct: (3 * x * x * ct, None))


@fg.custom_gradient
def squared(x):
    return x * x, lambda ct: 2 * x * ct


program("custom_jvp", lambda x: np.sum(np.sin(x * x)))(lambda x: sine(x * x).sum())
program("custom_jvp, defjvps", lambda x: np.sum(x * np.sin(x) ** 2))(lambda x: product(x, product(sine(x), fnp.sin(x))).sum())
program("custom_jvp in scan", lambda x: functools.reduce(lambda c, y: np.sin(c * y) + y, x, 0.3))(
    lambda x: lax.scan(lambda c, y: (sine(c * y) + y, None), np.float64(0.3), x)[0]
)
program("custom_jvp in cond", lambda x: np.sin(x[1]) * x[0] if x[0] > 0.5 else x[0] ** 2)(
    lambda x: lax.cond(x[0] > 0.5, lambda x: sine(x[1]) * x[0], lambda x: x[0] ** 2, x)
)
program("custom_jvp in vmap", lambda x: np.sum(np.sin(np.outer(x, x))))(
    lambda x: fg.vmap(lambda a: fg.vmap(lambda b: sine(a * b))(x))(x).sum()
)
program("custom_jvp in while", lambda x: steps(np.sin, x[0], 3) * x[1])(
    lambda x: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, sine(s[1])), (0, x[0]), max_steps=4)[1] * x[1]
)
program("custom_vjp", lambda x: np.sum(np.exp(x) * x[0]), jvp=False)(lambda x: exp_of({"x": x, "scale": x[0]}).sum())
program("custom_vjp nondiff", lambda x: np.sum(np.sin(x) ** 2), jvp=False)(lambda x: fnp.sum(applied(fnp.sin, x) ** 2))
program("custom_vjp None", lambda x: np.sum(x**3), jvp=False)(lambda x: first(x, 3).sum())
program("custom_vjp in scan", lambda x: functools.reduce(lambda c, y: np.exp(-(c**2)) * y, x, 0.5), jvp=False)(
    lambda x: lax.scan(lambda c, y: (exp_of({"x": -squared(c), "scale": y}), None), np.float64(0.5), x)[0]
)
program("custom_vjp in checkpoint", lambda x: np.sum(np.exp(x**2) * x[1]), jvp=False)(
    fg.checkpoint(lambda x: exp_of({"x": x * x, "scale": x[1]}).sum())
)
program("custom_gradient", lambda x: np.sum(np.sin(x * x)), jvp=False)(lambda x: fnp.sin(squared(x)).sum())


# --- checkpoint --------------------------------------------------------------------------------------------------------

POLICIES = fg.checkpoint_policies
program("checkpoint", lambda x: np.sum(np.sin(np.exp(x))))(lambda x: fg.checkpoint(lambda y: fnp.sin(fnp.exp(y)))(x).sum())
program("checkpoint, products kept", lambda x: np.sum(np.sin(W @ np.cos(W @ x))))(
    fg.checkpoint(lambda x: fnp.sin(W @ fnp.cos(W @ x)).sum(), policy=POLICIES.dots_saveable)
)
program("checkpoint in checkpoint", lambda x: np.sum(np.tanh(np.sin(x)) * x))(
    fg.checkpoint(lambda x: (fg.checkpoint(lambda y: fnp.tanh(fnp.sin(y)))(x) * x).sum())
)
program("loop in checkpoint", lambda x: sum_of(steps(lambda c: np.sin(c) * x, x, 3)))(
    fg.checkpoint(lambda x: lax.fori_loop(0, 3, lambda i, c: fnp.sin(c) * x, x).sum())
)
program("cond in checkpoint", lambda x: np.sum(np.sin(x) * x if x[0] > 0.5 else x**3))(
    fg.checkpoint(lambda x: lax.cond(x[0] > 0.5, lambda x: fnp.sin(x) * x, lambda x: x**3, x).sum())
)

# --- named axes --------------------------------------------------------------------------------------------------------


def lanes(f, **kwargs):
    """The sum over lanes of f of each element of a vector."""
    return lambda x: fnp.sum(fg.vmap(f, axis_name="i", **kwargs)(x))


program("psum", lambda x: np.sum(np.exp(x) / np.exp(x).sum() * x))(lanes(lambda a: fnp.exp(a) / lax.psum(fnp.exp(a), "i") * a))
program("pmean, pmax", lambda x: np.sum((x - x.mean()) ** 3 * x.max()))(
    lanes(lambda a: (a - lax.pmean(a, "i")) ** 3 * lax.pmax(a, "i"))
)
program("all_gather", lambda x: np.sum(np.sin(x) @ W * x))(
    lanes(lambda a: fnp.sin(lax.all_gather(a, "i")) @ fnp.asarray(W)[:, lax.axis_index("i")] * a)
)
program("ppermute", lambda x: np.sum(x * np.roll(x, 1) ** 2))(
    lanes(lambda a: a * lax.ppermute(a, "i", [(0, 1), (1, 2), (2, 0)]) ** 2)
)
program("all_to_all", lambda x: np.sum(np.tril(np.outer(x, x)).T @ x))(
    lambda x: fnp.sum(fg.vmap(lambda r: lax.all_to_all(r, "i", 0, 0), axis_name="i")(fnp.tril(fnp.outer(x, x))) @ x)
)
program("psum_scatter", lambda x: np.sum(np.outer(np.sin(x), x).sum(0) * C))(
    lambda x: fnp.sum(fg.vmap(lambda a: lax.psum_scatter(fnp.sin(a) * x, "i"), axis_name="i")(x) * C)
)
program("axis_index", lambda x: np.sum(x ** np.array([1, 2, 3])))(
    lanes(lambda a: fnp.prod(fnp.where(np.arange(3) <= lax.axis_index("i"), a, 1)))
)
program("psum in scan", lambda x: sum_of(steps(lambda c: np.sin(c) + 0.1 * c.sum(), x, 3)))(
    lanes(lambda a: lax.scan(lambda c, _: (fnp.sin(c) + 0.1 * lax.psum(c, "i"), None), a, None, length=3)[0])
)
program("psum in cond", lambda x: sum(a * x.sum() if a > 0.3 else a**2 for a in x))(
    lanes(lambda a: lax.cond(a > 0.3, lambda a: a * lax.psum(a, "i"), lambda a: a**2, a))
)
program("psum in checkpoint and jit", lambda x: np.sum(np.sin(x * x.sum())))(
    lanes(fg.jit(fg.checkpoint(lambda a: fnp.sin(a * lax.psum(a, "i")))))
)
program("psum in custom_jvp", lambda x: np.sum(np.sin(x.sum()) * x))(lanes(lambda a: product(sine(lax.psum(a, "i")), a)))
program("two names", lambda x: np.sum(np.outer(x, x) * x[:, None].sum() * np.outer(x, x).sum(1)[:, None]))(
    lambda x: fg.vmap(
        lambda a: fg.vmap(lambda b: a * b * lax.psum(a, "i") * lax.psum(a * b, "j"), axis_name="j")(x), axis_name="i"
    )(x).sum()
)

# --- transforms inside, closures, pytrees ------------------------------------------------------------------------------

program("grad inside", lambda x: np.sum(np.cos(x) ** 2 * C))(lambda x: fnp.sum(fg.grad(lambda y: fnp.sin(y).sum())(x) ** 2 * C))
program("grad of a closure", lambda x: np.sum(x * x * np.cos(x * x[0])))(
    lambda x: fnp.sum(x * fg.grad(lambda y: fnp.sin(y * x).sum())(x[0] + 0 * x))
)
program("jvp inside", lambda x: np.sum(np.exp(x) * x * x))(lambda x: fnp.sum(fg.jvp(fnp.exp, (x,), (x * x,))[1]))
program("vjp inside", lambda x: np.sum(np.tanh(x) * (W.T @ x)))(
    lambda x: fnp.sum(fg.vjp(lambda y: W @ y, x)[1](x)[0] * fnp.tanh(x))
)
program("linearize inside", lambda x: np.sum(3 * x**2 * np.sin(x)))(
    lambda x: fg.linearize(lambda y: y**3, x)[1](fnp.sin(x)).sum()
)
program("trace of a hessian", lambda x: np.sum(-np.sin(x) + 12 * x**2))(
    lambda x: fnp.trace(fg.hessian(lambda y: fnp.sum(fnp.sin(y) + y**4))(x))
)
program("jacrev of scan", lambda x: C @ [x[1] * x[2], x[0] * x[2], x[0] * x[1]])(
    lambda x: fg.jacrev(lambda y: lax.scan(lambda c, z: (c * z, None), np.float64(1), y)[0])(x) @ C
)
program("jit of grad inside", lambda x: np.sum(2 * x * np.cos(x**2)))(
    lambda x: fg.jit(fg.grad(lambda y: fnp.sin(y**2).sum()))(x).sum()
)
program("vmap of grad inside", lambda x: np.sum(np.outer(np.cos(x), x)))(
    lambda x: fg.vmap(lambda a: fg.grad(lambda b: fnp.sin(b) * x.sum())(a))(x).sum()
)
program("jit closure", lambda x: np.sum(np.sin(x) * x[0]))(lambda x: fg.jit(lambda y: fnp.sin(y) * x[0])(x).sum())
program("jit in scan", lambda x: functools.reduce(lambda c, y: np.sin(c) * y + x[0], x, 0.4))(
    lambda x: lax.scan(fg.jit(lambda c, y: (fnp.sin(c) * y + x[0], None)), np.float64(0.4), x)[0]
)


@program("pytree layers", lambda x: np.sum(np.tanh(W * x[0] @ C + x[1]) * x[2]))
def _(x):
    params = {"w": W * x[0], "b": (x[1], x[2])}
    params = fg.tree_util.tree_map(lambda p: p * 1.0, params)
    return fnp.sum(fnp.tanh(params["w"] @ C + params["b"][0]) * params["b"][1])


@program("grad of a pytree inside", lambda x: np.sum(np.cos(x) + 2 * x * x[0]))
def _(x):
    g = fg.grad(lambda p: fnp.sum(fnp.sin(p["a"])) + fnp.sum(p["b"][0] ** 2))({"a": x, "b": [x * x[0]]})
    return g["a"].sum() + g["b"][0].sum()


@program("implicit layers", lambda x: sum_of(steps(lambda z: np.tanh(0.5 * W @ z + x), np.zeros(3), 5)))
def _(x):
    layer = functools.partial(lambda w, z: fnp.tanh(w @ z + x), 0.5 * W)
    return lax.fori_loop(0, 5, lambda i, z: fg.checkpoint(layer)(z), np.zeros(3)).sum()


# --- the truth ---------------------------------------------------------------------------------------------------------


@functools.cache
def truth(name):
    """Values, gradients, Hessians of the twin at each of XS, by central differences."""
    twin = lambda x: float(np.real(PROGRAMS[name][1](x)))
    h = 5e-5
    e = h * np.eye(3)
    values, gradients, hessians = [], [], []
    for x in XS:
        values.append(twin(x))
        # Fourth-order differences: the error is of the order of rounding.
        gradients.append([(8 * (twin(x + d) - twin(x - d)) - (twin(x + 2 * d) - twin(x - 2 * d))) / (12 * h) for d in e])
        one = lambda k, x=x: np.array([
            [twin(x + k * (a + b)) - twin(x + k * (a - b)) - twin(x - k * (a - b)) + twin(x - k * (a + b)) for b in e] for a in e
        ]) / (2 * k * h) ** 2  # fmt: skip
        hessians.append((4 * one(10) - one(20)) / 3)
    return np.array(values), np.array(gradients), np.array(hessians)


X = XS[0]
# What a transform gives at (x, a batch of them), and what that should be, of the truth.
TRANSFORMS = {
    "grad": (lambda f, x, xs: fg.grad(f)(x), lambda v, g, h: g[0]),
    "jvp": (lambda f, x, xs: fg.jvp(f, (x,), (T,)), lambda v, g, h: (v[0], g[0] @ T)),
    "vmap": (lambda f, x, xs: fg.vmap(f)(xs), lambda v, g, h: v),
    "hessian": (lambda f, x, xs: fg.hessian(f)(x), lambda v, g, h: h[0]),
    "vmap of grad": (lambda f, x, xs: fg.vmap(fg.grad(f))(xs), lambda v, g, h: g),
    "grad of vmap": (
        lambda f, x, xs: fg.grad(lambda xs: (fg.vmap(f)(xs) * WEIGHTS).sum())(xs),
        lambda v, g, h: g * WEIGHTS[:, None],
    ),
}


def close(got, want, transform):
    for a, b in zip(fg.tree_util.tree_leaves(got), fg.tree_util.tree_leaves(want), strict=True):
        assert np.asarray(a).dtype == np.float64, transform
        tolerance = 2e-5 if "hessian" in transform else 1e-7
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=transform)


def chosen(name):
    return [t for t in TRANSFORMS if not (t == "jvp" and name in REVERSE_ONLY)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_eager(name):
    f = PROGRAMS[name][0]
    close(f(X), truth(name)[0][0], "value")
    for t in chosen(name):
        transform, want = TRANSFORMS[t]
        close(transform(f, X, XS), want(*truth(name)), t)


def in_python(step, memory):
    """One kernel of a program, its printed text run by Python."""
    operands = [o for o in step.nest.operands if o.role != "scratch"]
    buffers = [emulate.Pointer(*memory.flat(ref, o.dtype)) for ref, o in zip(step.refs, operands, strict=True)]
    emulate.run(print_nest(step.nest, CPU), buffers, step.dims, step.extent, step.scratch)


@pytest.mark.parametrize("name", PROGRAMS)
def test_jit(name):
    """The function and all its transforms as one program. Machine code is made of a third of them, of other ones in the next program;
    the whole is run as it is before it becomes machine code: lowered, fused and printed."""
    f, names = PROGRAMS[name][0], chosen(name)
    together = lambda names: lambda x, xs: (f(x), [TRANSFORMS[t][0](f, x, xs) for t in names])
    some = names[list(PROGRAMS).index(name) % 3 :: 3]
    whole, shapes = fg.make_jaxpr(together(names), return_shape=True)(X, XS)
    outs = interpreter.run(compile_program(simplify(whole.jaxpr)), [*whole.consts, X, XS], in_python)
    for used, (value, results) in (
        (some, fg.jit(together(some))(X, XS)),
        (names, fg.tree_util.tree_unflatten(fg.tree_util.tree_structure(shapes), outs)),
    ):
        close(value, truth(name)[0][0], "value")
        for t, got in zip(used, results, strict=True):
            close(got, TRANSFORMS[t][1](*truth(name)), t)


def test_there_are_enough():
    assert len(PROGRAMS) >= 60


# --- higher order ------------------------------------------------------------------------------------------------------


def test_jacobians_of_what_does_not_depend():
    """Outputs and arguments without a derivative give zeros, also while something traces."""
    for way in (lambda f: f, fg.jit):
        moved, constant = way(fg.jacfwd(lambda x: (x * 2, fnp.ones(2))))(X)
        assert moved.tolist() == (2 * np.eye(3)).tolist() and constant.tolist() == np.zeros((2, 3)).tolist()
        for jacobian in (fg.jacfwd, fg.jacrev):
            used, unused = way(jacobian(lambda x, y: x * 2, argnums=(0, 1)))(X, X)
            assert used.tolist() == (2 * np.eye(3)).tolist() and unused.tolist() == np.zeros((3, 3)).tolist()
        blocks = way(fg.hessian(lambda p, q: fnp.sum(p["a"] ** 2 * p["b"]), argnums=(0, 1)))({"a": X, "b": np.float64(2)}, X)
        np.testing.assert_allclose(blocks[0]["a"][0]["a"], 4 * np.eye(3))
        np.testing.assert_allclose(blocks[0]["a"][0]["b"], 2 * X)
        assert not np.any(blocks[0]["b"][1]) and blocks[1][1].shape == (3, 3)


def test_hessian_vector_products_and_aux():
    f = lambda p: (fnp.sum(p["a"] ** 3 * p["b"]), {"half": p["a"] / 2})
    p, v = {"a": X, "b": np.float64(2)}, {"a": T, "b": np.float64(1)}
    product = fg.jit(lambda p, v: fg.jvp(fg.grad(f, has_aux=True), (p,), (v,)))
    (gradient, aux), (out, _) = product(p, v)
    np.testing.assert_allclose(gradient["a"], 6 * X**2)
    np.testing.assert_allclose(out["a"], 12 * X * T + 3 * X**2)
    np.testing.assert_allclose(out["b"], np.sum(3 * X**2 * T))
    np.testing.assert_allclose(aux["half"], X / 2)
    matrix, aux = fg.jit(fg.hessian(f, has_aux=True))(p)
    np.testing.assert_allclose(matrix["a"]["b"], 3 * X**2)
    np.testing.assert_allclose(aux["half"], X / 2)


def test_complex():
    z = np.array([0.3 + 0.4j, -1.2 + 0.1j])
    loss = lambda m, z: m.sum(m.abs(m.exp(z) * z) ** 2)
    differences = []
    for e in 1e-6 * np.eye(2):
        along = lambda d: (loss(np, z + d) - loss(np, z - d)) / 2e-6
        differences.append(along(e) - 1j * along(1j * e))
    entire = lambda z: z**3 * fnp.sin(z)
    for way in (lambda f: f, fg.jit):
        np.testing.assert_allclose(way(fg.grad(functools.partial(loss, fnp)))(z), differences, rtol=1e-7)
        slope = 3 * z**2 * np.sin(z) + z**3 * np.cos(z)
        for jacobian in (fg.jacfwd, fg.jacrev):
            np.testing.assert_allclose(way(jacobian(entire, holomorphic=True))(z), np.diag(slope), rtol=1e-12, atol=1e-14)
        second = 6 * z * np.sin(z) + 6 * z**2 * np.cos(z) - z**3 * np.sin(z)
        hessian = way(fg.hessian(lambda z: entire(z).sum(), holomorphic=True))(z)
        np.testing.assert_allclose(hessian, np.diag(second), rtol=1e-12, atol=1e-14)


def test_integers_have_no_derivative():
    n, x = fg.grad(lambda n, x: x * n, argnums=(0, 1), allow_int=True)(3, 2.0)
    assert n.dtype == np.dtype([("float0", "V")]) and float(x) == 3


def test_unused_arguments_cost_nothing():
    """No zeros are computed inside for arguments that play no part; those that grad returns are all there are."""
    f = lambda *xs: fg.grad(lambda *ys: fnp.sum(ys[0] ** 2))(*xs)
    program = fg.make_jaxpr(f)(*[X] * 20).jaxpr
    assert [e.primitive.name for e in program.eqns].count("broadcast_in_dim") <= 1
    inner = lambda *ys: lax.scan(lambda c, y: (c * ys[0][0] + y, None), ys[1][0], ys[0])[0]
    program = fg.make_jaxpr(lambda *xs: fg.grad(inner)(*xs))(*[X] * 20).jaxpr
    assert all(len(e.inputs) <= 8 for e in program.eqns)


HARD = {
    "log": (lambda x: fnp.where(x > 1, fnp.log(x), 2 * x), 0.0, 2.0),
    "sqrt": (lambda x: fnp.where(x > 0, fnp.sqrt(x), x), 0.0, 1.0),
    "cond": (lambda x: lax.cond(x > 0, fnp.sqrt, lambda x: x, x), 0.0, 1.0),
    "vmapped cond": (lambda x: fg.vmap(lambda y: lax.cond(y > 0, fnp.sqrt, lambda y: y, y))(x * np.ones(2)).mean(), 0.0, 1.0),
    "wide vmapped cond": (
        lambda x: fg.vmap(lambda y: lax.cond(y[0] > 0, fnp.sqrt, lambda y: y, y))(x * np.ones((2, 100))).mean(), 0.0, 1.0
    ),
    "mask of a sum": (lambda x: fnp.sum(fnp.log(x * np.arange(2.0)), where=np.array([False, True])), 1.0, 1.0),
    "division": (lambda x: fnp.where(x == 0, x, fnp.sin(x) / x), 0.0, 1.0),
}  # fmt: skip


@pytest.mark.parametrize("name", HARD)
def test_hard_zeros(name):
    f, x, slope = HARD[name]
    x = np.float64(x)
    for way in (lambda f: f, fg.jit):
        np.testing.assert_allclose([way(fg.grad(f))(x), way(fg.jacfwd(f))(x)], slope, rtol=1e-14)
        curvature = -1.0 if name == "mask of a sum" else 0.0
        for second in (fg.hessian(f), fg.grad(fg.grad(f)), fg.jacfwd(fg.jacfwd(f)), fg.jacrev(fg.jacfwd(f))):
            np.testing.assert_allclose(way(second)(x), curvature, rtol=1e-14, atol=0)


def test_reverse_mode_of_while_with_programs_inside():
    """The steps are counted from what is known, also where a program inside mixes it with tangents."""
    body = lambda x: lambda s: fg.jit(lambda s: (s[0] + 1, s[1] * x))(s)
    f = lambda x: lax.while_loop(lambda s: s[0] < 3, body(x), (0, x))[1]
    assert float(fg.grad(f)(0.5)) == 0.5
    branch = lambda x: lambda s: lax.cond(s[0] > 1, lambda s: (s[0] + 1, s[1] * x), lambda s: (s[0] + 1, s[1] * 2), s)
    f = lambda x: lax.while_loop(lambda s: s[0] < 3, branch(x), (0, x))[1]
    assert float(fg.grad(f)(0.5)) == 4 and float(fg.hessian(f)(0.5)) == 8
    f = lambda x: lax.while_loop(lambda c: c < 3, lambda c: fg.jit(lambda c: c * 1.5 + x)(c), x)
    assert float(fg.grad(f)(0.5)) == 8.125
