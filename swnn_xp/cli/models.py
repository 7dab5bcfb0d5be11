"""Commands about a saved model: `swnn info`, `swnn verify`, `swnn compress`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swnn_xp.cli.common import add_jobs, counted, new_parser
from swnn_xp.loading import AnyModel, is_ranked, kind_of
from swnn_xp.progress import note

if TYPE_CHECKING:
    from swnn_xp.tuning.keeping import PartTrial


def add_info(commands: argparse._SubParsersAction) -> None:
    """Add `swnn info`."""
    parser = new_parser(
        commands,
        "info",
        "say what a model holds, how it was trained and what is stale",
        "Shows the kind of a model, its sizes and parameters. For a ranker, also how it was "
        "trained, and the rows and labels that have changed since.",
        "swnn info model\nswnn info model --json",
    )
    parser.add_argument("model", type=Path, help="model folder made by `swnn fit`")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_run_info)


def _run_info(args: argparse.Namespace) -> None:
    from swnn_xp import load

    facts = model_facts(load(args.model), args.model)
    print(json.dumps(facts, indent=2) if args.json else "\n".join(_lines(facts)))


def model_facts(clf: AnyModel, path: Path) -> dict[str, Any]:
    """What is known of a saved model, of types that JSON has."""
    facts: dict[str, Any] = {
        "kind": kind_of(clf),
        "rows": clf.n_samples_fit_,
        "features": clf.n_features_in_,
        "labels": clf.n_labels_,
        "labels without rows": int((clf.label_counts_ == 0).sum()),
        "bytes": sum(file.stat().st_size for file in path.rglob("*") if file.is_file()),
        "parameters": clf.saved_params(clf.model_),
    }
    if is_ranked(clf):
        from swnn_xp.learn.ranking import ranking_of  # it needs numba

        ranker = ranking_of(clf.model_).checked_ranker
        facts["training"] = {
            "neighbours": clf.n_neighbors_,
            "candidates": clf.n_candidates_,
            "C": clf.C_,
            "vote weight": clf.vote_weight_,
            "candidate recall": clf.candidate_recall_,
            "feature weights used": clf.weights_used_,
            "label centroids used": clf.centroids_,
            "search": clf.search_ if clf.search_ == "exact" else f"{clf.search_:,} postings",
            "label names used": clf.names_used_,
            "labels with a model": int(ranker.modelled.sum()),
            "weights": int(ranker.weights.size),
            "calibrated": ranking_of(clf.model_).calibration is not None,
        }
        facts["staleness"] = _staleness(clf)
    return facts


def _staleness(clf: Any) -> dict[str, Any]:
    """What has changed since training."""
    stale = clf.staleness_
    names = clf.label_names_
    most = sorted(
        zip(
            stale.labels.tolist(), (stale.labels_added + stale.labels_removed).tolist(), strict=True
        ),
        key=lambda pair: (-pair[1], pair[0]),
    )[:10]
    return {
        "rows added": stale.rows_added,
        "rows removed": stale.rows_removed,
        "stale labels": int(stale.labels.size),
        "most changed": {str(label) if names is None else names[label]: n for label, n in most},
    }


def _lines(facts: dict[str, Any], indent: str = "") -> list[str]:
    lines = []
    for name, value in facts.items():
        if isinstance(value, dict) and value:
            lines += [f"{indent}{name}", *_lines(value, indent + "  ")]
        else:
            lines.append(f"{indent}{name:<{24 - len(indent)}}{_text(value)}")
    return lines


def _text(value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    return "none" if value == {} else str(value)


def add_verify(commands: argparse._SubParsersAction) -> None:
    """Add `swnn verify`."""
    parser = new_parser(
        commands,
        "verify",
        "check every file of a model by its checksum",
        "Reads a whole model, compares every file with its checksum and checks every number in it. "
        "The exit code is 2 if anything is wrong.",
        "swnn verify model",
    )
    parser.add_argument("model", type=Path, help="model folder made by `swnn fit`")
    parser.set_defaults(run=_run_verify)


def _run_verify(args: argparse.Namespace) -> None:
    from swnn_xp import load
    from swnn_xp.store import verify

    checked = verify(args.model)
    clf = load(args.model)  # intact files may still not be a model
    clf.model_.check()
    print(
        f"{args.model}: sound; {checked:,} bytes, {counted(clf.n_samples_fit_, 'row')}, "
        f"{clf.n_features_in_:,} features, {clf.n_labels_:,} labels"
    )


def add_compress(commands: argparse._SubParsersAction) -> None:
    """Add `swnn compress`."""
    parser = new_parser(
        commands,
        "compress",
        "keep a part of a model's rows",
        "Keeps a part of a model's rows: faster answers, a smaller model. A ranked "
        "model is trained again on all rows and loses little.",
        "swnn fit train.txt -o model --learn ranking\n"
        "swnn compress model -o small --keep 0.1\n"
        "swnn compress model -o small --max-loss 0.5",
    )
    parser.add_argument("model", type=Path, help="model folder made by `swnn fit`")
    parser.add_argument("-o", "--output", type=Path, required=True, help="model folder to write")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--keep", type=float, metavar="PART", help="part of the rows, such as 0.1")
    how.add_argument(
        "--max-loss", type=float, metavar="POINTS",
        help="find the smallest part that loses at most this many points of P@1 on held-out rows",
    )  # fmt: skip
    add_jobs(parser, "threads")
    parser.set_defaults(run=_run_compress)


def _run_compress(args: argparse.Namespace) -> None:
    from swnn_xp import load

    clf = load(args.model, n_jobs=args.jobs)
    before, keep = clf.n_samples_fit_, args.keep
    if keep is None:
        from swnn_xp.tuning.keeping import smallest_part

        note("trying parts of the rows ...")
        keep = smallest_part(clf, args.max_loss, on_progress=_show)
    if keep != 1:
        clf.compress(keep)
    clf.save(args.output)
    print(f"{args.output}: {clf.n_samples_fit_:,} of {before:,} rows")


def _show(trial: PartTrial) -> None:
    print(f"{trial.keep:7.0%} of the rows: P@1 {trial.precision:.2f} on the rows held out")
