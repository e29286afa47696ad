"""The hidden states of a prompt's last token, which are reported with the first token of the answer."""

from __future__ import annotations

from collections.abc import Sequence as Ordered
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cactus_actors.workers.engine.model import Model
    from cactus_actors.workers.engine.step_batch import SequenceChunk


def take_prompt_states(model: Model, chunks: Ordered[SequenceChunk], num_rows: int) -> None:
    """Copy the states of the prompts that ended in the last step, of these chunks, to their sequences."""
    states = model.tapped_states(num_rows)
    row = 0
    for chunk in chunks:
        row += len(chunk.prompt_rows)
        if chunk.tapped_layers:  # the first row after those of the prompt is that of its last token
            chunk.sequence.prompt_states = {
                layer: states[layer][row].tobytes() for layer in chunk.tapped_layers if layer in states
            }
        row += chunk.num_rows
