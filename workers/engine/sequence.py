"""The state of one dispatch (a choice of a job) in a worker."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cactus_actors.models.pooling import Pooling
from cactus_actors.protocol.block_hashes import block_digest, root_digest
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch
from cactus_actors.workers.engine.detokenizer import Detokenizer
from cactus_actors.workers.engine.hidden_state_pooling import HiddenStatePooler
from cactus_actors.workers.engine.sequence_pictures import SequencePictures
from cactus_actors.workers.engine.speculation import Drafter
from cactus_actors.workers.engine.token_constraint import TokenConstraint
from cactus_actors.workers.engine.whole_tiles import WholeTiles

BlockHash = bytes


@dataclass(slots=True)
class SequenceState:
    """The recurrent state of a running sequence: slots of the cache.

    The next step reads slot `source`, or starts from zero where it is -1, and leaves the state after the known
    tokens in `slot`. It saves the state on its way in `save_slot`, if there is one.
    """

    slot: int
    source: int
    save_slot: int | None = None


class Sequence:
    """Prompt and completion tokens of one dispatch, and the number of computed tokens.

    `token_ids` holds the prompt, then tokens emitted by earlier dispatches, then tokens sampled here. A sequence
    with one uncomputed token decodes, one with more prefills; there is no other difference.

    `uses_mirostat`: mirostat keeps a state from token to token. `has_token_rules`: the rules of sampling are not
    the same for all of its tokens.

    `adapter_slot` is that of its adapter in the model, -1 for the model itself.

    Some jobs need rows of the prompt as well: for its log probabilities, reported once each and in order, or
    for the `pooler` of hidden states.

    With `tapped_layers`, the hidden states of the last token of the prompt after so many layers are in `prompt_states`,
    as float32, from the step that samples the first token until they are reported.
    """

    __slots__ = (
        "_block_hashes",
        "_root_digest",
        "_tokens",
        "adapter",
        "adapter_slot",
        "bias_ids",
        "biases",
        "block_size",
        "block_table",
        "choice",
        "constraint",
        "detokenizer",
        "dispatch_id",
        "drafter",
        "has_token_rules",
        "hidden",
        "max_blocks",
        "max_context",
        "max_tokens",
        "mirostat_mu",
        "num_cached_prompt_tokens",
        "num_computed_tokens",
        "num_prompt_tokens",
        "num_reported_prompt_tokens",
        "num_reused_blocks",
        "num_tokens",
        "params",
        "pictures",
        "pooler",
        "prompt_states",
        "sampling_row",
        "state",
        "tapped_layers",
        "uses_mirostat",
        "uses_penalties",
    )

    def __init__(
        self,
        dispatch: Dispatch,
        detokenizer: Detokenizer,
        *,
        max_context: int,
        block_size: int,
        max_drafts: int = 0,
        constraint: TokenConstraint | None = None,
        pooling: Pooling = "mean",
        adapter_slot: int = -1,
    ) -> None:
        self.dispatch_id = dispatch.dispatch_id
        self.adapter = dispatch.adapter
        self.adapter_slot = adapter_slot
        self.params: SamplingParams = dispatch.params
        self.choice = dispatch.choice
        self.detokenizer = detokenizer
        self.drafter = Drafter(max_drafts)
        self.sampling_row = b""  # cache of `sampling_row`
        self.num_prompt_tokens = len(dispatch.prompt_ids)
        self.max_context = max_context
        self.pooler = HiddenStatePooler(pooling) if dispatch.task == "embed" else None
        max_tokens = 0 if self.pooler else dispatch.params.max_tokens
        self.max_tokens = min(max_tokens, max_context - self.num_prompt_tokens)
        self.constraint = constraint
        self.pictures: SequencePictures | None = None
        mu = dispatch.mirostat_mu
        self.mirostat_mu = 2 * self.params.mirostat_tau if mu is None else mu
        self.uses_mirostat = self.params.mirostat != 0 and self.params.temperature > 0
        self.uses_penalties = not (
            self.params.repeat_penalty == 1.0 and self.params.presence_penalty == self.params.frequency_penalty == 0.0
        )
        self.bias_ids, self.biases = _biases(self.params)
        self.has_token_rules = bool(
            self.uses_mirostat
            or self.uses_penalties
            or self.bias_ids.size
            or self.params.min_tokens > 0
            or constraint is not None
            or detokenizer.reasoning is not None
        )
        reports_prompt = dispatch.params.prompt_logprobs and not dispatch.emitted_ids and not self.pooler
        self.num_reported_prompt_tokens = 0 if reports_prompt else self.num_prompt_tokens
        self.block_size = block_size
        self.max_blocks = -(-(self.num_prompt_tokens + self.max_tokens) // block_size)
        self.block_table = array("i")
        self.num_reused_blocks = 0  # the first ones, which were in the cache when it was admitted
        self.state: SequenceState | None = None  # of a running sequence whose model has recurrences
        self.tapped_layers = () if self.pooler or dispatch.emitted_ids else tuple(dispatch.tapped_layers)
        self.prompt_states: dict[int, bytes] | None = None
        self.hidden: NDArray[np.float32] | None = None  # from which the last token was sampled, for the head for drafts
        self.num_computed_tokens = 0
        self.num_cached_prompt_tokens: int | None = None  # None until first admitted
        self._root_digest = root_digest(dispatch.cache_salt, dispatch.adapter)
        self._block_hashes: list[BlockHash] = []

        known = dispatch.prompt_ids + dispatch.emitted_ids
        self._tokens = np.empty(max(len(known), self.num_prompt_tokens + self.max_tokens), dtype=np.int32)
        self._tokens[: len(known)] = known
        self.num_tokens = len(known)

    @property
    def token_ids(self) -> NDArray[np.int32]:
        """All known tokens, (num_tokens,)."""
        return self._tokens[: self.num_tokens]

    @property
    def num_completion_tokens(self) -> int:
        """Tokens after the prompt; also the position of the next one to sample."""
        return self.num_tokens - self.num_prompt_tokens

    @property
    def num_tokens_left(self) -> int:
        """Number of tokens that may still be sampled."""
        return self.max_tokens - self.num_completion_tokens

    @property
    def num_uncomputed_tokens(self) -> int:
        """Tokens whose keys and values are not in the cache yet."""
        return self.num_tokens - self.num_computed_tokens

    @property
    def num_blocks_needed(self) -> int:
        """Blocks that hold all known tokens."""
        return -(-self.num_tokens // self.block_size)

    @property
    def prompt_rows(self) -> range:
        """Positions of the prompt whose rows are needed; row p predicts the token at p + 1."""
        if self.pooler is not None:
            return range(self.num_prompt_tokens)
        return range(max(0, self.num_reported_prompt_tokens - 1), self.num_prompt_tokens - 1)

    @property
    def can_speculate(self) -> bool:
        """True if tokens may be drafted."""
        reasoning = self.detokenizer.reasoning
        may_be_forced = reasoning is not None and reasoning.may_force
        return self.constraint is None and not self.uses_mirostat and not may_be_forced

    @property
    def forced_id(self) -> int | None:
        """The token that must come next, or None if it is sampled."""
        reasoning = self.detokenizer.reasoning
        return None if reasoning is None else reasoning.forced_id

    @property
    def can_reuse_prefix(self) -> bool:
        """True if the prefix cache may be used."""
        return self.params.cache_prompt and not self.prompt_rows

    @property
    def whole_tiles(self) -> WholeTiles | None:
        """The tiles of the prompt whose tokens attend to each other."""
        return None if self.pictures is None else self.pictures.whole_tiles

    def draft(self, token_ids: NDArray[np.int32]) -> None:
        """Write draft tokens after the known ones; one more token must be allowed."""
        assert token_ids.size < self.num_tokens_left, "the last token is sampled, never drafted"
        self._tokens[self.num_tokens : self.num_tokens + token_ids.size] = token_ids

    def span(self, start: int, stop: int) -> NDArray[np.int32]:
        """Tokens and drafts from index `start` to before `stop`."""
        return self._tokens[start:stop]

    def append(self, token_id: int) -> None:
        """Append a sampled token, in place of a draft."""
        self._tokens[self.num_tokens] = token_id
        self.num_tokens += 1

    def block_hashes(self, num_blocks: int) -> list[BlockHash]:
        """Hashes of the first `num_blocks` full blocks; each covers salt, tokens and pictures up to its end."""
        while len(self._block_hashes) < num_blocks:
            start = len(self._block_hashes) * self.block_size
            parent = self._block_hashes[-1] if self._block_hashes else self._root_digest
            end = start + self.block_size
            pictures = b"" if self.pictures is None else self.pictures.digests_within(start, end)
            self._block_hashes.append(block_digest(parent, self._tokens[start:end].tobytes(), pictures))
        return self._block_hashes[:num_blocks]


def _biases(params: SamplingParams) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Each token of `logit_bias` once, with the sum of its values."""
    sums: dict[int, float] = {}
    for token_id, bias in params.logit_bias:
        sums[token_id] = sums.get(token_id, 0.0) + bias
    return np.array(list(sums), dtype=np.int32), np.array(list(sums.values()), dtype=np.float64)
