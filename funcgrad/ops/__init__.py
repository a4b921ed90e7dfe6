"""The primitives, one family a file; each is declared in one place with all of its rules.

Importing this package registers every operator that computes. (`call` and `control` are about programs, and are imported where
programs are made.)
"""

from funcgrad.ops import (
    bits,
    bitwise,
    compare,
    contract,
    convert,
    convolution,
    cumulative,
    dynamic,
    elementwise,
    fft,
    index,
    linalg,
    reduce,
    select,
    shape,
    sort,
    window,
)

__all__ = [
    "bits",
    "bitwise",
    "compare",
    "contract",
    "convert",
    "convolution",
    "cumulative",
    "dynamic",
    "elementwise",
    "fft",
    "index",
    "linalg",
    "reduce",
    "select",
    "shape",
    "sort",
    "window",
]
