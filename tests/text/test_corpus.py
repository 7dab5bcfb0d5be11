"""Corpora in every format, and one clear line about what is wrong with a file."""

import gzip
import io
import json
import lzma
import sys

import pytest

from swnn_xp.io.files import FormatError
from swnn_xp.text import Fields, read_corpus, read_vocabulary
from swnn_xp.text.corpus import read_documents

DOCUMENTS = [
    {"id": "a", "text": 'a chess; "game"\nin two lines', "labels": ["game", "größe"]},
    {"id": "b", "text": "nothing", "labels": []},
    {"id": "c", "text": "apple wine", "labels": ["food", "game"]},
]
JSONL = "".join(json.dumps(each) + "\n" for each in DOCUMENTS)
CSV = """\
id,text,labels
a,"a chess; ""game""
in two lines",game; größe
b,nothing,
c,apple wine,food;game
"""


def check(corpus, row_names=("a", "b", "c")):
    assert corpus.texts == [each["text"] for each in DOCUMENTS]
    assert corpus.label_names == ["food", "game", "größe"]
    assert corpus.y.toarray().tolist() == [[0, 1, 1], [0, 0, 0], [1, 1, 0]]
    assert corpus.row_names == list(row_names)
    assert corpus.label_uris is None


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize(
    ("suffix", "pack"), [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress)]
)
@pytest.mark.parametrize(
    ("name", "text"), [("t.jsonl", JSONL), ("t.ndjson", JSONL), ("t.csv", CSV)]
)
def test_formats(tmp_path, name, text, suffix, pack, bom):
    path = tmp_path / (name + suffix)
    path.write_bytes(pack(bom + text.encode()))
    check(read_corpus(path))


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(JSONL.encode())))
    check(read_corpus("-"))


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "t.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(DOCUMENTS), path)
    check(read_corpus(path))
    path.write_bytes(b"PAR1 not")
    with pytest.raises(FormatError, match="not Parquet"):
        read_corpus(path)


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        read_corpus(tmp_path / "t.parquet")


def test_annif(tmp_path):
    tsv, table, lines = tmp_path / "t.tsv", tmp_path / "t.csv", tmp_path / "t.jsonl"
    tsv.write_text("chess game\t<http://e.org/1> http://e.org/2\nno subjects\t\nno tab\n")
    table.write_text(
        "document_id,text,subject_uris\n7,chess game,<http://e.org/1> <http://e.org/2>\n,no,\n"
    )
    lines.write_text(
        '{"document_id": "7", "text": "chess game", "subjects": [{"uri": "http://e.org/1"}, '
        '{"label": "http://e.org/2"}]}\n'
    )
    for path in (tsv, table, lines):
        corpus = read_corpus(path)
        assert corpus.label_names == ["http://e.org/1", "http://e.org/2"]
        assert corpus.y.toarray()[0].tolist() == [1, 1]
        assert corpus.y.sum() == 2
    assert [each.labels for each in read_documents(tsv)][1:] == [[], None]
    assert read_corpus(table).row_names == ["7", ""]
    subjects = tmp_path / "subjects.tsv"
    subjects.write_text("<http://e.org/1>\tchess\nhttp://e.org/9\n")
    named = read_corpus(tsv, vocabulary=read_vocabulary(subjects))
    assert named.label_names == ["chess", "http://e.org/2"]
    assert named.label_uris == ["http://e.org/1", "http://e.org/2"]


def test_other_names_of_labels(tmp_path):
    tsv, csv = tmp_path / "v.tsv", tmp_path / "v.csv"
    tsv.write_text("<u:1>\tchess\n<u:2>\tgo\n<u:1>\tbullet chess\n\nno name\n")
    csv.write_text("uri,label_en,altLabel_en\nu:1,chess,bullet chess | blitz\nu:2,go,\n")
    assert read_vocabulary(tsv) == {"u:1": ["chess", "bullet chess"], "u:2": ["go"]}
    assert read_vocabulary(csv) == {"u:1": ["chess", "bullet chess", "blitz"], "u:2": ["go"]}
    texts = tmp_path / "t.jsonl"
    texts.write_text('{"text": "a game", "labels": ["u:1"]}')
    corpus = read_corpus(texts, vocabulary=read_vocabulary(tsv), whole_vocabulary=True)
    assert corpus.label_names == ["chess", "go"]
    assert corpus.known_names == [["chess", "bullet chess"], ["go"]]
    assert corpus.y.toarray().tolist() == [[1, 0]]


def test_vocabulary_in_csv(tmp_path):
    path = tmp_path / "subjects.csv"
    path.write_text("uri,notation,label_fi,label_en\n<u:1>,1.2,shakki,chess\nu:2,,,\n")
    assert read_vocabulary(path) == {"u:1": ["shakki"]}
    assert read_vocabulary(path, "en") == {"u:1": ["chess"]}
    with pytest.raises(FormatError, match="needs the columns uri and label_de"):
        read_vocabulary(path, "de")


def test_fields(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"title": "A", "body": null, "tags": "x|y | x", "name": 7}\n')
    corpus = read_corpus(path, Fields(("title", "body"), "tags", "name", "|"))
    assert corpus.texts == ["A\n"]
    assert corpus.label_names == ["x", "y"]
    assert corpus.row_names == ["7"]
    assert read_corpus(path, Fields(("title",), "tags")).row_names is None


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.jsonl", b'{"text": "a", "labels": ["x"]}\n{"text": \n', ":2: is not JSON"),
        ("t.jsonl", b"\n[1]\n", ":2: expected a JSON object"),
        ("t.jsonl", b'{"body": "a", "id": 1}\n', ":1: has no field 'text'; it has body, id"),
        ("t.jsonl", b'{"text": 7}\n', ":1: text is 7, not a text"),
        ("t.jsonl", b'{"text": "a", "labels": 7}\n', ":1: labels is 7, not a list of labels"),
        ("t.jsonl", b'{"text": "a", "labels": [[]]}\n', r":1: label \[\] is not a text"),
        ("t.jsonl", b'{"text": "\xff"}\n', ":1: is not UTF-8"),
        ("t.jsonl", b'{"text": "a"}\n', "no text has labels"),
        ("t.jsonl", b"", "no text has labels"),
        ("t.csv", b"text,labels\na,b,c\n", ":2: has more cells than the header"),
        ("t.csv", b'text,labels\n"a"b,c\n', ":2: "),
        ("t.csv", b"text,labels\n\xff,c\n", "codec can't decode"),
        ("t.jsonl.gz", gzip.compress(JSONL.encode())[:-9], "damaged compressed data"),
    ],
)
def test_what_is_wrong_and_where(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message):
        read_corpus(path)


def test_unknown_fields_and_suffixes(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(JSONL)
    with pytest.raises(FormatError, match=":1: has no field 'tags'; it has id, text, labels"):
        read_corpus(path, Fields(labels="tags"))
    with pytest.raises(FormatError, match=":1: has no field 'key'"):
        read_corpus(path, Fields(id="key"))
    with pytest.raises(ValueError, match=r"a corpus is named .jsonl, .csv, .tsv or .parquet"):
        read_corpus(tmp_path / "t.docx")
