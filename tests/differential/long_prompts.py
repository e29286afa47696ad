"""Configurations with longer prompts, and the likeliest continuation of a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from cactus_actors.protocol.pictures import PreparedPicture
from cactus_actors.workers.engine.model import Model
from tests.differential.configurations import Configuration
from tests.support.models.golden_runs import greedy
from tests.support.models.picture_runs import logits_with

CONTEXT = 512
"""Of all models with longer prompts, if their rotary embedding does not limit it."""


def lengthened(configuration: Configuration, num_tokens: int) -> Configuration:
    """The configuration with a prompt of at least `num_tokens` tokens, which begins as its own."""
    config = configuration.config
    text = {**config.get("text_config", config), "max_position_embeddings": CONTEXT}
    random = Random(str(configuration.prompt_ids))
    num_missing = max(0, num_tokens - len(configuration.prompt_ids))
    vocab_size = text.get("vocab_size")
    ids = range(3, max(4, vocab_size // 3)) if type(vocab_size) is int else range(3, 20)
    return replace(
        configuration,
        config=config | {"text_config": text} if "text_config" in config else text,
        prompt_ids=(*configuration.prompt_ids, *random.choices(ids, k=num_missing)),
    )


def continued(model: Model, prompt_ids: list[int], pictures: Sequence[PreparedPicture], num_tokens: int) -> list[int]:
    """The greedy ids after a prompt, as far as none is a placeholder of a picture."""
    if model.encoder is None:
        return greedy(model, prompt_ids, num_tokens) if num_tokens else []
    token_ids = list(prompt_ids)
    while len(token_ids) < len(prompt_ids) + num_tokens:
        likeliest = int(logits_with(model, token_ids, list(pictures))[-1].argmax())
        if likeliest == model.encoder.image_token_id:
            break
        token_ids.append(likeliest)
    return token_ids[len(prompt_ids) :]
