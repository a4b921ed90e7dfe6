"""Outputs of kernels that lie in the memory of their inputs: those are read first, whatever the compiler moves."""

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp


def _wave(z):
    return fnp.sin(z) * z * (1 + 2j)


def _loss(x, y):
    """Real and complex intermediates that live in one another's memory: four kernels, the third writes over four of its inputs."""

    def q(z):
        return fnp.sum(fnp.real(z) * fnp.tanh(fnp.exp(0.3 * fnp.imag(z) ** 2))) + fnp.sum(fnp.abs(z) ** 2)

    z = fg.grad(q)(x + 1j * y)
    w = fg.vmap(fg.grad(_wave, holomorphic=True))(fnp.reshape(x + 1j * y, (-1,)))
    a, b = fnp.real(z) * 0.3, fnp.imag(z) * 0.3
    return fnp.sum(fnp.tanh(0.5 * (a * b + 0.5 * a + fnp.reshape(fnp.real(w) * 0.1, x.shape))))


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 11])
def test_inputs_are_read_before_outputs_are_written_over_them(size):
    x, y, h = np.random.default_rng(0).normal(size=size), np.array(0.45), 1e-6

    def total(y):
        return fnp.sum(fg.vmap(_loss, (0, None))(x, y))

    got = fg.jit(fg.grad(total))(y)
    with fg.disable_jit():
        np.testing.assert_allclose(got, fg.grad(total)(y), rtol=1e-12)
    np.testing.assert_allclose(got, (total(y + h) - total(y - h)) / (2 * h), rtol=1e-7)
