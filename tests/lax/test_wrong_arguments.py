"""Whatever stands in the place of an argument: the error is one of the package's, and says what is allowed."""

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import lax, nn, random

X, M = fg.numpy.array([3.0, 1.0, 2.0]), fg.numpy.ones((2, 3))
SQUARE = fg.numpy.ones((3, 3))
KEY = random.key(0)
EACH = lax.ScatterDimensionNumbers((), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
ROWS = lax.GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,))
AT = fg.numpy.array([[1]])

# A function, arguments that it takes, and the place (or name) of the one that is replaced.
CALLS: list[tuple[Any, tuple[Any, ...], int | str]] = [
    (lax.slice, (X, (0,), (2,)), 1),
    (lax.slice, (X, (0,), (2,)), 2),
    (lax.dynamic_slice, (X, (0,), (2,)), 1),
    (lax.dynamic_slice, (X, (0,), (2,)), 2),
    (lax.dynamic_slice, (X, (0,), (2,)), "allow_negative_indices"),
    (lax.dynamic_index_in_dim, (X, 0), 1),
    (lax.index_take, (X, (np.array([1]),), (0,)), 1),
    (lax.index_take, (X, (np.array([1]),), (0,)), 2),
    (lax.broadcast_in_dim, (X, (2, 3), (1,)), 2),
    (lax.expand_dims, (X, (0,)), 1),
    (lax.squeeze, (M[:1], (0,)), 1),
    (lax.rev, (X, (0,)), 1),
    (lax.split, (X, (1, 2)), 1),
    (lax.tile, (X, (2,)), 1),
    (lax.pad, (X, 0.0, [(1, 1, 0)]), 2),
    (lax.concatenate, ([X, X], 0), 0),
    (lax.stack, ([X, X],), 0),
    (lax.collapse, (M, 0, 2), 1),
    (lax.reduce_sum, (X, (0,)), 1),
    (lax.reduce_max, (X, (0,)), 1),
    (lax.reduce, (X, 0.0, lax.add, (0,)), 3),
    (lax.reduce_window, (X, 0.0, lax.add, (2,)), 3),
    (lax.reduce_window, (X, 0.0, lax.add, (2,), (1,), "VALID"), 5),
    (lax.sort, ((X, X),), "num_keys"),
    (lax.associative_scan, (lax.add, X), "axis"),
    (lax.reduce_precision, (X, 5, 10), 1),
    (lax.reduce_precision, (X, 5, 10), 2),
    (lax.switch, (0, [abs], X), 1),
    (lax.scan, (lambda c, x: (c, x), 0.0, X, 3), 3),
    (lax.map, (abs, X), "batch_size"),
    (lax.fori_loop, (0, 3, lambda i, c: c, X), 0),
    (lax.round, (X, 1), 1),
    (lax.rng_bit_generator, (np.zeros(4, np.uint32), (3,)), "algorithm"),
    (lax.dot_general, (M, SQUARE, (((1,), (0,)), ((), ()))), 2),
    (nn.scaled_dot_general, (M, SQUARE, (((1,), (0,)), ((), ()))), 2),
    (lax.conv_dimension_numbers, ((1, 1, 5), (1, 1, 2), None), 0),
    (lax.gather, (X, AT, ROWS, (1,)), 2),
    (lax.gather, (X, AT, ROWS, (1,)), 3),
    (lax.scatter_add, (X, AT, X[:1], EACH), 3),
    (lax.iota, (np.int32, 3), 0),
    (lax.iota, (np.int32, 3), 1),
    (nn.one_hot, (np.array([0]), 3), 1),
    (random.permutation, (KEY, 3), 1),
    (random.randint, (KEY, (2,), 0, 5), 3),
    (random.normal, (KEY, (2,), np.float32), 2),
    (random.normal, (KEY, (2,)), 1),
]

STRANGE: dict[str, Any] = {
    "object": object(), "dict": {}, "text": "bogus", "bytes": b"ab", "complex": 1j, "function": lambda *a: 1, "half": 1.5,
    "nan": float("nan"), "ragged": [[1.0], [1.0, 2.0]], "texts": np.array(["a"]), "objects": np.array([None]), "set": {0, 1},
    "huge": 10**30, "negative": -9, "nothing": (), "nones": (None,), "nested": ((1.5,),), "array": np.ones((2, 2)), "none": None,
}  # fmt: skip


def put(args: tuple[Any, ...], place: int | str, x: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(place, str):
        return args, {place: x}
    return (*args[:place], x, *args[place + 1 :]), {}


@pytest.mark.parametrize("f, args, place", CALLS, ids=[f"{f.__module__}.{f.__name__}-{place}" for f, _, place in CALLS])
def test_strange_arguments(f, args, place):
    f(*args)
    raised = 0
    for name, x in STRANGE.items():
        given, named = put(args, place, x)
        try:
            f(*given, **named)
        except Exception as error:
            assert "Allowed: " in str(error) or "is not a dtype" in str(error), (name, repr(error))
            raised += 1
    assert raised > len(STRANGE) // 2


@pytest.mark.parametrize("dtype", [x for x in STRANGE.values() if x is not None], ids=[k for k in STRANGE if k != "none"])
def test_strange_dtypes(dtype):
    with pytest.raises(
        TypeError, match=r"is not a dtype(?s:.)*Allowed: one such as 'float32'(?s:.)*Try: |cannot have dtype(?s:.)*Allowed: bool"
    ):
        fg.numpy.zeros(2, dtype)


def test_numbers_that_do_not_fit():
    with pytest.raises(OverflowError, match="does not fit int64(?s:.)*Allowed: numbers within"):
        fg.numpy.negative(10**30)
    with pytest.raises(TypeError, match=r"1j was to become float64(?s:.)*Allowed: real numbers"):
        lax.full_like(np.ones(2), 1j)
    with pytest.raises(ValueError, match=r"shape=\(-2,\)(?s:.)*extents of 0 or more"):
        fg.numpy.zeros((-2,))
    with pytest.raises(ValueError, match=r"extents below 2\*\*63"):
        fg.numpy.zeros((2**70,))


def test_places_in_halves_are_not_cut():
    with pytest.raises(TypeError, match="1.5 for a start index(?s:.)*an integer"):
        lax.dynamic_slice(X, (1.5,), (1,))
    with pytest.raises(ValueError, match=r"for 0 spatial axes(?s:.)*x\[None, None\]"):
        lax.conv_general_dilated(M, M, (1, 1), "SAME")
    with pytest.raises(TypeError, match="2.5 for length"):
        lax.scan(lambda c, x: (c, x), 0.0, None, 2.5)
