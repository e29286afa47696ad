"""The content of a picture: coloured shapes on a background, or a number or a word."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from random import Random

from training.corpus.words import word_list
from training.pictures.colours import COLOURS, RGB, distance, shade

# Common shapes stand several times, so that they are drawn more often.
_DRAWN = (
    *("circle", "square", "triangle") * 4,
    *("star", "rectangle", "cross", "heart", "diamond") * 2,
    *("oval", "ring", "pentagon", "hexagon"),
)
KINDS = tuple(dict.fromkeys(_DRAWN))
_COMMON_COLOURS = ("red", "green", "blue", "yellow", "orange", "purple", "black")
PLURALS = {"cross": "crosses", **{kind: f"{kind}s" for kind in KINDS if kind != "cross"}}

MAX_SHAPES = 6
WORDS = word_list(
    """CAT DOG SUN SKY CAR BUS TREE FISH BIRD STAR MOON BALL BOOK CAKE DOOR EGG FROG GOAT HAT ICE JAM KEY LAMP MILK NUT
    OPEN PEN RAIN SHIP TEA UP VAN WIND YES ZOO STOP GO HELLO EXIT LOVE HOME FIRE SALE TAXI HELP CLOSED BREAD APPLE
    WATER HOUSE RIVER PLANT TRAIN SNOW LEAF ROSE KING WOLF BEAR LION DUCK BOAT ROAD PARK SHOP HOTEL CAFE BANK MENU"""
)
_HELD_OUT_SHARE = 10
_MIN_CONTRAST = 100.0
_TRIES = 60


@dataclass(frozen=True, slots=True)
class Item:
    """A shape; centre and radius are in shares of the picture's shorter side, the angle is in degrees."""

    kind: str
    colour: str
    shade: RGB
    x: float
    y: float
    radius: float
    angle: float = 0.0
    stretch: float = 1.0


@dataclass(frozen=True, slots=True)
class Scene:
    """A picture of `width` x `height` pixels, with shapes (from left to right) or a text."""

    width: int
    height: int
    background: str
    background_shade: RGB
    items: tuple[Item, ...] = ()
    text: str = ""
    ink: RGB = (0, 0, 0)
    text_colour: str = ""

    @property
    def is_number(self) -> bool:
        return self.text.isdigit()


def is_held_out(colour: str, kind: str) -> bool:
    """True for the pairs that only the evaluation draws, one in ten."""
    return zlib.crc32(f"{colour} {kind}".encode()) % _HELD_OUT_SHARE == 0


def is_held_out_text(text: str) -> bool:
    """True for the numbers above 9 and words that only the evaluation draws, one in ten."""
    return len(text) > 1 and zlib.crc32(text.encode()) % _HELD_OUT_SHARE == 0


def shapes(rng: Random, held_out: bool = False, count: int | None = None) -> Scene:
    """A scene with one to MAX_SHAPES shapes that do not touch.

    Where held_out, at least one of them is a pair of colour and shape that is never trained on.
    """
    width, height = _size(rng)
    background, ground = _background(rng)
    wide, high = width / min(width, height), height / min(width, height)
    count = count or rng.choice((1, 1, 2, 2, 3, 3, 4, 5, 6))
    looks = _looks(rng, count, ground, held_out)
    while True:
        largest = min(0.42, 0.62 / count**0.62)
        radii = [rng.uniform(0.4, 1.0) * largest for _ in looks]
        centres = _placed(rng, radii, wide, high)
        if centres is not None:
            break
    items = [
        Item(kind, colour, tone, x, y, radius, _angle(kind, rng), rng.uniform(1.5, 2.3))
        for (kind, colour, tone), radius, (x, y) in zip(looks, radii, centres, strict=True)
    ]
    return Scene(width, height, background, ground, tuple(sorted(items, key=lambda item: item.x)))


def text_scene(rng: Random, held_out: bool = False) -> Scene:
    """A scene with a number of one to three digits, or a short word."""
    width, height = _size(rng)
    background, ground = _background(rng)
    while True:
        text = str(rng.choice((rng.randrange(10), rng.randrange(100), rng.randrange(1000))))
        if rng.random() < 0.5:
            text = rng.choice(WORDS)
        if is_held_out_text(text) == held_out or (held_out and len(text) == 1):
            break
    colour, ink = _contrasting(rng, ground)
    return Scene(width, height, background, ground, text=text, ink=ink, text_colour=colour)


def _size(rng: Random) -> tuple[int, int]:
    side = rng.choice((96, 120, 128, 160, 200, 224, 256))
    if rng.random() < 0.6:
        return side, side
    ratio = rng.uniform(1.0, 1.34)
    return (round(side * ratio), side) if rng.random() < 0.6 else (side, round(side * ratio))


def _background(rng: Random) -> tuple[str, RGB]:
    draw = rng.random()
    name = "white" if draw < 0.55 else "black" if draw < 0.67 else rng.choice(COLOURS)
    return name, shade(name, rng)


def _contrasting(rng: Random, ground: RGB) -> tuple[str, RGB]:
    while True:
        colour = rng.choice(_COMMON_COLOURS if rng.random() < 0.5 else COLOURS)
        tone = shade(colour, rng)
        if distance(tone, ground) >= _MIN_CONTRAST:
            return colour, tone


def _looks(rng: Random, count: int, ground: RGB, held_out: bool) -> list[tuple[str, str, RGB]]:
    """Kind, colour and shade of each shape; some scenes repeat a kind or a colour, so that counting has a subject."""
    looks: list[tuple[str, str, RGB]] = []
    repeats_kind, repeats_colour = rng.random() < 0.35, rng.random() < 0.25
    while len(looks) < count:
        kind = looks[0][0] if looks and repeats_kind and rng.random() < 0.7 else rng.choice(_DRAWN)
        colour, tone = _contrasting(rng, ground)
        if looks and repeats_colour and rng.random() < 0.7:
            colour, tone = looks[0][1], looks[0][2]
        is_repeated = bool(looks) and (kind, colour) == looks[0][:2]
        if is_repeated or is_held_out(colour, kind) == (held_out and not looks):
            looks.append((kind, colour, tone))
    rng.shuffle(looks)
    return looks


def _placed(rng: Random, radii: list[float], wide: float, high: float) -> list[tuple[float, float]] | None:
    """Centres of circles that neither touch nor leave the picture; None if that was not found."""
    centres: list[tuple[float, float]] = []
    for radius in radii:
        for _ in range(_TRIES):
            x, y = rng.uniform(radius, wide - radius), rng.uniform(radius, high - radius)
            others = zip(radii, centres, strict=False)
            if all((x - a) ** 2 + (y - b) ** 2 > (1.05 * (radius + other)) ** 2 for other, (a, b) in others):
                centres.append((x, y))
                break
        else:
            return None
    return centres


def _angle(kind: str, rng: Random) -> float:
    if rng.random() < 0.6:
        return 90.0 if kind in ("rectangle", "oval") and rng.random() < 0.5 else 0.0
    match kind:
        case "square" | "diamond" | "heart":
            return rng.uniform(-14, 14)
        case "cross":
            return rng.choice((45.0, rng.uniform(-14, 14)))
        case "triangle":
            return rng.choice((180.0, rng.uniform(-180, 180)))
    return rng.uniform(-180, 180)
