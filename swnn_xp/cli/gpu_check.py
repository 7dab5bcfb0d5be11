"""`swnn gpu-check`: compare this machine's GPU with recorded answers, and time it."""

from __future__ import annotations

import argparse

from swnn_xp.backends import BACKENDS
from swnn_xp.cli._common import new_parser
from swnn_xp.progress import note


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
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
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
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
        room = f"{share:.1%} of the roofline" if share else "roofline not known"
        verdict = _verdict(report.correct, report.found, size.golden)
        print(f"{report.device}, {name} problem: {verdict}")
        print(f"  {report.rows_per_second:,.0f} rows/s, {room}")
        verdict = _verdict(report.ranked_correct, report.ranked_found, size.golden_ranked)
        print(f"  ranked by label models: {verdict}, {report.ranked_per_second:,.0f} rows/s")
        wrong += not (report.correct and report.ranked_correct)
    return int(wrong > 0)


def _verdict(correct: bool, found: str, golden: str) -> str:
    return "same bits" if correct else f"DIFFERENT: {found}, not {golden}"
