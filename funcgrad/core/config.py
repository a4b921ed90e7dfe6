"""The options of the package: one typed, documented row each, and the `config` object that holds their values.

A value comes, in this order, from a `with config.override(...)` of the running thread, from an assignment
(`config.x = v`, `config.update("x", v)`), from the environment at import, from the row's default. Reading is a
plain attribute read (33 ns): `config` is a `threading.local` whose class carries the process-wide values and whose
per-thread dict carries only what that thread overrides. `config.trace_key` is a tuple of the options that change
what tracing yields; jit puts it into its key (equal keys are one object).
"""

from __future__ import annotations

import difflib
import os
import threading
from collections.abc import Callable
from contextlib import ContextDecorator
from dataclasses import dataclass
from typing import Any, Literal

from funcgrad.core.errors import UsageError, message

__all__ = [
    "OPTIONS",
    "Option",
    "checking_leaks",
    "config",
    "debug_nans",
    "default_device",
    "disable_jit",
    "log_compiles",
    "numpy_rank_promotion",
]

_FLOATS = ("float16", "bfloat16", "float32", "float64")


@dataclass(frozen=True)
class Option:
    """One option: how a value is read (`parse` gives the canonical value or raises), and whether tracing depends on it."""

    name: str
    default: Any
    parse: Callable[[Any], Any]
    allowed: str
    doc: str
    env: str = ""
    traced: bool = False


def _bool(value: Any) -> bool:
    if isinstance(value, str):
        word = value.strip().lower()
        if word in ("1", "true", "yes", "on"):
            return True
        if word in ("", "0", "false", "no", "off"):
            return False
        raise ValueError(value)
    if value is True or value is False or type(value).__name__ in ("bool", "bool_") or value in (0, 1):
        return bool(value)
    raise ValueError(value)


def _one_of(*words: str) -> Callable[[Any], str]:
    def parse(value: Any) -> str:
        word = str(value).strip().lower()
        if word not in words:
            raise ValueError(value)
        return word

    return parse


def _float_name(value: Any) -> str:
    """A dtype's name from "float64", np.float64, np.dtype("float64"), fnp.float64."""
    name = getattr(value, "name", None) or getattr(value, "__name__", None) or str(value)
    name = {"float": "float64"}.get(name.strip().lower(), name.strip().lower())
    if name not in _FLOATS:
        raise ValueError(value)
    return name


def _count(value: Any) -> int:
    number = int(value)
    if number < 0 or number != (float(value) if not isinstance(value, int) else value):
        raise ValueError(value)
    return number


_UNITS = {"k": 2**10, "m": 2**20, "g": 2**30}


def _bytes(value: Any) -> int:
    """A size in bytes from a number or from "500M", "2G", "64 KiB"."""
    if isinstance(value, str):
        word = value.strip().lower().removesuffix("b").removesuffix("i")
        unit = _UNITS.get(word[-1:], 0)
        return _count(int(float(word[:-1]) * unit) if unit else int(word))
    return _count(value)


def _path(value: Any) -> str | None:
    if value is None or value == "":
        return None
    return os.path.abspath(os.path.expanduser(os.fspath(value)))


def _word_or_none(value: Any) -> Any:
    return None if value == "" else value


