"""Options: who wins, what is refused, and the key that tracing depends on."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from funcgrad.core import config as module
from funcgrad.core.config import config


@pytest.fixture(autouse=True)
def as_before():
    yield
    config.reset()


def in_thread(read):
    out = []
    thread = threading.Thread(target=lambda: out.append(read()))
    thread.start()
    thread.join()
    return out[0]


def test_set_read_update():
    config.debug_nans = True
    assert config.debug_nans is True and config.read("debug_nans") is True and config.values["debug_nans"]
    assert in_thread(lambda: config.debug_nans) is True
    config.update("debug_nans", 0)
    assert config.debug_nans is False
    for spelling in ("float64", np.float64, np.dtype("float64"), "FLOAT64"):
        config.reset()
        config.default_float = spelling
        assert config.default_float == "float64"
    config.cache_size = "2G"
    assert config.cache_size == 2 << 30
    config.update("cache_size", "64 KiB")
    assert config.cache_size == 64 << 10
    config.cache_dir = "~/x"
    assert config.cache_dir == os.path.expanduser("~/x")


def test_names_from_jax():
    config.update("jax_enable_x64", True)
    assert config.default_float == "float64" and config.enable_x64 and config.jax_enable_x64
    config.update("jax_debug_nans", True)
    assert config.read("jax_debug_nans") is True
    for name in ("jax_platform_name", "jax_platforms"):
        config.update(name, "cpu")
        assert config.default_device == "cpu"
        config.update(name, None)


def test_override_is_for_this_thread_and_nests():
    before = config.trace_key
    with config.override(debug_nans=True, index_mode="clip"):
        inner = config.trace_key
        assert config.debug_nans and inner != before
        assert in_thread(lambda: (config.debug_nans, config.trace_key)) == (False, before)
        with module.debug_nans(False):
            assert not config.debug_nans and config.index_mode == "clip"
        assert config.trace_key is inner
        config.numpy_rank_promotion = "raise"  # for the process, seen through the override
        assert config.numpy_rank_promotion == "raise" and config.debug_nans
        assert config.trace_key != inner
    assert not config.debug_nans
    config.reset()
    assert config.trace_key is before and config.index_mode == "raise"


def test_override_ends_with_an_exception_and_decorates():
    with pytest.raises(ZeroDivisionError), config.override(disable_jit=True):
        raise ZeroDivisionError
    assert not config.disable_jit

    @module.disable_jit()
    def inside(depth=1):
        assert config.disable_jit
        return inside(depth - 1) if depth else config.disable_jit

    assert inside() is True and not config.disable_jit


def test_one_override_entered_twice():
    once = config.override(log_compiles=True)
    with once, once:
        assert config.log_compiles
    assert not config.log_compiles


@pytest.mark.parametrize(
    "manager,option,value",
    [
        (lambda: module.numpy_rank_promotion("warn"), "numpy_rank_promotion", "warn"),
        (lambda: module.log_compiles(), "log_compiles", True),
        (lambda: module.checking_leaks(), "check_tracer_leaks", True),
        (lambda: module.default_device("cpu"), "default_device", "cpu"),
    ],
)
def test_managers(manager, option, value):
    with manager():
        assert getattr(config, option) == value
    assert getattr(config, option) == module.OPTIONS[option].default


def test_unknown_names_name_the_nearest():
    for act in (
        lambda: config.update("debug_nan", True),
        lambda: setattr(config, "debug_nan", True),
        lambda: config.override(debug_nan=True),
        lambda: config.read("debug_nan"),
    ):
        with pytest.raises(
            AttributeError, match=r"no option 'debug_nan'.*\n  Allowed: default_float.*\n  Try: config.debug_nans"
        ):
            act()
    assert not hasattr(config, "debug_nan")


@pytest.mark.parametrize(
    "name,value",
    [
        ("default_float", "int8"),
        ("debug_nans", "maybe"),
        ("num_threads", -1),
        ("num_threads", 1.5),
        ("index_mode", "x"),
        ("cache_size", "lots"),
        ("traceback", 3),
    ],
)
def test_refused_values(name, value):
    before = config.values
    with pytest.raises(ValueError, match=rf"config.{name}: got .*\n  Allowed: .*\n  Try: "):
        config.update(name, value)
    assert config.values == before


def test_trace_key_is_one_object_per_value():
    first = config.trace_key
    config.debug_nans = True
    config.debug_nans = False
    assert config.trace_key is first
    config.log_compiles = True  # changes no trace
    assert config.trace_key is first


def test_printed():
    text = repr(config)
    assert all(name in text for name in module.OPTIONS)


def run(code, **env):
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    env = {**os.environ, "PYTHONPATH": root, **env}
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)


def test_environment():
    show = "from funcgrad.core.config import config as c; print(c.default_float, c.num_threads, c.debug_nans, c.cache_enabled, c.traceback)"
    out = run(
        show,
        FUNCGRAD_ENABLE_X64="1",
        FUNCGRAD_NUM_THREADS="3",
        FUNCGRAD_CACHE="0",
        FUNCGRAD_TRACEBACK="full",
        FUNCGRAD_DEBUG_NANS="true",
    )
    assert out.stdout.split() == ["float64", "3", "True", "False", "full"], out.stderr
    out = run(show, FUNCGRAD_DEFAULT_FLOAT="bfloat16")
    assert out.stdout.split()[0] == "bfloat16", out.stderr
    out = run(show, FUNCGRAD_INDEX_MODE="nonsense")
    assert "environment: FUNCGRAD_INDEX_MODE='nonsense'" in out.stderr and "unset FUNCGRAD_INDEX_MODE" in out.stderr
