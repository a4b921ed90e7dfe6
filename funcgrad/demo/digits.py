"""The handwritten digits that scikit-learn ships: 1,797 scans of 8x8 pixels (E. Alpaydin, C. Kaynak, UCI repository, 1998).

In: a seed. Out: standardised pixels in float32 and labels, split at random into a part to train on and a part held out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits

CLASSES = 10
HELD_OUT = 360  # a fifth


class Part(NamedTuple):
    """x: float32[n, 64], standardised; labels: int32[n]; images: float64[n, 8, 8], as scanned."""

    x: np.ndarray
    labels: np.ndarray
    images: np.ndarray


def load(seed: int = 0) -> tuple[Part, Part]:
    """The training part (1,437 scans) and the held-out part (360). Mean and deviation come from the training part alone.

    Each pixel has its own mean; the deviation is one for all, or the pixels at the rim, hardly ever inked, would be blown up.
    """
    digits = load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.target))
    train, held = order[HELD_OUT:], order[:HELD_OUT]
    x = digits.data - digits.data[train].mean(axis=0)
    x = (x / x[train].std()).astype(np.float32)
    labels = digits.target.astype(np.int32)
    return Part(x[train], labels[train], digits.images[train]), Part(x[held], labels[held], digits.images[held])
