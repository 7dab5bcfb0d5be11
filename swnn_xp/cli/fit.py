"""`swnn fit`: index a training file, learn from it if asked to, and save it as a model."""

from __future__ import annotations

import argparse
import contextlib
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from swnn_xp.cli.common import (
    DATA_HELP,
    add_cluster,
    add_machine,
    add_name_maps,
    add_params,
    add_strict,
    check_cluster,
    counted,
    find_names,
    given,
    input_path,
    new_parser,
    read_data,
)
from swnn_xp.cli.inputs import add_filter, add_text, check_text_options, read_tagged
from swnn_xp.io import read_label_features, read_pairs
from swnn_xp.loading import AnyModel, is_ranked
from swnn_xp.progress import note

if TYPE_CHECKING:
    from swnn_xp import LearnedWeights


KINDS = ("weights", "ranking")
_VOTE = ("n_neighbors", "alpha", "beta", "calibrate")
_RANKING = (*_VOTE, "n_candidates", "C", "vote_weight", "learn_weights", "centroids",
            "rare_labels", "random_state", "search")  # fmt: skip
_PARAMS = {None: _VOTE, "weights": (*_VOTE, "random_state"), "ranking": _RANKING}
_COMPILED = "compiled"
_AUTO = ("n_neighbors", "n_candidates", "C", "vote_weight")
_SEARCHES = ("exact", "capped", "auto")
_OPTIONS = {
    "n_candidates": "--candidates",
    "C": "--C",
    "vote_weight": "--vote-weight",
    "learn_weights": "--no-feature-weights",
    "centroids": "--centroids",
    "rare_labels": "--rare-labels",
    "random_state": "--seed",
    "search": "--search",
}


def add_learning(parser: argparse.ArgumentParser) -> None:
    """Add --learn and the parameters of learning, for `learning_of`."""
    group = parser.add_argument_group("learning")
    group.add_argument(
        "--learn",
        choices=KINDS,
        help="learn feature weights, or these and a ranker of labels (default: neither)",
    )
    group.add_argument(
        "--candidates", type=int, metavar="K", help="labels that are ranked (by the data)"
    )
    group.add_argument("--C", type=float, help="how closely label models fit (by the data)")
    group.add_argument(
        "--vote-weight", type=float, metavar="W", help="of the vote beside a model (by the data)"
    )
    group.add_argument(
        "--no-feature-weights", action="store_true", help="rank without feature weights"
    )
    group.add_argument(
        "--centroids",
        action=argparse.BooleanOptionalAction,
        help="let labels compete whose rows, added up, are like the row (by held-out rows)",
    )
    group.add_argument(
        "--calibrate",
        action=argparse.BooleanOptionalAction,
        help="fit probabilities on training rows (default: only with --learn ranking)",
    )
    group.add_argument(
        "--rare-labels",
        type=float,
        metavar="W",
        help="weight of a label's rarity in its score: 0.25 brings rare labels forward (0)",
    )
    group.add_argument("--seed", type=int, help="seed of training (0)")
    group.add_argument(
        "--search",
        type=_search,
        metavar="HOW",
        help="how neighbours are found: exact, capped, auto or a number of postings (auto)",
    )


def _search(text: str) -> str | int:
    if text in _SEARCHES:
        return text
    if text.isdecimal():
        return int(text)
    raise argparse.ArgumentTypeError(f"must be {', '.join(_SEARCHES)} or a number, got {text!r}")


def learning_of(args: argparse.Namespace) -> tuple[str | None, dict[str, Any]]:
    """Kind of learning and all parameters: those of --params, then those of the command line."""
    from_file = read_params(args.params) if args.params else {}
    kind = args.learn or from_file.get("learn")
    if from_file.get("learn", kind) != kind:
        raise ValueError(f"--learn {kind}: {args.params} is for --learn {from_file['learn']}")
    on_line = given(
        n_neighbors=args.neighbors,
        alpha=args.alpha,
        beta=args.beta,
        n_candidates=args.candidates,
        C=args.C,
        vote_weight=args.vote_weight,
        learn_weights=False if args.no_feature_weights else None,
        centroids=args.centroids,
        calibrate=args.calibrate,
        rare_labels=args.rare_labels,
        random_state=args.seed,
        search=args.search,
    )
    for name in on_line:
        if name not in _PARAMS[kind]:
            raise ValueError(f"{_OPTIONS[name]} needs {_kinds_with(name)}")
    from_file.pop("learn", None)
    for name in from_file:
        if name not in _PARAMS[kind]:
            raise ValueError(f"{args.params}: {name} needs {_kinds_with(name)}")
    return kind, from_file | on_line


def read_params(path: Path) -> dict[str, Any]:
    """Read parameters from a TOML file; names and types are checked here, values by `fit`."""
    try:
        params = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not TOML: {error}") from None
    for name, value in params.items():
        if name == "learn":
            if value not in KINDS:
                raise ValueError(f"{path}: learn must be 'weights' or 'ranking', got {value!r}")
        elif name not in _RANKING:
            raise ValueError(f"{path}: no parameter {name!r}; there are {', '.join(_RANKING)}")
        elif name == "search" and value in _SEARCHES:
            continue
        elif not isinstance(value, int | float) and not (name in _AUTO and value == "auto"):
            raise ValueError(f"{path}: {name} must be a number, got {value!r}")
    return params


