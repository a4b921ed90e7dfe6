"""resize and scale_and_translate: along each axis in turn, a product with a matrix of weights."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad.core.arguments import flag
from funcgrad.core.errors import ShapeError, UsageError, describe, message
from funcgrad.image.kernels import ResizeMethod, method_of, weights
from funcgrad.numpy._axes import axis_of, shape_of, static_ints
from funcgrad.numpy._precision import Precision, check_precision
from funcgrad.numpy._promote import as_value, cast, inexact_dtype
from funcgrad.ops.contract import dot_general
from funcgrad.trace.interpreter import Tracer
from funcgrad.trace.value import Value

__all__ = ["resize", "scale_and_translate"]


def _image(image: Any, shape: Any, name: str) -> tuple[Any, tuple[int, ...]]:
    x, extents = as_value(image, f"image.{name}", "image"), shape_of(shape, f"image.{name}")
    if len(extents) != x.ndim:
        raise ShapeError(
            message(
                f"image.{name}: got shape={extents} for an image {x.aval.str_short()}",
                "an extent for each axis of the image, also for channels and batches",
                "shape=(height, width, image.shape[-1])",
            )
        )
    return x, extents


def _along(x: Any, axis: int, w: Any) -> Any:
    """x with its pixels along an axis replaced by their sums with the columns of w."""
    rest = [i for i in range(x.ndim) if i != axis]
    out = dot_general(x, w, dimension_numbers=(((axis,), (0,)), ((), ())))
    return fnp.moveaxis(out, len(rest), axis)


def _known(x: Any) -> Any:
    """The numbers of a scale or translation in float64 where they are known and nobody differentiates them, or None."""
    parts = list(x) if isinstance(x, (list, tuple)) else [x]
    return None if any([isinstance(p, Tracer) for p in parts]) else np.asarray([np.asarray(p, np.float64) for p in parts])


def _factors(given: Any, count: int, arg: str) -> list[Any]:
    """A number for each axis, known or traced."""
    try:
        known = _known(given)
    except (TypeError, ValueError):
        came = f"image.scale_and_translate: got {describe(given)} for {arg}"
        raise UsageError(message(came, "real numbers, one for each of spatial_dims", f"check what {arg} is")) from None
    values: Any = known.reshape(-1) if known is not None else given
    shape = getattr(values, "shape", None)
    n = len(values) if isinstance(values, Sequence) else shape[0] if shape else 0
    if n != count:
        raise ShapeError(
            message(
                f"image.scale_and_translate: got {arg} of {n} numbers for {count} axes",
                "one for each of spatial_dims",
                f"mend {arg}",
            )
        )
    return [values[i] for i in range(count)]


def scale_and_translate(
    image: Any, shape: Any, spatial_dims: Any, scale: Any, translation: Any, method: Any, antialias: bool = True,
    precision: Any = Precision.HIGHEST,
) -> Any:  # fmt: skip
    """An image of another shape: what was at position p along an axis (pixels have their centres at halves) comes to
    p * scale + translation. Places that lie outside the image are zero.

    image: any number of axes; bool and integers become the default float. shape: all extents of the result. spatial_dims: the
    axes that move; scale, translation: a number for each of them, which may be traced and differentiated. method: a
    `ResizeMethod` or its name, not "nearest". antialias: a wider kernel where the image shrinks, so that all pixels count.
    precision: no effect; sums are in float32 or better. Differentiable in image, scale and translation.

    Corners that meet corners, as with align_corners=True elsewhere: scale = (n - 1) / (m - 1) and translation = (1 - scale) / 2
    for m pixels that become n.

    >>> from funcgrad import image
    >>> image.scale_and_translate(fnp.arange(4.0), (4,), (0,), fnp.array([1.0]), fnp.array([1.5]), "linear").tolist()
    [0.0, 0.0, 0.5, 1.5]
    """
    x, extents = _image(image, shape, "scale_and_translate")
    check_precision(precision, "image.scale_and_translate")
    how = method_of(method, "scale_and_translate")
    if how is ResizeMethod.NEAREST:
        raise UsageError(
            message(
                "image.scale_and_translate: got method 'nearest'",
                "a method with a kernel",
                "'linear', or image.resize, which takes it",
            )
        )
    name, spatial_dims = "image.scale_and_translate", static_ints(spatial_dims, "image.scale_and_translate", "spatial_dims")
    axes = [axis_of(d, x.ndim, name, "spatial_dims") for d in spatial_dims]
    if len(set(axes)) < len(axes) or any([extents[i] != n for i, n in enumerate(x.shape) if i not in axes]):
        raise ShapeError(
            message(
                f"image.scale_and_translate: got shape={extents} and spatial_dims={tuple(spatial_dims)} for {x.aval.str_short()}",
                "each axis once, and other axes with the extents that they have",
                "name all axes that change in spatial_dims",
            )
        )
    scales, moves = _factors(scale, len(axes), "scale"), _factors(translation, len(axes), "translation")
    x = cast(x, inexact_dtype(x.dtype))
    for axis, s, t in zip(axes, scales, moves, strict=True):
        fixed = not isinstance(s, Value) and not isinstance(t, Value)
        w = weights(
            np if fixed else fnp,
            x.shape[axis],
            extents[axis],
            s,
            t,
            how,
            flag(antialias, "image.scale_and_translate", "antialias"),
        )
        x = _along(x, axis, cast(as_value(w, "image.scale_and_translate"), x.dtype))
    return x


def _nearest(x: Any, extents: tuple[int, ...]) -> Any:
    """The pixel that holds the centre of each new one."""
    for axis, (n, m) in enumerate(zip(x.shape, extents, strict=True)):
        if n != m:
            x = fnp.take(x, (2 * np.arange(m) + 1) * n // (2 * m), axis=axis, mode="clip")
    return x


def resize(image: Any, shape: Any, method: Any, antialias: bool = True, precision: Any = Precision.HIGHEST) -> Any:
    """The image with other extents. Axes whose extent stays (batches, channels) are left alone.

    image: any number of axes. shape: all extents of the result. method: a `ResizeMethod` or its name: "nearest", "linear",
    "cubic", "cubic-pytorch", "lanczos3", "lanczos5", "area" and their synonyms. antialias: a wider kernel where the image
    shrinks, so that all pixels count; "nearest" has none. precision: no effect; sums are in float32 or better. Returns: the
    dtype of the image; bool and integers become the default float, but for "nearest". Differentiable.

    >>> from funcgrad import image
    >>> image.resize(fnp.array([[0.0, 4.0], [8.0, 12.0]]), (2, 4), "linear").tolist()
    [[0.0, 1.0, 3.0, 4.0], [8.0, 9.0, 11.0, 12.0]]
    >>> image.resize(fnp.arange(6), (3,), image.ResizeMethod.NEAREST).tolist()
    [1, 3, 5]
    """
    x, extents = _image(image, shape, "resize")
    check_precision(precision, "image.resize")
    how = method_of(method, "resize")
    axes = [i for i, (n, m) in enumerate(zip(x.shape, extents, strict=True)) if n != m]
    if any([x.shape[i] == 0 and extents[i] for i in axes]):
        raise ShapeError(
            message(f"image.resize: got an image {x.aval.str_short()} for shape={extents}", "an image with pixels", "check it")
        )
    if how is ResizeMethod.NEAREST:
        return _nearest(x, extents)
    x = cast(x, inexact_dtype(x.dtype))
    if any([extents[i] == 0 for i in axes]):
        return fnp.zeros(extents, x.dtype)
    for axis in sorted(axes, key=lambda i: extents[i] / x.shape[i]):  # what shrinks goes first
        n, m = x.shape[axis], extents[axis]
        w = weights(np, n, m, m / n, 0.0, how, flag(antialias, "image.resize", "antialias"))
        x = _along(x, axis, cast(as_value(w, "image.resize"), x.dtype))
    return x
