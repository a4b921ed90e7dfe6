"""The kernels of every primitive's samples on CUDA: all of them run in the simulator; PTX of a cross-section for three
capabilities, or of every one with FUNCGRAD_TEST_ALL_PTX=1 (about a quarter of an hour on two cores)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from funcgrad.runtime import cuda

TESTS = Path(__file__).parent.parent
pytestmark = pytest.mark.skipif(not cuda.available(), reason="numba-cuda is not installed")


def _start(text, **environment):
    """Run Python text beside tests/codegen in a process of its own."""
    path = os.pathsep.join([str(TESTS.parent), str(TESTS / "codegen")])
    given = dict(os.environ, PYTHONPATH=path, **environment)
    return subprocess.Popen([sys.executable, "-c", text], env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _end(process):
    out, errors = process.communicate()
    assert process.returncode == 0, out + errors
    return out


def test_every_sample_in_the_simulator():
    """One half in each of two processes."""
    halves = [_start(f"import contract_kernels; contract_kernels.main({k}, 2)", NUMBA_ENABLE_CUDASIM="1") for k in range(2)]
    for half in halves:
        assert " 0 failed" in _end(half)


PTX = """
import contract_kernels
from funcgrad.runtime import cuda
if __name__ == "__main__":
    nests = contract_kernels.nests()[::STEP]
    for texts in cuda.ptx_all(nests):
        for text, (major, minor) in zip(texts, cuda.CAPABILITIES, strict=True):
            assert f".target sm_{major}{minor}" in text
    print(len(nests), "nests")
"""


def test_ptx_for_every_capability():
    step = "1" if os.environ.get("FUNCGRAD_TEST_ALL_PTX") else "67"
    assert "nests" in _end(_start(PTX.replace("STEP", step)))
