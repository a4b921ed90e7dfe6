"""Resampling kernels, and the matrices of weights that they give along an axis.

A kernel is a function of the distance x >= 0 from a sample, in pixels. `xp` is numpy where scale and translation are known
numbers (the weights are then constants, made in float64), and funcgrad.numpy where they are traced or differentiated.
"""

import enum
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from funcgrad.core.errors import UsageError, message

__all__ = ["ResizeMethod", "method_of", "weights"]


class ResizeMethod(enum.Enum):
    """How images are resampled. The functions take the names as well.

    NEAREST: the nearest pixel. LINEAR: a triangle of radius 1. CUBIC: the cubic convolution of Keys (1981) with a = -0.5.
    CUBIC_PYTORCH: the same with antialiasing; without it, a = -0.75 and edges that are repeated, as PyTorch has it. LANCZOS3,
    LANCZOS5: sinc(x) sinc(x / r) for x < r (Duchon, "Lanczos filtering in one and two dimensions", 1979). AREA: the mean over the
    area of the new pixel.

    >>> from funcgrad.image import ResizeMethod
    >>> ResizeMethod.from_string("bilinear")
    <ResizeMethod.LINEAR: 1>
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> "ResizeMethod":
        """The method of a name."""
        if s not in _NAMES:
            raise UsageError(message(f"ResizeMethod: got the name {s!r}", ", ".join(map(repr, _NAMES)), "'linear'"))
        return ResizeMethod[_NAMES[s]]


_NAMES = {"nearest": "NEAREST", "area": "AREA", "lanczos3": "LANCZOS3", "lanczos5": "LANCZOS5"}
_NAMES |= dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), "LINEAR")
_NAMES |= dict.fromkeys(("cubic", "bicubic", "tricubic"), "CUBIC")
_NAMES |= dict.fromkeys(("cubic-pytorch", "bicubic-pytorch"), "CUBIC_PYTORCH")


def method_of(method: Any, name: str) -> ResizeMethod:
    """A method, or the one of a name."""
    if isinstance(method, ResizeMethod):
        return method
    if isinstance(method, str):
        return ResizeMethod.from_string(method)
    raise UsageError(message(f"image.{name}: got method={method!r}", "a ResizeMethod or its name", "method='linear'"))


# --- kernels --------------------------------------------------------------------------------------------------


def _triangle(xp: Any, x: Any) -> Any:
    return xp.maximum(0.0, 1.0 - x)


def _cubic(a: float) -> Callable[..., Any]:
    """Keys, "Cubic convolution interpolation for digital image processing", 1981, eq. 4, with its one free parameter."""

    def kernel(xp: Any, x: Any) -> Any:
        near = ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
        far = ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
        return xp.where(x >= 2.0, 0.0, xp.where(x >= 1.0, far, near))

    return kernel


def _lanczos(radius: float) -> Callable[..., Any]:
    def kernel(xp: Any, x: Any) -> Any:
        safe = xp.where(x > 1e-3, x, 1.0)
        out = radius * xp.sin(np.pi * safe) * xp.sin(np.pi * safe / radius) / (np.pi**2 * safe * safe)
        return xp.where(x > radius, 0.0, xp.where(x > 1e-3, out, 1.0))

    return kernel


class _Kernel(NamedTuple):
    fill: Callable[..., Any]
    radius: int


_KERNELS = {
    ResizeMethod.LINEAR: _Kernel(_triangle, 1),
    ResizeMethod.LANCZOS3: _Kernel(_lanczos(3.0), 3),
    ResizeMethod.LANCZOS5: _Kernel(_lanczos(5.0), 5),
    ResizeMethod.CUBIC: _Kernel(_cubic(-0.5), 2),
    ResizeMethod.CUBIC_PYTORCH: _Kernel(_cubic(-0.75), 2),
}

# --- weights --------------------------------------------------------------------------------------------------

SMALL = 1000.0 * float(np.finfo(np.float32).eps)  # a sum of weights below this is none


def weights(xp: Any, n: int, m: int, scale: Any, translation: Any, method: ResizeMethod, antialias: bool) -> Any:
    """Weights (n, m): the pixel at j of the output is the sum of those of the input, of which there are n, times column j.

    The centre of pixel j of the output is at (j + 1/2 - translation) / scale of the input. Columns add up to 1, or are zero where
    that centre is outside."""
    step = 1.0 / scale
    where, pixel = np.arange(m)[None, :], np.arange(n)[:, None]
    centre = (where + 0.5) * step - translation * step - 0.5
    # What shrinks is filtered by a wider kernel, so that it takes in all pixels.
    width = xp.maximum(step, 1.0) if antialias else 1.0
    if method is ResizeMethod.AREA:
        left = where * step - translation * step
        w = xp.maximum(0.0, xp.minimum(left + step, pixel + 1.0) - xp.maximum(left, pixel))
    elif method is ResizeMethod.CUBIC_PYTORCH and not antialias:
        w = _with_edges(xp, centre, n, _KERNELS[method])
    else:
        kernel = _KERNELS[ResizeMethod.CUBIC if method is ResizeMethod.CUBIC_PYTORCH else method]
        w = kernel.fill(xp, xp.abs(centre - pixel) / width)
    total = xp.sum(w, axis=0, keepdims=True)
    some = xp.abs(total) > SMALL
    w = xp.where(some, w / xp.where(some, total, 1.0), 0.0)
    return xp.where((centre >= -0.5) & (centre <= n - 0.5), w, 0.0)


def _with_edges(xp: Any, centre: Any, n: int, kernel: _Kernel) -> Any:
    """Weights where pixels beyond an edge are like the one at the edge."""
    k = kernel.radius
    pixel = np.arange(-k, n + k)[:, None]
    wide = kernel.fill(xp, xp.abs(centre - pixel))
    if n == 1:
        return xp.sum(wide, axis=0, keepdims=True)
    first = xp.sum(wide[: k + 1], axis=0, keepdims=True)
    last = xp.sum(wide[n + k - 1 :], axis=0, keepdims=True)
    return xp.concatenate([first, wide[k + 1 : n + k - 1], last])
