"""What the Python array API standard asks of a namespace beside its functions: its version and `__array_namespace_info__()`.

The standard: https://data-apis.org/array-api/latest/API_specification/inspection.html

    __array_api_version__    the version of the standard, a text
"""

from typing import Any

import numpy as np

from funcgrad.bridge.device import CPU, Device, find_device
from funcgrad.core import dtypes as dt
from funcgrad.core.errors import UsageError, message

__all__ = ["__array_api_version__", "__array_namespace_info__"]

__array_api_version__ = "2024.12"

_BY_NAME = {
    d.name: d
    for d in (
        dt.bool_, dt.int8, dt.int16, dt.int32, dt.int64, dt.uint8, dt.uint16, dt.uint32, dt.uint64,
        dt.float32, dt.float64, dt.complex64, dt.complex128,
    )
}  # fmt: skip
_KINDS = {
    "bool": dt.BOOLS,
    "signed integer": dt.SIGNED,
    "unsigned integer": dt.UNSIGNED,
    "integral": dt.INTEGERS,
    "real floating": dt.FLOATS,
    "complex floating": dt.COMPLEXES,
    "numeric": dt.NUMBERS,
}


class NamespaceInfo:
    """What `funcgrad.numpy` can do, where its arrays are, and which dtypes it has."""

    def capabilities(self) -> dict[str, Any]:
        """What the library does; outside of traced functions shapes may depend on data and masks may index.

        >>> fnp.__array_namespace_info__().capabilities()["max dimensions"]
        64
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """The device where arrays are made unless another one is given."""
        return CPU

    def devices(self) -> list[Device]:
        """All devices."""
        return [CPU]

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype]:
        """The dtypes that a creation without a dtype gives; `config.default_float` changes them.

        >>> fnp.__array_namespace_info__().default_dtypes()["real floating"]
        dtype('float32')
        """
        find_device(device)
        return {
            "real floating": dt.default_float(),
            "complex floating": dt.default_complex(),
            "integral": dt.default_int(),
            "indexing": dt.int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, np.dtype]:
        """The standard's dtypes by their names, all or those of a kind (one of `isdtype`'s names, or a tuple of them).

        >>> sorted(fnp.__array_namespace_info__().dtypes(kind="real floating"))
        ['float32', 'float64']
        """
        find_device(device)
        if kind is None:
            return dict(_BY_NAME)
        kinds = kind if isinstance(kind, tuple) else (kind,)
        unknown = [k for k in kinds if not isinstance(k, str) or k not in _KINDS]
        if unknown:
            raise UsageError(
                message(f"dtypes: got kind={unknown[0]!r}", f"{', '.join(_KINDS)}, or a tuple of these", "kind='numeric'")
            )
        return {name: d for name, d in _BY_NAME.items() if any([d in _KINDS[k] for k in kinds])}


def __array_namespace_info__() -> NamespaceInfo:
    """The inspection of the array API standard: capabilities, devices, dtypes.

    >>> fnp.__array_namespace_info__().devices()
    [Device(cpu:0)]
    """
    return NamespaceInfo()
