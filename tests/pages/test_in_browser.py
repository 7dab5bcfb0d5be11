"""The pages in headless Chromium: search works, plots are there, the console stays empty."""

import re

import numpy as np
import pytest
from pages.browser import browse, needs_browser, with_script

from swnn_xp.metrics import reliability
from swnn_xp.pages import evaluation_page, reproduction_page, tuning_page
from swnn_xp.reproduce import Line, Reproduction
from swnn_xp.tuning import Setting, Trial, TuningResult

pytestmark = [needs_browser, pytest.mark.full]


def found(dom, kind):
    """Rows of a result table: (name, id, rank, count)."""
    box = dom[dom.index(f'data-kind="{kind}"') :]
    body = box[box.index("<tbody>") : box.index("</tbody>")]
    return [re.findall(r"<td>(.*?)</td>", row) for row in body.split("</tr>") if "<td>" in row]


def test_the_page_opens_with_the_most_frequent(page, counts, tmp_path):
    dom, console = browse(tmp_path, page)
    assert console == []
    assert "<title>colours &amp; &lt;more&gt;.txt</title>" in dom
    rows = found(dom, "label")
    assert rows[0] == ["red", "0", "1", str(counts.label_occurrences[0])]
    assert [int(row[3]) for row in rows] == sorted(counts.label_occurrences, reverse=True)
    assert "ø &amp; &lt;b&gt;" in [row[0] for row in rows]
    assert dom.count('<g class="curve"') == 2
    assert dom.count(">rows it occurs in<") == 2
    assert "the most frequent of 30" in dom


def test_typing_finds_and_marks(page, counts, tmp_path):
    code = """
      const input = document.querySelector('[data-kind=label] input');
      input.value = 'RED';
      input.dispatchEvent(new Event('input'));
      document.body.dataset.hash = location.hash;
    """
    dom, console = browse(tmp_path, with_script(page, code))
    assert console == []
    assert [row[0] for row in found(dom, "label")] == ["red", "dark red"]
    assert "2 found" in dom
    assert 'data-hash="#label=RED"' in dom
    marks = re.findall(r'<circle class="mark" r="([0-9.]+)"', dom)
    assert marks == ["6", "0"]  # the labels' plot only


def test_the_address_can_hold_the_search(page, tmp_path):
    dom, console = browse(tmp_path, page, "#label=green&feature=word7")
    assert console == []
    assert [row[0] for row in found(dom, "label")] == ["green"]
    assert [row[0] for row in found(dom, "feature")] == ["word7"]


def test_what_is_not_there(page, tmp_path):
    dom, console = browse(tmp_path, page, "#label=purple")
    assert console == []
    assert found(dom, "label") == []
    assert "no such label on this page" in dom


def test_the_console_check_notices_errors_and_the_network_is_shut(page, tmp_path):
    code = "console.error('deliberate'); fetch('http://localhost:9/').catch(() => 0)"
    _, console = browse(tmp_path, with_script(page, code))
    assert any("deliberate" in line for line in console)
    assert any("Content Security Policy" in line for line in console)


@pytest.mark.parametrize("width", [360, 1100])
def test_nothing_sticks_out_at_the_side(page, tmp_path, width):
    # Headless windows have a least width, so the page is looked at in a frame.
    frame = f'<iframe src="page.html" style="width:{width}px;height:900px"></iframe>'
    code = """
      const frame = document.querySelector('iframe');
      frame.addEventListener('load', () => {
        const root = frame.contentDocument.documentElement;
        document.body.dataset.over = root.scrollWidth - root.clientWidth;
      });
    """
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "page.html").write_text(page, encoding="utf-8")
    outer = f"<!doctype html><body>{frame}<script>{code}</script></body>"
    outer = outer.replace("page.html", "inner/page.html")
    dom, _ = browse(tmp_path, outer, "", "--allow-file-access-from-files")
    assert 'data-over="0"' in dom


def test_the_other_pages(tmp_path):
    trials = tuple(Trial(Setting(S, 1.0, 0.0), S / 100, 0.0) for S in (25, 50))
    result = TuningResult("P@1", trials, trials[1], 10, 20, 0.1, 0.1)
    dom, console = browse(tmp_path, tuning_page(result, "Parameters"))
    assert console == []
    assert dom.count('class="cell"') == 2
    assert dom.count('class="best"') == 1
    one = Reproduction("Tiny", True, ("made <up>",), (Line("P@1", "–", "1"),))
    dom, console = browse(tmp_path, reproduction_page([one], "a machine"))
    assert console == []
    assert "SYNTHETIC twin</span>" in dom
    assert "made &lt;up&gt;" in dom


def test_reliability(tmp_path):
    found = reliability([[1, 0]] * 4, [[0, 1]] * 4, [[0.9, 0.3], [0.7, 0.3], [0.7, 0.1], [0.6, 0]])
    dom, console = browse(tmp_path, evaluation_page("P & max P", found, "<test>.txt"))
    assert console == []
    assert "<h1>&lt;test&gt;.txt</h1>" in dom
    assert "P &amp; max P" in dom
    assert dom.count('<g class="bar"') == np.count_nonzero(found.n) == 6
    assert "said 70.0%, right 100.0%: 2 predictions" in dom
