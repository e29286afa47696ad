"""The model of this runtime: a program, packed weights, scratch memory and a team of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cactus_actors.protocol.errors import ConfigurationInvalid, ModelFileInvalid
from cactus_actors.workers.engine.cache_cost import CacheCost
from cactus_actors.workers.engine.kv_cache import KVCache
from cactus_actors.workers.engine.step_batch import Batch
from cactus_actors.workers.kernels.aligned_memory import CACHE_LINE, round_up
from cactus_actors.workers.kernels.attention_items import attention_scratch
from cactus_actors.workers.kernels.barrier import new_barrier
from cactus_actors.workers.kernels.compile_cache import compile_lock
from cactus_actors.workers.kernels.logit_chunks import logit_stats_width
from cactus_actors.workers.kernels.thread_team import ThreadTeam
from cactus_actors.workers.runtime.adapter_sites import AdapterWeights
from cactus_actors.workers.runtime.attention_groups import AttentionGroups
from cactus_actors.workers.runtime.axes_step import AxesStep
from cactus_actors.workers.runtime.cache_shape import cache_shape_of
from cactus_actors.workers.runtime.compiled_step import step_of_rank
from cactus_actors.workers.runtime.draft_head import DraftHead
from cactus_actors.workers.runtime.graph import Graph
from cactus_actors.workers.runtime.layout import Arenas, WeightLayout
from cactus_actors.workers.runtime.op_codes import OpCode, RowKind
from cactus_actors.workers.runtime.patch_encoder import PatchEncoder
from cactus_actors.workers.runtime.program import Program
from cactus_actors.workers.runtime.step_arguments import (
    SAVE_SLOT,
    SLOT,
    SOURCE_SLOT,
    ModelShape,
    PackedWeights,
    RotaryArrays,
    StepInputs,
)
from cactus_actors.workers.runtime.step_programs import StepPrograms
from cactus_actors.workers.runtime.workspace import new_choices
from cactus_actors.workers.spec.model_config import ModelConfig
from cactus_actors.workers.spec.rotary import RotaryTables


class TransformerModel:
    """Runs the tokens of a step on `threads` threads; the first construction compiles for some seconds.

    The logits of a token are the same bits in any batch, with any chunked prefill and any number of threads.
    One caller at a time.
    """

    def __init__(
        self,
        config: ModelConfig,
        graph: Graph,
        layout: WeightLayout,
        arenas: Arenas,
        *,
        threads: int,
        kv_format: str,
    ) -> None:
        check_runnable(config, threads)
        self.config = config
        self.num_weights = graph.num_weights
        self.weights_format = layout.body.name
        self.kernels = layout.body.kernels
        self.kv_format = kv_format
        self.cache_shape = cache_shape_of(graph)
        largest_head = max([config.head_dim, *(layer.head_dim for layer in graph.cached_layers)])
        scratch_size = max(attention_scratch(largest_head), largest_part(graph))
        self._programs = StepPrograms(graph, layout, threads=threads, scratch_size=scratch_size)
        self._threads = threads
        self._groups = AttentionGroups(config, threads)
        self._shape = ModelShape(config.norm_eps)
        self._weights = PackedWeights(layout.body.wrap(arenas.body), layout.head.wrap(arenas.head), arenas.vectors)
        self._tables = RotaryTables(config.ropes, config.max_context)
        self._rotary = RotaryArrays(
            self._tables.cosines,
            self._tables.sines,
            self._tables.starts,
            np.array([rope.rotary_dim for rope in config.ropes], np.int64),
        )
        self._max_tokens = self._max_rows = 0
        self._profile: NDArray[np.int64] | None = None
        self._has_axes = False  # the step that runs, or ran last
        self._table_shape = (1, 1)
        self._make_room(16, 16)
        with compile_lock(step_of_rank):
            self._warm_up()
        self._team = ThreadTeam(threads, step_of_rank)
        self.encoder = self._new_encoder(graph.encoder, layout)
        self.draft_head = self._new_draft_head(graph.drafter, layout, scratch_size)

    @property
    def slot_size(self) -> int:
        """Floats of the recurrent state of a sequence."""
        return self.cache_shape.slot_size

    def new_cache(self, num_blocks: int, block_size: int = 16, num_slots: int = 1) -> KVCache:
        """An empty KV cache for this model, in its format."""
        return KVCache.allocate(self.cache_shape, num_blocks, block_size, self.kv_format, num_slots)

    def cache_cost(self, block_size: int = 16) -> CacheCost:
        """The memory of a block and of a slot of this model's cache."""
        return self.cache_shape.cost(block_size, self.kv_format)

    def forward(self, batch: Batch, cache: KVCache) -> NDArray[np.float32]:
        """Logits (rows, vocab) of `batch.logit_rows`, a view that the next call overwrites.

        Writes the keys and values of every token of the batch into `cache`, and advances recurrent states: a call
        with the same batch again would advance them twice.
        """
        self._run(batch, cache)
        return self._last.rows_of(self._last.program.logits, len(batch.logit_rows), self.config.vocab_size)

    def logit_stats(self, num_rows: int) -> NDArray[np.float32]:
        """Statistics of the last logits, (rows, logit_stats_width(vocab)), a view until the next call."""
        width = logit_stats_width(self.config.vocab_size)
        return self._last.rows_of(self._last.program.logit_stats, num_rows, width)

    def hidden_states(self, batch: Batch, cache: KVCache) -> NDArray[np.float32]:
        """The input of the head: (rows, hidden) after the last norm; otherwise as `forward`."""
        self._run(batch, cache, has_head=False)
        return self.last_hidden(len(batch.logit_rows))

    def last_hidden(self, num_rows: int) -> NDArray[np.float32]:
        """The hidden states after the last norm of the rows of the last step, (rows, hidden), a view."""
        return self._last.rows_of(self._last.program.hidden, num_rows, self.config.hidden_size)

    def tapped_states(self, num_rows: int) -> dict[int, NDArray[np.float32]]:
        """The hidden states of the rows of the last step by number of layers, (rows, hidden) each, views."""
        layers, buffers = self._last.tapped_layers, self._last.program.features
        return {
            layer: self._last.rows_of(buffer, num_rows, self.config.hidden_size)
            for layer, buffer in zip(layers, buffers, strict=True)
        }

    def add_adapter(self, weights: AdapterWeights) -> int:
        """Keep an adapter; returns the slot by which a Batch names it. Its modules and shapes are the graph's."""
        slot = self._programs.adapters.add(weights)
        try:
            self._allocate()
        except MemoryError:
            self._programs.adapters.remove(slot)  # the memory of the former program stays
            raise
        return slot

    def remove_adapter(self, slot: int) -> None:
        """Forget an adapter."""
        self._programs.adapters.remove(slot)
        self._allocate()

    def start_profile(self) -> None:
        """Count cycles of steps without adapters from now on; the next one is compiled again for it."""
        self._profile = np.zeros((self._threads, len(self._programs.own_program.operations), 2), np.int64)

    def profile(self) -> dict[str, NDArray[np.int64]]:
        """Cycles since `start_profile` by kind of operation: (ranks, 2) of work and of waiting after it."""
        assert self._profile is not None, "start_profile comes first"
        codes = self._programs.own_program.operations["code"]
        return {code.name: self._profile[:, codes == code].sum(axis=1) for code in OpCode if code in codes}

    def close(self) -> None:
        """Stop the threads; the model runs no more steps."""
        self._team.close()

    def _run(self, batch: Batch, cache: KVCache, *, has_head: bool = True) -> None:
        """Run the program of a batch on all threads."""
        self._take(batch, cache.block_size)
        self._last = self._programs.of(batch)
        if self.slot_size:
            slots = self._step.states[: len(batch.block_tables), [SOURCE_SLOT, SLOT, SAVE_SLOT]]
            assert slots.max() < len(cache.arrays.slots), "slot outside the cache"
        self._has_axes = batch.rotary_positions is not None
        if batch.rotary_positions is not None:
            assert self._axes_step is not None, "tokens have positions on several axes in such a model alone"
            self._axes_step.take(batch.rotary_positions)
        program = self._last.program
        self._team.run(*self._arguments(program.operations if has_head else program.without_head, cache))

    def _arguments(self, operations: NDArray[Any], cache: KVCache) -> tuple[Any, ...]:
        """The arguments of `step_of_rank` that are the same for all ranks."""
        rotary, step = self._rotary, self._step
        if self._has_axes and self._axes_step is not None:
            rotary, step = self._axes_step.rotary, self._axes_step.step
        memory = (self._choices, self._programs.adapters.arrays, self._last.workspace)
        profile = self._profile if self._last is self._programs.own else None
        return (operations, self._shape, self._weights, rotary, step, cache.arrays, *memory, profile)

    def _take(self, batch: Batch, block_size: int) -> None:
        """Copy a batch to the arrays of the threads."""
        # As unsigned, a negative index is too large as well: kernels would read out of bounds.
        token_ids, positions = np.asarray(batch.token_ids, np.int32), np.asarray(batch.positions, np.int32)
        last_position = int(positions.view(np.uint32).max())
        assert token_ids.view(np.uint32).max() < self.config.vocab_size, "token id outside the vocabulary"
        assert last_position < self.config.max_context, "position outside the context"
        self._tables.cover(last_position + 1)
        num_tokens, num_rows = len(token_ids), len(batch.logit_rows)
        num_sequences, num_blocks = batch.block_tables.shape
        self._make_room(num_tokens, num_rows)
        if num_sequences > self._table_shape[0] or num_blocks > self._table_shape[1]:
            rows, columns = self._table_shape
            self._table_shape = max(rows, next_power(num_sequences)), max(columns, next_power(num_blocks))
            self._step = self._new_step()
            self._axes_step = self._new_axes_step(self._step)
        tiles, groups = self._groups.of(batch, block_size)
        step = self._step
        step.sizes[:] = num_tokens, num_rows, len(groups), num_sequences
        if self.slot_size:
            step.states[:num_sequences] = state_rows(batch)
        step.token_ids[:num_tokens] = token_ids
        step.positions[:num_tokens] = positions
        step.sequence_of_token[:num_tokens] = batch.sequence_of_token
        if batch.adapters is not None:
            step.adapters[:num_tokens] = batch.adapters[batch.sequence_of_token]
        step.block_tables[:num_sequences, :num_blocks] = batch.block_tables
        step.logit_rows[:num_rows] = batch.logit_rows
        step.tiles[: len(tiles)] = tiles
        step.groups[: len(groups)] = groups
        if self.config.sees_whole_tiles:
            step.ends[:num_tokens] = positions if batch.ends is None else batch.ends
        if self.encoder is not None:
            step.is_given[:num_tokens] = 0
        if batch.given is not None:
            assert self.encoder is not None, "embeddings are given in the place of its pictures"
            step.is_given[batch.given_at] = 1
            if self.config.vision is not None and self.config.vision.stand_in_id is not None:
                step.token_ids[batch.given_at] = self.config.vision.stand_in_id
            step.given[batch.given_at] = batch.given

    def _new_step(self) -> StepInputs:
        """Room for the largest step so far."""
        num_given = 0 if self.config.vision is None else self._max_tokens
        positions = np.zeros(self._max_tokens, np.int32)
        return StepInputs(
            sizes=np.zeros(4, np.int64),
            token_ids=np.zeros(self._max_tokens, np.int32),
            positions=positions,
            rotary_rows=positions,
            sequence_of_token=np.zeros(self._max_tokens, np.int32),
            block_tables=np.zeros(self._table_shape, np.int32),
            logit_rows=np.zeros(self._max_rows, np.int32),
            tiles=np.zeros((self._max_tokens, 2), np.int32),
            groups=np.zeros((self._max_tokens, 3), np.int32),
            states=np.zeros((self._table_shape[0], 7), np.int64),
            adapters=np.zeros(self._max_tokens, np.int32),
            ends=np.zeros(self._max_tokens if self.config.sees_whole_tiles else 0, np.int32),
            is_given=np.zeros(num_given, np.int32),
            given=np.zeros((num_given, (1 + self.config.num_feature_layers) * self.config.hidden_size), np.float32),
        )

    def _new_axes_step(self, step: StepInputs) -> AxesStep | None:
        """Those of steps with positions on several axes; None in a model without them."""
        rope = self.config.ropes[0] if self.config.ropes else None
        return AxesStep(rope, self._tables, step) if rope is not None and rope.axes else None

    def _make_room(self, num_tokens: int, num_rows: int) -> None:
        """Scratch memory for a step of this size; it grows by doubling and never shrinks."""
        if num_tokens <= self._max_tokens and num_rows <= self._max_rows:
            return
        former = self._max_tokens, self._max_rows
        self._max_tokens = max(self._max_tokens, next_power(num_tokens))
        self._max_rows = max(self._max_rows, next_power(num_rows))
        try:
            self._allocate()
        except MemoryError:  # kernels would write beyond memory of the former size
            self._max_tokens, self._max_rows = former
            raise

    def _allocate(self) -> None:
        """Scratch memory for steps of the largest size, by each program; all of it, or MemoryError and no change."""
        choices = new_choices(self.config.experts, self._max_tokens)
        max_rows = {
            RowKind.TOKENS: self._max_tokens,
            RowKind.LOGITS: self._max_rows,
            RowKind.CHOICES: len(choices.ids),
        }
        step = self._new_step()
        axes_step = self._new_axes_step(step)
        self._programs.allocate(max_rows)
        self._last = self._programs.own
        self._step, self._axes_step, self._choices = step, axes_step, choices

    def _new_encoder(self, graph: Graph | None, layout: WeightLayout) -> PatchEncoder | None:
        if graph is None:
            return None
        return PatchEncoder(
            self.config,
            graph,
            layout,
            self._weights,
            self._rotary,
            adapters=self._programs.adapters.arrays,
            team=self._team,
            kv_format=self.kv_format,
        )

    def _new_draft_head(self, graph: Graph | None, layout: WeightLayout, scratch_size: int) -> DraftHead | None:
        if graph is None:
            return None
        return DraftHead(
            self.config,
            Program.of(graph, layout),
            self._weights,
            self._tables,
            self._rotary,
            adapters=self._programs.adapters.arrays,
            team=self._team,
            scratch_size=scratch_size,
        )

    def _warm_up(self) -> None:
        """Compile the step by running one token through it on this thread."""
        self._step.sizes[:] = 1
        self._step.tiles[0], self._step.groups[0] = (0, 1), (0, 1, 0)
        step_of_rank(0, 1, new_barrier(), 0, *self._arguments(self._programs.own_program.operations, self.new_cache(1)))


