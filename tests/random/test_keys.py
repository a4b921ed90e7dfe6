"""Keys are moved about like numbers, and are none."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad import lax

KEYS = fg.random.split(fg.random.key(0), 3)
FROM_NUMBERS = {
    "zeros_like": fnp.zeros_like,
    "ones_like": fnp.ones_like,
    "full_like": lambda k: fnp.full_like(k, np.uint32(3)),
    "full": lambda k: fnp.full((2,), 1, dtype=k.dtype),
    "zeros": lambda k: fnp.zeros(2, k.dtype),
    "set": lambda k: k.at[0].set(0),
    "where": lambda k: fnp.where(fnp.array([True, False, True]), k, 0),
    "astype": lambda k: fnp.array([1, 2]).astype(k.dtype),
    "pad": lambda k: fnp.pad(k, 1),
}
ARITHMETIC = {
    "add": lambda k: k + k,
    "dot": lambda k: fnp.dot(k, k),
    "lax.dot": lambda k: lax.dot(k, k),
    "sum": lambda k: k.sum(),
    "argmax": lambda k: lax.argmax(k, 0, "int32"),
    "sort": fnp.sort,
    "to int": lambda k: k.astype(int),
}


@pytest.mark.parametrize("name", [*FROM_NUMBERS, *ARITHMETIC])
@pytest.mark.parametrize("compiled", [False, True])
def test_numbers_are_not_keys_and_keys_are_not_numbers(name, compiled):
    f = {**FROM_NUMBERS, **ARITHMETIC}[name]
    with pytest.raises(TypeError, match="Allowed|arithmetic"):
        (fg.jit(f) if compiled else f)(KEYS)


@pytest.mark.parametrize("compiled", [False, True])
def test_keys_move_like_numbers(compiled):
    run = fg.jit if compiled else lambda f: f
    data = np.asarray(fg.random.key_data(KEYS))
    moves = {
        "reverse": (lambda k: k[::-1], data[::-1]),
        "take": (lambda k: k[np.array([2, 0])], data[[2, 0]]),
        "stack": (lambda k: fnp.stack([k, k]), np.stack([data, data])),
        "set": (lambda k: k.at[0].set(k[1]), data[[1, 1, 2]]),
        "broadcast": (lambda k: fnp.broadcast_to(k, (2, 3)), np.broadcast_to(data, (2, 3, 2))),
        "where": (lambda k: fnp.where(np.array([True, False, True]), k, k[::-1]), data),
    }
    for name, (move, want) in moves.items():
        np.testing.assert_array_equal(fg.random.key_data(run(move)(KEYS)), want, err_msg=name)
