"""The benchmarks' data, so small that every setup is quick."""

import os
from pathlib import Path

import pytest
from benchmarks.loading import load


@pytest.fixture(scope="session")
def tiny_cache(tmp_path_factory):
    """The folder that `setup_cache` fills, made from few rows."""
    common, data = load("common"), load("data")
    folder = tmp_path_factory.mktemp("cache")
    here = Path.cwd()
    with pytest.MonkeyPatch.context() as patch:
        # The defaults of `make` were bound when it was defined.
        patch.setattr(data.make, "__defaults__", (600, 300, 400, 30))
        patch.setattr(data, "N_TRAIN", 600)
        os.chdir(folder)
        try:
            common.Suite().setup_cache()
        finally:
            os.chdir(here)
    return folder
