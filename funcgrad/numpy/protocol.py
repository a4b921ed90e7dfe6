"""NumPy's dispatch: `np.sin(x)`, `np.sum(x, axis=0)`, `np.where(...)` on an array or tracer call the function of that name here.

A function without a counterpart raises and names the nearest one; so do arguments (`out=`, ...) that immutable
arrays cannot honour. What writes into a NumPy array (`w -= g`, `np.copyto(w, g)`, `np.add.at(w, i, g)`) or only shows or stores
numbers is NumPy's own work: it gets the numbers, as long as there are some. So is what turns anything into arrays of NumPy's
(`np.asarray`, `np.atleast_1d`).

Other libraries have ufuncs too. `ANSWERED_BY` says which module answers for those of a module of theirs; what lies above this
file enters itself there.
"""

import difflib
import sys
import types
from typing import Any

import numpy as np

from funcgrad.core.errors import UsageError, describe, message
from funcgrad.numpy._axes import concrete
from funcgrad.numpy._promote import NOT_FOREIGN
from funcgrad.trace.interpreter import Tracer
from funcgrad.trace.value import Value

# NumPy's names that differ from those here.
RENAMED = {"fix": "trunc", "asanyarray": "asarray", "ascontiguousarray": "asarray"}
# Where the nearest name is not the one that is spelled most alike.
_NEAREST = {
    "asfortranarray": "asarray",
    "common_type": "result_type",
    "genfromtxt": "asarray",
    "loadtxt": "asarray",
    "min_scalar_type": "result_type",
    "polygrid2d": "polyval",
    "polyval2d": "polyval",
    "real_if_close": "real",
    "require": "asarray",
    "sliding_window_view": "take",
    "structured_to_unstructured": "stack",
    "unstructured_to_structured": "unstack",
}
# Of other data than numbers: there is nothing near.
OTHER_DATA = ("char", "strings", "lib.recfunctions", "busday", "is_busday", "datetime", "isnat")
_ARRAYS = (Value, np.ndarray, np.generic)
# A module whose ufuncs are not NumPy's, by name, and the module that answers for them under the same names.
ANSWERED_BY: dict[str, Any] = {}
# Functions that change their first argument: NumPy's where that is NumPy's.
WRITING = {"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"}
# Functions by which SciPy takes what a user's function gave before C or Fortran gets it: NumPy's, as np.asarray is.
CONVERTING = {"atleast_1d", "atleast_2d", "atleast_3d"}
# Functions that make no array, but text, a file or an answer about memory.
SHOWING = {
    "array2string",
    "array_repr",
    "array_str",
    "may_share_memory",
    "save",
    "savetxt",
    "savez",
    "savez_compressed",
    "shares_memory",
}
# Functions without a counterpart that change their first argument, an array of funcgrad: what to write instead.
_INSTEAD = {
    "copyto": "x = fnp.full_like(x, v), or x = fnp.where(mask, v, x) for where=mask",
    "putmask": "x = fnp.where(mask, v, x)",
}
# Functions whose answer is a Python bool in NumPy.
_TRUTHS = {"allclose", "array_equal", "array_equiv"}


def _to_numpy(x: Any) -> Any:
    """Values as NumPy arrays, in sequences and dicts too; a traced value without numbers raises TracerArrayConversionError."""
    if isinstance(x, Value):
        return np.asarray(x)
    if isinstance(x, (list, tuple)) and not hasattr(x, "_fields"):
        return type(x)([_to_numpy(item) for item in x])
    return {key: _to_numpy(item) for key, item in x.items()} if isinstance(x, dict) else x


def _numpys_own(ufunc: np.ufunc, method: str, inputs: tuple, kwargs: dict[str, Any]) -> bool:
    """Whether a ufunc writes into memory of NumPy only, and all of its operands have numbers."""
    written = inputs[:1] if method == "at" else kwargs.get("out") or ()
    if not any([x is not None for x in written]) or any([isinstance(x, Value) for x in written]):
        return False
    return not any([isinstance(x, Tracer) for x in (*inputs, *kwargs.values())])


