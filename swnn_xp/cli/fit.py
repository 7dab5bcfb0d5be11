"""`swnn fit`: index a training file, learn from it if wanted, and save it as a model."""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from swnn_xp.cli._common import (
    DATA_HELP,
    add_machine,
    add_name_maps,
    add_params,
    add_strict,
    counted,
    find_names,
    input_path,
    new_parser,
    read_data,
)
from swnn_xp.cli._learning import add_learning, learning_of
from swnn_xp.cli._text import add_text, check_text_options, read_tagged
from swnn_xp.loading import AnyModel
from swnn_xp.progress import note

if TYPE_CHECKING:
    from swnn_xp import LearnedWeights


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
    parser = new_parser(
        commands,
        "fit",
        "index a training file and save the model",
        "Indexes the rows of TRAIN and writes them as a model folder, with the names beside TRAIN. "
        "With --learn, learns from the labels too; with --text, TRAIN holds texts.",
        "swnn fit train.txt -o model\n"
        "swnn fit train.txt -o model --learn ranking --jobs -1\n"
        "swnn fit --text tagged.jsonl -o model",
    )
    parser.add_argument("train", type=input_path, help=DATA_HELP)
    parser.add_argument("-o", "--output", type=Path, required=True, help="model folder to write")
    add_params(parser)
    parser.add_argument(
        "--params", type=Path, metavar="FILE", help="TOML with the parameters, from `swnn tune`"
    )
    add_learning(parser)
    add_text(parser)
    add_name_maps(parser, "TRAIN", "row")
    add_machine(parser)
    add_strict(parser)
    parser.add_argument(
        "--cluster",
        metavar="WHERE",
        help="learn on Dask: 'local' (one process per core), 'local:N', or an address",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    check_text_options(args)
    kind, params = learning_of(args)
    if args.cluster is not None and kind is None:
        raise ValueError("--cluster needs --learn weights or --learn ranking")
    machine = {"backend": args.backend, "n_jobs": args.jobs}
    weights = _learned_weights(params, args.jobs) if kind == "weights" else None
    clf = _estimator(kind, params | machine)
    times: dict[str, float] = {}
    with _timed(times, "read"):
        data = _texts(args) if args.text else _rows(args)
    X, y, names = data.X, data.y, data.names
    if weights is not None:
        with _timed(times, "learned"), _helped(args):
            names["feature_weights"] = weights.fit(X, y).feature_weights_
    note("training ..." if kind == "ranking" else "indexing ...")
    ranking = kind == "ranking"
    with _timed(times, "trained" if ranking else "indexed"), _helped(args, when=ranking):
        clf.fit(X, y, **names)
        if data.label_uris is not None:
            clf.set_label_uris(data.label_uris)
    with _timed(times, "saved"):
        clf.save(args.output)
    size = sum(file.stat().st_size for file in args.output.rglob("*") if file.is_file())
    print(
        f"{args.output}: {counted(X.shape[0], 'row')}, {counted(X.nnz, 'non-zero')}, "
        f"{counted(y.shape[1], 'label')}; "
        f"{size / 1e6:,.1f} MB"
    )
    print(", ".join(f"{what} {seconds:.1f} s" for what, seconds in times.items()))


def _helped(args: argparse.Namespace, when: bool = True) -> contextlib.AbstractContextManager[Any]:
    """Let the cluster that the arguments name, if any, help with learning."""
    if args.cluster is None or not when:
        return contextlib.nullcontext()
    from swnn_xp.distributed import train_on_cluster

    return train_on_cluster(args.cluster, backend=args.backend)


class _Training(NamedTuple):
    X: Any
    y: Any
    names: dict[str, Any]
    """Arguments of `fit` that say what rows, features and labels are called."""
    label_uris: list[str] | None = None


def _rows(args: argparse.Namespace) -> _Training:
    X, y = read_data(args.train, args.strict)
    names = {
        "feature_names": find_names(args.train, args.feature_map, "feature_map"),
        "label_names": find_names(args.train, args.label_map, "label_map"),
        "row_names": find_names(args.train, args.row_map, "row_map"),
    }
    return _Training(X, y, names)


def _texts(args: argparse.Namespace) -> _Training:
    tagged = read_tagged(args, args.train)
    names = {"label_names": tagged.label_names, "row_names": tagged.row_names}
    names["vectorizer"] = tagged.vectorizer
    return _Training(tagged.X, tagged.y, names, tagged.label_uris)


def _estimator(kind: str | None, params: dict[str, Any]) -> AnyModel:
    """Make the estimator; wrong parameters are refused before anything is read."""
    from swnn_xp import SWNNClassifier

    clf: AnyModel
    if kind == "ranking":
        from swnn_xp import SWNNRanker

        clf = SWNNRanker(**params)
    else:
        clf = SWNNClassifier(**params)
    clf.check_params()
    return clf


def _learned_weights(params: dict[str, Any], n_jobs: int) -> LearnedWeights:
    """Take what concerns learning out of the parameters."""
    from swnn_xp import LearnedWeights

    seed, beta = params.pop("random_state", 0), params.get("beta", 1.0)
    weights = LearnedWeights(beta=beta, random_state=seed, n_jobs=n_jobs)
    weights.training_settings()
    return weights


@contextlib.contextmanager
def _timed(times: dict[str, float], what: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    times[what] = time.perf_counter() - started
