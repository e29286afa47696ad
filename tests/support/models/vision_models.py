"""The text side of the vision models of `goldens/pictures`."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from cactus_actors.text import load_text_model
from cactus_actors.text.text_model import TextModel
from cactus_actors.vision.families import processor_of
from cactus_actors.vision.family_configs import picture_config_of
from tests.support.paths import ROOT

PICTURE_MODELS = ROOT / "tests/goldens/pictures"


def vision_model(directory: Path) -> TextModel:
    """The model with its pictures, whether workers compute them or not."""
    config, model = picture_config_of(directory), load_text_model(directory)
    assert config is not None, "it is a vision model"
    return dataclasses.replace(model, pictures=processor_of(config, model.tokenizer))