def full_name(func: Any) -> str:
    """`sum`, `linalg.solve`: the name of a function of NumPy, after `np.`."""
    name = func.__name__
    if isinstance(func, np.ufunc):  # those of np.strings say nothing of it
        return f"strings.{name}" if hasattr(np.strings, name) and getattr(np, name, None) is not func else name
    home = (func.__module__ or "numpy").removeprefix("numpy").removeprefix(".")
    return f"{home}.{name}" if home else name


def counterpart(name: str, module: types.ModuleType) -> Any:
    """The function of `module` (funcgrad.numpy) that answers for NumPy's function of this name, or None."""
    found: Any = module
    for part in name.split("."):
        found = getattr(found, RENAMED.get(part, part), None)
    return found if callable(found) else None


def nearest(name: str, module: types.ModuleType) -> str:
    """The name nearest to one that has no counterpart: `fnp.result_type` for `min_scalar_type`; nothing for text and dates."""
    home, _, last = name.rpartition(".")
    if name.startswith(OTHER_DATA):
        return ""
    if last in _NEAREST:
        return f"fnp.{_NEAREST[last]}"
    place = getattr(module, home, None) if home else None
    for prefix, where in ((f"fnp.{home}.", place), ("fnp.", module)):
        near = difflib.get_close_matches(last, getattr(where, "__all__", ()), n=1, cutoff=0.6)
        if near:
            return prefix + near[0]
    return ""


def _numpy_has(ufunc: np.ufunc) -> bool:
    """Whether a ufunc is NumPy's own; another one may have the name of one."""
    name = ufunc.__name__
    return any([getattr(place, name, None) is ufunc for place in (np, np.strings, np._core.umath)])  # type: ignore[attr-defined]


def _home(ufunc: np.ufunc) -> tuple[str, str]:
    """The module that is known for this ufunc and the name that it has there; "" and its own name where none is."""
    for home in ANSWERED_BY:
        place = vars(sys.modules[home]) if home in sys.modules else {}
        for name in (ufunc.__name__, *place):  # scipy.special.digamma calls itself psi
            if place.get(name) is ufunc:
                return home, name
    return "", ufunc.__name__


def _foreign(ufunc: np.ufunc, module: types.ModuleType) -> Any:
    """The function that answers for a ufunc of another library; raises where there is none."""
    home, name = _home(ufunc)
    answers = ANSWERED_BY.get(home)
    names = getattr(answers, "__all__", ())
    aliases = [n for n in names if getattr(sys.modules[home], n, None) is ufunc]
    if aliases:
        return getattr(answers, aliases[0])
    if home and counterpart(name, module) is not None:  # scipy.special.cbrt
        return counterpart(name, module)
    title = f"{home}.{name}" if home else name
    way = f"{title}(np.asarray(x)) outside of traced functions, fg.pure_callback inside"
    if not home:
        raise TypeError(
            message(
                f"the ufunc {name}, which is not NumPy's, was called with an array of funcgrad",
                f"the ufuncs of NumPy{''.join([f' and {h}' for h in ANSWERED_BY])} that funcgrad has",
                f"{way}; fg.numba_kernel makes an operator of a Numba function",
            )
        )
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.75)
    raise TypeError(
        message(
            f"{title} was called with an array of funcgrad, and funcgrad.{home} has no {name}",
            f"the functions of funcgrad.{home}" + (f"; the nearest name is {near[0]}" if near else ""),
            way,
        )
    )


def _missing(name: str, module: types.ModuleType) -> TypeError:
    """The error for a function of NumPy that has no counterpart: the nearest one, and the way out where there are numbers."""
    if name in _INSTEAD:
        return TypeError(
            message(
                f"np.{name} was to write into an array of funcgrad",
                "NumPy's arrays: those of funcgrad are immutable",
                _INSTEAD[name],
            )
        )
    near = nearest(name, module)
    return TypeError(
        message(
            f"np.{name} was called with an array of funcgrad, and funcgrad.numpy has no {name}",
            "the functions of funcgrad.numpy" + (f"; the nearest name is {near}" if near else ""),
            f"np.{name}(np.asarray(x)) outside of traced functions, fg.pure_callback inside",
        )
    )


