"""`python -m benchmarks [words ...] [--once] [--rounds N] [--seconds S] [--json PATH] [--readme]`: see __init__.py."""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import time
from pathlib import Path

from benchmarks._harness import Comparison, Result, interpreters, table
from benchmarks._library import load
from benchmarks._row import Row
from benchmarks._rows import ROWS


def run_once(rows: list[Row]) -> None:
    """Every body once in this process: shows that it still runs, measures nothing."""
    lib = load("funcgrad")
    for row in rows:
        start = time.perf_counter()
        if row.how == "number":
            row.body(lib, small=True)
        else:
            row.body(lib).call()
        print(f"{row.name}: ran in {time.perf_counter() - start:.2f} s", flush=True)


def save(path: str, results: list[Result], peer: str) -> None:
    facts = {"machine": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version(), "peer": peer}
    rows = [
        {"row": r.row.name, "unit": r.row.unit, "funcgrad": r.ours, peer: r.theirs, "ratio": r.ratio, "verdict": r.verdict}
        for r in results
    ]
    Path(path).write_text(json.dumps({**facts, "rows": rows}, indent=1) + "\n")


def write_readme(text: str) -> None:
    """The table between the two marks of README.md."""
    path = Path(__file__).resolve().parent.parent / "README.md"
    pattern = r"(<!-- benchmarks: begin -->\n).*(<!-- benchmarks: end -->)"
    path.write_text(re.sub(pattern, lambda marks: f"{marks[1]}\n{text}\n\n{marks[2]}", path.read_text(), flags=re.S))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="funcgrad's benchmarks, beside a peer's when there is one"
    )
    parser.add_argument("words", nargs="*", help="run the rows whose name contains one of these words (default: all)")
    parser.add_argument("--once", action="store_true", help="run every body once and measure nothing")
    parser.add_argument("--rounds", type=int, default=7, help="alternating rounds a row (default: 7)")
    parser.add_argument("--seconds", type=float, default=0.3, help="time for one side in one round (default: 0.3)")
    parser.add_argument("--peer", default="jax", help="the library in FUNCGRAD_PEER_PYTHON's environment (default: jax)")
    parser.add_argument("--json", metavar="PATH", help="also write the numbers to a file")
    parser.add_argument("--readme", action="store_true", help="also put the table into README.md")
    options = parser.parse_args()
    rows = [row for row in ROWS if not options.words or any(word.lower() in row.name.lower() for word in options.words)]
    if not rows:
        parser.error(f"no row matches {options.words}; the rows are:\n  " + "\n  ".join(row.name for row in ROWS))
    if options.once:
        run_once(rows)
        return
    python, peer_python = interpreters(os.environ.get("FUNCGRAD_PEER_PYTHON"))
    comparison = Comparison(python, peer_python, options.peer, options.rounds, options.seconds)
    results = []
    for row in rows:
        results.append(comparison.run(row))
        r = results[-1]
        print(f"# {row.name}: {r.ours if r.ours is not None else float('nan'):.4g} {row.unit}  {r.verdict}", flush=True)
    print("\n" + table(results, options.peer))
    if options.readme:
        write_readme(table(results, options.peer))
    if options.json:
        save(options.json, results, options.peer)


if __name__ == "__main__":
    main()
