"""The names, signatures and inspection that the Python array API standard (2024.12) asks of `funcgrad.numpy`, without its suite."""

import ast
import inspect
import math
from pathlib import Path

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

SIGNATURES = Path(__file__).with_name("array_api_signatures.txt").read_text().split("\n")[:-1]
DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128".split()


def _find(name):
    if name in ("capabilities", "default_device", "default_dtypes", "devices", "dtypes") or name.startswith("info."):
        return getattr(fnp.__array_namespace_info__(), name.removeprefix("info."))
    home = {"array": fg.Array, "linalg": fnp.linalg, "fft": fnp.fft}.get(name.rpartition(".")[0], fnp)
    return getattr(home, name.rpartition(".")[2])


@pytest.mark.parametrize("text", SIGNATURES)
def test_signatures(text):
    name, paren, _ = text.partition("(")
    found = _find(name)
    if not paren:  # a property
        assert not callable(found)
        return
    wanted = ast.parse(f"def f{text[len(name) :]}: pass").body[0].args
    try:
        signature = inspect.signature(found)
    except ValueError:  # a method of C
        return
    by_position = [a.arg for a in wanted.posonlyargs]
    by_keyword = {a.arg: d for a, d in zip(wanted.kwonlyargs, wanted.kw_defaults)}
    optional = wanted.args[len(wanted.args) - max(0, len(wanted.defaults)) :]
    bound = signature.bind(*by_position, *[a.arg for a in wanted.args], **dict.fromkeys(by_keyword, 1))
    assert len(bound.args) >= len(by_position)
    by_keyword |= dict(zip([a.arg for a in optional], wanted.defaults))
    signature.bind(
        *by_position, **{a.arg: 1 for a in wanted.args}, **dict.fromkeys(by_keyword.keys() - {a.arg for a in optional})
    )
    for key, default in by_keyword.items():
        # Said in other words: None is the default of the standard; and immutable arrays need no copy.
        if default is not None and key != "copy":
            assert signature.parameters[key].default in (ast.literal_eval(default), None), key


def test_constants_and_dtypes():
    assert (fnp.e, fnp.pi, fnp.inf, fnp.newaxis) == (math.e, math.pi, math.inf, None) and math.isnan(fnp.nan)
    for name in DTYPES:
        d = getattr(fnp, name)
        assert d == d and d == np.dtype(name) and fnp.zeros(2, dtype=d).dtype == d
        assert all([d != getattr(fnp, other) for other in DTYPES if other != name])
    for foreign in (None, [], {}, {"a": 1}, "a, b", "(", 3.5, object()):
        assert fnp.float64 != foreign and fnp.float32 != foreign


def test_inspection():
    info = fnp.__array_namespace_info__()
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}
    assert fnp.ones((1,) * 64).ndim == 64
    assert info.default_device() in info.devices() and fnp.ones(2).device == info.default_device()
    want = {"real floating": "float32", "complex floating": "complex64", "integral": "int64", "indexing": "int64"}
    assert info.default_dtypes() == info.default_dtypes(device="cpu") == want
    assert info.default_dtypes()["real floating"] == fnp.zeros(2).dtype and fnp.argsort(fnp.ones(2)).dtype == fnp.int64
    assert set(info.dtypes()) == set(DTYPES)
    assert set(info.dtypes(kind="integral")) == {d for d in DTYPES if "int" in d}
    assert set(info.dtypes(kind=("bool", "complex floating"))) == {"bool", "complex64", "complex128"}
    with pytest.raises((TypeError, ValueError), match=r"(?s)kind='real'.*real floating"):
        info.dtypes(kind="real")
    x = fnp.ones(2)
    assert x.__array_namespace__() is x.__array_namespace__(api_version="2021.12") is fnp
    with pytest.raises((TypeError, ValueError), match="1999"):
        x.__array_namespace__(api_version="1999.01")


def test_devices_of_arrays_and_tracers():
    def f(x):
        assert x.device == fg.devices()[0] and x.to_device(x.device) is x
        return fnp.zeros(2, device=x.device) + x

    assert fg.jit(f)(fnp.ones(2)).tolist() == [1, 1]
    with pytest.raises((TypeError, ValueError), match="stream"):
        fnp.ones(2).to_device("cpu", stream=3)
    with pytest.raises((TypeError, ValueError), match="tpu"):
        fnp.ones(2).to_device("tpu")


