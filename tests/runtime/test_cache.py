"""The disk cache: what it keeps, what it refuses, and what it survives."""

import os
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

from funcgrad.core.errors import CacheWarning
from funcgrad.runtime import cache, kernels, keys
from funcgrad.runtime.cache import DiskCache
from funcgrad.runtime.counters import counters

from .helpers import body, elementwise

KEY = "ab" + "0" * 62


@pytest.fixture
def fresh(tmp_path):
    """The process on an empty cache of its own, and no kernel in memory."""
    known = dict(kernels._Known.address)
    kernels._Known.address.clear()
    own = DiskCache(tmp_path / "cache", enabled=True)
    cache.use(own)
    yield own
    cache.use(None)
    kernels._Known.address.update(known)


def only_file(own):
    (path,) = [p for p in own.directory.rglob("*") if p.is_file()]
    return path


def test_keeps_and_returns(fresh):
    assert fresh.get(KEY) is None
    fresh.put(KEY, b"code")
    assert fresh.get(KEY) == b"code"
    assert only_file(fresh).stat().st_mode & 0o777 == 0o600
    assert fresh.directory.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("damage", [lambda raw: raw[:-1], lambda raw: b"", lambda raw: raw[:-1] + b"?", lambda raw: b"x" * 99])
def test_damaged_file_is_a_miss_and_one_warning(fresh, damage):
    fresh.put(KEY, b"code")
    path = only_file(fresh)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.warns(CacheWarning, match="damaged"):
        assert fresh.get(KEY) is None
    fresh.put(KEY, b"code")
    assert fresh.get(KEY) == b"code"
    path.write_bytes(b"")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fresh.get(KEY) is None  # the second damage is silent


def test_file_under_the_name_of_another_is_damaged(fresh):
    """Whole in itself, and yet the wrong code for the key."""
    fresh.put(KEY, b"code")
    other = "ab" + "1" * 62
    os.replace(only_file(fresh), fresh.directory / other[:2] / other[2:])
    with pytest.warns(CacheWarning, match="damaged"):
        assert fresh.get(other) is None


def test_file_of_another_version_is_a_silent_miss(fresh):
    fresh.put(KEY, b"code")
    path = only_file(fresh)
    path.write_bytes(path.read_bytes().replace(cache.MAGIC, cache.MAGIC[:-1] + b"1"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fresh.get(KEY) is None
    fresh.put(KEY, b"code")
    assert fresh.get(KEY) == b"code"


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda p: os.symlink(p, p), lambda p: os.symlink("/dev/null", p)])
def test_what_is_not_a_file_is_a_miss_at_once(fresh, make):
    fresh.put(KEY, b"code")
    path = only_file(fresh)
    path.unlink()
    make(path)
    with pytest.warns(CacheWarning):
        assert fresh.get(KEY) is None


def test_directory_that_others_can_write_is_refused(tmp_path):
    folder = tmp_path / "shared"
    folder.mkdir()
    os.chmod(folder, 0o777)
    own = DiskCache(folder, enabled=True)
    with pytest.warns(CacheWarning, match="chmod 700"):
        own.put(KEY, b"code")
    assert own.get(KEY) is None
    assert list(folder.iterdir()) == []


def test_file_that_others_can_write_is_refused(fresh):
    fresh.put(KEY, b"code")
    os.chmod(only_file(fresh), 0o666)
    with pytest.warns(CacheWarning, match="another user"):
        assert fresh.get(KEY) is None


def test_foreign_owner_is_refused(tmp_path, monkeypatch):
    own = DiskCache(tmp_path / "cache", enabled=True)
    own.put(KEY, b"code")
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    other = DiskCache(tmp_path / "cache", enabled=True)
    with pytest.warns(CacheWarning, match="another user"):
        assert other.get(KEY) is None


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), OSError(28, "No space left on device")])
def test_unwritable_disk_is_one_warning(fresh, monkeypatch, error):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr("tempfile.mkstemp", fail)
    with pytest.warns(CacheWarning, match="cannot be written"):
        fresh.put(KEY, b"code")
    fresh.put(KEY, b"code")
    monkeypatch.undo()
    assert fresh.get(KEY) is None


def test_read_only_directory_still_serves(fresh):
    fresh.put(KEY, b"code")
    path = only_file(fresh)
    os.utime(path, (1, 1))
    os.chmod(path.parent, 0o500)
    os.chmod(path, 0o400)
    try:
        assert fresh.get(KEY) == b"code"
    finally:
        os.chmod(path.parent, 0o700)


