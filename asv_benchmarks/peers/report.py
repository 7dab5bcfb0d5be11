"""The figures as Markdown tables, plots, and the page of the docs that holds both."""

from __future__ import annotations

import datetime
import platform
from pathlib import Path

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"


def machine():
    """The processor in words; nothing that names the computer."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{len(models)} cores of {models[0]}, {platform.system()}"


def heading(arguments):
    today = datetime.date.today().isoformat()
    return (
        f"Measured {today} on {machine()}, one thread, CPU time of the process, "
        f"{arguments.queries} queries; retrieval of the {arguments.answers} best rows by cosine."
    )


def table(rows):
    """A Markdown table; ratios (in brackets) are to the first row that was measured, ours."""
    ours = next((row for row in rows if "failed" not in row), None)
    found = any("recall" in row for row in rows)
    names = ["", "ms/query", "queries/s in one call", "build s", "memory MB"]
    names += ["recall"] * found + ["P@1", "P@3", "P@5", "remark"]
    lines = ["| " + " | ".join(names) + " |", "|---" * len(names) + "|"]
    for row in rows:
        lines.append("| " + " | ".join(_cells(row, ours, found)) + " |")
    return "\n".join(lines)


def _cells(row, ours, found):
    version = f" {row['version']}" if "version" in row else ""
    title = row["title"] + version
    if "failed" in row:
        return [title, *["–"] * (7 + found), row["failed"].replace("|", "/")]
    cells = [title]
    for key, digits in (("ms_per_query", 3), ("queries_per_s", 0), ("build_s", 1)):
        cells.append(_with_ratio(row[key], ours[key], digits))
    cells.append(_with_ratio(row["memory_mb"], ours["memory_mb"], 0))
    if found:
        cells.append(f"{row['recall']:.3f}")
    return [*cells, *(f"{p:.2f}" for p in row["precision"]), row["note"]]


def _with_ratio(value, ours, digits):
    return f"{value:,.{digits}f} ({value / ours:.2f}x)" if ours > 0 else f"{value:,.{digits}f}"


def plot(results, path):
    """Quality against latency, a row for each data set: retrieval on the left, classifiers right.

    Their qualities are of different rows (see the page), so they do not share an axis.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    done = [result for result in results if "failed" not in result]
    sets = list(dict.fromkeys(result["dataset"] for result in done))
    figure, axes = plt.subplots(
        len(sets), 2, figsize=(11, 4.6 * len(sets)), squeeze=False, layout="constrained"
    )
    for row, name in zip(axes, sets, strict=True):
        here = [result for result in done if result["dataset"] == name]
        found = [result for result in here if result["kind"] == "retrieval"]
        ranked = [result for result in here if result["kind"] == "classifier"]
        _panel(
            row[0], found, [100 * r["recall"] for r in found], f"{name}: neighbours", "recall (%)"
        )
        _panel(row[1], ranked, [r["precision"][0] for r in ranked], f"{name}: labels", "P@1 (%)")
    figure.savefig(path.with_suffix(".png"), dpi=110)
    figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    plt.close(figure)


def _panel(axis, results, quality, title, label):
    """Points with slanted names, for most lie on one height."""
    latency = [result["ms_per_query"] for result in results]
    colours = ["tab:red" if r["title"].startswith("swnn") else "tab:blue" for r in results]
    axis.scatter(latency, quality, c=colours, zorder=3)
    low, high = min(quality, default=0), max(quality, default=1)
    room = max(high - low, 1.0)
    step = (max(latency, default=1) / min(latency, default=1)) ** 0.035
    last = 0.0, 0.0
    for x, y, result in sorted(zip(latency, quality, results, strict=True), key=lambda p: p[:2]):
        # Names of points that nearly coincide stand side by side.
        at = max(x, last[0] * step) if abs(y - last[1]) < room / 5 else x
        axis.annotate(
            result["title"], (at, y), xytext=(2, 5), textcoords="offset points",
            rotation=60, rotation_mode="anchor", fontsize=8,
        )  # fmt: skip
        last = at, y
    axis.set(xscale="log", xlabel="CPU ms a query, one thread", ylabel=label, title=title)
    axis.set_xlim(min(latency, default=1) / 1.5, max(latency, default=1) * 3)
    axis.set_yticks([tick for tick in axis.get_yticks() if low - room < tick < 100.001])
    axis.set_ylim(low - 0.15 * room, high + 0.9 * room)  # names need room above
    axis.xaxis.set_minor_formatter("")  # labels of minor ticks run into each other
    axis.grid(alpha=0.3)


def write_page(results, arguments, docs):
    """Put tables and plot between the marks of docs/peers.md."""
    plot(results, docs / "pictures" / "peers")
    parts = [heading(arguments), "![quality against latency of each library](pictures/peers.png)"]
    for name in dict.fromkeys(result["dataset"] for result in results):
        for kind, title in (("retrieval", "neighbours"), ("classifier", "classifiers")):
            rows = [r for r in results if r["dataset"] == name and r["kind"] == kind]
            if rows:
                parts.append(f"## {name}: {title}\n\n{table(rows)}")
    page = docs / "peers.md"
    before, rest = page.read_text().split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n" + "\n\n".join(parts) + f"\n{END}{after}")
