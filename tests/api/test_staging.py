"""make_jaxpr, eval_shape, ShapeDtypeStruct."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp


def test_notation():
    assert str(fg.make_jaxpr(fnp.sin)(np.zeros(3, np.float32))) == "{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }"
    text = str(fg.make_jaxpr(lambda x, y: fnp.sum(x * 2.0 + y))(np.zeros(3, np.float32), np.zeros(3, np.float32)))
    assert text.splitlines() == [
        "{ lambda ; a:f32[3] b:f32[3]. let",
        "    c:f32[3] = mul a 2.0:f32[]",
        "    d:f32[3] = add c b",
        "    e:f32[] = reduce_sum[axes=(0,)] d",
        "  in (e,) }",
    ]


def test_arrays_from_outside_are_constants():
    w = fnp.ones(3)
    closed = fg.make_jaxpr(lambda x: x * w)(np.float32(2.0))
    assert closed.consts == [w] or closed.consts[0] is w
    assert str(closed).startswith("{ lambda a:f32[3] ; b:f32[]. let")


def test_static_arguments_and_shapes():
    closed, shapes = fg.make_jaxpr(lambda n, x: [x] * n, static_argnums=0, return_shape=True)(2, 1.0)
    assert len(closed.jaxpr.invars) == 1 and len(shapes) == 2 and shapes[0].shape == ()


def test_eval_shape_computes_nothing():
    big = fg.ShapeDtypeStruct((10**6, 10**6), np.float32)
    out = fg.eval_shape(lambda a, b: {"y": a @ b}, big, big)
    assert out["y"] == fg.ShapeDtypeStruct((10**6, 10**6), np.float32)
    assert fg.make_jaxpr(fnp.sin)(big).in_avals[0].shape == (10**6, 10**6)
    with pytest.raises(TypeError):
        fg.eval_shape(lambda a, b: a @ b, big, fg.ShapeDtypeStruct((3,), np.float32))
