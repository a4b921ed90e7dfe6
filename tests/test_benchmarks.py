"""The harness of the benchmarks: what it compares, and what its table says. The bodies themselves run in CI."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks._harness import Result, difference, table
from benchmarks._row import Row, seconds_per_call
from benchmarks._rows import BY_NAME, ROWS

ROOT = Path(__file__).resolve().parent.parent
ROW = Row("a row", lambda lib: None)


def test_names_are_unique():
    assert len(BY_NAME) == len(ROWS)


def test_different_answers_are_found():
    x = np.linspace(0, 1, 5, dtype=np.float32)
    assert difference(ROW, [x], [x * (1 + 1e-6)]) == ""
    assert "differs" in difference(ROW, [x], [x + 0.01])
    assert "results" in difference(ROW, [x], [x, x])
    assert "(5,)" in difference(ROW, [x], [x[:3]])
    assert "differs" in difference(ROW, [x], [np.where(x > 0.5, np.nan, x)])


def test_a_wrong_row_has_no_ratio():
    text = table([Result(ROW, 1.0, 2.0), Result(ROW, 3.0, 4.0, "wrong: result 0 differs by 1"), Result(ROW, 5.0, 4.0)], "jax")
    fine, wrong, slow = text.splitlines()[2:]
    assert "| 0.5 " in fine and "ok" in fine
    assert "0.75" not in wrong and "wrong" in wrong
    assert "1.25" in slow and "above 1" in slow


def test_a_value_may_be_bounded_too():
    row = Row("bounded", lambda lib: None, unit="ms", at_most=10.0)
    assert Result(row, 9.0, 100.0).verdict == "ok"
    assert Result(row, 11.0, 100.0).verdict == "above 10 ms"
    assert Result(row, 11.0, 2.0).verdict == "above 10 ms, above 1"
    assert Result(Row("free", lambda lib: None, limit=None), 11.0, 2.0).verdict == ""


def test_the_clock_sees_what_a_call_costs():
    """A call that does nothing is far below one that sums a million numbers."""
    x = np.ones(1_000_000)
    assert seconds_per_call(lambda: None, 0.02) * 10 < seconds_per_call(x.sum, 0.02)


def test_a_worker_answers_a_line_for_a_line():
    requests = [{"do": "rounds", "row": ROWS[0].name, "seconds": 0.0}, {"do": "nonsense", "row": ROWS[0].name}]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks._worker", "--library", "funcgrad"],
        cwd=ROOT, input="\n".join(map(json.dumps, requests)) + "\n", capture_output=True, text=True, check=True,
    )  # fmt: skip
    first, second = map(json.loads, done.stdout.splitlines())
    assert 0 < first["value"] < 1
    assert "nonsense" in second["error"]
