"""Input files of several commands: do they have the model's features, and `--text`."""

from __future__ import annotations

import argparse
import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from swnn_xp.bulk.records import InputFeatures
from swnn_xp.bulk.sources import JsonRows, RowSource, open_source
from swnn_xp.checks import check_same_names, fingerprint
from swnn_xp.cli.common import find_names, given, input_path
from swnn_xp.io import read_names
from swnn_xp.io.files import BOM, can_rewind, open_input
from swnn_xp.io.grammar import LineError, parse_header
from swnn_xp.loading import AnyModel
from swnn_xp.progress import note
from swnn_xp.text import Fields, read_corpus, read_vocabulary
from swnn_xp.text.vectorizer import default_vectorizer


def add_feature_checks(parser: argparse.ArgumentParser) -> None:
    """Add the options that switch off `check_features`."""
    parser.add_argument(
        "--allow-narrower",
        action="store_true",
        help="take files with fewer features than the model: the missing ones are the last",
    )
    parser.add_argument(
        "--ignore-feature-map",
        action="store_true",
        help="do not compare feature_map.txt beside a file with the model's names",
    )


def add_filter(parser: argparse.ArgumentParser, data: str) -> None:
    """Add --filter; ``data`` is the file in the help."""
    parser.add_argument(
        "--filter",
        type=input_path,
        metavar="PAIRS",
        help=f"labels that rows of {data} must not get: a line for each, row and label",
    )


def open_checked(clf: InputFeatures, file: Path, args: argparse.Namespace) -> RowSource:
    """Open rows for a model, after `check_features`; JSON lines name their features themselves."""
    skip_bad = getattr(args, "skip_bad", False)
    source = open_source(file, clf, strict=args.strict, skip_bad=skip_bad)
    if not isinstance(source, JsonRows):
        check_features(clf, file, args)
    return source


def check_features(model: InputFeatures, file: Path, args: argparse.Namespace) -> None:
    """Refuse a file of another feature space, and say how to take it anyway.

    A file without a header, and anything but a regular file, has no feature space to compare.
    """
    if not can_rewind(file):  # as standard input, even from a file
        return
    found, expected = _header_width(file), model.n_features_in_
    if found is not None and found < expected and not args.allow_narrower:
        raise ValueError(
            f"{file}: has {found} features, but the model was fitted with {expected}; if they are "
            "its first ones, add --allow-narrower"
        )
    if model.feature_space_ is None or args.ignore_feature_map:
        return
    names = find_names(file, None, "feature_map")
    if names is not None and fingerprint(names) != model.feature_space_:
        _refuse(file, names, model.feature_names_ or [])


def _refuse(file: Path, names: list[str], expected: list[str]) -> None:
    try:
        check_same_names(names, expected)
    except ValueError as error:
        what = str(error).partition(": ")[2].replace("column", "feature")
        raise ValueError(
            f"{file}: feature_map.txt beside it names other features than the model's: {what}; "
            "--ignore-feature-map takes the file anyway"
        ) from None


def _header_width(file: Path) -> int | None:
    """Number of features that the first line declares; None if it is no header."""
    with open_input(file) as stream:
        line = stream.readline().removeprefix(BOM)
    try:
        return parse_header(line, strict=False)[1]
    except LineError:
        return None


class Tagged(NamedTuple):
    """Texts as rows, with their labels."""

    X: Any
    y: Any
    vectorizer: Any
    """What made the rows."""
    label_names: list[str]
    label_uris: list[str] | None
    row_names: list[str] | None
    known_names: list[list[str]]
    """All names of each label."""

    @property
    def feature_names(self) -> list[str]:
        """The terms."""
        return list(self.vectorizer.get_feature_names_out())

    @property
    def tags(self) -> list[list[str]]:
        """Names of the labels of each text."""
        names = [self.label_names[label] for label in self.y.indices.tolist()]
        return [names[start:stop] for start, stop in pairwise(self.y.indptr.tolist())]


def add_text(parser: argparse.ArgumentParser, data: str = "TRAIN") -> None:
    """Add --text and what goes with it, for `read_tagged`; ``data`` is the file in the help."""
    group = parser.add_argument_group("raw text (needs scikit-learn)")
    _add_corpus(group, data)
    group.add_argument(
        "--vocabulary", type=Path, metavar="FILE", help="names of label URIs: Annif's TSV or CSV"
    )
    group.add_argument("--language", help="of the names in a CSV vocabulary (its first)")
    _add_terms(group)
    _record_text_options(parser, group)


def add_evaluated_text(parser: argparse.ArgumentParser) -> None:
    """Add --text for a model that was fitted on texts, for `read_known`."""
    group = parser.add_argument_group("raw text, for a model that was fitted on texts")
    _add_corpus(group, "FILE")
    _record_text_options(parser, group)


def _add_corpus(group: argparse._ArgumentGroup, data: str) -> None:
    group.add_argument(
        "--text",
        action="store_true",
        help=f"{data} holds texts: .jsonl, .csv, .parquet, Annif's .tsv, or - for JSON lines",
    )
    group.add_argument(
        "--text-field", default="text", metavar="NAMES", help="field with text, or several: a,b"
    )
    group.add_argument("--id-field", metavar="NAME", help="field with the row's id (id)")
    group.add_argument("--labels-field", metavar="NAME", help="field with labels (labels)")
    group.add_argument(
        "--label-separator", default=";", metavar="S", help="between labels in one string (;)"
    )


