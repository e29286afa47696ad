"""Questions about a scene and their answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from training.corpus.hedges import hedge
from training.corpus.wording.grammar import Grammar
from training.pictures.colours import COLOURS
from training.pictures.scene import KINDS, PLURALS, Item, Scene
from training.pictures.wordings import MACROS, WORDINGS

MAX_DESCRIBED = 4
_SAME_PLACE = 0.08
"""Items whose centres are nearer than this, in shares of the picture, are neither left of nor above each other."""
_CLEARLY_LARGER = 1.3
_BRITISH_SHARE = 0.4
"""Of questions, those that say grey."""
_THINGS = ("shapes", "shapes", "shapes", "things", "objects", "figures", "forms", "items")
_PLACES = (("top left", "top", "top right"), ("left", "middle", "right"), ("bottom left", "bottom", "bottom right"))
_THIRD, _MARGIN = 1 / 3, 0.05

GRAMMARS = {kind: Grammar.read(text, MACROS) for kind, text in WORDINGS.items()}
UNKNOWN, NO_PICTURE = "unknown", "no picture"


@dataclass(frozen=True, slots=True)
class Question:
    """One question and its only right answer; those of the kind UNKNOWN are answered by a hedge."""

    kind: str
    text: str
    answer: str
    names: tuple[str, ...] = ()
    """Words of the text that decide the answer: noise must not turn them into others."""


Ask = Callable[[Scene, Random, bool], "Question | None"]


def _worded(kind: str, answer: str, rng: Random, held_out: bool, **names: str) -> Question:
    text = GRAMMARS[kind].say(rng, held_out)
    if rng.random() < _BRITISH_SHARE:
        names = {name: value.replace("gray", "grey") for name, value in names.items()}
    for name, value in names.items():
        text = text.replace(f"{{{name}}}", value)
    return Question(kind.partition("/")[0], text[:1].upper() + text[1:], answer, tuple(names.values()))


def colour(scene: Scene, rng: Random, held_out: bool) -> Question | None:
    """The colour of a shape, or of all shapes of its kind where they have one colour."""
    if not scene.items:
        return None
    item = rng.choice(scene.items)
    if len(scene.items) == 1 and rng.random() < 0.4:
        return _worded("colour/only", f"It is {item.colour}.", rng, held_out)
    alike = [other for other in scene.items if other.kind == item.kind]
    if any(other.colour != item.colour for other in alike):
        return None
    if len(alike) == 1:
        return _worded("colour", f"It is {item.colour}.", rng, held_out, x=item.kind)
    return _worded("colour/several", f"They are {item.colour}.", rng, held_out, x=PLURALS[item.kind])


def shape(scene: Scene, rng: Random, held_out: bool) -> Question | None:
    """The kind of the only shape, or of the only one of a colour."""
    if not scene.items:
        return None
    item = rng.choice(scene.items)
    if len(scene.items) == 1 and rng.random() < 0.6:
        return _worded("shape/only", f"It is {_a(item.kind)}.", rng, held_out)
    if sum(other.colour == item.colour for other in scene.items) > 1:
        return None
    return _worded("shape", f"It is {_a(item.kind)}.", rng, held_out, c=item.colour)


def count(scene: Scene, rng: Random, held_out: bool) -> Question | None:
    """The number of all shapes, of those of a kind, of a colour, or of both."""
    if not scene.items:
        return None
    item = rng.choice(scene.items)
    kind, tone = item.kind, item.colour
    if rng.random() < 0.15:  # what is perhaps not there
        kind, tone = rng.choice(KINDS), rng.choice(COLOURS)
    match rng.choice(("all", "all", "kind", "kind", "colour", "both")):
        case "all":
            answer = _counted(len(scene.items), "shape", "shapes")
            return _worded("count", answer, rng, held_out, x=rng.choice(_THINGS))
        case "kind":
            number = sum(other.kind == kind for other in scene.items)
            return _worded("count", _counted(number, kind, PLURALS[kind]), rng, held_out, x=PLURALS[kind])
        case "colour":
            number = sum(other.colour == tone for other in scene.items)
            answer = _counted(number, f"{tone} shape", f"{tone} shapes")
            return _worded("count", answer, rng, held_out, x=f"{tone} {rng.choice(_THINGS)}")
    number = sum((other.kind, other.colour) == (kind, tone) for other in scene.items)
    many = f"{tone} {PLURALS[kind]}"
    return _worded("count", _counted(number, f"{tone} {kind}", many), rng, held_out, x=many)


def presence(scene: Scene, rng: Random, held_out: bool) -> Question | None:
    """The presence of a shape of a kind and a colour."""
    if not scene.items:
        return None
    item = rng.choice(scene.items)
    kind, tone = item.kind, item.colour
    if rng.random() < 0.5:
        kind, tone = rng.choice(((rng.choice(KINDS), tone), (kind, rng.choice(COLOURS))))
    is_there = any((other.kind, other.colour) == (kind, tone) for other in scene.items)
    name = f"{tone} {kind}"
    if rng.random() < 0.4:
        is_there, name = any(other.kind == kind for other in scene.items), kind
    return _worded("presence", "Yes, there is." if is_there else "No, there is not.", rng, held_out, x=_a(name))


def description(scene: Scene, rng: Random, held_out: bool) -> Question | None:
    """All shapes from left to right."""
    if not 1 <= len(scene.items) <= MAX_DESCRIBED or not _are_in_order(scene.items):
        return None
    names = [_a(f"{item.colour} {item.kind}") for item in scene.items]
    return _worded("description", f"I see {_listed(names)}.", rng, held_out)


def colours(scene: Scene, rng: Random, held_out: bool) -> Question | None:
    """The colours of the shapes from left to right."""
    if not 2 <= len(scene.items) <= MAX_DESCRIBED or not _are_in_order(scene.items):
        return None
    names = list(dict.fromkeys(item.colour for item in scene.items))
    listed = _listed(names)
    return _worded("colours", f"{listed[:1].upper()}{listed[1:]}.", rng, held_out)


def place(scene: Scene, rng: Random, held_out: bool) -> Question | None:
    """The place of a shape, if it is clearly in one of nine fields of the picture."""
    item = _only(scene, rng)
    if item is None:
        return None
    side = min(scene.width, scene.height)
    column, row = _field(item.x * side / scene.width), _field(item.y * side / scene.height)
    if column is None or row is None:
        return None
    where = "in the middle" if (column, row) == (1, 1) else f"at the {_PLACES[row][column]}"
    return _worded("place", f"It is {where}.", rng, held_out, x=_name(scene, item, rng))


def relation(scene: Scene, rng: Random, held_out: bool) -> Question | None:
    """The relation of a shape to another one: left of, right of, above or below."""
    pairs = [item for item in scene.items if _is_only(scene, item)]
    if len(pairs) < 2:
        return None
    first, second = rng.sample(pairs, 2)
    dx, dy = second.x - first.x, second.y - first.y
    words = rng.choice(("left of", "right of", "above", "below"))
    by = {"left of": dx, "right of": -dx, "above": dy, "below": -dy}[words]
    if abs(by) < 2 * _SAME_PLACE:
        return None
    answer = "Yes, it is." if by > 0 else "No, it is not."
    names = {"x": _name(scene, first, rng), "y": _name(scene, second, rng)}
    return _worded("relation", answer, rng, held_out, r=words, **names)


def size(scene: Scene, rng: Random, held_out: bool) -> Question | None:
    """The largest or smallest shape, if it clearly is."""
    if len(scene.items) < 2:
        return None
    by_size = sorted(scene.items, key=lambda item: item.radius)
    is_largest = rng.random() < 0.5
    item, next_one = (by_size[-1], by_size[-2]) if is_largest else (by_size[0], by_size[1])
    ratio = max(item.radius, next_one.radius) / min(item.radius, next_one.radius)
    if ratio < _CLEARLY_LARGER:
        return None
    return _worded("size/largest" if is_largest else "size/smallest", f"The {_full(item)}.", rng, held_out)


def background(scene: Scene, rng: Random, held_out: bool) -> Question | None:
    """The colour behind everything."""
    return _worded("background", f"It is {scene.background}.", rng, held_out)


def number(scene: Scene, rng: Random, held_out: bool) -> Question | None:
    """The number that the picture shows."""
    return _worded("number", f"It is {scene.text}.", rng, held_out) if scene.is_number else None


def word(scene: Scene, rng: Random, held_out: bool) -> Question | None:
    """The word that the picture shows."""
    if not scene.text or scene.is_number:
        return None
    return _worded("word", f"It says {scene.text}.", rng, held_out)


def ink(scene: Scene, rng: Random, held_out: bool) -> Question | None:
    """The colour of the number or word."""
    if not scene.text:
        return None
    what = rng.choice(("number", "digits") if scene.is_number else ("word", "letters", "text"))
    verb = "They are" if what in ("digits", "letters") else "It is"
    return _worded("ink", f"{verb} {scene.text_colour}.", rng, held_out, x=what)


def absent(scene: Scene, rng: Random, held_out: bool) -> Question | None:
    """The colour or place of a shape that is not in the picture, or the shape of a colour that is not."""
    if scene.items and rng.random() < 0.4:
        there = {item.colour for item in scene.items}
        tone = rng.choice([one for one in COLOURS if one not in there])
        return _worded("shape", f"There is no {tone} shape.", rng, held_out, c=tone)
    there = {item.kind for item in scene.items}
    missing = rng.choice([kind for kind in KINDS if kind not in there])
    asked = "colour" if rng.random() < 0.7 else "place"
    return _worded(asked, f"There is no {missing}.", rng, held_out, x=missing)


def unknown(_scene: Scene, rng: Random, held_out: bool) -> Question | None:
    """A fact that no picture of shapes shows."""
    return _worded(UNKNOWN, hedge(rng), rng, held_out)


def without_picture(rng: Random, held_out: bool) -> Question:
    """A question about a picture that was not sent."""
    kind = rng.choice(("colour/only", "shape/only", "description", "number", "word", "background"))
    asked = _worded(kind, "I see no picture. Please show me one.", rng, held_out)
    return Question(NO_PICTURE, asked.text, asked.answer)


ASKS: Mapping[str, tuple[float, Ask]] = {
    "colour": (2.5, colour),
    "shape": (2.8, shape),
    "count": (3.5, count),
    "presence": (0.8, presence),
    "description": (1.0, description),
    "colours": (0.4, colours),
    "place": (0.7, place),
    "relation": (0.7, relation),
    "size": (0.5, size),
    "background": (0.4, background),
    "number": (2.5, number),
    "word": (2.5, word),
    "ink": (0.5, ink),
    "absent": (0.5, absent),
    UNKNOWN: (0.5, unknown),
}
"""For each kind, the relative frequency where it is possible, and the function that makes a question."""


def ask(scene: Scene, rng: Random, held_out: bool = False) -> Question:
    """One question that the scene answers."""
    kinds, weights = list(ASKS), [weight for weight, _ in ASKS.values()]
    while True:
        question = ASKS[rng.choices(kinds, weights)[0]][1](scene, rng, held_out)
        if question is not None:
            return question


def ask_of(kind: str, scene: Scene, rng: Random, held_out: bool = False) -> Question | None:
    """A question of this kind; None if the scene has no clear answer."""
    return ASKS[kind][1](scene, rng, held_out)


def _a(name: str) -> str:
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _full(item: Item) -> str:
    return f"{item.colour} {item.kind}"


def _counted(number: int, one: str, many: str) -> str:
    if number == 1:
        return f"There is 1 {one}."
    return f"There are {number or 'no'} {many}."


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _are_in_order(items: tuple[Item, ...]) -> bool:
    """True if no two shapes are above each other, so that `from left to right` is clear."""
    return all(b.x - a.x >= _SAME_PLACE for a, b in pairwise(items))


def _is_only(scene: Scene, item: Item) -> bool:
    return Counter(_full(other) for other in scene.items)[_full(item)] == 1


def _only(scene: Scene, rng: Random) -> Item | None:
    """A shape that its kind and colour name."""
    candidates = [item for item in scene.items if _is_only(scene, item)]
    return rng.choice(candidates) if candidates else None


def _name(scene: Scene, item: Item, rng: Random) -> str:
    """The shape's kind if that identifies it, sometimes with its colour."""
    is_enough = sum(other.kind == item.kind for other in scene.items) == 1
    return item.kind if is_enough and rng.random() < 0.6 else _full(item)


def _field(share: float) -> int | None:
    """The third, 0 to 2, in which this share of a side lies; None near a border between thirds."""
    third = min(2, int(share / _THIRD))
    is_near = any(abs(share - border) < _MARGIN for border in (_THIRD, 2 * _THIRD))
    return None if is_near else third
