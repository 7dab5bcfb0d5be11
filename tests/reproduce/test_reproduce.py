"""Reproduction: real files are measured in full, twins for speed and memory only, and say so."""

import numpy as np
import pytest

from swnn_xp import SWNNClassifier, datasets, metrics, write_xmc
from swnn_xp.cli.main import main
from swnn_xp.reproduce import PAPER_RESULTS, peak_bytes, reproduce, reset_peak


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder with files that bear the names of Wiki10-31K; their content is another."""
    folder = tmp_path_factory.mktemp("data") / "Wiki10-31K"
    folder.mkdir()
    twin = datasets.make_twin("Wiki10-31K", scale=0.02)
    write_xmc(folder / "train.txt", twin.X_train, twin.y_train)
    write_xmc(folder / "test.txt", twin.X_test, twin.y_test)
    return folder.parent


def by_name(result):
    return {line.what: line for line in result.lines}


def test_found_files_are_measured_in_full(root):
    result = reproduce("wiki10", root=root)
    lines = by_name(result)
    assert result.name == result.title == "Wiki10-31K"
    assert not result.is_synthetic
    assert any("training rows: published 14,146, found 283" in note for note in result.notes)
    data = datasets.load("Wiki10-31K", root=root)
    clf = SWNNClassifier(20, 1.0, 1.0).fit(data.X_train, data.y_train)
    labels = clf.predict_topk(data.X_test, k=5).labels
    for k, paper in zip((1, 3, 5), (84.89, 74.65, 64.88), strict=True):
        here = 100 * metrics.precision_at_k(data.y_test, labels, k)
        assert lines[f"P@{k} in %"][1:] == (f"{paper:.2f}", f"{here:.2f}")
    assert lines["S, alpha, beta"].here == "20, 1, 1"
    assert lines["labels per row"].paper == "1 13 19 25 30; 19"
    assert lines["training rows"][1:] == ("14,146", "283")
    assert lines["one query, one thread"].paper.startswith("1.47 ms")
    assert "to read" in lines["build"].here


def test_a_sample_of_the_test_rows_says_so(root):
    here = by_name(reproduce("Wiki10-31K", root=root, rows=50))["P@1 in %"].here
    assert here.endswith("(50 of 132 test rows)")


def test_a_set_that_is_not_found_becomes_a_marked_twin(tmp_path):
    result = reproduce("Delicious-200K", root=tmp_path, scale=0.002)
    lines = by_name(result)
    assert result.is_synthetic
    assert "SYNTHETIC" in result.title
    assert "was not found" in result.notes[0]
    assert "scale 0.002" in result.notes[0]
    assert not any(what.startswith(("P@", "attainable")) for what in lines)
    assert lines["S, alpha, beta"].here == "75, 1, 0"
    assert "GB" in lines["model on disk"].here


def test_a_set_outside_the_paper_has_no_paper_column():
    result = reproduce("debtags", rows=20)
    head, *lines = result.table()
    assert head == ("", "here")
    assert {len(line) for line in lines} == {2}
    assert result.notes == ("Its sizes are as published.",)


def test_every_set_of_the_paper_has_results():
    assert list(PAPER_RESULTS) == list(datasets.PAPER_SUMMARIES)


def test_the_command_writes_markdown_and_html(root, tmp_path, capsys):
    markdown, page = tmp_path / "r.md", tmp_path / "r.html"
    names = ["Wiki10-31K", "AmazonCat-13K"]
    options = ["--data", str(root), "--scale", "0.0005", "-o", str(markdown), "--html", str(page)]
    assert main(["reproduce", *names, *options]) == 0
    text = markdown.read_text()
    assert "## Wiki10-31K\n" in text
    assert "## AmazonCat-13K (SYNTHETIC twin)\n" in text
    assert text.count("| | paper | here |") == 2
    assert page.read_text().count("SYNTHETIC twin</span>") == 1
    assert capsys.readouterr().out == ""


def test_peak_memory_counts_from_the_reset():
    if not reset_peak():
        pytest.skip("left out: this system can't reset the peak")
    before = peak_bytes()
    held = np.ones(25_000_000)
    after = peak_bytes()
    assert after - before > 150_000_000
    del held
    reset_peak()
    assert peak_bytes() < after - 100_000_000