def _record_text_options(parser: argparse.ArgumentParser, group: argparse._ArgumentGroup) -> None:
    """Record what goes with --text, for `check_text_options`."""
    own = [action for action in group._group_actions if action.dest != "text"]
    defaults = {action.dest: (action.option_strings[0], action.default) for action in own}
    parser.set_defaults(text_options=defaults)


def check_text_options(args: argparse.Namespace) -> None:
    """Refuse what goes with --text where that is missing."""
    if args.text:
        return
    for name, (flag, default) in args.text_options.items():
        if getattr(args, name) != default:
            raise ValueError(f"{flag} is for texts: it goes with --text")


def _add_terms(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--analyzer", choices=("word", "char", "char_wb"), default="word", help="kind of terms"
    )
    group.add_argument(
        "--ngrams", type=_ngrams, default=(1, 1), metavar="N[-M]", help="length of terms (1)"
    )
    group.add_argument("--token-pattern", type=_regex, metavar="REGEX", help="what a word is")
    group.add_argument("--strip-accents", choices=("ascii", "unicode"), help="é becomes e")
    group.add_argument("--stop-words", metavar="FILE", help="words to leave out; or: english")
    group.add_argument(
        "--min-df", type=_share_or_count, default=1, metavar="N", help="texts with a term, at least"
    )
    group.add_argument(
        "--max-df", type=_share_or_count, default=1.0, metavar="SHARE", help="texts, at most (1.0)"
    )
    group.add_argument(
        "--sublinear-tf",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="count a repeated term as 1 + log(count)",
    )


def read_tagged(args: argparse.Namespace, path: Path, *, whole_vocabulary: bool = False) -> Tagged:
    """Read a corpus and fit a vectorizer to it."""
    for option in ("feature_map", "label_map", "row_map"):
        if getattr(args, option, None) is not None:
            raise ValueError(f"--{option.replace('_', '-')} is for rows: --text brings the names")
    vectorizer = _vectorizer(args)  # before reading: it may be missing
    note(f"reading {path} ...")
    vocabulary = None
    if args.vocabulary is not None:
        vocabulary = read_vocabulary(args.vocabulary, args.language)
    fields = _fields(args)
    corpus = read_corpus(path, fields, vocabulary, whole_vocabulary=whole_vocabulary)
    X = vectorizer.fit_transform(corpus.texts)
    names = corpus.label_names, corpus.label_uris, corpus.row_names
    known = corpus.known_names or [[name] for name in corpus.label_names]
    return Tagged(X, corpus.y, vectorizer, *names, known)


def read_known(args: argparse.Namespace, path: Path, clf: AnyModel) -> tuple[Any, Any]:
    """Read a corpus as rows and labels of a model; unknown labels get columns behind its own.

    They are right labels that no ranking can have: metrics count them as missed.
    """
    if clf.vectorizer_ is None:
        raise ValueError(f"{path}: --text, but the model was not fitted on texts")
    note(f"reading {path} ...")
    corpus = read_corpus(path, _fields(args))
    known = clf.label_uris_ or clf.label_names_
    if known is None:
        raise ValueError(f"{path}: the model has no label names, so texts can't be compared")
    number = {name: i for i, name in enumerate(known)}
    new = [name for name in corpus.label_names if name not in number]
    number |= {name: i for i, name in enumerate(new, clf.n_labels_)}
    columns = np.asarray([number[name] for name in corpus.label_names])
    tags = corpus.y.tocoo()
    at = columns[tags.col]
    if unknown := int(np.count_nonzero(at >= clf.n_labels_)):
        what = f"{unknown:,} of {tags.nnz:,} labels of {path} are unknown to the model"
        print(f"swnn: {what} and count as missed", file=sys.stderr)
    shape = len(corpus.texts), clf.n_labels_ + len(new)
    entries = np.ones(tags.nnz, np.int8), (tags.row, at)
    return clf.vectorizer_.transform(corpus.texts), sp.csr_array(entries, shape)


def _fields(args: argparse.Namespace) -> Fields:
    return Fields(
        text=tuple(args.text_field.split(",")),
        labels=args.labels_field,
        id=args.id_field,
        separator=args.label_separator,
    )


def _vectorizer(args: argparse.Namespace) -> Any:
    """Make scikit-learn's vectoriser with the settings of the arguments."""
    stop_words: Any = args.stop_words
    if stop_words not in (None, "english"):
        stop_words = read_names(args.stop_words)
    return default_vectorizer(
        analyzer=args.analyzer,
        ngram_range=args.ngrams,
        strip_accents=args.strip_accents,
        stop_words=stop_words,
        min_df=args.min_df,
        max_df=args.max_df,
        sublinear_tf=args.sublinear_tf,
        **given(token_pattern=args.token_pattern),
    )


def _ngrams(text: str) -> tuple[int, int]:
    low, _, high = text.partition("-")
    try:
        found = int(low), int(high or low)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not N or N-M") from None
    if not 1 <= found[0] <= found[1]:
        raise argparse.ArgumentTypeError(f"{text!r} must rise from at least 1")
    return found


def _regex(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        message = f"{text!r} is not a regular expression: {error}"
        raise argparse.ArgumentTypeError(message) from None
    return text


def _share_or_count(text: str) -> int | float:
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
