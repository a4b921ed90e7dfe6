"""Arguments that make no sense: the error is one of the package's, and says what is allowed."""

from typing import Any

import numpy as np
import pytest

from funcgrad.scipy import linalg, ndimage, signal
from funcgrad.scipy.sparse import linalg as sparse
from funcgrad.scipy.special import bernoulli
from tests.strange import is_told

S, V = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])
X = np.arange(8.0)

# A function, arguments that it takes, and the place (or name) of the one that is replaced.
CALLS: list[tuple[Any, tuple[Any, ...], int | str]] = [
    (linalg.cho_solve, (linalg.cho_factor(S), V), 0),
    (linalg.lu_solve, (linalg.lu_factor(S), V), 0),
    (linalg.lu_solve, (linalg.lu_factor(S), V), "trans"),
    (linalg.pascal, (3,), 0),
    (linalg.pascal, (3,), "kind"),
    (linalg.invpascal, (3,), 0),
    (linalg.invhilbert, (3,), 0),
    (linalg.helmert, (3,), 0),
    (signal.welch, (X, 1.0, "hann", 4), 1),
    (signal.welch, (X, 1.0, "hann", 4), 2),
    (signal.csd, (X, X, 1.0, np.ones(4), 4), 3),
    (signal.stft, (X, 1.0, "hann", 4), 1),
    (signal.stft, (X, 1.0, "hann", 4), "boundary"),
    (signal.detrend, (X,), "bp"),
    (ndimage.map_coordinates, (S, [V, V], 1), 1),
    (sparse.cg, (S, V), "maxiter"),
    (sparse.bicgstab, (S, V), "tol"),
    (bernoulli, (4,), 0),
]

STRANGE: dict[str, Any] = {
    "object": object(), "dict": {}, "text": "bogus", "bytes": b"ab", "complex": 1j, "texts": np.array(["a"]), "set": {0.5},
    "objects": np.array([None]), "nones": (None,), "nested": ((1.5,),), "function": lambda *a: 1, "negative": -9,
    "nan": float("nan"),
}  # fmt: skip


@pytest.mark.parametrize("f, args, place", CALLS, ids=[f"{f.__name__}-{place}" for f, _, place in CALLS])
def test_strange_arguments(f, args, place):
    is_told(f, args, place, STRANGE)
