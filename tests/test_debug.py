"""debug.print, debug.callback and debug.breakpoint: under every transform, exactly once, in order."""

import bdb
import io
import logging
import sys

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import debug, lax
from funcgrad.errors import UsageError

X = fnp.asarray(np.array([1.0, 2.0, 3.0], np.float32))


@pytest.fixture
def printed(capsys):
    return lambda: capsys.readouterr().out.splitlines()


def shown(x):
    debug.print("x = {x}, {:.1f}", 2 * x, x=x)
    return fnp.sin(x) * x


LINE = ["x = 2.0, 4.0"]
SCALAR = {
    "eager": lambda f: f,
    "jit": fg.jit,
    "jit of jit": lambda f: fg.jit(lambda x: fg.jit(f)(x)),
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (1.0,)),
    "grad": fg.grad,
    "jit of grad": lambda f: fg.jit(fg.grad(f)),
    "grad of jit": lambda f: fg.grad(fg.jit(f)),
    "hessian": fg.hessian,
    "jit of hessian of jit": lambda f: fg.jit(fg.hessian(fg.jit(f))),
    "jacfwd": fg.jacfwd,
    "linearize": lambda f: lambda x: fg.linearize(f, x)[1](1.0),
    "linearize of jit": lambda f: lambda x: fg.linearize(fg.jit(f), x)[1](1.0),
    "vjp, pulled twice": lambda f: lambda x: [fg.vjp(fg.jit(f), x)[1](1.0) for _ in range(1)] * 2,
    "checkpoint": fg.checkpoint,
    "grad of checkpoint": lambda f: fg.grad(fg.checkpoint(f)),
    "jit of grad of checkpoint": lambda f: fg.jit(fg.grad(fg.checkpoint(f))),
    "grad of checkpoint of cond": lambda f: fg.grad(fg.checkpoint(lambda x: lax.cond(x > 0, f, lambda x: x, x))),
    "jit of grad of checkpoint of scan": lambda f: fg.jit(
        fg.grad(fg.checkpoint(lambda x: lax.scan(lambda c, _: (f(c), c), x, None, length=1)[0]))
    ),
    "vmap of what is shared": lambda f: lambda x: fg.vmap(lambda y: f(x) + y)(X),
    "cond": lambda f: lambda x: lax.cond(x > 0, f, lambda x: x, x),
    "jit of grad of cond": lambda f: fg.jit(fg.grad(lambda x: lax.cond(x > 0, f, lambda x: x, x))),
    "closed over": lambda f: lambda x: fg.jit(lambda: f(fnp.float32(x)))(),
}


@pytest.mark.parametrize("name", SCALAR)
def test_prints_once(name, printed):
    f = SCALAR[name](shown)
    for _ in range(4):
        f(2.0)
        assert printed() == LINE


def test_is_not_printed_while_tracing(printed):
    fg.make_jaxpr(shown)(2.0)
    fg.eval_shape(shown, 2.0)
    assert printed() == []


def test_each_example(printed):
    want = ["x = 1.0, 2.0", "x = 2.0, 4.0", "x = 3.0, 6.0"]
    for f in (
        fg.vmap(shown),
        fg.jit(fg.vmap(shown)),
        fg.vmap(fg.jit(shown)),
        fg.vmap(fg.grad(shown)),
        fg.jit(fg.vmap(fg.grad(shown))),
    ):
        f(X)
        assert printed() == want
    fg.vmap(fg.vmap(shown))(X[None])
    assert printed() == want
    fg.vmap(shown)(X[:0])
    assert printed() == []


def loop(kind):
    def step(c, x):
        debug.print("c={} x={}", c, x)
        return c + x, c * x

    return {
        "scan": lambda x: lax.scan(step, fnp.float32(0), x)[0],
        "unused scan": lambda x: (lax.scan(step, fnp.float32(0), x), x.sum())[1],
        "fori_loop": lambda x: lax.fori_loop(0, 3, lambda i, c: step(c, x[i])[0], fnp.float32(0)),
        "while_loop": lambda x: lax.while_loop(
            lambda s: s[0] < 3, lambda s: (s[0] + 1, step(s[1], x[s[0]])[0]), (0, fnp.float32(0))
        )[1],
        "bounded while_loop": lambda x: lax.while_loop(
            lambda s: s[0] < 3, lambda s: (s[0] + 1, step(s[1], x[s[0]])[0]), (0, fnp.float32(0)), max_steps=5
        )[1],
        "constant": lambda x: lax.scan(lambda c, x: (debug.print("c={} x={}", 0, 1), (c * 2 + x, x))[1], 0.0, x)[0],
    }[kind]


WANT = ["c=0.0 x=1.0", "c=1.0 x=2.0", "c=3.0 x=3.0"]


