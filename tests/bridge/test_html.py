"""What notebooks show of arrays and programs: well-formed HTML that holds the numbers."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

ARRAYS = {
    "vector": fnp.arange(3.5), "scalar": fnp.float32(2.5), "matrix": fnp.array([[1, -2], [3, 4]]), "empty": fnp.zeros((0, 3)),
    "cube": fnp.zeros((2, 3, 4)), "key": fg.random.key(0), "keys": fg.random.split(fg.random.key(0), 3), "bool": fnp.array([True]),
    "complex": fnp.array([1 + 2j]), "nan": fnp.array([np.nan, np.inf]), "narrow": fnp.ones((2, 2), "bfloat16"),
    "none": fnp.zeros(0),
}  # fmt: skip


def texts(html):
    return list(ElementTree.fromstring(f"<div>{html}</div>").itertext())  # raises where tags or escapes are wrong


def words(html):
    return [t for t in texts(html) if t.strip()]


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays(name):
    x = ARRAYS[name]
    found = words(x._repr_html_())
    assert x.aval.str_short() in found[0]
    if x.ndim in (1, 2) and x.size and name not in ("key", "keys"):
        cells = found[1:][x.shape[-1] :]
        for v in np.asarray(x).ravel():
            assert any([c == str(v.item()) or c == f"{v.item():.6g}" for c in cells])


def test_long_arrays_are_cut():
    found = words(fnp.arange(10000).reshape(100, 100)._repr_html_())
    assert "⋯" in found and "0" in found and "9999" in found and "5050" not in found and len(found) < 200
    assert len(fnp.zeros((1000, 1000))._repr_html_()) < 20_000


def test_arrays_without_memory():
    x = fnp.ones(3)
    x.delete()
    assert "Array(f32[3]" in words(x._repr_html_())[0]


def test_programs():
    program = fg.make_jaxpr(lambda x: fg.lax.scan(lambda c, y: (c + y, c < 2), x, fnp.arange(3.0)))(1.0)
    for p in (program, program.jaxpr):
        html = p._repr_html_()
        assert "".join(texts(html)) == str(p)
        assert re.search(r"<b [^>]*>scan</b>", html) and re.search(r"<b [^>]*>lt</b>", html)


def test_a_text_that_leaves_elements_out_says_the_shape():
    assert "shape=(2000,), dtype=int64" in repr(fnp.arange(2000))
    assert "shape" not in repr(fnp.arange(1000))
    with np.printoptions(threshold=5):
        assert "shape=(2, 3), dtype=float32" in repr(fnp.zeros((2, 3)))
        assert str(fnp.arange(9)) == str(np.arange(9))
