"""Side by side: rows in, a table of medians and ratios out.

Each side lives in a process of its own (`_worker.py`), started with its own interpreter, and the two take turns: A B A B ...
While one works the other waits on a pipe, so that both meet the same machine. A side's number is the median over the rounds.
Rows about first calls and imports start a new process each round; what the kernel cache holds then is the row's `cache`.
The two sides' answers are compared first: a row whose answers differ is reported as wrong and gets no ratio.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks._row import UNITS, Row

ROOT = Path(__file__).resolve().parent.parent


class Side:
    """A worker process of one library."""

    def __init__(self, library: str, python: str, cache: str | None = None):
        env = dict(os.environ)
        if cache is not None:
            env["FUNCGRAD_CACHE_DIR"] = cache
        self.library = library
        self.process = subprocess.Popen(
            [python, "-m", "benchmarks._worker", "--library", library],
            cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def ask(self, do: str, row: Row, **more: object) -> float:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps({"do": do, "row": row.name, **more}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the {self.library} process ended")
        reply = json.loads(line)
        if "error" in reply:
            raise RuntimeError(f"{self.library}: {reply['error']}")
        return reply["value"]

    def answer(self, row: Row) -> list[np.ndarray]:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "answer.npz")
            self.ask("answer", row, path=path)
            with np.load(path) as arrays:
                return [arrays[name] for name in arrays.files]

    def close(self) -> None:
        if self.process.stdin:
            self.process.stdin.close()
        self.process.wait(timeout=30)


@contextmanager
def side(library: str, python: str, cache: str | None = None) -> Iterator[Side]:
    worker = Side(library, python, cache)
    try:
        yield worker
    finally:
        worker.close()


@dataclass
class Result:
    """A row's medians, in the row's unit; `problem` says why there is no ratio."""

    row: Row
    ours: float | None = None
    theirs: float | None = None
    problem: str = ""

    @property
    def ratio(self) -> float | None:
        return self.ours / self.theirs if self.ours is not None and self.theirs else None

    @property
    def verdict(self) -> str:
        if self.problem:
            return self.problem
        bounds = [(self.ours, self.row.at_most, f" {self.row.unit}"), (self.ratio, self.row.limit, "")]
        known = [(value, bound, unit) for value, bound, unit in bounds if value is not None and bound is not None]
        above = [f"above {bound:g}{unit}" for value, bound, unit in known if value > bound]
        return ", ".join(above) or ("ok" if known else "")


def difference(row: Row, ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray]) -> str:
    """Where the answers differ, or nothing."""
    if len(ours) != len(theirs):
        return f"wrong: {len(ours)} results, the peer has {len(theirs)}"
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if a.shape != b.shape:
            return f"wrong: result {i} is {a.shape}, the peer's is {b.shape}"
        if not np.allclose(a, b, rtol=row.rtol, atol=row.atol, equal_nan=True):
            return f"wrong: result {i} differs by {np.abs(a - b).max():.2g}"
    return ""


@dataclass
class Comparison:
    """The two interpreters and how long to measure."""

    python: str
    peer_python: str | None
    peer: str = "jax"
    rounds: int = 7
    seconds: float = 0.3

    def run(self, row: Row) -> Result:
        result = Result(row)
        try:
            steady = row.how == "rounds"
            (self._steady if steady else self._fresh)(row, result)
        except (RuntimeError, subprocess.SubprocessError) as error:
            result.problem = str(error).splitlines()[0]
        return result

    def _steady(self, row: Row, result: Result) -> None:
        ours: list[float] = []
        theirs: list[float] = []
        with side("funcgrad", self.python) as a:
            if self.peer_python is None or not row.peer:
                ours = [a.ask("rounds", row, seconds=self.seconds) for _ in range(self.rounds)]
            else:
                with side(self.peer, self.peer_python) as b:
                    result.problem = difference(row, a.answer(row), b.answer(row))
                    for _ in range(self.rounds):
                        ours.append(a.ask("rounds", row, seconds=self.seconds))
                        theirs.append(b.ask("rounds", row, seconds=self.seconds))
        self._fill(row, result, ours, theirs)

    def _fresh(self, row: Row, result: Result) -> None:
        """The warm-up round is not counted: it brings files into the page cache."""
        ours: list[float] = []
        theirs: list[float] = []
        answers: list[list[np.ndarray]] = []
        for number in range(1 + max(3, self.rounds // 2)):
            with tempfile.TemporaryDirectory() as folder:
                cache = None if row.cache == "shared" else folder
                if row.cache == "filled":
                    with side("funcgrad", self.python, cache) as a:
                        a.ask(row.how, row)
                with side("funcgrad", self.python, cache) as a:
                    ours.append(a.ask(row.how, row))
                    if number == 0 and row.how == "first" and self.peer_python:
                        answers.append(a.answer(row))
            if self.peer_python and row.peer:
                with side(self.peer, self.peer_python) as b:
                    theirs.append(b.ask(row.how, row))
                    if number == 0 and row.how == "first":
                        answers.append(b.answer(row))
        if len(answers) == 2:
            result.problem = difference(row, *answers)
        self._fill(row, result, ours[1:], theirs[1:])

    def _fill(self, row: Row, result: Result, ours: list[float], theirs: list[float]) -> None:
        scale = 1.0 if row.how == "number" else UNITS[row.unit]
        result.ours = scale * statistics.median(ours)
        result.theirs = scale * statistics.median(theirs) if theirs else None


def table(results: Sequence[Result], peer: str) -> str:
    """The table as Markdown, which is also plain text that reads well."""

    def number(value: float | None, unit: str = "") -> str:
        return "" if value is None else f"{value:.3g}{' ' + unit if unit else ''}"

    rows = [("row", "funcgrad", peer, "ratio", "")]
    for r in results:
        ratio = "" if r.problem.startswith("wrong") else number(r.ratio)
        rows.append((r.row.name, number(r.ours, r.row.unit), number(r.theirs, r.row.unit), ratio, r.verdict))
    widths = [max(3, *(len(row[i]) for row in rows)) for i in range(5)]
    lines = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths)) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(lines)


def interpreters(peer_python: str | None) -> tuple[str, str | None]:
    """Our interpreter and the peer's. The peer's may be None: then there is nothing to compare with."""
    if peer_python is not None and not os.access(peer_python, os.X_OK):
        raise SystemExit(
            f"FUNCGRAD_PEER_PYTHON={peer_python} is no interpreter.\n  Try: the path of bin/python in an environment with jax"
        )
    return sys.executable, peer_python