_BOOL = "True or False"
OPTIONS: dict[str, Option] = {
    option.name: option
    for option in (
        Option(
            "default_float", "float32", _float_name, ", ".join(_FLOATS),
            "dtype of floating arrays that are created without one and of Python floats on their own",
            "FUNCGRAD_DEFAULT_FLOAT", True,
        ),
        Option(
            "index_mode", "raise", _one_of("raise", "fill", "clip", "drop", "wrap", "promise_in_bounds"),
            "'raise', 'fill', 'clip', 'drop', 'wrap', 'promise_in_bounds'",
            "what an index out of range does where the access does not say",
            "FUNCGRAD_INDEX_MODE", True,
        ),
        Option(
            "numpy_rank_promotion", "allow", _one_of("allow", "warn", "raise"), "'allow', 'warn', 'raise'",
            "whether arrays of different ranks broadcast silently, with a warning, or not at all",
            "FUNCGRAD_NUMPY_RANK_PROMOTION", True,
        ),
        Option(
            "debug_nans", False, _bool, _BOOL,
            "check every result for NaN and raise with the operator and the user's line",
            "FUNCGRAD_DEBUG_NANS", True,
        ),
        Option(
            "disable_jit", False, _bool, _BOOL,
            "run jitted functions (and the bodies of cond, scan, while_loop) as plain Python, to debug them",
            "FUNCGRAD_DISABLE_JIT", True,
        ),
        Option(
            "default_device", None, _word_or_none, "a Device, its name ('cpu', 'cuda:0') or None",
            "where arrays are created and functions run unless told otherwise",
            "FUNCGRAD_DEFAULT_DEVICE", True,
        ),
        Option(
            "check_ir", False, _bool, _BOOL,
            "check the program after staging and between every two passes",
            "FUNCGRAD_CHECK_IR", True,
        ),
        Option(
            "check_tracer_leaks", False, _bool, _BOOL,
            "raise at the end of a trace if a traced value outlives it, naming the line that made it",
            "FUNCGRAD_CHECK_TRACER_LEAKS", True,
        ),
        Option(
            "log_compiles", False, _bool, _BOOL,
            "log each trace and each kernel that is compiled, with its time",
            "FUNCGRAD_LOG_COMPILES",
        ),
        Option(
            "traceback", "short", _one_of("short", "full"), "'short', 'full'",
            "whether tracebacks leave out the package's own frames",
            "FUNCGRAD_TRACEBACK",
        ),
        Option(
            "cache_enabled", True, _bool, _BOOL,
            "keep compiled kernels on disk",
            "FUNCGRAD_CACHE",
        ),
        Option(
            "cache_dir", None, _path, "a folder, or None for the user's cache folder",
            "where compiled kernels are kept",
            "FUNCGRAD_CACHE_DIR",
        ),
        Option(
            "cache_size", 1 << 30, _bytes, "a number of bytes, also as '500M' or '2G'",
            "how large the cache on disk may grow",
            "FUNCGRAD_CACHE_SIZE",
        ),
        Option(
            "num_threads", 0, _count, "a whole number, 0 for all cores that the process may use",
            "threads of compiled programs",
            "FUNCGRAD_NUM_THREADS",
        ),
    )
}  # fmt: skip

# Names that people know from JAX.
_X64 = "enable_x64"
_PLATFORM = ("platform_name", "platforms")
_lock = threading.RLock()


def _after_fork() -> None:
    """Another thread of the parent may have held the lock; in the child nobody gives it back."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

_TRACED = tuple(option.name for option in OPTIONS.values() if option.traced)
_keys: dict[tuple, tuple] = {}  # one object per distinct key, so that an unchanged key compares by identity
_override_dicts: list[dict[str, Any]] = []  # the dicts of threads inside an override; their keys follow global changes


def _canonical(name: str, value: Any) -> tuple[str, Any]:
    """The option's own name and checked value; errors name the nearest option or the allowed values."""
    short = name.removeprefix("jax_")
    if short == _X64:
        return "default_float", "float64" if _parse(_X64, _bool, value, _BOOL) else "float32"
    if short in _PLATFORM:
        short = "default_device"
    option = OPTIONS.get(short)
    if option is None:
        raise _unknown(name)
    return short, _parse(short, option.parse, value, option.allowed)


def _parse(name: str, parse: Callable[[Any], Any], value: Any, allowed: str) -> Any:
    try:
        return parse(value)
    except (ValueError, TypeError, OverflowError):
        raise UsageError(
            message(
                f"config.{name}: got {value!r}",
                allowed,
                f"config.{name} = {OPTIONS[name].default!r} (the default)" if name in OPTIONS else "True",
            )
        ) from None


def _unknown(name: str) -> AttributeError:
    near = difflib.get_close_matches(name.removeprefix("jax_").lower(), [*OPTIONS, _X64], n=1, cutoff=0.4)
    return _UnknownOption(
        message(
            f"config: there is no option {name!r}",
            ", ".join(OPTIONS),
            f"config.{near[0]}" if near else "print(config)",
        )
    )


