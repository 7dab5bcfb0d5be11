"""`swnn info`: what a model folder holds, how it was trained, and what is stale."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from swnn_xp.cli._common import new_parser
from swnn_xp.loading import AnyModel, is_ranked, kind_of


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
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
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
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
            lines.append(f"{indent}{name:<{22 - len(indent)}}{_text(value)}")
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
