"""What goes over the wire: requests and their limits, records, answers, refusals, Annif's forms.

The types check the bodies of requests; the OpenAPI document is generated from them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any
from urllib.parse import parse_qs

import msgspec
from msgspec import UNSET, Meta, UnsetType

from swnn_xp.bulk.records import KnownFeatures, ParsedRow, text_of
from swnn_xp.learn.explain import RankedExplanation
from swnn_xp.loading import Kind
from swnn_xp.model.explain import Explanation


@dataclass(frozen=True)
class Limits:
    """Bounds of requests, each at least 1 (``seconds`` may be less).

    Examples
    --------
    >>> from swnn_xp.serve import Limits
    >>> Limits(rows=10)
    Limits(bytes=4194304, rows=10, features=10000, k=100, explained=100, queue=64, seconds=10.0)
    """

    bytes: int = 4 << 20
    """Of the body of a request."""
    rows: int = 256
    """Of a request."""
    features: int = 10_000
    """Of a row."""
    k: int = 100
    """Labels per row."""
    explained: int = 100
    """Labels to explain per request, over all its rows."""
    queue: int = 64
    """Requests that wait for a thread."""
    seconds: float = 10.0
    """For the body to arrive, and again for the response."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 < value < math.inf or (field.name != "seconds" and value < 1):
                raise ValueError(
                    f"the limit of {field.name} must be positive and finite, got {value}"
                )


REF_TEMPLATE = "#/components/schemas/{name}"
EXPLANATIONS = (Explanation, RankedExplanation)
FeatureId = Annotated[int, Meta(ge=0, le=2**31 - 2)]
# msgspec has no unions of dataclasses, so the schema of the items is put in by hand.
_Explained = Annotated[
    list[Any],
    Meta(
        description="why each label has its score; a ranked model adds the parts of the score",
        extra_json_schema={
            "items": {
                "anyOf": [{"$ref": REF_TEMPLATE.format(name=c.__name__)} for c in EXPLANATIONS]
            }
        },
    ),
]


class Row(msgspec.Struct, forbid_unknown_fields=True):  # type: ignore[misc, call-arg]
    """A row: ``indices`` with optional ``values``, or ``features``, or a ``text``.

    Features are names, or numbers if the model has no names: in a list each has the value 1, an
    object gives the values. Values of a repeated feature are summed. A model that was not fitted on
    texts takes the words of a text that it knows, each with the value 1. A field that is null is
    missing; a row with nothing but a text of null has an empty text.
    """

    indices: list[FeatureId] | None = None
    values: list[float] | None = None
    features: list[str | int] | dict[str, float] | None = None
    text: str | UnsetType | None = UNSET


class PredictRequest(msgspec.Struct, forbid_unknown_fields=True):  # type: ignore[misc, call-arg]
    """Rows to rank labels for."""

    rows: Annotated[list[Row], Meta(min_length=1)]
    k: Annotated[int, Meta(ge=1, description="labels for each row")] = 5
    explain: Annotated[
        bool, Meta(description="add what voted for each label, and what its model added")
    ] = False


class RowPrediction(msgspec.Struct):  # type: ignore[misc]
    """The labels of a row, best first."""

    labels: list[int]
    scores: list[float]
    probabilities: Annotated[list[float], Meta(description="how likely each label is right")]
    names: Annotated[
        list[str] | UnsetType, Meta(description="names of the labels, if the model has names")
    ] = UNSET
    unknown: Annotated[
        list[str] | UnsetType, Meta(description="features or words that the model does not know")
    ] = UNSET
    explain: _Explained | UnsetType = UNSET


class PredictResponse(msgspec.Struct):  # type: ignore[misc]
    """A prediction for each row, in the order of the rows."""

    model: Annotated[int, Meta(description="1 for the first model, one more after each reload")]
    rows: list[RowPrediction]


class About(msgspec.Struct):  # type: ignore[misc]
    """The model that answers, and the limits of requests."""

    model: int
    rows: int
    features: int
    labels: int
    kind: Annotated[Kind, Meta(description="the method as published, or what was learned")]
    n_neighbors: int
    alpha: float
    beta: float
    feature_names: Annotated[bool, Meta(description="whether rows may be given by names")]
    label_names: bool
    text: Annotated[bool, Meta(description="whether the model was fitted on texts")]
    limits: dict[str, float]
    example: Annotated[str, Meta(description="text that the page starts with")] = ""


class Suggestion(msgspec.Struct):  # type: ignore[misc]
    """A label for a text, as Annif has it."""

    uri: str
    label: str
    score: Annotated[float, Meta(description="probability that the label is right")]


class Suggestions(msgspec.Struct):  # type: ignore[misc]
    """Labels for a text, best first."""

    results: list[Suggestion]


class Project(msgspec.Struct):  # type: ignore[misc]
    """The model in use, as Annif describes a project."""

    project_id: str
    name: str
    is_trained: bool
    modification_time: Annotated[str, Meta(description="time of the model's folder, ISO 8601")]


class Health(msgspec.Struct):  # type: ignore[misc]
    """Whether the service is up."""

    status: str
    model: int


class Failure(msgspec.Struct):  # type: ignore[misc]
    """Why a request failed."""

    error: str


encode = msgspec.json.Encoder().encode
decode_request = msgspec.json.Decoder(PredictRequest).decode


class HTTPRefusal(Exception):
    """Becomes a response with this status and one line of text."""

    def __init__(self, status: int, why: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(why)
        self.status, self.why, self.headers = status, why, headers or {}

    @property
    def body(self) -> bytes:
        """Of the response."""
        return encode(Failure(self.why))


# Punctuation around a word; that of c++ and c# belongs to it.
_EDGES = re.compile(r"^[^\w+#]+|[^\w+#]+$")


def to_query(row: Row, number: int, known: KnownFeatures, max_features: int) -> ParsedRow:
    """Convert a row as `swnn predict` does, but take the words of a text where there are names.

    Examples
    --------
    >>> row = Row(indices=[3, 1, 3], values=[1.0, 2.0, 0.5])
    >>> to_query(row, 0, KnownFeatures(4), 10).values.tolist()
    [2.0, 1.5]
    """
    features: Any = row.features
    indices, values = row.indices, row.values
    text = None if row.text is UNSET else text_of(True, row.text, features, indices, values)
    by_words = known.vectorizer is None and known.ids is not None
    if text is not None and by_words and features is indices is values is None:
        features, text = _known_words(text, known.ids or {}), None
    try:
        return known.row(features, indices, values, text, max_features)
    except ValueError as error:
        raise HTTPRefusal(422, f"row {number}: {error}") from None


def _known_words(text: str, known: Mapping[str, int]) -> list[str]:
    """Words of a text as the model's names spell them, if any spelling is one of them.

    Examples
    --------
    >>> _known_words("Chess, (C++) or GO!", {"chess": 0, "c++": 1, "GO": 2})
    ['chess', 'c++', 'or', 'GO']
    """
    words = []
    for word in text.split():
        bare = _EDGES.sub("", word)
        spellings = (word, bare, word.lower(), bare.lower())
        words.append(next((each for each in spellings if each in known), bare or word))
    return words


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
    pairs = zip(prediction.labels, prediction.probabilities, strict=True)
    return Suggestions(
        [
            Suggestion(
                uri=str(label) if uris is None else uris[label],
                label=str(label) if names is None else names[label],
                score=probability,
            )
            for label, probability in pairs
        ]
    )
