import weakref

import numpy as np
import pytest

import funcgrad.numpy as fnp
from funcgrad.api import devices as api
from funcgrad.errors import DeletedArrayError, UsageError


def test_there_is_one_device():
    assert [str(d) for d in api.devices()] == ["cpu:0"] and api.device_count("cpu") == 1 and api.default_backend() == "cpu"
    x = fnp.ones(3)
    assert x.device is api.devices()[0] and x.devices() == {x.device}
    with pytest.raises(UsageError, match="gpu(.|\n)*Allowed: cpu(.|\n)*Try"):
        api.devices("gpu")


def test_putting_and_getting():
    a, x = np.ones(2), fnp.ones(2)
    put = api.device_put({"a": a, "x": x, "n": 3}, api.devices()[0])
    assert put["x"] is x and put["n"].weak_type
    a[0] = 5
    assert float(put["a"][0]) == 1
    got = api.device_get(put)
    assert type(got["a"]) is np.ndarray and not got["a"].flags.writeable
    assert api.block_until_ready(put) is put
    copied = api.device_put(x, may_alias=False)
    assert copied is not x and not np.shares_memory(np.asarray(copied), np.asarray(x))
    moved = api.device_put(x, donate=True)
    np.testing.assert_array_equal(moved, [1, 1])
    with pytest.raises(DeletedArrayError):
        np.asarray(x)


def test_live_arrays():
    before = len(api.live_arrays())
    kept = [fnp.ones(1) for _ in range(3)]
    assert len(api.live_arrays()) == before + 3 and kept


def test_live_arrays_passes_over_dead_proxies():
    class Thing:
        pass

    thing = Thing()
    proxies = [weakref.proxy(thing)]
    del thing
    x = fnp.ones(1)
    assert any(y is x for y in api.live_arrays()) and proxies
