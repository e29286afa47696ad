"""Directories of vision models that a service can load: golden checkpoints with a tokenizer and a chat template."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from tests.support.models.random_pictures import image_token_id_of
from tests.support.paths import ROOT

CHECKPOINTS = ROOT / "tests/goldens/with_pictures"
TEMPLATE = (
    "{% for message in messages %}<|turn|>{% for part in message.content %}"
    "{% if part.type == 'image' %}<image>{% else %}{{ part.text }}{% endif %}{% endfor %}\n{% endfor %}<|turn|>"
)


class ServedModel(NamedTuple):
    """A checkpoint, its control tokens from the image token on, and the options of its image processor.

    Its chat template writes `placeholder` for a picture.
    """

    checkpoint: str
    markers: tuple[str, ...]
    processor: dict[str, Any]
    placeholder: str = "<image>"

    @property
    def template(self) -> str:
        """The chat template."""
        return TEMPLATE.replace("<image>", self.placeholder)


SERVED = {
    "smolvlm": ServedModel(
        "smolvlm",
        (
            *("<image>", "<fake_token_around_image>", "<global-img>", "<|turn|>"),
            *(f"<row_{row}_col_{column}>" for row in (1, 2) for column in (1, 2)),
        ),
        {"size": {"longest_edge": 48}, "max_image_size": {"longest_edge": 24}},
    ),
    "lfm2-vl": ServedModel(
        "lfm2vl",
        (
            *("<image>", "<|image_start|>", "<|image_end|>", "<|img_thumbnail|>", "<|turn|>"),
            *(f"<|img_row_{row}_col_{column}|>" for row in (1, 2) for column in (1, 2)),
        ),
        {
            **{"encoder_patch_size": 4, "tile_size": 16, "min_tiles": 2, "max_tiles": 4},
            **{"min_image_tokens": 4, "max_image_tokens": 6},
        },
    ),
    "gemma3": ServedModel(
        "gemma3-untied",
        ("<image_soft_token>", "<start_of_image>", "<end_of_image>", "<|turn|>"),
        {"size": {"height": 30, "width": 30}},
        "<start_of_image>",
    ),
    "gemma4": ServedModel(
        "gemma4",
        ("<|image|>", "<|image>", "<image|>", "<|turn|>", "<|audio|>", "<|audio>", "<audio|>"),
        {"patch_size": 4, "pooling_kernel_size": 2, "max_soft_tokens": 70},
        "<|image|>",
    ),
    "qwen3-vl": ServedModel(
        "qwen3vl",
        ("<|image_pad|>", "<|video_pad|>", "<|turn|>", "<|vision_start|>", "<|vision_end|>"),
        {"patch_size": 4, "merge_size": 2, "size": {"shortest_edge": 256, "longest_edge": 1024}},
        placeholder="<|vision_start|><|image_pad|><|vision_end|>",
    ),
}


def write_served_model(directory: Path, name: str) -> Path:
    """Write the model; pictures of 40 x 30 pixels have several tiles."""
    served = SERVED[name]
    shutil.copytree(CHECKPOINTS / served.checkpoint, directory, dirs_exist_ok=True)
    processor = json.loads((directory / "preprocessor_config.json").read_text()) | served.processor
    (directory / "preprocessor_config.json").write_text(json.dumps(processor))
    config = json.loads((directory / "config.json").read_text())
    image_token_id = image_token_id_of(config)
    letters = [chr(code) for code in range(33, 127)] + ["Ġ", "Ċ"]
    letters += [f"<unused{place}>" for place in range(len(letters), image_token_id)]
    inner = Tokenizer(models.BPE(vocab={letter: place for place, letter in enumerate(letters)}, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens([AddedToken(text, special=True) for text in served.markers])
    inner.save(str(directory / "tokenizer.json"))
    (directory / "tokenizer_config.json").write_text("{}")
    (directory / "chat_template.jinja").write_text(served.template)
    return directory
