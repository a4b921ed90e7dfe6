"""One side of a comparison, in a process of its own. In: JSON requests, one a line, on stdin. Out: a JSON answer to each.

It runs in the environment of its library, so it imports nothing but NumPy, this folder and that library.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

import numpy as np

from benchmarks._library import load
from benchmarks._row import first_call, seconds_per_call
from benchmarks._rows import BY_NAME


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    lib = load(parser.parse_args().library)
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no reply
    cases: dict[str, Any] = {}  # only the row at work: inputs of others would sit in memory

    def case(name: str) -> Any:
        if name not in cases:
            cases.clear()
            cases[name] = BY_NAME[name].body(lib)
        return cases[name]

    def handle(do: str, row: str, seconds: float = 0.0, path: str = "") -> Any:
        if do == "answer":
            np.savez(path, *lib.leaves(case(row).answer()))
            return None
        if do == "rounds":
            return seconds_per_call(case(row).call, seconds)
        if do == "first":
            return first_call(case(row))
        if do == "number":
            return BY_NAME[row].body(lib)
        raise ValueError(f"unknown request {do!r}")

    for line in sys.stdin:
        try:
            reply = {"value": handle(**json.loads(line))}
        except Exception as error:  # the parent shows it in the row
            reply = {"error": f"{type(error).__name__}: {error}"}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()