class _UnknownOption(UsageError, AttributeError, KeyError):
    """Caught as AttributeError where it was an attribute, as KeyError where it was a name."""

    def __str__(self) -> str:  # KeyError would print the repr
        return str(self.args[0])


def _intern(key: tuple) -> tuple:
    return _keys.setdefault(key, key)


class Config(threading.local):
    """The options as attributes; see `OPTIONS` for their meaning, or `print(config)`.

    ``config.debug_nans = True`` and ``config.update("debug_nans", True)`` hold for the process;
    ``with config.override(debug_nans=True): ...`` holds inside the block, for this thread only.

    >>> fg.config.default_float
    'float32'
    >>> with fg.config.override(default_float="float64"):
    ...     fnp.ones(2).dtype
    dtype('float64')
    """

    default_float: str
    index_mode: str
    numpy_rank_promotion: str
    debug_nans: bool
    disable_jit: bool
    default_device: Any
    check_ir: bool
    check_tracer_leaks: bool
    log_compiles: bool
    traceback: str
    cache_enabled: bool
    cache_dir: str | None
    cache_size: int
    num_threads: int
    trace_key: tuple

    def __setattr__(self, name: str, value: Any) -> None:
        self.update(name, value)

    # No `__getattr__`: its presence would triple the cost of every read. These two are the only aliases that read.
    @property
    def enable_x64(self) -> bool:
        return self.default_float == "float64"

    jax_enable_x64 = enable_x64

    def update(self, name: str, value: Any) -> None:
        """Set an option for the whole process. Unknown names and values raise, naming the nearest allowed ones."""
        name, value = _canonical(name, value)
        with _lock:
            _set_global(name, value)

    def read(self, name: str) -> Any:
        """The value of the option of this name, as this thread sees it."""
        name = name.removeprefix("jax_")
        if name not in OPTIONS and name != _X64:
            raise _unknown(name)
        return getattr(self, name)

    @property
    def values(self) -> dict[str, Any]:
        """All options by name, as this thread sees them."""
        return {name: getattr(self, name) for name in OPTIONS}

    def override(self, **options: Any) -> Override:
        """A context manager (and decorator) that sets options for this thread inside its block."""
        return Override(dict(_canonical(name, value) for name, value in options.items()))

    def reset(self) -> None:
        """Back to what the environment and the defaults said at import."""
        with _lock:
            for name, value in _INITIAL.items():
                _set_global(name, value)

    def __repr__(self) -> str:
        rows = [f"  {name} = {value!r}    # {OPTIONS[name].doc}" for name, value in self.values.items()]
        return "\n".join(["funcgrad config:", *rows])


def _set_global(name: str, value: Any) -> None:
    setattr(Config, name, value)
    if OPTIONS[name].traced:
        Config.trace_key = _intern(tuple(getattr(Config, traced) for traced in _TRACED))
        for overridden in _override_dicts:
            overridden["trace_key"] = _local_key(overridden)


def _local_key(overridden: dict[str, Any]) -> tuple:
    return _intern(tuple(overridden[name] if name in overridden else getattr(Config, name) for name in _TRACED))


