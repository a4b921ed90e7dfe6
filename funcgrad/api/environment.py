"""What the package runs on, for bug reports."""

import builtins
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from funcgrad.api.devices import devices
from funcgrad.core.config import config

_PACKAGES = ("funcgrad", "numpy", "scipy", "numba", "llvmlite", "ml_dtypes")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # used from a checkout
        return getattr(sys.modules.get(package), "__version__", "not installed")


def print_environment_info(return_string: bool = False) -> str | None:
    """Print the versions, the machine and the options that differ from their defaults; return the text if return_string is true.

    >>> import funcgrad as fg
    >>> fg.print_environment_info(return_string=True).splitlines()[0].split(":")[0]
    'funcgrad'
    """
    lines = [f"{name}: {_version(name)}" for name in _PACKAGES]
    lines += [
        f"python: {sys.version}",
        f"platform: {platform.platform()} ({platform.machine()})",
        f"processors: {os.cpu_count()}, threads of programs: {config.num_threads or 'all'}",
        f"devices: {', '.join(map(str, devices()))}",
    ]
    lines += [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("FUNCGRAD_")]
    text = "\n".join(lines)
    if return_string:
        return text
    builtins.print(text)
    return None
