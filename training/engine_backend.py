"""Answers by the service's own engine, in this process: the same as for a user of the service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cactus_actors.config_models import WeightFormat
from cactus_actors.protocol.prompt_probe import candidate_layers
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Dispatch, SequenceDelta
from cactus_actors.text import load_text_model
from cactus_actors.vision.picture_processor import ProcessedPicture
from cactus_actors.workers.engine.engine import Engine
from cactus_actors.workers.engine.options import EngineLimits, TextOptions
from cactus_actors.workers.loading.load_model import load_model
from training.answering import MAX_ANSWER_TOKENS, Answer, Question
from training.corpus.sample import Message

BLOCK_SIZE = 16
MAX_SEQUENCES = 16


@dataclass(slots=True)
class Transcript:
    """The engine's output for one question."""

    text: str = ""
    entropies: list[float] = field(default_factory=list)
    log_probabilities: list[float] = field(default_factory=list)
    ended: bool = False
    prompt_states: dict[int, bytes] = field(default_factory=dict)

    def extend(self, delta: SequenceDelta) -> None:
        self.text += delta.text
        self.entropies.extend(delta.entropies)
        self.log_probabilities.extend(delta.logprobs)
        if delta.extras is not None:
            self.prompt_states |= delta.extras.prompt_states
        if delta.finish is not None:
            self.ended = delta.finish.reason == "stop"

    def answer(self) -> Answer:
        return Answer(self.text, self.ended, self.entropies, self.log_probabilities, self.prompt_states)


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
        layers = candidate_layers(self._model.config.num_layers)
        for place, question in enumerate(questions):
            pictures = self._pictures_of(question)
            messages = question.messages if not pictures else [*question.messages[:-1], _with_picture(question)]
            prompt = self._text.chat_prompt(messages, question.tools, pictures=pictures).ids
            shown = [each.picture for each in pictures]
            self._engine.add(Dispatch(place, f"{place:032x}", prompt, [], params, pictures=shown, tapped_layers=layers))
        transcripts = [Transcript() for _ in questions]
        while self._engine.has_work:
            for delta in self._engine.step():
                transcripts[delta.dispatch_id].extend(delta)
        return [transcript.answer() for transcript in transcripts]

    def close(self) -> None:
        self._model.close()

    def _pictures_of(self, question: Question) -> list[ProcessedPicture]:
        if question.picture is None:
            return []
        assert self._text.pictures is not None, "the model reads no pictures"
        return [self._text.pictures.process(question.picture)]


def _with_picture(question: Question) -> Message:
    """The last message, with a place for the picture before its text."""
    last = question.messages[-1]
    return {**last, "content": [{"type": "image"}, {"type": "text", "text": last["content"]}]}
