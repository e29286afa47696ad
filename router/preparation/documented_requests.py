"""Prepares a job with the documents that are found for its question."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.results import Source
from cactus_actors.router.preparation.picture_contents import PictureContents
from cactus_actors.router.preparation.prepare_request import prepare
from cactus_actors.router.preparation.prompt_model import PromptModel
from cactus_actors.router.state.prepared_request import PreparedRequest

Find = Callable[[Submit], list[Source]]
"""Finds the sources for a job's question."""


def no_documents(_: Submit) -> list[Source]:
    """No sources, for a service without a corpus."""
    return []


def prepare_with_documents(
    submit: Submit,
    known: Sequence[Source] | None,
    model: PromptModel,
    find: Find = no_documents,
    contents: PictureContents | None = None,
) -> PreparedRequest:
    """The prepared job with the sources found for its question, or with its `known` sources."""
    contents = contents or PictureContents()
    sources = find(submit) if known is None else known
    if sources:
        from cactus_actors.router.preparation.documents import with_documents  # NumPy, for services with documents

        prepared = prepare(with_documents(submit, sources), model, contents)
        prepared = msgspec.structs.replace(prepared, sources=tuple(sources))
    else:
        prepared = prepare(submit, model, contents)
    if (self_contained := contents.self_contained(submit)) is not None:
        prepared = msgspec.structs.replace(prepared, self_contained=self_contained)
    return prepared
