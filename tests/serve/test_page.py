"""The pages as a person meets them, in headless Chromium, on a desktop and on a phone."""

import pytest

from .browser import CHROMIUM, open_page
from .conftest import LABELS

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="left out: there is no Chromium")


@pytest.fixture
def page(run, named, tmp_path):
    served = run(named[0])
    with open_page(served.url, tmp_path / "profile") as page:
        page.url = served.url
        yield page
        check_calm(page)


def check_calm(page):
    """Nothing was loaded from elsewhere, and nothing was complained about."""
    page.run("1")
    wanted = [e["params"] for e in page.events if e["method"] == "Network.requestWillBeSent"]
    assert wanted
    urls = [request["request"]["url"] for request in wanted]
    assert all(url.startswith((page.url, "data:")) for url in urls), urls
    noise = ("Runtime.exceptionThrown", "Log.entryAdded", "Page.javascriptDialogOpening")
    assert [event for event in page.events if event["method"] in noise] == []


def ask(page, words):
    page.run(f"document.getElementById('labels').replaceChildren(); words.value = {words!r}; 1")
    page.run("words.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'})); 1")


SIZES = {"desktop": (1280, 900, False), "phone": (390, 844, True)}


@pytest.mark.parametrize("size", SIZES)
def test_words_give_labels_and_voters(page, named, shot, size):
    width, height, phone = SIZES[size]
    page.resize(width, height, phone=phone)
    page.wait_for("about.textContent.includes('200 rows, 8 features, 4 labels')")
    ask(page, "red blue <b>bold</b> nonsense")
    page.wait_for("document.querySelectorAll('#labels > li').length === 4")
    x = named[2][:1].toarray() * 0
    x[0, [0, 2, 3]] = 1
    best = named[1].predict_topk(x, k=4).labels[0]
    shown = page.run("[...document.querySelectorAll('summary .name')].map(e => e.textContent)")
    assert shown == [LABELS[label] for label in best]
    assert "nonsense" in page.run("message.textContent")
    explained = named[1].explain(x, int(best[0]))
    first = "document.querySelector('#labels > li')"
    assert page.run(f"{first}.querySelector('details').open")
    voters = page.run(f"[...{first}.querySelectorAll('.voter .name')].map(e => e.textContent)")
    assert voters == [voter.name for voter in explained.voters]
    assert page.run("document.querySelectorAll('img, b').length") == 0
    assert page.run("document.documentElement.scrollWidth <= innerWidth")
    shot(page, size)


def test_what_goes_wrong_is_said(page):
    ask(page, "nonsense only")
    page.wait_for("message.textContent.includes('No known row shares a feature')")
    page.run("k.removeAttribute('max'); k.value = 1000; 1")
    ask(page, "red")
    page.wait_for("message.textContent.startsWith('No answer: k is 1000')")
    page.events.clear()  # the browser notes the refusal
    page.run("fetch('healthz').then(r => r.ok)")


def test_a_model_without_names_takes_numbers(run, nameless, tmp_path):
    served = run(nameless[0])
    with open_page(served.url, tmp_path / "profile") as page:
        page.url = served.url
        page.wait_for("document.getElementById('words-label').textContent.includes('12:0.5')")
        ask(page, "1 3:0.5")
        page.wait_for("document.querySelectorAll('#labels > li').length > 0")
        check_calm(page)


def test_the_docs_page_is_made_from_the_document(page, shot):
    page.call("Page.navigate", url=page.url + "/docs")
    page.wait_for("document.querySelectorAll('h2').length > 10")
    text = page.run("document.body.innerText")
    assert "POST /v1/predict" in text
    assert "Retry-After" in text
    shot(page, "docs")
