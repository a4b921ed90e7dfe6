"""The loop of the demo. In: options from the command line. Out: a trained classifier, what it cost in print, a picture."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

import funcgrad as fg
from funcgrad.demo import digits, model, picture
from funcgrad.testing import counters


class History(NamedTuple):
    """The loss before each step, and the seconds of each step."""

    losses: list[float]
    seconds: list[float]


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m funcgrad.demo", description="Train a classifier of handwritten digits.")
    parser.add_argument("--epochs", type=int, default=30, help="passes over the training scans (default: 30)")
    parser.add_argument("--batch-size", type=int, default=64, help="scans in a step (default: 64)")
    parser.add_argument("--hidden", type=int, nargs="+", default=[128, 64], help="widths of the hidden layers (default: 128 64)")
    parser.add_argument("--rate", type=float, default=3e-3, help="Adam's step size at the start; it falls to 0 (default: 0.003)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the split, the weights and the order (default: 0)")
    parser.add_argument("--out", type=Path, default=Path("demo.png"), help="where the picture goes (default: demo.png)")
    chosen = parser.parse_args(arguments)
    for name in ("epochs", "batch_size"):
        if getattr(chosen, name) < 1:
            parser.error(f"--{name.replace('_', '-')} {getattr(chosen, name)}: must be 1 or more")
    if min(chosen.hidden) < 1:
        parser.error("--hidden: each width must be 1 or more")
    if not chosen.out.resolve().parent.is_dir():
        parser.error(f"--out {chosen.out}: there is no folder {chosen.out.resolve().parent}")
    return chosen


def batches(part: digits.Part, size: int, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """One pass in random order. The last batch is smaller when the size does not divide the scans: the same kernels serve it."""
    order = rng.permutation(len(part.labels))
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        yield part.x[chosen], part.labels[chosen]


def train(part: digits.Part, chosen: argparse.Namespace) -> tuple[model.State, History]:
    """Adam with a step size that falls to zero along a line."""
    state = model.init(fg.random.key(chosen.seed), (part.x.shape[1], *chosen.hidden, digits.CLASSES))
    rng = np.random.default_rng(chosen.seed)
    steps = chosen.epochs * -(-len(part.labels) // chosen.batch_size)
    history = History([], [])
    with tqdm(total=steps, unit="step", desc="training") as bar:
        for _ in range(chosen.epochs):
            for x, labels in batches(part, chosen.batch_size, rng):
                rate = chosen.rate * (1 - len(history.losses) / steps)
                start = time.perf_counter()
                state, loss = model.train_step(state, x, labels, rate)
                loss = float(loss)  # waits for the step
                history.seconds.append(time.perf_counter() - start)
                history.losses.append(loss)
                bar.update()
            bar.set_postfix(loss=f"{history.losses[-1]:.4f}")
    return state, history


def report(history: History, accuracy: float, held_out: int, count: Any) -> str:
    """What a run says at its end."""
    first, rest = history.seconds[0], history.seconds[1:] or history.seconds
    wall = sum(history.seconds)
    rows = [
        ("loss", f"{history.losses[0]:.3f} -> {history.losses[-1]:.4f}"),
        ("held-out accuracy", f"{100 * accuracy:.2f} % ({round(accuracy * held_out)} of {held_out})"),
        ("first step", f"{1e3 * first:.0f} ms (trace, plan, compile or load, run)"),
        ("steps after it", f"{1e6 * statistics.median(rest):.0f} us each (median of {len(rest)}; {wall:.2f} s in all steps)"),
        ("kernels", f"{count.compiled} compiled, {count.loaded} loaded from the cache, {count.reused} reused"),
        ("traces", f"{count.traces} traces, {count.launches} program launches"),
    ]
    return "\n".join(f"{name:<20}{value}" for name, value in rows)


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(arguments)
    part, held_out = digits.load(chosen.seed)
    widths = "-".join(map(str, (part.x.shape[1], *chosen.hidden, digits.CLASSES)))
    print(f"{len(part.labels)} scans to train on, {len(held_out.labels)} held out")
    print(f"MLP {widths}, Adam, batches of {chosen.batch_size}")
    with counters() as count:
        state, history = train(part, chosen)
        classes = np.asarray(model.predict(state.parameters, held_out.x))
    accuracy = float((classes == held_out.labels).mean())
    print(report(history, accuracy, len(held_out.labels), count))
    steps_per_epoch = len(history.losses) // chosen.epochs
    picture.draw(chosen.out, history.losses, steps_per_epoch, accuracy, held_out.images, held_out.labels, classes)
    print(f"{'picture':<20}{chosen.out}")
