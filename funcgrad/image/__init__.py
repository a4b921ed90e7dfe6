"""Images of other sizes: `resize`, and `scale_and_translate`, which it is a case of."""

from funcgrad.image.kernels import ResizeMethod
from funcgrad.image.resizing import resize, scale_and_translate

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]
