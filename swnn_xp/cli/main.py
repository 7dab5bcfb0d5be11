"""Entry point of `swnn`: parse arguments, run the command, turn errors into one clear line."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from types import FrameType

from swnn_xp import __version__

_DESCRIPTION = """\
Extreme multi-label classification by Sparse Weighted Nearest Neighbours.

A new row takes its labels from the most similar training rows, and every answer names them. By
default a model is an index of the training rows. `swnn fit --learn ranking` also trains a ranker,
which answers more precisely."""

_EPILOG = """\
first steps:
  swnn demo                                tag Debian packages with the data set in the package
  swnn summarize train.txt                 what is in a data file
  swnn tune train.txt -o best.toml         choose the parameters
  swnn fit train.txt -o model              index a data file
  swnn fit train.txt -o model --learn ranking   train a ranker as well
  swnn evaluate model test.txt             how good and how fast it is
  swnn predict model new.txt -o labels.tsv
  swnn explain model new.txt --row 0       why these labels"""


def make_parser() -> argparse.ArgumentParser:
    """Make the parser of the whole command line."""
    # Imported here, inside the handling of errors and signals: Ctrl-C may come this early.
    from swnn_xp.cli import (
        datasets,
        demo,
        evaluate,
        explain,
        fit,
        machine,
        models,
        predict,
        reproduce,
        serve,
        tune,
    )

    parser = argparse.ArgumentParser(
        prog="swnn",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"swnn_xp {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for add in (  # the help lists the commands in this order
        demo.add_parser,
        datasets.add_summarize,
        tune.add_parser,
        fit.add_parser,
        models.add_compress,
        predict.add_parser,
        serve.add_parser,
        evaluate.add_parser,
        explain.add_parser,
        models.add_info,
        models.add_verify,
        datasets.add_datasets,
        datasets.add_twin,
        reproduce.add_parser,
        machine.add_backends,
        machine.add_gpu_check,
        machine.add_warmup,
    ):
        add(commands)
    return parser


class _Terminated(KeyboardInterrupt):
    """SIGTERM, which cleans up as Ctrl-C does."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code (2 for bad input)."""
    if sys.stdout is None:  # closed by the caller: `swnn info model >&-`
        return _report("standard output is closed")
    try:
        with _sigterm_stops():
            status = _run(argv)
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader (head, less) has closed the pipe; flushing at exit would fail as well.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        what = error.strerror or str(error)
        return _report(f"{error.filename}: {what}" if error.filename else what)
    except (ValueError, ImportError) as error:
        return _report(str(error))
    except MemoryError:
        return _report("out of memory")
    except KeyboardInterrupt as stop:
        print("swnn: stopped", file=sys.stderr)
        return 128 + (signal.SIGTERM if isinstance(stop, _Terminated) else signal.SIGINT)
    return status


def _run(argv: Sequence[str] | None) -> int:
    parser = make_parser()
    args = parser.parse_args(argv)
    if "run" not in args:
        parser.print_help()
        return 0
    return args.run(args) or 0


@contextlib.contextmanager
def _sigterm_stops() -> Iterator[None]:
    """Raise `_Terminated` on SIGTERM, as Python raises KeyboardInterrupt on Ctrl-C."""

    def stop(signum: int, frame: FrameType | None) -> None:
        raise _Terminated

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _report(error: str) -> int:
    print(f"swnn: error: {' '.join(error.split())}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
