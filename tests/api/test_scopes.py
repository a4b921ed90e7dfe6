"""named_scope, ensure_compile_time_eval, print_environment_info."""

import threading

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import TracerIntegerConversionError, UsageError


def scoped(x):
    with fg.named_scope("model"):
        y = fnp.sin(x)
        with fg.named_scope("head"):
            y = fnp.log(y)
    return y * 2


def test_equations_know_their_scope():
    scopes = {e.primitive.name: e.source.scope for e in fg.make_jaxpr(scoped)(1.0).eqns}
    assert scopes == {"sin": "model", "log": "model/head", "mul": ""}

    @fg.named_scope("decorated")
    def f(x):
        return fnp.cos(x)

    eqns = fg.make_jaxpr(lambda x: f(f(x)) + 1)(1.0).eqns
    assert [e.source.scope for e in eqns] == ["decorated", "decorated", ""]


def test_messages_name_the_scope():
    with fg.debug_nans(True), pytest.raises(FloatingPointError, match="in model/head"):
        fg.jit(scoped)(-1.0)
    with fg.named_scope("checks"), pytest.raises(fg.errors.CheckError, match=r"in checks"):
        fg.check(False, "no")


def test_scopes_end_and_are_threads_own():
    with pytest.raises(RuntimeError), fg.named_scope("a"):
        raise RuntimeError
    seen = []
    with fg.named_scope("here"):
        t = threading.Thread(target=lambda: seen.append(fg.make_jaxpr(fnp.sin)(1.0).eqns[0].source.scope))
        t.start()
        t.join()
    assert seen == [""] and fg.make_jaxpr(lambda x: fnp.sin(x))(1.0).eqns[0].source.scope == ""
    with pytest.raises(UsageError, match="str"):
        fg.named_scope(3)


def test_known_values_have_numbers_while_tracing():
    def f(x, known):
        if known:
            with fg.ensure_compile_time_eval():
                n = int(fnp.arange(4).sum())
                y = fnp.sin(x) * n  # traced as ever
        else:
            n = int(fnp.arange(4).sum())
            y = x
        return y + n

    np.testing.assert_allclose(fg.jit(lambda x: f(x, True))(2.0), 6 * np.sin(2) + 6, rtol=1e-6)
    np.testing.assert_allclose(fg.grad(fg.jit(lambda x: f(x, True)))(2.0), 6 * np.cos(2), rtol=1e-6)
    np.testing.assert_allclose(fg.vmap(lambda x: f(x, True))(np.ones(3)), (6 * np.sin(1) + 6) * np.ones(3), rtol=1e-6)
    with pytest.raises(TracerIntegerConversionError):
        fg.jit(lambda x: f(x, False))(2.0)
    with fg.ensure_compile_time_eval():
        assert float(fg.jit(fnp.sin)(0.0)) == 0.0


def test_environment(capsys):
    text = fg.print_environment_info(return_string=True)
    for word in ("funcgrad:", "numpy:", "numba:", "python:", "devices:"):
        assert word in text
    assert fg.print_environment_info() is None
    assert capsys.readouterr().out.strip() == text
