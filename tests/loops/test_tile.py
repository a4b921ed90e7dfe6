"""Tiles: maps that read across the rows they write go block by block, images too."""

import numpy as np
import pytest

from funcgrad.api.jit import jit
from funcgrad.bridge.array import from_numpy
from funcgrad.loops.compile import compile_program
from funcgrad.ops.elementwise import add
from funcgrad.ops.shape import transpose
from funcgrad.passes import simplify
from funcgrad.trace.stage import stage

CASES = [((64, 48), (1, 0)), ((3, 28, 28, 64), (0, 3, 1, 2)), ((3, 64, 28, 28), (0, 2, 3, 1)), ((2, 20, 20, 20), (0, 3, 1, 2))]


def turned(permutation):
    return lambda x: [add(transpose(x, permutation=permutation), np.float32(1))]


@pytest.mark.parametrize("shape, permutation", CASES)
def test_transposes(shape, permutation):
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    np.testing.assert_array_equal(jit(turned(permutation))(x)[0], x.transpose(permutation) + 1)


def test_the_short_rows_of_an_image_are_one_row():
    """28 x 28 places of 64 channels: 49 blocks of 16 places, no block cut short by the end of a row."""
    jaxpr, _ = stage(turned((0, 3, 1, 2)), [from_numpy(np.zeros((3, 28, 28, 64), np.float32)).aval])
    (step,) = compile_program(simplify(jaxpr)).steps
    assert step.dims[:4] == (3, 49, 64, 16)
