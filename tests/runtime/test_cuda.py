"""CUDA with no GPU: every kind of kernel compiles to PTX, and gives the right values in numba's simulator."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from funcgrad.codegen.vecmath import HELPERS
from funcgrad.runtime import cuda

TESTS = Path(__file__).parent.parent
pytestmark = pytest.mark.skipif(not cuda.available(), reason="numba-cuda is not installed")


def _support():
    """The nests of tests/codegen."""
    spec = importlib.util.spec_from_file_location("codegen_support", TESTS / "codegen" / "support.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


support = _support()
COMPLEX_SAMPLE = ("abs", "add", "div", "exp", "eq", "mul", "neg", "sqrt")


TOGETHER = 10  # operations in one kernel: with all of a dtype's in one, NVVM takes twice as long


def narrowed(op):
    """Is the float32 function the float64 one, rounded?"""
    helper = HELPERS.get(f"{op}_f32")
    return helper is not None and f"{op}_f64" in helper.uses


@pytest.mark.parametrize("code", list(support.DTYPES))
def test_ptx_of_every_operation(code):
    found = [(op, e) for op, e in support.operations(code) if code[0] != "c" or op in COMPLEX_SAMPLE]
    if code == "f32":  # of those that are rounded from float64, where their text is compiled, a few
        rounded = [op for op, _ in found if narrowed(op)]
        found = [(op, e) for op, e in found if op not in rounded[2:]]
    for k in range(0, len(found), TOGETHER):
        text = cuda.ptx(support.map_nest([e for _, e in found[k : k + TOGETHER]], [support.DTYPES[code]] * 2), (7, 5))
        assert ".target sm_75" in text and ".entry" in text


def test_ptx_of_every_structure_and_capability():
    s = support
    nests = [s.softmax(), s.layernorm(), s.scatter("add"), s.scan("add", "f4"), s.reduction("add", "f4", column=True)]
    nests += [s.reduction("argmax", "f4"), s.reduction("argmin", "f8", column=True), s.transpose()]
    nests += [s.recurrence(), s.recurrence(lanes=False), s.escape(), s.escape(lanes=False)]
    for texts in cuda.ptx_all(nests):
        assert [f"sm_{major}{minor}" in text for text, (major, minor) in zip(texts, cuda.CAPABILITIES)] == [True] * 3


def test_simulator_agrees():
    environment = dict(os.environ, NUMBA_ENABLE_CUDASIM="1", PYTHONPATH=str(TESTS.parent))
    done = subprocess.run(
        [sys.executable, str(TESTS / "codegen" / "simulated.py")], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0 and "all agree" in done.stdout, done.stdout + done.stderr


def test_missing_extra_says_what_to_install(monkeypatch):
    monkeypatch.setattr(cuda, "cuda", None)
    assert not cuda.available()
    with pytest.raises(ImportError, match=r"numba-cuda is not installed .*; kernels for CUDA need it.*; type `pip install"):
        cuda.ptx(support.softmax())
