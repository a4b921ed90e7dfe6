"""Memory of results that hang on an object, and go with it."""

import functools
import weakref
from collections.abc import Callable
from typing import Any

_LIMIT = 256  # results kept per object


def weak_memo(fun: Callable[..., Any], keep: Callable[[Any], bool] | None = None) -> Callable[..., Any]:
    """Memoise `fun(owner, *key)` for as long as `owner` lives. The key must be hashable; the owner is held weakly.
    `keep(result)` may refuse to remember a result."""
    table: weakref.WeakKeyDictionary[Any, dict[tuple, Any]] = weakref.WeakKeyDictionary()

    @functools.wraps(fun)
    def memo(owner: Any, *key: Any) -> Any:
        results = table.setdefault(owner, {})  # atomic: threads may compute a result twice, never lose one
        out = results.get(key)
        if out is None:
            out = fun(owner, *key)
            if keep is None or keep(out):
                if len(results) >= _LIMIT:
                    results.clear()
                results[key] = out
        return out

    return memo
