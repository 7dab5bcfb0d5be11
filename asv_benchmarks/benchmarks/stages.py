"""The stages of a batch, as `swnn gpu-check --bench` measures them on a user's device."""

from __future__ import annotations

from .common import (
    LARGE_BATCH,
    SLOW_BATCH,
    Suite,
    clock,
    device_of,
    measured_backends,
    on_gpu,
    require,
    wait,
)

SIZES = LARGE_BATCH, SLOW_BATCH, 65_536
STAGES = (
    "prepare",
    "upload",
    "search",
    "votes",
    "download",
    "predict",
    "predict on device",
    "rank",
    "ranked predict",
)


class Stages(Suite):
    """Rows of debtags, S = 25, and label models of 64 weights; n/a for stages a backend lacks."""

    params = (measured_backends(LARGE_BATCH), SIZES, STAGES)
    param_names = ("backend", "rows", "stage")
    repeat = (1, 10, 0.5)

    def setup(self, backend, rows, stage):
        require(backend, rows)
        if rows > LARGE_BATCH and not on_gpu(backend):
            raise NotImplementedError("the suites of batches measure it")
        if hasattr(self, "call"):
            return
        try:
            from swnn_xp.diagnostics.gpu_bench import Timings, bench_rows
        except ImportError:
            raise NotImplementedError("this revision does not measure stages") from None
        from swnn_xp import datasets

        self.timer, data = clock(backend), datasets.load("debtags")
        timings = Timings(backend, data, device_of(backend))
        calls = dict(timings.calls(bench_rows(data, rows)))
        if stage not in calls:
            raise NotImplementedError(f"{backend} has no such stage")
        self.call = calls[stage]
        self.time_stage(backend, rows, stage)

    def time_stage(self, backend, rows, stage):
        self.call()
        wait(backend)

    time_stage.version = "1"  # that of results which the command writes