@pytest.mark.parametrize(
    "transform",
    [lambda f: f, fg.jit, fg.grad, lambda f: fg.jit(fg.grad(f)), lambda f: fg.grad(fg.jit(f)), fg.jacfwd, fg.hessian],
    ids=["eager", "jit", "grad", "jit of grad", "grad of jit", "jacfwd", "hessian"],
)
@pytest.mark.parametrize("kind", ["scan", "unused scan", "fori_loop", "while_loop", "bounded while_loop", "constant"])
def test_each_step(kind, transform, printed):
    f = transform(loop(kind))
    for _ in range(2):
        f(X)
        assert printed() == (["c=0 x=1"] * 3 if kind == "constant" else WANT)


def test_each_step_of_each_example(printed):
    for f in (fg.vmap(loop("scan")), fg.jit(fg.vmap(loop("scan")))):
        f(fnp.stack([X, X - 1]))
        out = printed()
        assert out[0::2] == WANT and out[1::2] == ["c=0.0 x=0.0", "c=0.0 x=1.0", "c=1.0 x=2.0"]


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit, fg.grad, lambda f: fg.jit(fg.grad(f)), lambda f: fg.grad(fg.jit(f))])
def test_the_branch_that_is_taken(transform, printed):
    def f(x):
        return lax.cond(x > 0, lambda x: (debug.print("positive {}", x), x * x)[1], lambda x: (debug.print("not"), x)[1], x)

    f = transform(f)
    f(2.0)
    assert printed() == ["positive 2.0"]
    f(-1.0)
    assert printed() == ["not"]


@pytest.mark.parametrize("size", [1, 1000])  # small operands go lane by lane; large ones must, too, where there are effects
def test_batched_branches_and_loops(size, printed):
    def f(x):
        y = lax.cond(
            x[0] > 1, lambda x: (debug.print("more {}", x[0]), x * x)[1], lambda x: (debug.print("less {}", x[0]), x)[1], x
        )
        return lax.while_loop(lambda y: y[0] < 4, lambda y: (debug.print("step {}", y[0]), y + 2)[1], y)

    for g in (fg.vmap(f), fg.jit(fg.vmap(f))):
        out = g(np.array([[1.0] * size, [2.0] * size], np.float32))
        np.testing.assert_array_equal(out[:, 0], [5, 4])
        lines = printed()
        assert sorted(lines) == ["less 1.0", "more 2.0", "step 1.0", "step 3.0"]
        assert lines.index("step 1.0") < lines.index("step 3.0")


def test_order_is_the_programs(printed):
    def f(x):
        y = fnp.exp(x @ x.T).sum()
        debug.print("first {}", y > 0)
        debug.print("second")
        z = lax.fori_loop(0, 2, lambda i, c: (debug.print("third {}", i), c + 1)[1], x)
        debug.print("fourth")
        return y + z.sum()

    want = ["first True", "second", "third 0", "third 1", "fourth"]
    for g in (f, fg.jit(f), fg.grad(f), fg.jit(fg.grad(f))):
        g(np.eye(2, dtype=np.float32))
        assert printed() == want


def test_nothing_is_shared_or_dropped(printed):
    f = fg.jit(lambda x: [debug.print("{}", x) for _ in range(3)] and None)
    for _ in range(3):
        assert f(1.0) is None
        assert printed() == ["1.0"] * 3


def test_with_debug_nans_it_prints_once(printed):
    with fg.debug_nans(True), pytest.raises(FloatingPointError):
        fg.jit(lambda x: (debug.print("{}", x), fnp.log(x))[1])(-1.0)
    assert printed() == ["-1.0"]


def test_with_disable_jit(printed):
    with fg.disable_jit():
        fg.jit(shown)(2.0)
    assert printed() == LINE


def test_tangents_in_rules(printed):
    """A print in a derivative's rule shows what the rule sees."""

    @fg.custom_jvp
    def f(x):
        return x * x

    @f.defjvp
    def rule(primals, tangents):
        debug.print("x={} t={}", primals[0], tangents[0])
        return f(*primals), 2 * primals[0] * tangents[0]

    fg.jvp(f, (3.0,), (1.0,))
    assert printed() == ["x=3.0 t=1.0"]

    @fg.custom_vjp
    def g(x):
        return x * x

    g.defvjp(lambda x: (g(x), x), lambda x, ct: (debug.print("ct={}", ct), 2 * x * ct)[1:])
    fg.jit(fg.grad(g))(3.0)
    assert printed() == ["ct=1.0"]


# --- formats --------------------------------------------------------------------------------------------------------------


def test_arrays_print_as_numpy_prints_them(printed):
    f = fg.jit(lambda a, b, c: debug.print("{} {b!r} {c[k]} {b.shape} {{}}", a, b=b, c=c))
    f(np.arange(4).reshape(2, 2), np.float32(1.5), {"k": np.array([True])})
    assert printed() == ["[[0 1]", " [2 3]] array(1.5, dtype=float32) [ True] () {}"]
    fg.jit(lambda x: debug.print("{x} {x:.3f}", x=x))(np.float32(0.1))
    assert printed() == ["0.1 0.100"]
    debug.print("{} {name} {n:03d}", None, name="text", n=7)
    assert printed() == ["None text 007"]
    key = fg.random.key(7)
    fg.jit(lambda k: debug.print("{}", k))(key)
    assert printed() == str(key).splitlines()


