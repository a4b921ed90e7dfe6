import numpy as np

import funcgrad.numpy as fnp
from funcgrad.api.jit import jit
from funcgrad.testing import counters


def test_counters_count_within_the_block():
    f = jit(lambda x: fnp.cos(x) - 0.123 * x)
    with counters() as c:
        f(np.ones(3))
        assert c.traces == 1
        for _ in range(9):
            f(np.ones(3))
    f(np.ones(3))
    assert (c.traces, c.programs, c.launches) == (1, 1, 10)
    assert c.compiled + c.loaded + c.reused >= 1 and (c.compiles, c.loads) == (c.compiled, c.loaded)
    assert "launches=10" in repr(c)


def test_another_size_compiles_nothing():
    f = jit(lambda x: fnp.sum(fnp.tanh(x) * 2))
    f(np.ones((4, 5)))
    with counters() as c:
        for n in (1, 2, 7, 300):
            f(np.ones((n, 5)))
    assert c.traces == 4 and c.compiled == 0
