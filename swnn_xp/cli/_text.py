"""Options and reading of `swnn fit --text`: tagged texts instead of rows."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from swnn_xp._progress import note
from swnn_xp.cli._common import given
from swnn_xp.io import read_names
from swnn_xp.text import Corpus, Fields, read_corpus, read_vocabulary


def add_text(parser: argparse.ArgumentParser) -> None:
    """Add --text and what goes with it, for `read_texts` and `make_vectorizer`."""
    group = parser.add_argument_group("raw text (needs scikit-learn)")
    group.add_argument(
        "--text",
        action="store_true",
        help="TRAIN holds texts: .jsonl, .csv, .parquet, Annif's .tsv, or - for JSON lines",
    )
    add_fields(group)
    group.add_argument("--labels-field", metavar="NAME", help="field with labels (labels)")
    group.add_argument(
        "--label-separator", default=";", metavar="S", help="between labels in one string (;)"
    )
    group.add_argument(
        "--vocabulary", type=Path, metavar="FILE", help="names of label URIs: Annif's TSV or CSV"
    )
    group.add_argument("--language", help="of the names in a CSV vocabulary (its first)")
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


def add_fields(parser: Any) -> None:
    """Add the names of the fields of a text, for `fields_of`."""
    parser.add_argument(
        "--text-field", default="text", metavar="NAMES", help="field with text, or several: a,b"
    )
    parser.add_argument("--id-field", metavar="NAME", help="field with the row's id (id)")


def read_texts(args: argparse.Namespace) -> Corpus:
    """Read the corpus that the arguments name."""
    note(f"reading {args.train} ...")
    vocabulary = None
    if args.vocabulary is not None:
        vocabulary = read_vocabulary(args.vocabulary, args.language)
    return read_corpus(args.train, fields_of(args), vocabulary)


def fields_of(args: argparse.Namespace) -> Fields:
    """Names of the fields."""
    return Fields(
        text=tuple(args.text_field.split(",")),
        labels=getattr(args, "labels_field", None),
        id=args.id_field,
        separator=getattr(args, "label_separator", ";"),
    )


def make_vectorizer(args: argparse.Namespace) -> Any:
    """Make scikit-learn's vectoriser with the settings of the arguments."""
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError as error:
        raise ImportError("--text needs scikit-learn: pip install 'swnn-xp[text]'") from error
    stop_words: Any = args.stop_words
    if stop_words not in (None, "english"):
        stop_words = read_names(args.stop_words)
    return TfidfVectorizer(
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
