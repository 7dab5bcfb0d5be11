"""Tables of the GPU pages: what was counted, and a model that turns counts into times."""

from __future__ import annotations

from typing import NamedTuple

from recorded import read

SECTOR = 32  # bytes
BATCH = 4096  # queries, as counted
BEFORE = 32  # bytes of sums for each row that the kernels before wrote and read
STAGES = {
    "classifier": ("search", "exhaustive", "votes"),
    "ranker": ("search", "exhaustive", "candidates", "scores"),
}
AFTER_SEARCH = ("classifier", "votes"), ("ranker", "candidates"), ("ranker", "scores")
ATOMIC_CLOCKS, ACCESS_CLOCKS = 8.5, 4  # of a multiprocessor, for 32 accesses to shared memory
SHARE = 0.6  # of the peak bandwidth
LAUNCH = 5  # microseconds
CORES = 1, 16, 64


class Device(NamedTuple):
    """What the model knows of a device, from its data sheet."""

    multiprocessors: int
    clock: float  # GHz
    bandwidth: float  # of its memory, GB/s
    atomics: float  # to global memory, 10**9 a second


DEVICES = {
    "T4": Device(40, 1.59, 320, 5),
    "A100": Device(108, 1.41, 1555, 30),
    "H100": Device(132, 1.83, 3350, 50),
}


def counted():
    """Rows of the file by data set, kind and stage; and the data sets."""
    rows = read("gpu_counts")
    found = {(row["dataset"], row["kind"], row["stage"]): row for row in rows}
    return rows, found, list(dict.fromkeys(row["dataset"] for row in rows))


def model_us(stages, device, batch=BATCH):
    """Expected microseconds of a query: the model of docs/gpu-model.md."""
    total = 0.0
    for row in stages:
        # A 64-bit atomic to shared memory is a loop, in which the threads of a warp take turns.
        atomics = row["shared_atomics"] + 32 * row["wide_shared_atomics"]
        clocks = (atomics * ATOMIC_CLOCKS + row["shared_accesses"] * ACCESS_CLOCKS) / 32
        total += clocks / (device.multiprocessors * device.clock * 1e3)
        total += row["sectors"] * SECTOR / (SHARE * device.bandwidth * 1e3)
        total += row["global_atomics"] / (device.atomics * 1e3)
        total += LAUNCH * row["launches"] / batch
    return total


def search_lines(name_of):
    """The search: a line for each data set."""
    rows, found, sets = counted()
    lines = []
    for name in sets:
        row = found[name, "classifier", "search"]
        before, traffic = 8 * row["postings"] + BEFORE * row["rows"], SECTOR * row["sectors"]
        lines.append(
            [
                name_of(name),
                f"{row['postings']:,.0f}",
                f"{row['postings']:,.0f} → {row['global_atomics']:,.0f}",
                f"{before / 1e6:.2f} → {traffic / 1e6:.2f}",
                f"{5 * row['postings'] / 1e6 + 0.064:.2f}",
                f"{row['shared_atomics']:,.0f}",
                f"{row['fallbacks']} of {row['queries']}",
            ]
        )
    names = [
        "data set",
        "postings",
        "global atomics",
        "MB of global memory",
        "at most 5 B a posting + 64 KB, MB",
    ]
    return [*names, "shared atomics", "queries left over"], lines, rows


def stage_lines(name_of):
    """The other stages: a line for each data set and stage."""
    rows, found, sets = counted()
    lines = []
    for name in sets:
        for kind, stage in (
            ("classifier", "votes"),
            ("ranker", "candidates"),
            ("ranker", "scores"),
        ):
            if row := found.get((name, kind, stage)):
                lines.append(
                    [
                        name_of(name),
                        stage,
                        row["neighbours"],
                        f"{SECTOR * row['sectors'] / 1e3:,.0f}",
                        f"{row['global_atomics']:,.0f}",
                        f"{row['shared_accesses'] / 1e3:,.0f}",
                        f"{row['shared_atomics'] + row['wide_shared_atomics']:,.0f}",
                    ]
                )
    names = ["data set", "stage", "S", "KB of global memory", "global atomics"]
    return [*names, "thousand shared accesses", "shared atomics"], lines, rows


def kernel_lines():
    """What each kernel takes of a multiprocessor: a line for each kernel."""
    rows = read("gpu_kernels")
    archs = list(dict.fromkeys(row["arch"] for row in rows))
    found = {(row["kernel"], row["arch"]): row for row in rows}
    lines = []
    for kernel in dict.fromkeys(row["kernel"] for row in rows):
        own = [found[kernel, arch] for arch in archs]
        uses = [f"{row['registers']}, {row['occupancy']:.0%}" for row in own]
        spills = max(row["spills"] for row in own)
        lines.append([f"`{kernel}`", f"{own[0]['shared'] / 1024:.0f}", *uses, spills])
    return ["kernel", "shared memory, KB", *archs, "most bytes spilled"], lines, rows


def model_lines(name_of):
    """Modelled microseconds of an answer beside the CPU's: a line for each data set and kind."""
    rows, found, sets = counted()
    lines = []
    for name in sets:
        for kind, stages in STAGES.items():
            own = [found[name, kind, stage] for stage in stages if (name, kind, stage) in found]
            if not own:
                continue
            line = [name_of(name), kind]
            line += [f"{model_us(own, device):.1f}" for device in DEVICES.values()]
            lines.append([*line, *(f"{own[0]['cpu_us'] / cores:.1f}" for cores in CORES)])
    names = ["data set", "", *(f"{name}, model" for name in DEVICES)]
    return [*names, "1 core, measured", *(f"{n} cores, scaled" for n in CORES[1:])], lines, rows
