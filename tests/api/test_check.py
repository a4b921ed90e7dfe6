"""fg.check: an ordinary exception from inside compiled code, with the user's line and the failing examples."""

import inspect
import re

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.errors import CheckError, DtypeError, UsageError

X = fnp.asarray(np.array([1.0, 4.0, 9.0], np.float32))


def root(x):
    fg.check(x >= 0, "x must not be negative, it is {x} ({} in all)", fnp.size(x), x=x)  # the line
    return fnp.sqrt(x) * x


TRANSFORMS = {
    "eager": lambda f: f,
    "jit": fg.jit,
    "grad": fg.grad,
    "jit of grad": lambda f: fg.jit(fg.grad(f)),
    "grad of jit": lambda f: fg.grad(fg.jit(f)),
    "hessian": fg.hessian,
    "jacfwd": fg.jacfwd,
    "scan": lambda f: lambda x: lax.scan(lambda c, i: (c, f(x - i)), 0, fnp.arange(1)),
    "jit of scan": lambda f: fg.jit(lambda x: lax.scan(lambda c, i: (c, f(x - i)), 0, fnp.arange(1))),
    "grad of checkpoint": lambda f: fg.grad(fg.checkpoint(f)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_raises_with_the_users_line(name):
    f = TRANSFORMS[name](root)
    for _ in range(4):
        f(4.0)
    with pytest.raises(
        ValueError,
        match=r"(?s)^x must not be negative, it is -2.0 \(1 in all\)\n  checked at test_check.py:\d+ \(root\).*# the line$",
    ) as info:
        f(-2.0)
    assert info.type is CheckError
    f(4.0)  # and goes on


def test_all_elements_must_hold():
    f = fg.jit(lambda x: (fg.check(x > 0, "got {}", x), x)[1])
    f(X)
    with pytest.raises(CheckError, match=r"got \[0. 3. 8.\]"):
        f(X - 1)


def test_on_known_values():
    fg.check(True, "never")
    fg.check(np.array([True, True]), "never")
    with pytest.raises(CheckError, match="always 3"):
        fg.check(False, "always {}", 3)


def test_wrong_calls():
    with pytest.raises(DtypeError, match="a bool"):
        fg.check(X, "text")
    with pytest.raises(UsageError, match="no field"):
        fg.check(True, "text", x=1)
    with pytest.raises(UsageError, match="no argument fills"):
        fg.check(True, "text {x}")
    fg.check(False, "only under checkify", debug=True)
    assert fg.jit(lambda x: (fg.check(x > 0, "only under checkify", debug=True), x)[1])(-1.0) == -1.0


def test_a_check_alone_is_a_program():
    f = fg.jit(lambda x: fg.check(x > 0, "no"))
    assert f(1.0) is None
    with pytest.raises(CheckError):
        f(-1.0)


# --- vmap -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit])
def test_vmap_names_the_examples(transform):
    f = transform(fg.vmap(root))
    f(X)
    with pytest.raises(CheckError, match=r"(?s)it is -1.0.*failed for example 0 of 3\."):
        f(X - 2)
    with pytest.raises(CheckError, match=r"(?s)it is -4.0.*failed for 2 of 3 examples: 0, 1\. The values are those of the first"):
        f(X - 5)
    with pytest.raises(CheckError, match=r"(?s)failed for 20 of 20 examples: 0, 1, .*9, \.\.\."):
        f(-fnp.arange(1.0, 21.0))
    shared = transform(fg.vmap(lambda x, y: root(x) + y, in_axes=(None, 0)))
    with pytest.raises(CheckError, match=r"(?s)it is -1.0.*root\(|# the line$"):
        shared(-1.0, X)


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit])
def test_vmap_of_vmap(transform):
    x = fnp.stack([X, X - 2])
    f = transform(fg.vmap(fg.vmap(root)))
    with pytest.raises(CheckError, match=r"it is -1.0(?s:.*)example \(1, 0\) of 6"):
        f(x)
    f = transform(fg.vmap(fg.vmap(root, in_axes=0), in_axes=1))
    with pytest.raises(CheckError, match=r"it is -1.0(?s:.*)example \(0, 1\) of 6"):
        f(x)


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit])
@pytest.mark.parametrize("size", [1, 500])
def test_a_branch_is_checked_where_it_is_taken(transform, size):
    def f(x):
        return lax.cond(x[0] > 0, lambda x: x, lambda x: (fg.check(x[0] < -1, "got {}", x[0]), x)[1], x)

    f(fnp.ones(3))
    g = transform(fg.vmap(f))
    g(fnp.array([[1.0], [-2.0], [0.5]]) * fnp.ones((1, size)))
    with pytest.raises(CheckError, match=r"(?s)got -0.5.*example 2"):
        g(fnp.array([[1.0], [-2.0], [-0.5]]) * fnp.ones((1, size)))
    with pytest.raises(CheckError, match=r"(?s)got -0.5.*example \(0, 2\)"):
        transform(fg.vmap(fg.vmap(f)))(fnp.array([[[1.0], [-2.0], [-0.5]]]) * fnp.ones((1, size)))


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit])
def test_programs_in_a_batched_branch_know_the_lane(transform):
    """Through scan, while, jit and cond in the branch."""

    def branch(x):
        y = lax.scan(lambda c, i: (c + fg.jit(lambda c: (fg.check(c < 3, "scan {}", c), c)[1])(c), c), x, None, length=2)[0]
        y = lax.while_loop(lambda y: y < 9, lambda y: (fg.check(y < 8.5, "while {}", y), y + 2)[1], y)
        return lax.switch(1, [lambda y: y, lambda y: (fg.check(y <= 10, "switch {}", y), y)[1]], y)

    f = transform(fg.vmap(lambda x: lax.cond(x > 0, branch, lambda x: x, x)))
    f(fnp.array([-1.0, 1.0, 0.5]))
    for value, words in ((2.0, "scan 4.0"), (1.2, "while 8.8"), (1.1, "switch 10.4")):
        with pytest.raises(CheckError, match=rf"(?s){words}.*example 1\."):
            f(fnp.array([-1.0, value, 0.5]))


