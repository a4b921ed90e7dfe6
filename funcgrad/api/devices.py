"""Devices and the memory of arrays: device_put, device_get, devices, live_arrays, block_until_ready."""

import gc
from typing import Any

import numpy as np

from funcgrad.bridge.array import Array, mark_deleted
from funcgrad.bridge.device import CPU, Device, find_device
from funcgrad.bridge.flat import as_values
from funcgrad.core.errors import UsageError, message
from funcgrad.core.pytree import tree_leaves, tree_map
from funcgrad.core.tracebacks import api_boundary
from funcgrad.trace.interpreter import Tracer
from funcgrad.trace.value import Value

__all__ = [
    "Device",
    "block_until_ready",
    "default_backend",
    "device_count",
    "device_get",
    "device_put",
    "devices",
    "live_arrays",
]


def devices(backend: str | None = None) -> list[Device]:
    """The devices that programs can run on: the CPU. backend: None or "cpu".

    >>> fg.devices()
    [Device(cpu:0)]
    """
    if backend is not None:
        find_device(backend)
    return [CPU]


def device_count(backend: str | None = None) -> int:
    """How many devices there are. backend: None or "cpu".

    >>> fg.device_count()
    1
    """
    return len(devices(backend))


def default_backend() -> str:
    """The platform that programs run on unless told otherwise: "cpu".

    >>> fg.default_backend()
    'cpu'
    """
    return CPU.platform


@api_boundary
def device_put(x: Any, device: Any = None, *, src: Any = None, donate: bool = False, may_alias: bool | None = None) -> Any:
    """The leaves of `x` as arrays on a device.

    Args:
      x: a pytree of arrays, NumPy arrays and numbers. NumPy arrays are copied: they could change later.
      device: None, a Device, its name, or a pytree prefix of these; there is one device.
      src: accepted; where the arrays come from needs no saying.
      donate: delete the Arrays among the leaves; the results take their memory over.
      may_alias: None or True: an Array comes back as it is. False: as a copy.

    >>> fg.device_put({"w": np.ones(2), "n": 3})
    {'n': Array(3, dtype=int64, weak_type=True), 'w': Array([1., 1.], dtype=float64)}
    """
    for d in tree_leaves(device) if isinstance(device, (dict, list, tuple)) else [device]:
        find_device(d)
    if donate and may_alias:
        raise UsageError(message("device_put: got donate=True and may_alias=True", "one of the two", "leave may_alias out"))

    def put(leaf: Any) -> Any:
        (value,) = as_values("device_put", [leaf], leaf)
        if isinstance(value, Tracer) or not isinstance(leaf, Value):
            return value
        if donate or may_alias is False:
            copied = Array.__new__(Array)
            copied.aval, copied._address, copied._memory = value.aval, 0, None
            copied._view = value._np if donate else value._np.copy()
            if donate:
                mark_deleted(value, "donated to device_put")
            return copied
        return value

    return tree_map(put, x)


@api_boundary
def device_get(x: Any) -> Any:
    """The leaves of `x` as NumPy arrays: read-only views of the same memory. Other leaves are left as they are.

    >>> fg.device_get({"w": fnp.ones(2), "name": "layer"})
    {'name': 'layer', 'w': array([1., 1.], dtype=float32)}
    """
    return tree_map(lambda leaf: np.asarray(leaf) if isinstance(leaf, Value) else leaf, x)


def block_until_ready(x: Any) -> Any:
    """`x`, when the numbers of all its arrays are there. Programs on the CPU run at once, so this returns at once.

    >>> fg.block_until_ready({"w": fnp.ones(2)})
    {'w': Array([1., 1.], dtype=float32)}
    """
    for leaf in tree_leaves(x):
        if isinstance(leaf, Array):
            leaf.block_until_ready()
    return x


def live_arrays(platform: str | None = None) -> list[Array]:
    """All Arrays that are alive in this process and have their memory. For looking for leaks: it walks over all objects.

    >>> x = fnp.ones(3)
    >>> any(y is x for y in fg.live_arrays())
    True
    """
    if platform is not None:
        find_device(platform)
    return [x for x in gc.get_objects() if type(x) is Array]  # not x.__class__: a dead weak proxy would raise
