"""/infill: other files, prefix, suffix and the start of the middle as one prompt.

The order is that of models trained on repositories: the extra files, then prefix, suffix, middle.
"""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import post
from litestar.response.base import ASGIResponse

from cactus_actors.api.conversion import typed
from cactus_actors.gateway.context import gateway_of
from cactus_actors.gateway.http.request_body import HttpRequest
from cactus_actors.gateway.routes.llama_cpp import complete
from cactus_actors.protocol.errors import NotSupported
from cactus_actors.text import TextModel

# of a repository's name, of a file's name: the spellings of Qwen, StarCoder 2, StarCoder
_FILE_TOKENS = (
    ("<|repo_name|>", "<|file_sep|>"),
    ("<repo_name>", "<file_sep>"),
    ("<reponame>", "<filename>"),
)
_REPOSITORY = "repository\n"
_HERE = "current\n"
_BETWEEN = "\n\n"


class ExtraFile(msgspec.Struct, frozen=True):
    """Another file for the prompt, in addition to the one to fill in."""

    text: str
    filename: str = ""


class InfillBody(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a body that make the prompt; the others are as in /completion."""

    input_prefix: str = ""
    input_suffix: str = ""
    input_extra: list[ExtraFile] = []
    prompt: str = ""
    model: str | None = None


@post("/infill", status_code=200)
async def infill(request: HttpRequest) -> ASGIResponse:
    """Write the text between a prefix and a suffix, in llama.cpp's shapes."""
    gateway = gateway_of(request)

    def as_completion(body: dict[str, Any]) -> tuple[dict[str, Any], str]:
        fields = typed(body, InfillBody)
        texts = {"input_prefix": fields.input_prefix, "input_suffix": fields.input_suffix, "prompt": fields.prompt}
        longest = max(texts, key=lambda name: len(texts[name]))
        return without_infill(body) | {"prompt": infill_ids(fields, gateway.text_of(fields.model))}, longest

    return await complete(gateway, request, as_completion)


def infill_ids(body: InfillBody, model: TextModel) -> list[int]:
    """The token ids; control tokens in texts of the body are read as plain text.

    Raises NotSupported for a model that cannot fill in.
    """
    if model.fill_tokens is None:
        raise NotSupported(f"the model {model.name} has no tokens for filling in", param="input_suffix")
    prefix_id, suffix_id, middle_id = model.fill_tokens
    return [
        *model.tokenizer.encode("", add_special=True),
        *_files_ids(body.input_extra, model),
        prefix_id,
        *_plain(body.input_prefix, model),
        suffix_id,
        *_plain(body.input_suffix, model),
        middle_id,
        *_plain(body.prompt, model),
    ]


def without_infill(body: dict[str, Any]) -> dict[str, Any]:
    """The fields that are not about the text."""
    return {name: value for name, value in body.items() if name not in InfillBody.__struct_fields__}


def _files_ids(files: list[ExtraFile], model: TextModel) -> list[int]:
    if not files:
        return []
    for repository, file in _FILE_TOKENS:
        repository_id, file_id = model.tokenizer.id_of(repository), model.tokenizer.id_of(file)
        if repository_id is not None and file_id is not None:
            named = [token for extra in files for token in (file_id, *_plain(f"{extra.filename}\n{extra.text}", model))]
            return [repository_id, *_plain(_REPOSITORY, model), *named, file_id, *_plain(_HERE, model)]
    return [token for extra in files for token in _plain(extra.text + _BETWEEN, model)]


def _plain(text: str, model: TextModel) -> list[int]:
    return model.tokenizer.encode(text, add_special=False, parse_special=False)


HANDLERS = [infill]
