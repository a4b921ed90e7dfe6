"""The demo in processes of its own: it learns, and its second run compiles nothing, nor does another batch size."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def demo(cache, out, *arguments):
    env = os.environ | {"FUNCGRAD_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "funcgrad.demo", "--out", str(out), *arguments],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def number(pattern, text):
    found = re.search(pattern, text)
    assert found, text
    return float(found[1])


def compiled(text):
    return number(r"(\d+) compiled", text)


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    return folder, demo(folder / "cache", folder / "demo.png")


def test_it_learns(first):
    folder, text = first
    assert number(r"held-out accuracy\s+([\d.]+) %", text) >= 97.0
    assert (folder / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert compiled(text) > 0


def test_second_run_compiles_no_kernel(first):
    folder, text = first
    again = demo(folder / "cache", folder / "again.png")
    assert compiled(again) == 0
    assert number(r"(\d+) loaded", again) > 0
    losses = [re.search(r"loss .*", t)[0] for t in (text, again)]
    assert losses[0] == losses[1]  # and it computes the same


def test_another_batch_size_compiles_no_kernel(first):
    folder, _ = first
    assert compiled(demo(folder / "cache", folder / "other.png", "--batch-size", "50", "--epochs", "1")) == 0


@pytest.mark.parametrize("module", ["sklearn", "matplotlib", "tqdm"])
def test_a_missing_extra_is_named(module):
    code = f"import sys, runpy; sys.modules[{module!r}] = None; runpy.run_module('funcgrad.demo', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert module in done.stderr and "pip install" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments", [["--epochs", "0"], ["--batch-size", "-3"], ["--hidden", "0"], ["--out", "no/such/folder/x.png"]]
)
def test_bad_options_are_refused(arguments):
    done = subprocess.run(
        [sys.executable, "-m", "funcgrad.demo", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert arguments[0] in done.stderr