class Override(ContextDecorator):
    """`with config.override(...)`: saves what this thread had overridden before and puts it back at the end."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._saved: list[dict[str, Any]] = []  # a stack: the same object may be entered again inside itself

    def _recreate_cm(self) -> Override:
        return Override(self._options)

    def __enter__(self) -> Config:
        with _lock:
            overridden = config.__dict__
            self._saved.append(dict(overridden))
            if not overridden:
                _override_dicts.append(overridden)
            overridden.update(self._options)
            overridden["trace_key"] = _local_key(overridden)
        return config

    def __exit__(self, *exc: object) -> Literal[False]:
        with _lock:
            overridden = config.__dict__
            overridden.clear()
            overridden.update(self._saved.pop())
            if overridden:
                overridden["trace_key"] = _local_key(overridden)
            else:
                _override_dicts[:] = [other for other in _override_dicts if other is not overridden]
        return False


def _from_environment() -> dict[str, Any]:
    values = {name: option.default for name, option in OPTIONS.items()}
    if _bool_env("FUNCGRAD_ENABLE_X64"):
        values["default_float"] = "float64"
    for option in OPTIONS.values():
        text = os.environ.get(option.env)
        if text is not None and text.strip():
            try:
                values[option.name] = option.parse(text)
            except (ValueError, TypeError, OverflowError):
                raise UsageError(message(f"environment: {option.env}={text!r}", option.allowed, f"unset {option.env}")) from None
    return values


def _bool_env(name: str) -> bool:
    text = os.environ.get(name, "")
    try:
        return _bool(text)
    except ValueError:
        raise UsageError(message(f"environment: {name}={text!r}", "0 or 1", f"{name}=1")) from None


_INITIAL = _from_environment()
for _name, _value in _INITIAL.items():
    setattr(Config, _name, _value)
Config.trace_key = _intern(tuple(_INITIAL[name] for name in _TRACED))

config = Config()


# ---- context managers under the names that JAX users know ----------------------------------------------------------


def debug_nans(new_val: bool = True) -> Override:
    """`with fg.debug_nans(True):` raise at the first NaN, naming the operator and the line.

    >>> with fg.debug_nans(True):
    ...     fnp.sqrt(fnp.array([4.0, -1.0]))
    Traceback (most recent call last):
        ...
    funcgrad.core.errors.NanError: sqrt gave a NaN in its output f32[2] at ...
    """
    return config.override(debug_nans=new_val)


def disable_jit(disable: bool = True) -> Override:
    """`with fg.disable_jit():` run jitted functions as plain Python, for `print` and debuggers.

    >>> @fg.jit
    ... def f(x):
    ...     print("x is", x)
    ...     return 2 * x
    >>> with fg.disable_jit():
    ...     y = f(fnp.array(3.0))  # without it, print would show a traced value, once
    x is 3.0
    """
    return config.override(disable_jit=disable)


def numpy_rank_promotion(new_val: str = "raise") -> Override:
    """`with fg.numpy_rank_promotion("raise"):` broadcasting between different ranks is an error ("warn": a warning).

    >>> with fg.numpy_rank_promotion("raise"):
    ...     fnp.ones((2, 3)) + fnp.ones(3)
    Traceback (most recent call last):
        ...
    funcgrad.core.errors.ShapeError: fnp.add: got shapes (2, 3), (3,) of different ranks...
    """
    return config.override(numpy_rank_promotion=new_val)


def log_compiles(new_val: bool = True) -> Override:
    """`with fg.log_compiles():` log each trace and each compiled kernel, by the logger "funcgrad".

    >>> import logging, sys
    >>> logger, handler = logging.getLogger("funcgrad"), logging.StreamHandler(sys.stdout)
    >>> logger.addHandler(handler)
    >>> with fg.log_compiles():
    ...     y = fg.jit(lambda x: x - 0.125)(1.5)
    traced <lambda> in ... ms: f32[]
    compiled <lambda> in ... ms, ... new kernels
    >>> logger.removeHandler(handler)
    """
    return config.override(log_compiles=new_val)


def default_device(new_val: Any = None) -> Override:
    """`with fg.default_device(device):` where arrays are created and functions run inside the block.

    >>> with fg.default_device(fg.devices("cpu")[0]):
    ...     x = fnp.ones(3)
    >>> x.device
    Device(cpu:0)
    """
    return config.override(default_device=new_val)


def checking_leaks() -> Override:
    """`with fg.checking_leaks():` an error if a traced value outlives its function, naming the line that made it.

    >>> kept = []
    >>> with fg.checking_leaks():
    ...     fg.jit(lambda x: kept.append(2 * x) or x)(1.0)
    Traceback (most recent call last):
        ...
    funcgrad.core.errors.UnexpectedTracerError: ...
    """
    return config.override(check_tracer_leaks=True)
