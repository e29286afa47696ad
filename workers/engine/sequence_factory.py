"""Creates sequences from dispatches, after checks."""

from __future__ import annotations

from cactus_actors.protocol.errors import ContextExceeded, InvalidRequest, NotSupported
from cactus_actors.protocol.worker_messages import Dispatch
from cactus_actors.reasoning import MARKUPS
from cactus_actors.workers.engine.adapter_table import AdapterTable
from cactus_actors.workers.engine.detokenizer import Detokenizer
from cactus_actors.workers.engine.model import Model
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from cactus_actors.workers.engine.sequence import Sequence
from cactus_actors.workers.engine.sequence_pictures import SequencePictures
from cactus_actors.workers.engine.stop_conditions import StopConditions
from cactus_actors.workers.engine.token_constraint import TokenConstraint


class SequenceFactory:
    """Creates the sequences of one engine."""

    def __init__(
        self,
        text: TextOptions,
        limits: EngineLimits,
        stop_conditions: StopConditions,
        model: Model,
        adapters: AdapterTable,
    ) -> None:
        self._text = text
        self._limits = limits
        self._stop_conditions = stop_conditions
        self._adapters = adapters
        self._vocab_size = model.config.vocab_size
        self._max_context = min(model.config.max_context, limits.cache_tokens)
        self._encoder = model.encoder
        self._sees_whole_tiles = model.config.sees_whole_tiles

    def create(self, dispatch: Dispatch) -> Sequence:
        """The sequence of a dispatch, after the tokens of earlier dispatches; raises InvalidRequest."""
        self._check(dispatch)
        sequence = Sequence(
            dispatch,
            Detokenizer(self._text.tokenizer, dispatch.params),
            max_context=self._max_context,
            block_size=self._limits.block_size,
            max_drafts=self._limits.max_drafts,
            constraint=self._constraint_of(dispatch),
            pooling=self._text.pooling,
            adapter_slot=self._adapters.slot_of(dispatch.adapter),
        )
        sequence.pictures = self._pictures_of(dispatch)
        for token_id in dispatch.emitted_ids:  # their text was sent in an earlier dispatch
            self._stop_conditions.advance(sequence, token_id)
        return sequence

    def _check(self, dispatch: Dispatch) -> None:
        known = dispatch.prompt_ids + dispatch.emitted_ids
        if not dispatch.prompt_ids:
            raise InvalidRequest("the prompt is empty", param="prompt")
        if not 0 <= min(known) <= max(known) < self._vocab_size:
            raise InvalidRequest(f"token ids must be in [0, {self._vocab_size})", param="prompt")
        if any(not 0 <= token_id < self._vocab_size for token_id, _ in dispatch.params.logit_bias):
            raise InvalidRequest(f"token ids must be in [0, {self._vocab_size})", param="logit_bias")
        if (reasoning := dispatch.params.reasoning) is not None:
            if reasoning.markup not in MARKUPS:
                raise NotSupported(f"this worker does not support the reasoning markup {reasoning.markup[:40]!r}")
            if not all(0 <= token_id < self._vocab_size for token_id in reasoning.close_ids):
                raise InvalidRequest(f"token ids must be in [0, {self._vocab_size})", param="thinking_budget")
        if len(known) > self._max_context:
            raise ContextExceeded(
                f"{len(known)} tokens exceed the {self._max_context} tokens of context and cache of this worker",
                param="prompt",
            )

    def _pictures_of(self, dispatch: Dispatch) -> SequencePictures | None:
        if not dispatch.pictures:
            return None
        if self._encoder is None:
            raise NotSupported("this model reads no pictures", param="images")
        for tile in (tile for picture in dispatch.pictures for tile in picture.tiles):
            self._encoder.check(tile)
        try:
            return SequencePictures(
                dispatch.pictures,
                dispatch.prompt_ids,
                self._encoder.image_token_id,
                dispatch.cache_salt,
                sees_whole_tiles=self._sees_whole_tiles,
                token_side=self._encoder.token_side,
            )
        except ValueError as error:
            raise InvalidRequest(str(error), param="images") from error

    def _constraint_of(self, dispatch: Dispatch) -> TokenConstraint | None:
        if not dispatch.grammar:
            return None
        if self._text.new_constraint is None:
            raise NotSupported("this worker does not support grammars", param="grammar")
        return self._text.new_constraint(dispatch.grammar)
