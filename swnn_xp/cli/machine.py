"""Commands about this machine: `swnn backends`, `swnn gpu-check`, `swnn warmup`."""

from __future__ import annotations

import argparse
import platform
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swnn_xp import __version__
from swnn_xp.backends import BACKENDS
from swnn_xp.checks import check_threads
from swnn_xp.cli.common import is_stdout, new_parser, output
from swnn_xp.progress import note

if TYPE_CHECKING:
    from swnn_xp.datasets import Dataset


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
        "measures the speed. --bench then measures every stage on real rows, beside all cores of "
        "the host, and writes a page. The exit code is 1 if any answer differs, 2 if the device "
        "can't be used.",
        "swnn gpu-check --backend cupy --bench -o gpu.md",
    )
    parser.add_argument("--backend", choices=list(BACKENDS), default="cupy", help="default: cupy")
    parser.add_argument("--device", help="number of a CUDA device, or torch's name of one")
    parser.add_argument(
        "--quick", action="store_true", help="only small problems and batches (for emulators)"
    )
    group = parser.add_argument_group("measure every stage")
    group.add_argument(
        "--bench", action="store_true", help="measure batches of rows of debtags, in the package"
    )
    group.add_argument(
        "--data", type=Path, metavar="FOLDER", help="measure train.txt and test.txt there, too"
    )
    group.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="Markdown page (default: stdout)"
    )
    group.add_argument(
        "--asv",
        type=Path,
        metavar="FOLDER",
        help="add a result for asv: asv_benchmarks/results/NAME of a git checkout",
    )
    parser.set_defaults(run=_run_gpu_check)


def _run_gpu_check(args: argparse.Namespace) -> int:
    """Run the command; 1 if any answer differs."""
    from swnn_xp.diagnostics.gpu_report import checkout_commit

    if not args.bench and (args.data or args.output or args.asv):
        raise ValueError("--data, -o and --asv go with --bench")
    number = args.device is not None and args.device.isdigit()
    device = int(args.device) if number else args.device
    commit = None if args.asv is None else checkout_commit()
    data = _bench_data(args.data) if args.bench else []  # before the work: it may be missing
    try:
        checks, wrong = _recorded(args.backend, device, args.quick)
        print("\n".join("\n  ".join(check) for check in checks))
        if args.bench:
            wrong += _bench(args, device, ["; ".join(check) for check in checks], data, commit)
    except (OSError, ValueError, ImportError, MemoryError):
        raise
    except Exception as error:  # a device can fail in many ways, none of which means 1
        what = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        raise ValueError(f"backend {args.backend!r} failed on this device: {what}") from error
    return int(wrong > 0)


def _recorded(backend: str, device: Any, quick: bool) -> tuple[list[list[str]], int]:
    """Answer the recorded problems: what to say of each, and how many answers differ."""
    from swnn_xp.diagnostics.gpu_check import SIZES, check

    found: list[list[str]] = []
    wrong = 0
    for name, size in SIZES.items():
        if name != "small" and quick:
            continue
        note(f"{name}: {size.rows:,} rows, {size.queries:,} queries ...")
        report = check(backend, name, device)
        share = report.roofline_share
        roofline = f"{share:.1%} of the roofline" if share else "roofline not known"
        verdict = _verdict(report.correct, report.found, size.golden)
        ranked = _verdict(report.ranked_correct, report.ranked_found, size.golden_ranked)
        rate = report.ranked_per_second
        found.append(
            [
                f"{report.device}, {name} problem: {verdict}",
                f"{report.rows_per_second:,.0f} rows/s, {roofline}",
                f"ranked by label models: {ranked}, {rate:,.0f} rows/s",
            ]
        )
        wrong += not (report.correct and report.ranked_correct)
    return found, wrong


def _bench_data(folder: Path | None) -> list[Dataset]:
    """Load debtags, and the data set in a folder."""
    from swnn_xp import datasets
    from swnn_xp.datasets.reading import find_files

    found = [datasets.load("debtags")]
    if folder is not None:
        name = folder.resolve().name
        if find_files(name, folder) is None:
            raise ValueError(f"{folder}: has no train.txt and test.txt, plain, .gz or .xz")
        note(f"reading {folder} ...")
        found.append(datasets.load(name, root=folder))
    return found


def _bench(
    args: argparse.Namespace,
    device: Any,
    checks: list[str],
    data: list[Dataset],
    commit: tuple[str, int] | None,
) -> int:
    """Measure every stage, write what was asked for, return how many rows differ."""
    from swnn_xp.diagnostics.gpu_bench import measure
    from swnn_xp.diagnostics.gpu_check import device_name
    from swnn_xp.diagnostics.gpu_report import software, to_markdown, write_asv

    found = [
        measure(args.backend, each, device=device, quick=args.quick, on_progress=note)
        for each in data
    ]
    facts = [
        f"device: {device_name(args.backend, device)}, backend {args.backend}",
        f"host: {host_machine()}",
        software(args.backend),
        f"measured {time.strftime('%Y-%m-%d', time.gmtime())}, times by the clock on the wall",
    ]
    if args.quick:
        facts.append("--quick: small batches, which say little about speed")
    with output(args.output) as file:
        file.write(to_markdown(found, checks, facts))
    if not is_stdout(args.output):
        print(f"wrote {args.output}")
    if commit is not None:
        print(f"wrote {write_asv(args.asv, commit, args.backend, found[0], host_machine())}")
    return sum(each.n_different for each in found)


def _verdict(correct: bool, found: str, golden: str) -> str:
    return "same bits" if correct else f"DIFFERENT: {found}, not {golden}"


def host_machine() -> str:
    """The machine that figures were measured on, in one line."""
    model = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    cores = check_threads(-1)
    return f"{model}, {cores} cores; swnn_xp {__version__}, Python {platform.python_version()}"
