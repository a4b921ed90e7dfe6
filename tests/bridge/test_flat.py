"""Functions of pytrees as functions of flat values: what is no function, no argument number, no value."""

import dataclasses

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax
from funcgrad.bridge.flat import _CALLS
from funcgrad.errors import DtypeError, UsageError

GIVEN = 3.0  # where a function belongs
TRANSFORMS = "grad value_and_grad jacfwd jacrev hessian vmap make_jaxpr explain checkpoint".split()
CALLED = {
    "jvp": lambda: fg.jvp(GIVEN, (1.0,), (1.0,)),
    "vjp": lambda: fg.vjp(GIVEN, 1.0),
    "linearize": lambda: fg.linearize(GIVEN, 1.0),
    "eval_shape": lambda: fg.eval_shape(GIVEN),
    "linear_transpose": lambda: fg.linear_transpose(GIVEN, 1.0),
    "closure_convert": lambda: fg.closure_convert(GIVEN, 1.0),
    "scan": lambda: lax.scan(GIVEN, abs, GIVEN),
    "map": lambda: lax.map(GIVEN, abs),
    "fori_loop": lambda: lax.fori_loop(0, 3, GIVEN, 0),
    "while_loop": lambda: lax.while_loop(GIVEN, abs, 0),
    "cond": lambda: lax.cond(True, GIVEN, abs, 0),
    "switch": lambda: lax.switch(0, [GIVEN], 0),
    "associative_scan": lambda: lax.associative_scan(GIVEN, 0),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_value_where_a_function_belongs(name):
    made = "jacrev" if name == "hessian" else name
    with pytest.raises(UsageError, match=rf"(?s){made}: got float.*callable.*{made}\(f\)\(x\), not {made}\(f\(x\)\)"):
        getattr(fg, name)(GIVEN)


@pytest.mark.parametrize("name", CALLED)
def test_the_call_that_an_error_writes_runs(name):
    with pytest.raises(UsageError, match=rf"(?s){name}: got float") as caught:
        CALLED[name]()
    text = str(caught.value).partition("Try: write ")[2]
    assert text == _CALLS[name]
    f = {"scan": lambda c, x: (c, x), "fori_loop": lambda i, c: c, "associative_scan": fnp.add}.get(name, lambda x: x * 2)
    names = {
        "lax": lax,
        "f": f,
        "g": abs,
        "x": 1.0,
        "t": 1.0,
        "ct": 1.0,
        "xs": np.ones(3),
        "init": 1.0,
        "i": 0,
        "lower": 0,
        "upper": 2,
    }
    eval(text, {**vars(fg), **names, "condition": (lambda c: c < 3) if name == "while_loop" else True})


def test_every_such_call_is_tested():
    assert set(CALLED) == set(_CALLS)


@pytest.mark.parametrize("argnums", [np.ones(2), fnp.ones(2), fnp.asarray(1), 1.5, "x", None, True, (0, "x"), abs], ids=str)
@pytest.mark.parametrize("transform", [fg.grad, fg.value_and_grad])
def test_arguments_given_with_the_function(transform, argnums):
    """`grad(f, x)` is an error when it is written, not a function that waits."""
    with pytest.raises(UsageError, match=r"(?s)argnums=.*an int.*\(f\)\(x\), not \w+\(f, x\)"):
        transform(fnp.sum, argnums)


@dataclasses.dataclass
class Plain:
    w: object


@pytest.mark.parametrize("call", [fg.grad, fg.vmap, fg.jacfwd], ids=str)
def test_a_mask_is_not_dropped(call):
    with pytest.raises(DtypeError, match="got MaskedArray"):
        call(fnp.sum)(np.ma.array([1.0, 2.0], mask=[0, 1]))


@pytest.mark.parametrize("call", [fg.grad, fg.vmap, fg.jit], ids=["grad", "vmap", "jit"])
@pytest.mark.parametrize("leaf", [Plain(1.0), "text", object(), {1, 2}], ids=["dataclass", "str", "object", "set"])
def test_what_is_no_array(call, leaf):
    with pytest.raises(DtypeError, match=r"(?s)got .*Allowed: arrays.*regist"):
        call(lambda p: p["a"])({"a": leaf})