def _kinds_with(name: str) -> str:
    return " or ".join(f"--learn {kind}" for kind in KINDS if name in _PARAMS[kind])


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
        "swnn fit train.txt -o model --learn ranking --label-features names\n"
        "swnn fit --text tagged.jsonl -o model",
    )
    parser.add_argument("train", type=input_path, help=DATA_HELP)
    parser.add_argument("-o", "--output", type=Path, required=True, help="model folder to write")
    add_params(parser)
    parser.add_argument(
        "--params", type=Path, metavar="FILE", help="TOML with the parameters, from `swnn tune`"
    )
    add_learning(parser)
    parser.add_argument(
        "--label-features",
        metavar="FILE",
        help="with --learn ranking, find labels by name, even those that no row has: 'names', or "
        "a file with the features of each label (the repository's lbl_X_Xf.txt)",
    )
    add_filter(parser, "TRAIN")
    add_text(parser)
    add_name_maps(parser, "TRAIN", "row")
    add_machine(parser)
    add_strict(parser)
    add_cluster(parser, "learn")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    check_text_options(args)
    kind, params = learning_of(args)
    for option in ("label_features", "filter"):
        if getattr(args, option) is not None and kind != "ranking":
            raise ValueError(f"--{option.replace('_', '-')} needs --learn ranking")
    if args.cluster is not None and kind is None:
        raise ValueError("--cluster needs --learn weights or --learn ranking")
    check_cluster(args)
    machine = {"backend": args.backend, "n_jobs": args.jobs}
    weights = _learned_weights(params, args.jobs) if kind == "weights" else None
    clf = _estimator(kind, params | machine)
    times: dict[str, float] = {}
    with _timed(times, "read"):
        data = _texts(args) if args.text else _rows(args)
    X, y, names = data.X, data.y, data.names
    if weights is not None:
        with _timed(times, "learned"), _on_cluster(args):
            names["feature_weights"] = weights.fit(X, y).feature_weights_
    if args.filter is not None:
        names["exclude"] = read_pairs(args.filter)
    note("training ..." if kind == "ranking" else "indexing ...")
    ranking = kind == "ranking"
    with _timed(times, "trained" if ranking else "indexed"), _on_cluster(args, when=ranking):
        clf.fit(X, y if data.tags is None else data.tags, **names)
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
    if times[_COMPILED] < 0.05:
        del times[_COMPILED]
    if args.label_features is not None and is_ranked(clf) and not clf.names_used_:
        print("labels are not found by name: held-out rows lose by it")
    print(", ".join(f"{what} {seconds:.1f} s" for what, seconds in times.items()))


def _on_cluster(
    args: argparse.Namespace, when: bool = True
) -> contextlib.AbstractContextManager[Any]:
    """Train on the cluster that the arguments name, if any."""
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
    tags: list[list[str]] | None = None
    """Labels by name, if that is what the file has."""


def _rows(args: argparse.Namespace) -> _Training:
    X, y = read_data(args.train, args.strict)
    names: dict[str, Any] = {
        "feature_names": find_names(args.train, args.feature_map, "feature_map"),
        "label_names": find_names(args.train, args.label_map, "label_map"),
        "row_names": find_names(args.train, args.row_map, "row_map"),
    }
    if args.label_features == "names":
        _require_maps(args.train, names)
        names["label_features"] = "names"
    elif args.label_features is not None:
        names["label_features"] = read_label_features(args.label_features)
    return _Training(X, y, names)


def _require_maps(train: Path, names: dict[str, Any]) -> None:
    for what in ("label", "feature"):
        if names[f"{what}_names"] is None:
            raise ValueError(
                f"--label-features names needs {what}_map.txt beside {train}, or --{what}-map"
            )


def _texts(args: argparse.Namespace) -> _Training:
    by_name = args.label_features == "names"
    tagged = read_tagged(args, args.train, whole_vocabulary=by_name)
    names: dict[str, Any] = {"label_names": tagged.label_names, "row_names": tagged.row_names}
    names["vectorizer"] = tagged.vectorizer
    if by_name:
        names["label_features"] = tagged.known_names
    elif args.label_features is not None:
        raise ValueError("--text brings its own features: use --label-features names")
    return _Training(tagged.X, tagged.y, names, tagged.label_uris, tagged.tags)


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
    """Time a step; what is compiled in it, once for a machine, is counted apart."""
    from swnn_kernels import compile_timer  # imports numba: no part of a step

    started = time.perf_counter()
    with compile_timer() as compiled:
        yield
    times[what] = time.perf_counter() - started - compiled()
    # Behind the steps, whenever it was.
    times[_COMPILED] = times.pop(_COMPILED, 0.0) + compiled()
