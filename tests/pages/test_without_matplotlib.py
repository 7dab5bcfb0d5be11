"""Without matplotlib, a page is refused before the work, in one line that names the extra."""

import sys

import numpy as np
import pytest

from swnn_xp import SWNNClassifier, write_xmc
from swnn_xp.cli.main import main


@pytest.mark.parametrize(
    "command",
    [
        ["summarize", "rows.txt", "--html", "page.html"],
        ["evaluate", "model", "rows.txt", "--html", "page.html"],
        ["tune", "rows.txt", "--plot", "plot.png"],
        ["reproduce", "debtags", "--html", "page.html"],
    ],
)
def test_pages_name_their_extra(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_xmc("rows.txt", np.eye(9), np.eye(9))
    SWNNClassifier().fit(np.eye(9), np.eye(9)).save("model")
    for name in [name for name in sys.modules if name.startswith("swnn_xp.pages")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(command) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "need matplotlib: pip install 'swnn-xp[plot]'" in err
