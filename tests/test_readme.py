"""The README says what is true: its example prints what stands there, its table has every option, its commands are two."""

import contextlib
import io
import re
from pathlib import Path

import pytest

import funcgrad as fg
from funcgrad import scipy
from funcgrad.core.config import OPTIONS

README = Path(__file__).resolve().parent.parent / "README.md"


@pytest.fixture(scope="module")
def text():
    return README.read_text()


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.S | re.M)


def test_example_prints_what_stands_there(text):
    (code,), (printed,) = blocks(text, "python"), blocks(text, "text")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "README.md", "exec"), {})
    assert out.getvalue() == printed


def test_there_are_two_commands(text):
    setup, tests = blocks(text, "sh")
    assert "-m venv" in setup and "funcgrad.demo" in setup and len(setup.splitlines()) == 1
    assert "pytest" in tests and len(tests.splitlines()) == 1


def test_all_options_are_in_the_table(text):
    table = set(re.findall(r"^\| `(FUNCGRAD_\w+)`", text, re.M))
    assert table == {option.env for option in OPTIONS.values() if option.env} | {"FUNCGRAD_ENABLE_X64"}


def test_paths_exist(text):
    for path in re.findall(r"`((?:tests|notebooks|benchmarks|funcgrad)/[\w./]+)`", text):
        assert (README.parent / path).exists(), path


def test_what_there_is_names_every_transform_and_every_module_of_scipy(text):
    section = text[text.index("## What there is") : text.index("Worth knowing")]
    said = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", section))))
    for name in scipy.__all__:
        assert name in said, name
    transforms = [n for n in dir(fg) if n.startswith(("jac", "custom_", "jvp", "vjp", "vmap", "linear", "grad", "value_and"))]
    for name in set(transforms) - {"jacobian"}:
        assert name in said, name


def test_what_is_called_absent_is(text):
    (absent,) = re.findall(r"^What is missing of JAX.*$", text, re.M)
    top = (
        "pmap",
        "export",
        "experimental",
        "custom_batching",
        "profiler",
        "ffi",
        "new_ref",
        "default_matmul_precision",
        "transfer_guard",
    )
    for name in top:
        assert f"`{name}`" in absent and not hasattr(fg, name)
    assert not hasattr(scipy, "spatial") and not hasattr(fg.jit(fg.numpy.sin), "lower")
