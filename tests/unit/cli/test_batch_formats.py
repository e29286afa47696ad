"""`cactus batch --format` has the formats of prompt files, and those of tables."""

from __future__ import annotations

from typing import get_args

from cactus_actors.batch import prompt_file
from cactus_actors.data import TableFormat


def test_the_option_has_the_formats_of_prompt_files() -> None:
    assert set(get_args(prompt_file.Format)) < set(get_args(TableFormat))
