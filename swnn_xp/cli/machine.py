"""Commands about this machine: `swnn backends`, `swnn gpu-check`, `swnn warmup`."""

from __future__ import annotations

import argparse
import time

from swnn_xp.backends import BACKENDS
from swnn_xp.cli.common import new_parser
from swnn_xp.progress import note


def add_backends(commands: argparse._SubParsersAction) -> None:
    """Add `swnn backends`."""
    new_parser(
        commands,
        "backends",
        "what can compute here, and why the rest can't",
        "Lists the backends with their devices and the arrays they take, and says what the others "
        "need. All give the same answers.",
        "swnn backends",
    ).set_defaults(run=_run_backends)


def _run_backends(args: argparse.Namespace) -> None:
    for backend in BACKENDS.values():
        reason = backend.unusable()
        print(f"{backend.name:<10} {'usable' if reason is None else 'no'}: {backend.summary}")
        print(f"{'':<10} devices: {', '.join(backend.devices)}; takes {', '.join(backend.accepts)}")
        if reason is not None:
            print(f"{'':<10} {reason}")


def add_warmup(commands: argparse._SubParsersAction) -> None:
    """Add `swnn warmup`."""
    new_parser(
        commands,
        "warmup",
        "compile the kernels now instead of on first use",
        "Compiles all kernels and keeps them, so that no later process waits for them. Takes a "
        "minute or two the first time; useful when an image or a machine is set up.",
        "swnn warmup",
    ).set_defaults(run=_run_warmup)


def _run_warmup(args: argparse.Namespace) -> None:
    from swnn_kernels import warmup

    started = time.perf_counter()
    print("compiling the kernels ...", flush=True)
    folder = warmup(lambda step: print(f"  {step}", flush=True))
    print(f"done in {time.perf_counter() - started:.1f} s")
    if folder is None:
        print("no folder could be written: every process compiles the kernels it uses")
    else:
        print(f"kept under {folder}")


def add_gpu_check(commands: argparse._SubParsersAction) -> None:
    """Add `swnn gpu-check`."""
    parser = new_parser(
        commands,
        "gpu-check",
        "compare a device's answers with recorded ones and time it",
        "Answers recorded problems on a device, compares every bit with the recorded answers and "
        "measures the speed. The exit code is 1 if any answer differs.",
        "swnn gpu-check --backend cupy",
    )
    parser.add_argument("--backend", choices=list(BACKENDS), default="cupy", help="default: cupy")
    parser.add_argument("--device", help="number of a CUDA device, or torch's name of one")
    parser.add_argument(
        "--quick", action="store_true", help="only the small problem (for emulators)"
    )
    parser.set_defaults(run=_run_gpu_check)


def _run_gpu_check(args: argparse.Namespace) -> int:
    """Run the command; 1 if any answer differs."""
    from swnn_xp.diagnostics.gpu_check import SIZES, check

    number = args.device is not None and args.device.isdigit()
    device = int(args.device) if number else args.device
    wrong = 0
    for name, size in SIZES.items():
        if name != "small" and args.quick:
            continue
        note(f"{name}: {size.rows:,} rows, {size.queries:,} queries ...")
        report = check(args.backend, name, device)
        share = report.roofline_share
        roofline = f"{share:.1%} of the roofline" if share else "roofline not known"
        verdict = _verdict(report.correct, report.found, size.golden)
        print(f"{report.device}, {name} problem: {verdict}")
        print(f"  {report.rows_per_second:,.0f} rows/s, {roofline}")
        verdict = _verdict(report.ranked_correct, report.ranked_found, size.golden_ranked)
        print(f"  ranked by label models: {verdict}, {report.ranked_per_second:,.0f} rows/s")
        wrong += not (report.correct and report.ranked_correct)
    return int(wrong > 0)


def _verdict(correct: bool, found: str, golden: str) -> str:
    return "same bits" if correct else f"DIFFERENT: {found}, not {golden}"