def test_formats_are_checked_while_tracing():
    for call in (
        lambda x: debug.print("{y}", x=x),
        lambda x: debug.print("{} {}", x),
        lambda x: debug.print(f"x is {3}", x),
        lambda x: debug.print("x", x=x),
        lambda x: debug.print(x),
    ):
        with pytest.raises(UsageError, match="debug.print"):
            fg.make_jaxpr(call)(1.0)
    fg.make_jaxpr(lambda x: debug.print("{y}", x=x, skip_format_check=True))(1.0)
    with pytest.raises(KeyError):
        fg.jit(lambda x: debug.print("{y}", x=x, skip_format_check=True))(1.0)


def test_to_the_log(caplog, printed):
    with caplog.at_level(logging.INFO, "funcgrad"):
        fg.jit(lambda x: debug.print("x={}", x, _use_logging=True))(1.0)
    assert caplog.messages == ["x=1.0"] and printed() == []


# --- callback -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit, fg.grad, lambda f: fg.jit(fg.grad(f))])
def test_callback_gets_trees_of_numpy_arrays(transform):
    log = []

    def note(tree, name, *, scale):
        assert isinstance(tree["x"][0], np.ndarray) and isinstance(scale, int)
        log.append((tree["x"][0].tolist(), name, scale))

    def f(x):
        debug.callback(note, {"x": [x]}, "name", scale=3, ordered=True)
        return x * x

    transform(f)(fnp.float32(2))
    assert log == [(2.0, "name", 3)]


def test_what_a_callback_keeps_stays():
    kept = []
    f = fg.jit(lambda x: (debug.callback(kept.append, x * 2), fnp.sin(x * 2))[1])
    for i in range(4):
        f(X + i)
    np.testing.assert_array_equal(kept, [2 * (X + i) for i in range(4)])


def test_callback_needs_a_function():
    with pytest.raises(UsageError, match="callable"):
        debug.callback(3)
    log = []
    debug.callback(ordered=True)(log.append, X)
    assert len(log) == 1


# --- breakpoint ------------------------------------------------------------------------------------------------------------


def session(monkeypatch, capsys, f, *args, script):
    monkeypatch.setattr(sys, "stdin", io.StringIO(script))
    out = f(*args)
    return out, capsys.readouterr().out


SCALE = 10


def stopped(x, extra):
    y = {"twice": x * 2}
    debug.breakpoint()
    return y["twice"] + SCALE + extra


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit, lambda f: fg.jit(fg.grad(f)), lambda f: fg.grad(fg.jit(f))])
def test_breakpoint_shows_the_frame(transform, monkeypatch, capsys):
    script = "p x\ny['twice'] * SCALE\n[y['twice'] for _ in range(2)]\nz = x + 5\np z\npp y\nlocals\nnonsense\nl\nbt\nu\np here\nd\nd\nhelp\nc\n"

    def outer(x):
        here = "outer frame"
        return stopped(x, len(here))

    _, text = session(monkeypatch, capsys, transform(outer), fnp.float32(3), script=script)
    for part in ("rray(3.", "60.", "{'twice': ", "NameError", "debug.breakpoint()", "'outer frame'", "extra = 11", "innermost"):
        assert part in text, (part, text)
    assert "8." in text and "stopped" in text


def test_breakpoint_in_loops_and_examples(monkeypatch, capsys):
    def step(c, x):
        debug.breakpoint()
        return c + x, x

    _, text = session(monkeypatch, capsys, fg.jit(lambda x: lax.scan(step, 0.0, x)), X, script="p c\nc\n" * 3)
    assert [text.count(f"array({v}") for v in ("0.", "1.", "3.")] == [1, 1, 1]
    _, text = session(monkeypatch, capsys, fg.vmap(lambda x: stopped(x, 0)), X, script="p x\nc\n" * 3)
    assert [text.count(f"array({v}") for v in ("1.", "2.", "3.")] == [1, 1, 1]


def test_breakpoint_ends(monkeypatch, capsys):
    _, text = session(monkeypatch, capsys, fg.jit(stopped), 3.0, 1, script="")  # the end of the script goes on
    with pytest.raises(bdb.BdbQuit):
        session(monkeypatch, capsys, fg.jit(stopped), 3.0, 1, script="q\n")
    out = io.StringIO()
    assert debug.breakpoint(token="given", num_frames=1, stdin=io.StringIO("bt\nc\n"), stdout=out) == "given"
    assert out.getvalue().count("test_breakpoint_ends") == 2
    with pytest.raises(UsageError, match="backend"):
        debug.breakpoint(backend="web")