@pytest.mark.parametrize("copy", [None, True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_asarray(dtype, copy):
    x = fnp.asarray(np.arange(6).reshape(2, 3).astype(dtype))
    for y in (fnp.asarray(x, copy=copy), fnp.asarray(x, dtype=x.dtype, copy=copy), fnp.from_dlpack(x, copy=copy)):
        assert y.dtype == x.dtype and y.shape == x.shape and fnp.all(y == x)


def test_asarray_without_a_copy():
    a = np.arange(4.0)
    assert np.shares_memory(np.asarray(fnp.asarray(a, copy=False)), a)
    assert not np.shares_memory(np.asarray(fnp.asarray(a, copy=True)), a)
    assert not np.shares_memory(np.asarray(fnp.asarray(a)), a)
    x = fnp.ones(2)
    assert fnp.asarray(x, copy=False) is x and fnp.asarray(x, dtype=x.dtype, copy=False).dtype == x.dtype

    class Dlpack:
        __dlpack__, __dlpack_device__ = a.__dlpack__, a.__dlpack_device__

    assert np.shares_memory(np.asarray(fnp.asarray(Dlpack(), copy=False)), a)
    for bad in ([1, 2], 3, 1.5, np.float64(2)):
        with pytest.raises(ValueError, match=r"(?s)copy=False for .*copy=None"):
            fnp.asarray(bad, copy=False)
    for bad in (a, x, Dlpack(), a.astype(">f8")):
        with pytest.raises(ValueError, match="copy=False"):
            fnp.asarray(bad, dtype="int8", copy=False)
    with pytest.raises(ValueError, match="copy=False"):
        fnp.asarray(a.astype(">f8"), copy=False)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
def test_finfo(dtype):
    info = fnp.finfo(dtype)
    one = fnp.ones((), info.dtype)
    for name in ("eps", "max", "min", "smallest_normal", "tiny", "resolution"):
        assert type(getattr(info, name)) is float
        assert (one * getattr(info, name)).dtype == info.dtype and fnp.isfinite(one * getattr(info, name))
    assert info.bits == one.dtype.itemsize * 8 and one + info.eps > one
    assert info.min == -info.max and type(info.bits) is type(info.nmant) is int
    with pytest.raises(TypeError, match="iinfo"):
        fnp.finfo("int32")


def test_dlpack_of_old_consumers():
    class Old:  # DLPack 0.x: no version is asked for
        def __init__(self, x, copy):
            self.x, self.copy = x, copy

        def __dlpack__(self, **_):
            return self.x.__dlpack__(copy=self.copy)

        def __dlpack_device__(self):
            return self.x.__dlpack_device__()

    x = fg.jit(lambda x: x * 2)(np.arange(5.0))
    for copy in (None, True, False):
        y = np.from_dlpack(Old(x, copy))
        np.testing.assert_array_equal(y, np.asarray(x))
        assert np.shares_memory(y, np.asarray(x)) == (copy is False)
    with pytest.raises(BufferError):
        fnp.asarray(np.ones((4, 4)))[:, ::2].__dlpack__(copy=False)


def test_small_duties():
    assert fnp.eye(2, 3, k=2**70).tolist() == np.zeros((2, 3)).tolist() == fnp.eye(2, 3, k=-(2**70)).tolist()
    assert fnp.tril(fnp.ones((2, 2)), k=2**64).tolist() == [[1, 1], [1, 1]]
    assert fnp.linspace(16777217.0, 0.0, 1, dtype="float64")[0] == 16777217
    assert fnp.linspace(0, 2**53 - 2, 3, dtype="int64").tolist() == [0, 2**52 - 1, 2**53 - 2]
    assert fnp.unique_inverse(fnp.asarray(3)).inverse_indices.shape == () and fnp.unique_values(fnp.asarray(3)).shape == (1,)
    assert fnp.unique_all(fnp.ones((2, 3))).inverse_indices.shape == (2, 3)
    assert fnp.searchsorted(fnp.asarray([0], dtype="uint64"), 2**63).tolist() == 1
    x = fnp.ones((3, 4))
    for shape in ((0,), (0, 4), (3, 0), (0, 0)):
        mask = np.zeros(shape, bool)
        assert x[mask].shape == np.ones((3, 4))[mask].shape
    for shape in ((0, 3), (2, 0), (3, 4, 0)):
        with pytest.raises(IndexError):
            x[np.zeros(shape, bool)]