def test_directory_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    own = DiskCache(tmp_path / "file" / "cache", enabled=True)
    with pytest.warns(CacheWarning, match="cannot be made"):
        assert own.get(KEY) is None


def test_disabled_and_size_zero(tmp_path, monkeypatch):
    monkeypatch.setenv("FUNCGRAD_CACHE", "0")
    monkeypatch.setenv("FUNCGRAD_CACHE_DIR", str(tmp_path / "c"))
    for own in (DiskCache(), DiskCache(enabled=True, size=0)):
        own.put(KEY, b"code")
        assert own.get(KEY) is None
    assert not (tmp_path / "c").exists()


def test_bad_size_in_the_environment(monkeypatch):
    monkeypatch.setenv("FUNCGRAD_CACHE_SIZE", "much")
    with pytest.warns(CacheWarning, match="much"):
        assert DiskCache().size == cache.DEFAULT_SIZE


def test_bounded_in_size_oldest_first(tmp_path):
    own = DiskCache(tmp_path / "cache", size=10_000, enabled=True)
    for k in range(8):
        key = f"{k:02x}" + "0" * 62
        own.put(key, bytes(2000))
        os.utime(own._path(key), (time.time() - 1000 + k,) * 2)
    left = own.directory / "00" / ".tmp-left"
    left.write_bytes(b"")
    os.utime(left, (1, 1))
    own.sweep()
    files = [p for p in own.directory.rglob("*") if p.is_file()]
    assert sum(p.stat().st_size for p in files) <= 10_000
    assert own.get("07" + "0" * 62) is not None
    assert own.get("00" + "0" * 62) is None
    assert not left.exists()


def test_kernel_is_compiled_once_and_then_loaded(fresh):
    x = np.arange(5.0)
    before = counters.snapshot()
    for _ in range(2):
        np.testing.assert_array_equal(elementwise("x0[i] + f64(41.5)", ["f64"], "f64", x), x + 41.5)
    assert counters.since(before) == {"compiled": 1, "loaded": 0, "reused": 1, "executables": 2, "launches": 2}
    kernels._Known.address.clear()
    before = counters.snapshot()
    np.testing.assert_array_equal(elementwise("x0[i] + f64(41.5)", ["f64"], "f64", x), x + 41.5)
    assert counters.since(before) == {"compiled": 0, "loaded": 1, "reused": 0, "executables": 1, "launches": 1}


def test_truncated_kernel_is_compiled_again(fresh):
    x = np.arange(5.0)
    elementwise("x0[i] + f64(42.5)", ["f64"], "f64", x)
    path = only_file(fresh)
    path.write_bytes(path.read_bytes()[:100])
    kernels._Known.address.clear()
    before = counters.snapshot()
    with pytest.warns(CacheWarning, match="damaged"):
        np.testing.assert_array_equal(elementwise("x0[i] + f64(42.5)", ["f64"], "f64", x), x + 42.5)
    assert counters.since(before)["compiled"] == 1


def test_key_depends_on_source_and_processor(monkeypatch):
    source = body("return")
    first = keys.key_of(source)
    assert keys.key_of(source) == first != keys.key_of(source + "\n")
    monkeypatch.setattr(keys, "fingerprint", lambda: b"another processor")
    assert keys.key_of(source) != first


SCRIPT = """
import sys, numpy as np
from funcgrad.runtime import kernels
from funcgrad.runtime.counters import counters
source = '''def kernel(bufs, dims, lo, hi, scratch):
    y0 = ptr_f64(bufs, 0)
    for i in range(lo, hi):
        y0[i] = f64({})
'''
kernels.addresses([source.format(k) for k in range(4)])
print(counters.compiled, counters.loaded)
"""


def test_two_processes_at_once_and_a_third_warm(tmp_path):
    environment = {**os.environ, "FUNCGRAD_CACHE_DIR": str(tmp_path / "cache"), "FUNCGRAD_CACHE": "1"}
    start = lambda: subprocess.Popen([sys.executable, "-W", "error", "-c", SCRIPT], env=environment, stdout=subprocess.PIPE)
    both = [start(), start()]
    for process in both:
        out, _ = process.communicate(timeout=100)
        assert process.returncode == 0
        assert sum(map(int, out.split())) == 4
    out, _ = start().communicate(timeout=100)
    assert out.split() == [b"0", b"4"]
