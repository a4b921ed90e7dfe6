"""Five typical mistakes. Each message has the user's line, the shapes and dtypes, and what to type instead."""

import inspect
import re

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax


def raised(f, *args):
    """The error's text, and the lines of f with their numbers, so that tests name lines by their text."""
    with pytest.raises((TypeError, ValueError, fg.errors.FuncgradError)) as info:
        f(*args)
    return str(info.value)


def line_of(f, text):
    """ "test_errors.py:<line>" of the line of f that contains the text."""
    lines, first = inspect.getsourcelines(f)
    (number,) = [first + i for i, line in enumerate(lines) if text in line and "line_of" not in line]
    return f"test_errors.py:{number}"


def layer(w, x):
    return w @ x


def test_shape_mismatch_in_matmul():
    w, x = fnp.ones((3, 4), np.float32), fnp.ones((3, 2), np.float64)
    for f in (layer, fg.jit(layer), fg.grad(lambda w, x: layer(w, x).sum())):
        text = raised(f, w, x)
        assert line_of(layer, "w @ x") in text
        assert "f32[3,4]" in text and "f64[3,2]" in text
        assert re.search(r"Try: .*(\.T|transpose)", text)


@fg.jit
def relu(x):
    if x > 0:
        return x
    return 0 * x


def test_if_on_a_tracer():
    text = raised(relu, np.float32(1.0))
    assert line_of(relu.__wrapped__, "if x > 0") in text
    assert "bool[]" in text
    assert "fnp.where(" in text and "lax.cond(" in text and "static_argnums" in text


def assign(x):
    x[0] = 1


def test_item_assignment():
    x = fnp.ones((3,), np.float32)
    for f in (assign, fg.jit(assign)):
        text = raised(f, x)
        assert line_of(assign, "x[0] = 1") in text
        assert "f32[3]" in text
        assert "x = x.at[0].set(1)" in text


def residuals(x):
    return x * 2


def test_grad_of_a_vector_output():
    for f in (residuals, fg.jit(residuals)):
        text = raised(fg.grad(f), fnp.ones((3,), np.float32))
        assert "residuals" in text and "f32[3]" in text
        assert "test_errors.py:" in text
        assert "jacrev" in text or ".sum()" in text


kept = []


@fg.jit
def leaky(x):
    kept.append(x * 2)
    return x


def use_it():
    return kept[0] + 1


def test_leaked_tracer():
    kept.clear()
    leaky(fnp.ones((3,), np.float32))
    text = raised(use_it)
    assert line_of(leaky.__wrapped__, "x * 2") in text  # where it was made
    assert line_of(use_it, "kept[0] + 1") in text  # where it was used
    assert "f32[3]" in text
    assert "checking_leaks" in text and "return the value" in text


@pytest.mark.parametrize("f", [lambda: relu(np.float32(1.0)), lambda: fg.grad(residuals)(np.ones(3))], ids=["if", "grad"])
def test_tracebacks_end_in_the_users_code(f):
    """The package's frames are hidden, so that the last line shown is the user's."""
    with pytest.raises(fg.errors.FuncgradError) as info:
        f()
    assert info.traceback[-1].path.name == "test_errors.py"


def misfits(x, y):
    return {
        "add": lambda: x + y,  # add
        "sum": lambda: fnp.sum(x, axis=3),  # sum
        "method": lambda: x.mean(axis=-3),  # method
        "concatenate": lambda: fnp.concatenate([x, y]),  # concatenate
        "stack": lambda: fnp.stack([x, y]),  # stack
        "reshape": lambda: x.reshape(5),  # reshape
        "list": lambda: x == [1, 2],  # list
        "argument": lambda: fnp.sin([1, 2]),  # argument
        "lax": lambda: lax.add(x, y),  # lax
        "numpy": lambda: np.where(x > 0, x, y),  # numpy
    }


@pytest.mark.parametrize("name", misfits(None, None))
def test_what_does_not_fit_says_where(name):
    x, y = fnp.ones((2, 3)), fnp.ones(4)
    for f in (lambda x, y: misfits(x, y)[name](), fg.jit(lambda x, y: misfits(x, y)[name]())):
        first = raised(f, x, y).split("\n")[0]
        assert f"; at {line_of(misfits, '# ' + name)} (misfits.<lambda>): " in first and first.endswith(f"# {name}."), first