def test_a_batched_loop_is_checked_while_it_runs():
    f = fg.jit(fg.vmap(lambda x: lax.while_loop(lambda c: c < 5, lambda c: (fg.check(c != 3, "c = {}", c), c + 2)[1], x)))
    np.testing.assert_array_equal(f(fnp.array([0.0, 4.0, 7.0])), [6, 6, 7])
    with pytest.raises(CheckError, match=r"(?s)c = 3.0.*example 1"):
        f(fnp.array([0.0, 1.0, 7.0]))


def test_checks_come_in_the_programs_order(capsys):
    def f(x):
        fg.debug.print("before")
        fg.check(x > 0, "first")
        fg.debug.print("after")
        fg.check(x > -5, "second")
        return x

    for g in (f, fg.jit(f), fg.jit(fg.grad(f))):
        with pytest.raises(CheckError, match="first"):
            g(-9.0)
        assert capsys.readouterr().out == "before\n"


def test_programs_show_the_line_and_no_address():
    rule = fg.custom_jvp(fnp.sin)
    rule.defjvp(lambda p, t: (rule(*p), t[0]))

    @fg.jit
    def f(x):
        fg.check(x > 0, "got {x}", x=x)  # shown
        fg.debug.print("x is {}", x)
        return rule(fg.pure_callback(np.sort, fg.ShapeDtypeStruct(x.shape, x.dtype), x))

    line = inspect.getsourcelines(f.__wrapped__)
    number = line[1] + next(i for i, text in enumerate(line[0]) if "# shown" in text)
    for text in (str(fg.explain(f)(np.ones(3))), str(fg.make_jaxpr(f)(np.ones(3)))):
        assert re.search(rf"site=test_check\.py:{number} \(.*f\): 'got {{x}}'", text), text
        assert "fun='x is {}'" in text and "fun=sort" in text and "0x" not in text, text
