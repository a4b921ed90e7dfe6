"""`jit`: what users write."""

from collections.abc import Callable
from typing import Any

from funcgrad.bridge.arguments import resolve
from funcgrad.bridge.device import find_device
from funcgrad.bridge.jit import Jitted, Options
from funcgrad.bridge.jit import clear_caches as _clear_caches
from funcgrad.bridge.specialise import MAX_PATHS, PathDispatcher
from funcgrad.core.arguments import among, flag
from funcgrad.core.errors import UsageError, message

_UNSPECIFIED: Any = type("Unspecified", (), {"__repr__": lambda self: "UnspecifiedValue"})()
_MISSING: Any = type("Missing", (), {"__repr__": lambda self: "..."})()


def jit(
    fun: Callable[..., Any] = _MISSING,
    /,
    *,
    in_shardings: Any = _UNSPECIFIED,
    out_shardings: Any = _UNSPECIFIED,
    static_argnums: int | tuple[int, ...] | None = None,
    static_argnames: str | tuple[str, ...] | None = None,
    donate_argnums: int | tuple[int, ...] | None = None,
    donate_argnames: str | tuple[str, ...] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    compiler_options: dict[str, Any] | None = None,
    branches: str = "strict",
    max_paths: int | None = None,
) -> Any:
    """Compile a function of arrays. It is traced once for each kind of arguments, and from then on runs as kernels.

    Args:
      fun: a function of arrays, numbers and pytrees of them. Arrays that it closes over become hidden arguments. It should
        have no side effects: they happen while it is traced, not when it runs.
      static_argnums, static_argnames: arguments that are passed as they are (hashable); the function is traced once for each
        of their values. Negative numbers count from the end. Given one of the two, the other is inferred from the signature.
      donate_argnums, donate_argnames: arguments whose memory the results may take over. Their arrays are deleted by the call.
      keep_unused: accepted; an argument that the function does not use costs nothing.
      device, backend: None or "cpu".
      inline: inside another trace, leave the equations in place of a call.
      compiler_options: None or an empty dict.
      branches: "strict": a Python branch on a traced value is an error. "specialise": at `bool(x)` or `int(x)` of a traced scalar
        what was staged so far is run, and its value picks the path; the function becomes a tree of programs, one path for each
        sequence of outcomes that was met. The same path a second time traces and compiles nothing. For branches and loops that
        take few ways: each path is traced on its own.
      max_paths: with branches="specialise", how many paths there may be for one kind of arguments (64); UsageError beyond.

    Returns:
      A callable of the same arguments, with `cache_info()` and `clear_cache()`. It also works as a decorator, with or without
      keywords, and on methods.

    >>> import funcgrad as fg, funcgrad.numpy as fnp
    >>> fg.jit(lambda x: 2 * x)(fnp.asarray([1.0, 2.0]))
    Array([2., 4.], dtype=float32)
    """
    for name, value in (("in_shardings", in_shardings), ("out_shardings", out_shardings)):
        if value is not _UNSPECIFIED and value is not None:
            raise UsageError(message(f"jit: got {name}={value!r}", "programs run on one device", f"leave {name} out"))
    if compiler_options:
        raise UsageError(message(f"jit: got compiler_options={compiler_options!r}", "None or {}", "set funcgrad.config instead"))
    if backend is not None:
        find_device(backend)
    find_device(device)
    if branches not in ("strict", "specialise"):
        raise UsageError(message(f"jit: got branches={branches!r}", '"strict" or "specialise"', 'branches="specialise"'))
    by_path = branches == "specialise"
    if max_paths is not None and not (by_path and isinstance(max_paths, int) and max_paths > 0):
        raise UsageError(
            message(
                f"jit: got max_paths={max_paths!r} with branches={branches!r}",
                'a positive int, with branches="specialise"',
                'jit(f, branches="specialise", max_paths=64)',
            )
        )
    donates = [
        n for n, v in (("donate_argnums", donate_argnums), ("donate_argnames", donate_argnames)) if not among(v, (None, ()))
    ]
    if by_path and donates:
        raise UsageError(
            message(
                f'jit: got {donates[0]} with branches="specialise"',
                "no donated arguments there: a later branch may need them again",
                f"leave {donates[0]} out",
            )
        )
    keywords: dict[str, Any] = {
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "donate_argnums": donate_argnums,
        "donate_argnames": donate_argnames,
        "keep_unused": keep_unused,
        "inline": inline,
        "branches": branches,
        "max_paths": max_paths,
    }

    def make(f: Callable[..., Any]) -> Jitted:
        if not callable(f):
            raise UsageError(
                message(f"jit: got {type(f).__name__} for the function", "a callable", "write jit(f)(x), not jit(f(x))")
            )
        roles = resolve(f, static_argnums, static_argnames, donate_argnums, donate_argnames)
        dispatcher, most = (PathDispatcher, max_paths or MAX_PATHS) if by_path else (None, 0)
        return Jitted(
            f, Options(roles, flag(inline, "jit", "inline"), flag(keep_unused, "jit", "keep_unused"), keywords, dispatcher, most)
        )

    return make if fun is _MISSING else make(fun)


def clear_caches() -> None:
    """Forget the traces and programs of all jitted functions. Compiled kernels stay, in the process and on disk.

    >>> f = fg.jit(lambda x: print("tracing") or x + 1)
    >>> y = f(1.0)
    tracing
    >>> y = f(2.0)
    >>> fg.clear_caches()
    >>> y = f(3.0)
    tracing
    """
    _clear_caches()
