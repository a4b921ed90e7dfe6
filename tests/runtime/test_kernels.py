"""Compiling: several kernels side by side, failures that poison nothing, helpers inlined into vector loops."""

import os
import re

import numpy as np
import pytest

from funcgrad.core.errors import CompileError
from funcgrad.runtime import compile, kernels, loader, parallel
from funcgrad.runtime.counters import counters

from .helpers import body, elementwise

BROKEN = body("x0 = no_such_word(bufs, 0)")


def constant(value):
    return body("y0 = ptr_f64(bufs, 0)", "for i in range(lo, hi):", f"    y0[i] = f64({value})")


def test_a_failed_compile_names_its_source_and_keeps_the_rest():
    good = [constant(700), constant(701)]
    with pytest.raises(CompileError, match="no_such_word"):
        kernels.addresses([good[0], BROKEN, good[1]])
    before = counters.snapshot()
    assert len(kernels.addresses(good)) == 2
    assert counters.since(before)["reused"] == 2


@pytest.mark.parametrize(
    "lines", [["y0 = ptr_f64(bufs, 0)", "y0[0] = add(f32(1.0), f64(1.0))"], ["this is not Python"], ["return missing"]]
)
def test_errors_of_any_stage_are_compile_errors(lines):
    with pytest.raises(CompileError):
        kernels.addresses([body(*lines)])


def test_source_with_two_functions_is_refused():
    with pytest.raises(CompileError, match="defines 2"):
        kernels.addresses([body("return") + body("return", name="other")])


@pytest.mark.parametrize("workers", ["1", "3"])
def test_side_by_side(monkeypatch, workers):
    monkeypatch.setenv("FUNCGRAD_COMPILE_WORKERS", workers)
    sources = [constant(800 + k) for k in range(5)]
    answers = parallel.compile_all([lambda s=s: compile.compile_source(s) for s in sources], [1] * 5)
    assert answers == [compile.compile_source(s) for s in sources]


def test_a_child_that_dies_is_replaced(monkeypatch):
    monkeypatch.setenv("FUNCGRAD_COMPILE_WORKERS", "2")
    parent = os.getpid()

    def job():
        if os.getpid() != parent:
            os._exit(1)
        return b"code"

    assert parallel.compile_all([job, job, job], [1, 1, 1]) == [b"code"] * 3


def test_no_fork(monkeypatch):
    monkeypatch.setenv("FUNCGRAD_COMPILE_WORKERS", "4")

    def fail():
        raise OSError("no more processes")

    monkeypatch.setattr(os, "fork", fail)
    assert parallel.compile_all([lambda: b"a", lambda: b"b"], [1, 2]) == [b"a", b"b"]


def test_helpers_are_part_of_the_vector_loop():
    lines = ["x0 = ptr_f32(bufs, 0)", "y0 = ptr_f32(bufs, 1)", "for i in range(lo, hi):"]
    text = compile.optimised(body(*lines, "    y0[i] = nextafter_f32(x0[i], f32(inf))"))
    assert re.search(r"store <\d+ x float>", text)
    assert "fg.helper" not in text
    x = np.array([0.0, -0.0, 1.0, -1.0, np.inf, 3e38], np.float32)
    want = np.nextafter(x, np.float32(np.inf))
    np.testing.assert_array_equal(elementwise("nextafter_f32(x0[i], f32(inf))", ["f32"], "f32", x), want)


def test_assembly_is_there_to_look_at():
    assert "ret" in compile.assembly(constant(1))


def test_a_process_with_no_room_for_kernels_says_so(monkeypatch, tmp_path):
    """LLVM would end the process."""
    (tmp_path / "maps").write_text("line\n" * 100)
    (tmp_path / "most").write_text("4100\n")
    monkeypatch.setattr(loader, "MAPS", tmp_path / "maps")
    monkeypatch.setattr(loader, "MOST_MAPS", tmp_path / "most")
    with pytest.raises(CompileError, match="uses 100 of the 4100 pieces"):
        loader._check_room()
    (tmp_path / "most").write_text("65530\n")
    loader._check_room()
    monkeypatch.setattr(loader, "MAPS", tmp_path / "absent")
    loader._check_room()


def test_objects_that_cannot_be_linked_are_told():
    code = compile.compile_source(body("return"), "ab" * 20)
    with pytest.raises(CompileError, match="fg_other"):
        loader.load("fg_other", code)
    with pytest.raises(CompileError, match="was not linked"):
        loader.load("fg_other", code[: len(code) // 2])
