"""Parses a client's logit bias into one number for each token id."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from cactus_actors.api.option_ranges import MAX_LOGIT_BIAS
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.router.preparation.prompt_model import PromptTokenizer

LogitBias = Mapping[str, float] | Sequence[tuple[int | str, float | bool]]


def logit_bias(bias: LogitBias, tokenizer: PromptTokenizer) -> tuple[tuple[int, float], ...]:
    """The bias of each token id, in rising order; a text means each of its tokens, false means never.

    Several entries of one token add up. Raises InvalidRequest for an id beyond the vocabulary.
    """
    added: dict[int, float] = {}
    for token_id, value in _entries(bias, tokenizer):
        if not 0 <= token_id < tokenizer.vocab_size:
            raise InvalidRequest(
                f"logit_bias holds {token_id!s:.40}, token ids are 0 to {tokenizer.vocab_size - 1}",
                param="logit_bias",
            )
        added[token_id] = added.get(token_id, 0.0) + value
    if len(added) > MAX_LOGIT_BIAS:
        raise InvalidRequest(
            f"logit_bias has {len(added)} tokens, at most {MAX_LOGIT_BIAS} are allowed", param="logit_bias"
        )
    return tuple(sorted(added.items()))


def _entries(bias: LogitBias, tokenizer: PromptTokenizer) -> list[tuple[int, float]]:
    if isinstance(bias, Mapping):
        return [(int(key), value) for key, value in bias.items()]
    entries: list[tuple[int, float]] = []
    for key, value in bias:
        added = -math.inf if value is False else float(value)
        if isinstance(key, str):
            ids = tokenizer.encode(key, add_special=False, parse_special=False)
            entries += [(token_id, added) for token_id in ids]
        else:
            entries.append((key, added))
    return entries
