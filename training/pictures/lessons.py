"""The samples of training and evaluation: a picture with several questions about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from PIL import Image

from training.corpus.wording.noise import noisy
from training.corpus.words import word_list
from training.pictures.colours import COLOURS
from training.pictures.drawing import draw
from training.pictures.questions import ASKS, Question, ask, ask_of, without_picture
from training.pictures.scene import KINDS, PLURALS, Scene, shapes, text_scene
from training.pictures.wordings import WORDINGS

TEXT_SHARE = 0.15
MAX_QUESTIONS = 6
_PLAIN_SHARE = 0.03
"""Of lessons without a picture."""
_TEXT_KINDS = frozenset({"number", "word", "ink"})
KNOWN_WORDS = frozenset({*KINDS, *PLURALS.values(), *COLOURS, *word_list("left right top bottom middle above below")})


@dataclass(frozen=True, slots=True)
class Lesson:
    """A picture and questions about it; without one, a single question that asks for it.

    `scene` is what the picture shows. The questions do not attend to one another, unless `is_chat` makes them turns of
    one conversation.
    """

    picture: Image.Image | None
    questions: tuple[Question, ...]
    is_chat: bool = False
    scene: Scene | None = None


def lessons(seed: int, shard: int, progress: float) -> Iterator[Lesson]:
    """Endless lessons of one stage of the training, 0 to 1; equal arguments give equal lessons."""
    rng = Random(f"pictures/{seed}/{shard}")
    noise = min(1.0, 0.2 + 3 * progress)
    while True:
        if rng.random() < _PLAIN_SHARE:
            yield Lesson(None, (_typed(without_picture(rng, False), rng, noise),))
            continue
        scene = _scene(rng, progress)
        questions = tuple(_typed(ask(scene, rng), rng, noise) for _ in range(MAX_QUESTIONS))
        yield Lesson(draw(scene, rng, noise), questions, rng.random() < 0.2, scene)


def _scene(rng: Random, progress: float) -> Scene:
    """At first few shapes, then more."""
    if rng.random() < TEXT_SHARE:
        return text_scene(rng)
    easy = rng.random() > 4 * progress
    return shapes(rng, count=rng.choice((1, 1, 2, 3)) if easy else None)


def _typed(question: Question, rng: Random, strength: float) -> Question:
    text = noisy(question.text, rng, 0.6 * strength, question.names, KNOWN_WORDS)
    return Question(question.kind, text, question.answer, question.names)


def evaluation_set(seed: int, per_kind: int) -> list[tuple[Lesson, Question]]:
    """`per_kind` questions of each kind in held-out wordings, about held-out pairs of colour and shape, or texts."""
    chosen: list[tuple[Lesson, Question]] = []
    for kind in ASKS:
        rng = Random(f"evaluation of pictures/{seed}/{kind}")
        number = 0
        while number < per_kind:
            is_text = kind in _TEXT_KINDS or (kind in ("unknown", "background") and rng.random() < TEXT_SHARE)
            scene = text_scene(rng, held_out=True) if is_text else shapes(rng, held_out=True)
            question = ask_of(kind, scene, rng, held_out=True)
            if question is None:
                continue
            question = _typed(question, rng, 0.5)
            chosen.append((Lesson(draw(scene, rng, 0.5), (question,)), question))
            number += 1
    return chosen


def all_wordings(seed: int, per_kind: int) -> Iterator[str]:
    """Texts of questions and answers for the tokenizer, those of every kind."""
    for shard in range(per_kind):
        rng = Random(f"texts/{seed}/{shard}")
        scene = text_scene(rng) if rng.random() < TEXT_SHARE else shapes(rng)
        for _ in WORDINGS:
            question = _typed(ask(scene, rng), rng, 0.5)
            yield f"{question.text}\n{question.answer}"
