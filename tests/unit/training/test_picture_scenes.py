"""Scenes and questions of the picture corpus: reproducible, answered by what the scene says, and held out in part."""

from __future__ import annotations

from itertools import islice
from random import Random

import numpy as np
import pytest

from training.corpus.hedges import is_hedge
from training.corpus.wording.grammar import normalised
from training.pictures.cells import cell_labels, patch_labels
from training.pictures.colours import COLOURS, RANGES, distance, shade
from training.pictures.drawing import draw, outline_of
from training.pictures.lessons import evaluation_set, lessons
from training.pictures.questions import ASKS, GRAMMARS, UNKNOWN, ask_of
from training.pictures.scene import KINDS, Item, Scene, is_held_out, is_held_out_text, shapes, text_scene
from training.pictures.strokes import GLYPHS, HEIGHT, WIDTH

RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 160, 0), (0, 0, 255), (255, 255, 255)


def item(kind: str, colour: str, x: float, y: float = 0.5, radius: float = 0.1) -> Item:
    return Item(kind, colour, {"red": RED, "green": GREEN, "blue": BLUE}[colour], x, y, radius)


THREE = Scene(
    120,
    120,
    "white",
    WHITE,
    (item("circle", "red", 0.15), item("square", "green", 0.5, radius=0.2), item("circle", "blue", 0.85, 0.15)),
)


def answers(kind: str, scene: Scene) -> dict[str, str]:
    """Every answer that questions of a kind get, by the names in the question."""
    rng = Random(1)
    asked = [ask_of(kind, scene, rng) for _ in range(300)]
    return {" ".join(each.names): each.answer for each in asked if each is not None}


def test_equal_seeds_give_equal_lessons_and_pictures() -> None:
    first, again = (list(islice(lessons(1, 2, 0.7), 20)) for _ in range(2))
    assert [one.questions for one in first] == [one.questions for one in again]
    for one, other in zip(first, again, strict=True):
        assert (one.picture is None) == (other.picture is None)
        if one.picture is not None and other.picture is not None:
            assert one.picture.tobytes() == other.picture.tobytes()


def test_colours_are_those_of_the_named_shapes() -> None:
    assert answers("colour", THREE) == {"square": "It is green."}  # of the circles there are two colours
    assert answers("shape", THREE) == {"red": "It is a circle.", "green": "It is a square.", "blue": "It is a circle."}


def test_counts_are_of_kinds_colours_and_both() -> None:
    found = answers("count", THREE)
    assert found["shapes"] == "There are 3 shapes."
    assert found["circles"] == "There are 2 circles."
    assert found["green shapes"] == "There is 1 green shape."
    assert found["red circles"] == "There is 1 red circle."
    assert "There are no" in " ".join(found.values())


def test_places_relations_and_sizes_are_those_of_the_scene() -> None:
    assert answers("place", THREE)["blue circle"] == "It is at the top right."
    assert answers("place", THREE)["square"] == "It is in the middle."
    assert answers("relation", THREE)["left of red circle square"] == "Yes, it is."
    assert answers("relation", THREE)["above red circle blue circle"] == "No, it is not."
    assert answers("size", THREE) == {"": "The green square."}


def test_a_description_goes_from_left_to_right() -> None:
    assert set(answers("description", THREE).values()) == {"I see a red circle, a green square and a blue circle."}
    assert set(answers("colours", THREE).values()) == {"Red, green and blue."}


def test_a_shape_that_is_not_there_has_no_colour() -> None:
    assert {answer for name, answer in answers("absent", THREE).items() if name == "star"} == {"There is no star."}
    assert all(is_hedge(answer) for answer in answers(UNKNOWN, THREE).values())


def test_answers_about_texts_have_the_drawn_number_or_word() -> None:
    scene = Scene(120, 120, "white", WHITE, text="407", ink=RED, text_colour="red")
    assert answers("number", scene) == {"": "It is 407."}
    assert answers("word", scene) == {}
    assert set(answers("ink", scene).values()) == {"It is red.", "They are red."}


