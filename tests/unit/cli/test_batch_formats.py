"""`cactus batch --format` has the formats of prompt files."""

from __future__ import annotations

from typing import get_args

from cactus_actors.batch import prompt_file
from cactus_actors.cli import batch


def test_the_option_has_the_formats_of_prompt_files() -> None:
    assert get_args(batch.Format) == get_args(prompt_file.Format)