def check_runnable(config: ModelConfig, threads: int) -> None:
    """Raise ModelFileInvalid for a shape that kernels do not take, ConfigurationInvalid for `threads`."""
    if not 1 <= threads <= 1024:
        raise ConfigurationInvalid(f"threads must be between 1 and 1024, not {threads}", param="threads")
    for num_heads, num_kv_heads, head_dim in {config.heads, *map(config.heads_of, config.layers)}:
        if head_dim % 2:
            raise ModelFileInvalid(f"head_dim {head_dim} is odd")
        if num_heads % num_kv_heads:
            raise ModelFileInvalid(f"num_heads {num_heads} is not a multiple of num_kv_heads {num_kv_heads}")
    if (sizes := config.oversized_rope) is not None:
        raise ModelFileInvalid(f"a rotary embedding of {sizes[0]} lanes in heads of {sizes[1]}")


def largest_part(graph: Graph) -> int:
    """Floats of the largest part of a recurrent state, rounded up to a cache line."""
    sizes = [op.state.part_size for op in graph.operations if op.state is not None]
    return round_up(max(sizes, default=0), CACHE_LINE)


def state_rows(batch: Batch) -> NDArray[np.int64]:
    """The columns FIRST_TOKEN, ... of `StepInputs.states` for each sequence of a batch."""
    first = np.flatnonzero(np.diff(batch.sequence_of_token, prepend=-1))
    end = np.append(first[1:], len(batch.sequence_of_token))
    if batch.states is None:
        slots = np.arange(len(first))
        sources = np.where(batch.positions[first] > 0, slots, -1)
        return np.stack([first, end, end, sources, slots, first, slots], axis=1)
    source, slot, num_known, save_after, save_slot = batch.states.T
    return np.stack([first, first + num_known, end, source, slot, first + save_after, save_slot], axis=1)


def next_power(count: int) -> int:
    """The smallest power of two that is not below `count`."""
    return 1 << (count - 1).bit_length()
