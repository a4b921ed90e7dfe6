"""funcgrad: functional arrays and composable transforms on NumPy, lowered to readable Numba kernels.

    import funcgrad as fg
    import funcgrad.numpy as fnp

This file holds names only, and has uncaught errors shown without the package's frames. Nothing is compiled by an import.
"""

import importlib

from funcgrad.core.collecting import paused as _paused
from funcgrad.core.lazy import LazyModule as _LazyModule

with _paused():
    from funcgrad import checkify, debug, dlpack, errors, flatten_util, image, lax, nn, numpy, ops, random, tree, tree_util
    from funcgrad.api.autodiff import grad, jvp, linear_transpose, linearize, value_and_grad, vjp
    from funcgrad.api.callback import check, io_callback, pure_callback
    from funcgrad.api.checkpoint import checkpoint, checkpoint_policies, remat
    from funcgrad.api.custom import closure_convert, custom_gradient, custom_jvp, custom_vjp
    from funcgrad.api.devices import (
        Device,
        block_until_ready,
        default_backend,
        device_count,
        device_get,
        device_put,
        devices,
        live_arrays,
    )
    from funcgrad.api.environment import print_environment_info
    from funcgrad.api.explain import explain
    from funcgrad.api.jacobian import hessian, jacfwd, jacrev
    from funcgrad.api.jacobian import jacrev as jacobian
    from funcgrad.api.jet import jet
    from funcgrad.api.jit import clear_caches, jit
    from funcgrad.api.scopes import ensure_compile_time_eval, named_scope
    from funcgrad.api.staging import ShapeDtypeStruct, eval_shape, make_jaxpr
    from funcgrad.api.vectorize import vmap
    from funcgrad.bridge.array import Array
    from funcgrad.core.config import (
        checking_leaks,
        config,
        debug_nans,
        default_device,
        disable_jit,
        log_compiles,
        numpy_rank_promotion,
    )
    from funcgrad.core.tracebacks import install_display_hooks
    from funcgrad.numpy.protocol import ANSWERED_BY as _ANSWERED_BY

install_display_hooks()
# `scipy.special.erf(x)` on arrays and traced values.
_ANSWERED_BY["scipy.special"] = _LazyModule("funcgrad.scipy.special")

_WHEN_USED = ("scipy", "test_util", "testing")  # modules that `import funcgrad` does not wait for


def __getattr__(name: str) -> object:
    if name in _WHEN_USED:
        return importlib.import_module(f"funcgrad.{name}")
    if name == "numba_kernel":  # the one function that cannot do without numba
        return importlib.import_module("funcgrad.api.numba_kernel").numba_kernel
    # opt_einsum looks for these three at the top of the package that an array's class is from.
    if name in ("einsum", "tensordot", "transpose"):
        return getattr(numpy, name)
    near = f"; fnp.{name} (import funcgrad.numpy as fnp) is there" if name in numpy.__all__ else ""
    raise AttributeError(f"module 'funcgrad' has no attribute {name!r}{near}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_WHEN_USED})


__version__ = "0.1.0"

__all__ = [
    "Array",
    "Device",
    "ShapeDtypeStruct",
    "block_until_ready",
    "check",
    "checkify",
    "checking_leaks",
    "checkpoint",
    "checkpoint_policies",
    "clear_caches",
    "closure_convert",
    "config",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "debug",
    "debug_nans",
    "default_backend",
    "default_device",
    "device_count",
    "device_get",
    "device_put",
    "devices",
    "disable_jit",
    "dlpack",
    "ensure_compile_time_eval",
    "errors",
    "eval_shape",
    "explain",
    "flatten_util",
    "grad",
    "hessian",
    "image",
    "io_callback",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jet",
    "jit",
    "jvp",
    "lax",
    "linear_transpose",
    "linearize",
    "live_arrays",
    "log_compiles",
    "make_jaxpr",
    "named_scope",
    "nn",
    "numba_kernel",
    "numpy",
    "numpy_rank_promotion",
    "ops",
    "print_environment_info",
    "pure_callback",
    "random",
    "remat",
    "tree",
    "tree_util",
    "value_and_grad",
    "vjp",
    "vmap",
]
