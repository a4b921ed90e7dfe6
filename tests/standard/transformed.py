"""`funcgrad.numpy` with each function of the standard compiled, batched, or both: the public suite then tests these (README.md).

    ARRAY_API_TESTS_MODULE="exec('from transformed import jitted as xp')", or `batched`, `jitted_batched`

Arrays among the arguments are traced, everything else is static. A batch is the arguments and zeros beside them.
"""

import functools
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import funcgrad as fg
import funcgrad.numpy as fnp

_LINES = Path(__file__).with_name("array_api_signatures.txt").read_text().split("\n")[:-1]
# Of these the result's shape or dtype is not one of arrays and axes alone, or there is no array.
_LEFT = set(
    "__array_namespace_info__ arange asarray broadcast_shapes can_cast empty empty_like eye finfo from_dlpack full full_like iinfo isdtype "
    "linspace meshgrid nonzero ones ones_like repeat result_type unique_all unique_counts unique_inverse unique_values zeros "
    "zeros_like".split()
)


def _transformed(f: Callable[..., Any], call: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        is_leaf = lambda x: not isinstance(x, (list, tuple, dict))
        leaves, tree = fg.tree_util.tree_flatten((args, kwargs), is_leaf=is_leaf)
        arrays = [x for x in leaves if isinstance(x, fg.Array)]
        if not arrays:
            return f(*args, **kwargs)

        def of_arrays(*xs: Any) -> Any:
            given = iter(xs)
            a, k = fg.tree_util.tree_unflatten(tree, [next(given) if isinstance(x, fg.Array) else x for x in leaves])
            return f(*a, **k)

        return call(of_arrays, arrays)

    return wrapper


def _batch(f: Callable[..., Any], xs: list[Any], outer: Callable[..., Any] = lambda g: g) -> Any:
    out = outer(fg.vmap(f))(*[fnp.stack([fnp.zeros_like(x), x]) for x in xs])
    return fg.tree_util.tree_map(lambda o: o[1], out)


def _namespace(name: str, call: Callable[..., Any]) -> types.ModuleType:
    rooms = {
        "": (fnp, types.ModuleType(name)),
        "linalg": (fnp.linalg, types.ModuleType("linalg")),
        "fft": (fnp.fft, types.ModuleType("fft")),
    }
    for home, copy in rooms.values():
        vars(copy).update({n: getattr(home, n) for n in dir(home)})
    for line in _LINES:
        room, _, last = line.partition("(")[0].rpartition(".")
        if room in rooms and last not in _LEFT:
            setattr(rooms[room][1], last, _transformed(getattr(rooms[room][0], last), call))
    whole = rooms[""][1]
    vars(whole).update(linalg=rooms["linalg"][1], fft=rooms["fft"][1])
    return whole


jitted = _namespace("jitted", lambda f, xs: fg.jit(f)(*xs))
batched = _namespace("batched", _batch)
jitted_batched = _namespace("jitted_batched", functools.partial(_batch, outer=fg.jit))
