"""The protocol of Annif's ``http`` backend: a text in a form, label URIs with scores back."""

from __future__ import annotations

from urllib.parse import parse_qs

from swnn_xp.serve.limits import Limits
from swnn_xp.serve.refusal import HTTPRefusal
from swnn_xp.serve.wire import PredictRequest, Row, RowPrediction, Suggestion, Suggestions

FORM = "application/x-www-form-urlencoded"
_MAX_FIELDS = 100
_LIMIT = 10


def parse_form(body: bytes, limits: Limits) -> PredictRequest:
    """Turn the fields ``text`` and ``limit`` of a form into a request of one row.

    Examples
    --------
    >>> parse_form(b"text=a+chess+game&limit=3", Limits()).k
    3
    """
    try:
        fields = parse_qs(body.decode("ascii"), errors="strict", max_num_fields=_MAX_FIELDS)
    except ValueError as error:
        raise HTTPRefusal(422, f"the body is not a form: {error}") from None
    limit = fields.get("limit", [str(_LIMIT)])[0][:10]
    if not limit.isdecimal() or int(limit) < 1:
        raise HTTPRefusal(422, f"limit must be a whole number of at least 1, got {limit!r}")
    text = fields.get("text", [""])[0]
    return PredictRequest([Row(text=text)], k=min(int(limit), limits.k))


def suggestions(
    prediction: RowPrediction, uris: list[str] | None, names: list[str] | None
) -> Suggestions:
    """Labels of a prediction as Annif wants them; scores are probabilities."""
    found = zip(prediction.labels, prediction.probabilities, strict=True)
    return Suggestions(
        [
            Suggestion(
                uri=str(label) if uris is None else uris[label],
                label=str(label) if names is None else names[label],
                score=probability,
            )
            for label, probability in found
        ]
    )
