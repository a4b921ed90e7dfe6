"""What object code depends on, and the names under which it is kept.

Enters: source texts. Leaves: keys for the disk cache and for symbols. No numba here: a process whose kernels are all on disk
never imports it (a sixth of a second), so numba's version is read from its files.
"""

import hashlib
import importlib
import platform
import re
from collections.abc import Iterable
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm

from funcgrad.codegen.vecmath import HELPERS, closure

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
TRIPLE = llvm.get_process_triple()
_COMPILER = (
    "intrinsics.py",
    "pointers.py",
    "kernel_tree.py",
    "frontend.py",
    "compile.py",
)  # files of ours that decide what code comes out


@lru_cache(maxsize=1)
def host() -> tuple[str, str]:
    """(CPU name, feature list) of this machine, in LLVM's words."""
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def _numba_version() -> str:
    spec = find_spec("numba")
    file = Path(spec.origin).with_name("_version.py") if spec is not None and spec.origin else None
    if file is not None and file.is_file():
        return file.read_text()
    return importlib.import_module("numba").__version__


@lru_cache(maxsize=1)
def fingerprint() -> bytes:
    """Everything but the source that object code depends on: versions, processor, and the compiler's own files."""
    digest = hashlib.sha256()
    parts = [_numba_version(), llvmlite.__version__, platform.python_version(), TRIPLE, *host()]
    digest.update("\n".join(parts).encode())
    for name in _COMPILER:
        digest.update(own_file(name))
    return digest.digest()


def own_file(name: str) -> bytes:
    """The text of a file of this room."""
    return Path(__file__).with_name(name).read_bytes()


def key_of(source: str) -> str:
    """The name under which a kernel's object code is kept."""
    return digest_of(source, helpers_of(source))


def digest_of(text: str, helpers: Iterable[str] = ()) -> str:
    """A key for the disk cache: `text`, the helpers that it calls, and what all object code depends on."""
    digest = hashlib.sha256(fingerprint() + text.encode())
    for name in closure(helpers):
        digest.update(HELPERS[name].source.encode())
    return digest.hexdigest()


def helpers_of(source: str) -> list[str]:
    """The helpers that a source calls."""
    return [name for name in dict.fromkeys(re.findall(r"\b(\w+)\(", source)) if name in HELPERS]


def symbol_of(key: str) -> str:
    return "fg_" + key[:40]
