"""The time of single answers: a histogram from one session on debtags."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from style import BLUE, ORANGE, RED, save

from swnn_xp import SWNNClassifier, datasets

ROWS = 3000


def main(folder: Path) -> None:
    data = datasets.load("debtags")
    session = SWNNClassifier().fit(data.X_train, data.y_train).session()
    rows = [data.X_test[[i]] for i in range(ROWS)]
    times = np.full(ROWS, np.inf)
    for _ in range(3):  # the best of three: the cost of the row, not of other jobs
        for i, row in enumerate(rows):
            started = time.perf_counter()
            session.predict_one(row.indices, row.data, 5)
            times[i] = min(times[i], time.perf_counter() - started)
    micros = times * 1e6
    figure, axes = plt.subplots(figsize=(6.4, 3))
    bins = np.geomspace(np.quantile(micros, 0.001), np.quantile(micros, 0.999), 60)
    axes.hist(np.clip(micros, bins[0], bins[-1]), bins=bins, color=BLUE)
    axes.set_ylim(0, 1.15 * axes.get_ylim()[1])  # room for the text
    for share, colour, side in ((0.5, ORANGE, "right"), (0.99, RED, "right")):
        value = np.quantile(micros, share)
        axes.axvline(value, color=colour)
        text = f" p{share * 100:.0f}: {value:.0f} µs "
        axes.text(value, axes.get_ylim()[1] * 0.98, text, color=colour, va="top", ha=side)
    axes.set_xscale("log")
    axes.set_xticks(_ticks(bins[0], bins[-1]), [f"{t:g}" for t in _ticks(bins[0], bins[-1])])
    axes.minorticks_off()
    axes.set_xlabel("µs for one row, S = 25, α = β = 1, best of three")
    axes.set_ylabel(f"rows, of {ROWS:,}")
    date = time.strftime("%Y-%m-%d")
    axes.set_title(
        f"{_processor()}, {os.cpu_count()} cores, one thread used; {date}", size=9, loc="left"
    )
    save(figure, folder, "latency")


def _ticks(low: float, high: float) -> list[float]:
    steps = [m * 10**e for e in range(5) for m in (1, 2, 5)]
    return [step for step in steps if low <= step <= high]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line for line in lines if line.startswith("model name")).split(":")[1]
        return model.replace("(R)", "").strip()
    except (OSError, StopIteration):
        return platform.machine()
