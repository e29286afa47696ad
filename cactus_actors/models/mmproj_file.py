"""Opens the GGUF file of a model's encoder of pictures (mmproj), and checks that it is that of the text model.

The keys are those of llama.cpp: `clip.projector_type` names the kind of the encoder and of its projector to the hidden
states of the text model, `clip.vision.*` describe it (tools/mtmd/clip-impl.h in ggml-org/llama.cpp).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from cactus_actors.models.checked_files import invalid
from cactus_actors.models.gguf_file import GGUFFile, open_gguf
from cactus_actors.protocol.errors import ModelFileInvalid

ARCHITECTURE = "clip"
PREFIX = "clip."


class ProjectorKind(NamedTuple):
    """The `general.architecture` of its text models, and their tokens: the placeholder of an embedding, and others.

    `around` are the tokens before and after a picture, where these are not written by the chat template or as texts.
    """

    text_architectures: tuple[str, ...]
    image_token: str
    around: tuple[str, ...] = ()


PROJECTORS: Mapping[str, ProjectorKind] = {
    "idefics3": ProjectorKind(("llama",), "<image>"),
    "lfm2": ProjectorKind(("lfm2",), "<image>"),
    "gemma3": ProjectorKind(("gemma3",), "<image_soft_token>", ("<start_of_image>", "<end_of_image>")),
    "gemma4v": ProjectorKind(("gemma4",), "<|image|>", ("<|image>", "<image|>")),
    "qwen3vl_merger": ProjectorKind(
        ("qwen3vl", "qwen3vlmoe", "qwen35", "qwen35moe"), "<|image_pad|>", ("<|vision_start|>", "<|vision_end|>")
    ),
}
"""By `clip.projector_type`."""


@dataclass(frozen=True)
class MmprojFile:
    """An open file and that of its text model, which has the ids of its tokens; `projector` is in PROJECTORS."""

    file: GGUFFile
    text: GGUFFile
    projector: str
    image_token_id: int
    ids_around: tuple[int, ...]


def open_mmproj(path: Path, text: GGUFFile) -> MmprojFile:
    """The file in `path`, for a text model.

    Raises ModelFileInvalid, which names the key, for a file of another kind, or for another text model.
    """
    file = open_gguf(path)
    if (architecture := file.metadata.get("general.architecture")) != ARCHITECTURE:
        raise invalid(path, f"general.architecture is {architecture!r:.50}, not clip: not the file of an encoder")
    if file.metadata.get("clip.has_vision_encoder") is not True:
        raise invalid(path, "clip.has_vision_encoder is not true: no encoder of pictures in this file")
    key = next(
        (key for key in ("clip.projector_type", "clip.vision.projector_type") if key in file.metadata),
        "clip.projector_type",
    )
    name = file.metadata.get(key)
    if not isinstance(name, str) or name not in PROJECTORS:
        raise invalid(path, f"{key} {name!r:.50} is not supported; supported: {', '.join(PROJECTORS)}")
    projector = PROJECTORS[name]
    architecture = text.metadata.get("general.architecture")
    if architecture not in projector.text_architectures:
        fitting = " or ".join(projector.text_architectures)
        raise invalid(
            path, f"{key} is {name!r}, for text models of {fitting}, but {text.path.name} has {architecture!r:.50}"
        )
    _check_width(file, text, f"{architecture}.embedding_length")
    ids_around = tuple(_token_id(text, token, path) for token in projector.around)
    return MmprojFile(file, text, name, _token_id(text, projector.image_token, path), ids_around)


def _check_width(file: GGUFFile, text: GGUFFile, text_key: str) -> None:
    key = "clip.vision.projection_dim"
    width, text_width = file.metadata.get(key), text.metadata.get(text_key)
    if width != text_width:
        raise invalid(
            file.path,
            f"{key} is {width!r:.40}, but {text_key} of {text.path.name} is {text_width!r:.40}: of another model",
        )


def _token_id(text: GGUFFile, token: str, path: Path) -> int:
    tokens = text.metadata.get("tokenizer.ggml.tokens")
    if not isinstance(tokens, list) or token not in tokens:
        raise ModelFileInvalid(
            f"{text.path}: tokenizer.ggml.tokens has no {token!r}, the token of a picture: {path.name} belongs to"
            " another model",
            param=text.path.name,
        )
    return tokens.index(token)
