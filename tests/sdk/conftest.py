"""One embedded model for all tests of the functions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cactus_actors.ffi import build as building
from cactus_actors.models.catalog import resolve_model
from cactus_actors.sdk import CactusModel, cactus_destroy, cactus_init

MODEL = "cactus-sprout"


@pytest.fixture(scope="session")
def shared_model() -> Iterator[CactusModel]:
    model = cactus_init(MODEL, threads=1)
    yield model
    cactus_destroy(model)


@pytest.fixture(scope="session")
def weights_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which the example path of the documents links to the embedded model."""
    directory = tmp_path_factory.mktemp("examples")
    (directory / "weights").mkdir()
    (directory / "weights" / "lfm2-1.2b").symlink_to(resolve_model(MODEL))
    return directory


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the C library and its headers."""
    return building.build(tmp_path_factory.mktemp("ffi")).parent