def _without_defaults(kwargs: dict[str, Any], name: str) -> dict[str, Any]:
    """NumPy's keyword arguments, without those that are at their defaults."""
    kept = {}
    for key, value in kwargs.items():
        if value is np._NoValue or value is None and key != "axis":  # type: ignore[attr-defined]
            continue
        if key == "out" and isinstance(value, tuple) and all([v is None for v in value]) or key == "where" and value is True:
            continue
        if key in ("casting", "subok") and value in ("same_kind", True):
            continue
        if key == "order" and value in ("C", "K", "A"):  # arrays have one layout
            continue
        if key == "out":
            given = value if isinstance(value, tuple) else (value,)
            raise TypeError(
                message(
                    f"np.{name}: got out={next(describe(v) for v in given if v is not None)}",
                    "no out: arrays of funcgrad are immutable, and what is traced has no memory",
                    f"x = np.{name}(...), or x = x + y for x += y",
                )
            )
        kept[key] = value
    return kept


def install(module: types.ModuleType) -> None:
    """Put `__array_ufunc__` and `__array_function__` on `Value`, answering from `module` (funcgrad.numpy)."""

    def array_ufunc(self: Value, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        for x in inputs:
            if not isinstance(x, NOT_FOREIGN) and not isinstance(x, (list, tuple, range)):
                return NotImplemented
        if _numpys_own(ufunc, method, inputs, kwargs):
            return getattr(ufunc, method)(*_to_numpy(inputs), **_to_numpy(kwargs))
        name = full_name(ufunc)
        kwargs = _without_defaults(kwargs, name)
        inputs = tuple([module.asarray(x) if isinstance(x, (list, tuple, range)) else x for x in inputs])
        if method == "__call__":
            f = counterpart(name, module) if _numpy_has(ufunc) else _foreign(ufunc, module)
            if f is None:
                raise _missing(name, module)
            dtype = kwargs.pop("dtype", None)
            if dtype is not None:
                inputs = tuple([module.asarray(x, dtype) for x in inputs])
            if kwargs:
                raise UsageError(
                    message(
                        f"np.{name}: got {', '.join(kwargs)}",
                        "the arrays alone",
                        f"fnp.where(mask, fnp.{name}(...), otherwise) for where=",
                    )
                )
            return f(*inputs)
        f = getattr(module, name, None) if _numpy_has(ufunc) else _foreign(ufunc, module)
        if f is None:
            raise _missing(name, module)
        if not hasattr(f, method):
            raise TypeError(
                message(f"{name}.{method} was called with an array of funcgrad", f"calls of {name} itself", f"{name}(...)")
            )
        return getattr(f, method)(*inputs, **kwargs)

    def array_function(self: Value, func: Any, types_: Any, args: Any, kwargs: Any) -> Any:
        for t in types_:
            if not issubclass(t, _ARRAYS):
                return NotImplemented
        name = full_name(func)
        if name in SHOWING or name in WRITING and args and isinstance(args[0], np.ndarray):
            return func(*_to_numpy(args), **_to_numpy(kwargs))
        if name in CONVERTING and not any([isinstance(x, Tracer) for x in args]):
            return func(*[np.array(x) if isinstance(x, Value) else x for x in args], **kwargs)
        f = counterpart(name, module)
        if f is None:
            raise _missing(name, module)
        try:
            out = f(*args, **_without_defaults(kwargs, name))
            return bool(out) if name in _TRUTHS and concrete(out) is not None else out
        except TypeError as error:
            if "unexpected keyword argument" in str(error):
                raise TypeError(
                    message(
                        f"np.{name} was called with an array of funcgrad: {error}",
                        f"the arguments of fnp.{name}",
                        f"help(fnp.{name})",
                    )
                ) from None
            raise

    cls: Any = Value
    cls.__array_ufunc__ = array_ufunc
    cls.__array_function__ = array_function
