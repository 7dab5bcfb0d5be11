"""`swnn serve`: a model behind HTTP."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from swnn_xp.checks import check_threads
from swnn_xp.cli.common import add_jobs, add_params, given, given_params, new_parser

_TOKEN, _RELOAD_TOKEN = "SWNN_TOKEN", "SWNN_RELOAD_TOKEN"


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command's parser."""
    parser = new_parser(
        commands,
        "serve",
        "answer over HTTP, with a page for people",
        "Answers requests for labels as JSON, with a page to try the model at /. Ctrl-C ends it.",
        "swnn serve model --port 8000 --jobs 2",
    )
    parser.add_argument("model", type=Path, help="model folder made by `swnn fit`")
    parser.add_argument("--host", default="127.0.0.1", help="address (127.0.0.1: this machine)")
    parser.add_argument("--port", type=int, default=8000, help="0 picks a free port (8000)")
    add_jobs(parser, "requests answered in parallel")
    add_params(parser, "the model's")
    parser.add_argument(
        "--postings", type=int, metavar="N", help="cap of the search: faster, not exact"
    )
    limits = parser.add_argument_group("limits of requests")
    limits.add_argument(
        "--queue", type=int, metavar="N", help="requests that may wait; more get a 503 (64)"
    )
    limits.add_argument("--max-bytes", type=int, metavar="N", help="bytes per body (4 MiB)")
    limits.add_argument("--max-rows", type=int, metavar="N", help="rows per request (256)")
    limits.add_argument("--max-features", type=int, metavar="N", help="features per row (10,000)")
    limits.add_argument("--max-k", type=int, metavar="N", help="labels per row (100)")
    limits.add_argument("--timeout", type=float, metavar="SECONDS", help="for an answer (10)")
    parser.add_argument(
        "--reload-token-file",
        type=Path,
        metavar="FILE",
        help=f"allow POST /v1/reload with the token in this file (or in ${_RELOAD_TOKEN})",
    )
    _add_http(parser.add_argument_group("HTTP"))
    parser.set_defaults(run=run)


def _add_http(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help=f"require the token in this file (or in ${_TOKEN}) from all but health checks",
    )
    group.add_argument(
        "--cors-origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="let pages of this origin ask, such as https://example.org; may be repeated",
    )
    group.add_argument("--gzip", action="store_true", help="compress long answers")
    group.add_argument(
        "--access-log", action="store_true", help="a line of JSON for each request, on stdout"
    )


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    from swnn_xp.serve import HTTPOptions, Limits, Service, serve

    limits = given(
        queue=args.queue,
        bytes=args.max_bytes,
        rows=args.max_rows,
        features=args.max_features,
        k=args.max_k,
        seconds=args.timeout,
    )
    service = Service(
        args.model,
        threads=check_threads(args.jobs),
        limits=Limits(**limits),
        token=_token(args.reload_token_file, _RELOAD_TOKEN),
        postings=args.postings,
        **given_params(args),
    )
    options = HTTPOptions(
        token=_token(args.token_file, _TOKEN),
        cors_origins=tuple(args.cors_origin),
        gzip=args.gzip,
        access_log=args.access_log,
    )
    serve(service, args.host, args.port, options)


def _token(file: Path | None, variable: str) -> str | None:
    if file is not None:
        return file.read_text().strip()
    return os.environ.get(variable)
