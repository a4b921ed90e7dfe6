"""Object code on disk: content-addressed, verified, bounded, shared by many processes.

Enters: a key (hex digest of everything that the bytes depend on) and bytes. Leaves: the same bytes, or None.
A file is `MAGIC + sha256(key + body) + body`: one under another's name is as good as none. It is written to a temporary name
and renamed, so that a reader sees all of it or nothing. Whatever is wrong with the cache (damaged file, foreign owner,
read-only or full disk) costs a recompile and one warning a process, never a failure.

Environment: FUNCGRAD_CACHE_DIR (default: the user's cache directory), FUNCGRAD_CACHE_SIZE (bytes, default 1 GiB; the files used
least recently go first), FUNCGRAD_CACHE=0 (no disk cache).
"""

import hashlib
import os
import stat
import tempfile
import threading
import time
import warnings
from pathlib import Path

from funcgrad.core.errors import CacheWarning

MAGIC = b"funcgrad2"
DIGEST = 32
DEFAULT_SIZE = 1 << 30
TOUCH_AFTER = 3600.0  # seconds: a file's time is renewed at most this often
STALE_TEMPORARY = 3600.0
SWEEP_EVERY = 64  # writes of one process between two looks at the size


def default_directory() -> Path:
    """The user's cache directory for funcgrad."""
    given = os.environ.get("FUNCGRAD_CACHE_DIR")
    if given:
        return Path(given).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/.cache")
    return Path(base) / "funcgrad"


def _digest(key: str, body: bytes) -> bytes:
    return hashlib.sha256(key.encode() + body).digest()


def _at_once(path: str, flags: int) -> int:
    """Open without waiting: what stands there may be a pipe that nobody writes to."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _writable_by_others(status: os.stat_result) -> bool:
    """True when another user could have put something there."""
    if not hasattr(os, "getuid"):
        return False
    return status.st_uid != os.getuid() or bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


class DiskCache:
    """One directory of object code. `get` and `put` never raise."""

    def __init__(self, directory: Path | None = None, size: int | None = None, enabled: bool | None = None):
        if enabled is None:
            enabled = os.environ.get("FUNCGRAD_CACHE", "1") not in ("0", "off", "false")
        self.directory = Path(directory) if directory is not None else default_directory()
        self.size = size if size is not None else _size_from_environment()
        self.enabled = enabled
        self._usable: bool | None = None  # None: not looked at yet
        self._writes = 0
        self._warned = False
        self._lock = threading.Lock()

    # ---- reading and writing -------------------------------------------------------------------------------

    def get(self, key: str) -> bytes | None:
        """The bytes stored under `key`, if they are there and whole."""
        if not self._ready():
            return None
        path = self._path(key)
        try:
            with open(path, "rb", opener=_at_once) as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    self._warn(f"{path} is not a file")
                    return None
                if _writable_by_others(status):
                    self._warn(f"{path} belongs to or can be written by another user; it is not read")
                    return None
                raw = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn(f"{path} cannot be read ({error})")
            return None
        start = len(MAGIC) + DIGEST
        body = raw[start:]
        if raw.startswith(MAGIC[:-1]) and not raw.startswith(MAGIC):
            return None  # of another version of the package, whole or not
        if not raw.startswith(MAGIC) or _digest(key, body) != raw[len(MAGIC) : start]:
            self._warn(f"{path} is damaged and will be made anew")
            _remove(path)
            return None
        if time.time() - status.st_mtime > TOUCH_AFTER:
            try:
                os.utime(path)
            except OSError:
                pass  # a read-only cache still serves
        return body

    def put(self, key: str, body: bytes) -> None:
        """Keep `body` under `key`, if that is possible."""
        if not self._ready():
            return
        path = self._path(key)
        temporary = None
        try:
            os.makedirs(path.parent, mode=0o700, exist_ok=True)
            handle, temporary = tempfile.mkstemp(prefix=".tmp-", dir=path.parent)  # mode 0600
            with os.fdopen(handle, "wb") as file:
                file.write(MAGIC + _digest(key, body) + body)
            os.replace(temporary, path)
        except OSError as error:
            if temporary is not None:
                _remove(temporary)
            self._warn(f"{self.directory} cannot be written ({error})")
            return
        self._writes += 1
        if self._writes % SWEEP_EVERY == 1:
            self.sweep()

    def sweep(self) -> None:
        """Remove the least recently used files beyond the size, and what a killed writer left behind."""
        try:
            entries, now = [], time.time()
            for folder in os.scandir(self.directory):
                if not folder.is_dir(follow_symlinks=False):
                    continue
                for entry in os.scandir(folder.path):
                    status = entry.stat(follow_symlinks=False)
                    if entry.name.startswith(".tmp-"):
                        if now - status.st_mtime > STALE_TEMPORARY:
                            _remove(entry.path)
                        continue
                    entries.append((status.st_mtime, status.st_size, entry.path))
        except OSError:
            return  # another process sweeps too
        total = sum(size for _, size, _ in entries)
        if total <= self.size:
            return
        for _, size, path in sorted(entries):
            if total <= self.size * 9 // 10:  # some slack, so that the next write does not sweep again
                break
            _remove(path)
            total -= size

    # ---- trust ---------------------------------------------------------------------------------------------

    def _path(self, key: str) -> Path:
        return self.directory / key[:2] / key[2:]

    def _ready(self) -> bool:
        """Whether the directory is ours alone; looked at once."""
        if not self.enabled or self.size <= 0:
            return False
        if self._usable is None:
            with self._lock:
                if self._usable is None:
                    self._usable = self._check()
        return self._usable

    def _check(self) -> bool:
        try:
            os.makedirs(self.directory, mode=0o700, exist_ok=True)
            status = os.stat(self.directory)
        except OSError as error:
            self._warn(f"{self.directory} cannot be made ({error})")
            return False
        if not stat.S_ISDIR(status.st_mode):
            self._warn(f"{self.directory} is not a directory")
            return False
        if _writable_by_others(status):
            self._warn(
                f"{self.directory} belongs to or can be written by another user, so code in it is not trusted; "
                f"`chmod 700` it, or set FUNCGRAD_CACHE_DIR to a directory of your own"
            )
            return False
        return True

    def _warn(self, text: str) -> None:
        """One warning a process, whatever the number of kernels."""
        if self._warned:
            return
        self._warned = True
        warnings.warn(
            f"funcgrad's kernel cache: {text}. Kernels are compiled instead, which takes longer.", CacheWarning, stacklevel=3
        )


def _size_from_environment() -> int:
    text = os.environ.get("FUNCGRAD_CACHE_SIZE", "")
    try:
        return int(text) if text else DEFAULT_SIZE
    except ValueError:
        warnings.warn(f"FUNCGRAD_CACHE_SIZE={text!r} is not a number of bytes; 1 GiB is used", CacheWarning, stacklevel=3)
        return DEFAULT_SIZE


def _remove(path: str | Path) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # somebody else did, or may not


_disk: list[DiskCache] = []


def disk() -> DiskCache:
    """The process's cache, made from the environment at the first use."""
    if not _disk:
        _disk.append(DiskCache())
    return _disk[0]


def use(cache: DiskCache | None) -> None:
    """Replace the process's cache (None: look at the environment again)."""
    _disk[:] = [] if cache is None else [cache]


def _after_fork() -> None:
    for cache in _disk:
        cache._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
