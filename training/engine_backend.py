"""Answers by the service's own engine, in this process: the same as for a user of the service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cactus_actors.config import WeightFormat
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch, SequenceDelta
from cactus_actors.text import load_text_model
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from cactus_actors.workers.loading.load_model import load_model
from training.answering import MAX_ANSWER_TOKENS, Answer, Question

BLOCK_SIZE = 16
MAX_SEQUENCES = 16


@dataclass(slots=True)
class Transcript:
    """The engine's output for one question."""

    text: str = ""
    entropies: list[float] = field(default_factory=list)
    log_probabilities: list[float] = field(default_factory=list)
    ended: bool = False

    def extend(self, delta: SequenceDelta) -> None:
        self.text += delta.text
        self.entropies.extend(delta.entropies)
        self.log_probabilities.extend(delta.logprobs)
        if delta.finish is not None:
            self.ended = delta.finish.reason == "stop"

    def answer(self) -> Answer:
        return Answer(self.text, self.ended, self.entropies, self.log_probabilities)


class EngineBackend:
    def __init__(self, directory: Path, weights: WeightFormat, threads: int) -> None:
        self._text = load_text_model(directory)
        self._model = load_model(directory, weights=weights, threads=threads)
        self._engine = Engine(
            self._model,
            TextOptions(self._text.tokenizer, self._text.eos_ids),
            EngineLimits(
                cache_blocks=MAX_SEQUENCES * (self._text.max_context // BLOCK_SIZE + 2),
                block_size=BLOCK_SIZE,
                max_sequences=MAX_SEQUENCES,
            ),
        )

    def answers(self, questions: Sequence[Question]) -> list[Answer]:
        params = SamplingParams(max_tokens=MAX_ANSWER_TOKENS)
        for place, question in enumerate(questions):
            prompt = self._text.chat_prompt(question.messages, question.tools).ids
            self._engine.add(Dispatch(place, f"{place:032x}", prompt, [], params))
        transcripts = [Transcript() for _ in questions]
        while self._engine.has_work:
            for delta in self._engine.step():
                transcripts[delta.dispatch_id].extend(delta)
        return [transcript.answer() for transcript in transcripts]

    def close(self) -> None:
        self._model.close()
