"""Prepares a request of a cascade for each of its models."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from cactus_actors.protocol.errors import CactusError
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.results import Source
from cactus_actors.router.state.prepared_request import PreparedRequest, PreparedTier

PrepareFor = Callable[[str, Submit, Sequence[Source] | None], PreparedRequest]
"""(name of the model, request, documents that were chosen before) -> the prepared request."""


def prepare_tiers(
    models: Sequence[str], submit: Submit, sources: Sequence[Source] | None, prepare_for: PrepareFor
) -> PreparedRequest:
    """The request for the first model that it fits, with `tiers` for later ones: the same seed and the same documents.

    A model that the request does not fit is left out, as is one that writes tool calls in another markup: the stream
    has one. Token ids are those of the first model, and mean nothing to others. Raises the error of the first model if
    the request fits none.
    """
    if submit.has_token_ids:
        return _named(prepare_for(models[0], submit, sources), models[0])
    prepared, others = _first_that_fits(models, submit, sources, prepare_for)
    options = msgspec.structs.replace(submit.options, seed=prepared.params.seed, random_seed=None)
    submit = msgspec.structs.replace(submit, options=options)
    tiers = []
    for model in others:
        try:
            tier = _named(prepare_for(model, submit, prepared.sources), model)
        except CactusError:
            continue
        if tier.tool_markup == prepared.tool_markup:
            tiers.append(PreparedTier(model, msgspec.structs.replace(tier, self_contained=None)))
    return msgspec.structs.replace(prepared, tiers=tiers)


def _first_that_fits(
    models: Sequence[str], submit: Submit, sources: Sequence[Source] | None, prepare_for: PrepareFor
) -> tuple[PreparedRequest, Sequence[str]]:
    """The request for that model, and the models after it."""
    errors = []
    for place, model in enumerate(models):
        try:
            return _named(prepare_for(model, submit, sources), model), models[place + 1 :]
        except CactusError as error:
            errors.append(error)
    raise errors[0]


def _named(prepared: PreparedRequest, model: str) -> PreparedRequest:
    return msgspec.structs.replace(prepared, model=model)
