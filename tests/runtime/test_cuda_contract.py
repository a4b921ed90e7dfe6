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


def _script(text, **environment):
    """Run Python text beside tests/codegen in a process of its own."""
    path = os.pathsep.join([str(TESTS.parent), str(TESTS / "codegen")])
    given = dict(os.environ, PYTHONPATH=path, **environment)
    done = subprocess.run([sys.executable, "-c", text], env=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_sample_in_the_simulator():
    out = _script("import contract_kernels; contract_kernels.main()", NUMBA_ENABLE_CUDASIM="1")
    assert " 0 failed" in out


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
    step = "1" if os.environ.get("FUNCGRAD_TEST_ALL_PTX") else "47"
    assert "nests" in _script(PTX.replace("STEP", step))