def test_held_out_pairs_texts_and_wordings_are_never_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.pictures.lessons.draw", lambda *_: None)  # drawing takes nearly all of the time
    rng = Random(3)
    for _ in range(300):
        assert not any(is_held_out(one.colour, one.kind) for one in shapes(rng).items)
        assert any(is_held_out(one.colour, one.kind) for one in shapes(rng, held_out=True).items)
        assert not is_held_out_text(text_scene(rng).text)
    trained = {normalised(one.text) for lesson in islice(lessons(1, 0, 1.0), 2000) for one in lesson.questions}
    asked = [normalised(question.text) for _, question in evaluation_set(7, 15)]
    assert sum(question in trained for question in asked) <= 2, "only what noise has shortened may be alike"


@pytest.mark.parametrize("kind", KINDS)
def test_every_shape_is_drawn_in_its_place_in_its_colour(kind: str) -> None:
    scene = Scene(100, 80, "white", WHITE, (Item(kind, "red", RED, 0.4, 0.5, 0.3, stretch=1.8),))
    pixels = np.asarray(draw(scene, Random(1), noise=0.0), np.int32)
    assert pixels.shape == (80, 100, 3)
    is_red = (abs(pixels - RED).sum(axis=2) < 30).nonzero()
    assert len(is_red[0]) > 150
    centre = is_red[1].mean() / 80, is_red[0].mean() / 80
    assert centre == pytest.approx((0.4, 0.5), abs=0.1)
    if kind != "ring":
        assert max(x * x + y * y for x, y in outline_of(scene.items[0])) <= 1.45


def test_every_kind_of_question_has_wordings_that_are_held_out() -> None:
    assert all(grammar.held_out for grammar in GRAMMARS.values())
    assert set(ASKS) >= {"colour", "shape", "count", "number", "word", UNKNOWN}


def test_shades_of_different_colours_are_apart() -> None:
    rng = Random(5)
    middle = {colour: [shade(colour, rng) for _ in range(60)] for colour in COLOURS}
    assert set(middle) == set(RANGES)
    for first in ("red", "green", "blue", "yellow", "black", "white"):
        for second in ("cyan", "pink", "gray"):
            assert min(distance(a, b) for a in middle[first] for b in middle[second]) > 25


def test_glyphs_stay_in_their_box() -> None:
    assert set("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == set(GLYPHS)
    points = [point for lines in GLYPHS.values() for line in lines for point in line]
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in points)


@pytest.mark.parametrize(("width", "height"), [(120, 120), (240, 120), (120, 240)])
def test_labels_name_the_shape_whose_centre_is_in_the_cell(width: int, height: int) -> None:
    side = min(width, height)
    places = [(0.05 * width / side, 0.05 * height / side), (0.7 * width / side, 0.95 * height / side)]
    items = tuple(
        item(kind, colour, *place)
        for (kind, colour), place in zip((("square", "blue"), ("circle", "red")), places, strict=True)
    )
    kinds, colours = cell_labels(Scene(width, height, "white", WHITE, items), 5).reshape(2, 5, 5)
    assert {(row, column) for row, column in zip(*np.nonzero(kinds), strict=True)} == {(0, 0), (4, 3)}
    assert (kinds[0, 0], colours[0, 0]) == (KINDS.index("square") + 1, COLOURS.index("blue") + 1)
    assert (kinds[4, 3], colours[4, 3]) == (KINDS.index("circle") + 1, COLOURS.index("red") + 1)


def test_labels_of_patches_name_the_shape_that_covers_them() -> None:
    items = (item("square", "blue", 0.25, 0.5), item("ring", "red", 0.75, 0.5))
    kinds, colours = patch_labels(Scene(200, 200, "white", WHITE, items), 10).reshape(2, 10, 10)
    assert (kinds[5, 2], colours[5, 2]) == (KINDS.index("square") + 1, COLOURS.index("blue") + 1)
    assert set(kinds[:, :5].flat) == {0, KINDS.index("square") + 1}
    assert set(kinds[:, 5:].flat) == {0, KINDS.index("ring") + 1}
    assert not patch_labels(Scene(200, 200, "white", WHITE), 10).any()
