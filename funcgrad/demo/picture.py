"""The picture of a run. In: the losses of all steps, some held-out digits with their predictions. Out: a PNG file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

DIGITS = 16


def draw(
    path: Path,
    losses: Sequence[float],
    steps_per_epoch: int,
    accuracy: float,
    images: np.ndarray,
    labels: np.ndarray,
    classes: np.ndarray,
) -> None:
    """Left: the loss of each step and its mean over each epoch. Right: 16 held-out scans, the wrong ones first and in red."""
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=(1.25, 1))[0]
    _loss_curve(left.subplots(), losses, steps_per_epoch)
    wrong_first = np.argsort(classes == labels, kind="stable")[:DIGITS]
    right.suptitle(
        f"held out: {100 * accuracy:.1f} % right; {int((classes != labels).sum())} of {len(labels)} wrong", fontsize=11
    )
    for axes, i in zip(right.subplots(4, 4).flat, wrong_first):
        right_answer = classes[i] == labels[i]
        axes.imshow(images[i], cmap="gray_r")
        title = f"{classes[i]}" if right_answer else f"{classes[i]}, is {labels[i]}"
        axes.set_title(title, fontsize=10, pad=3, color="black" if right_answer else "tab:red")
        axes.set_axis_off()
    FigureCanvasAgg(figure).print_png(path)


def _loss_curve(axes, losses: Sequence[float], steps_per_epoch: int) -> None:
    steps = np.arange(1, len(losses) + 1)
    axes.plot(steps, losses, color="tab:blue", alpha=0.3, linewidth=0.8, label="each step")
    epochs = len(losses) // steps_per_epoch
    means = np.asarray(losses)[: epochs * steps_per_epoch].reshape(epochs, steps_per_epoch).mean(axis=1)
    axes.plot((np.arange(epochs) + 0.5) * steps_per_epoch, means, color="tab:blue", label="mean of an epoch")
    axes.set(yscale="log", xlabel="step", ylabel="training loss (nats)")
    axes.grid(alpha=0.3)
    axes.legend()
