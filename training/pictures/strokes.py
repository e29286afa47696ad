"""A font of lines: digits and capital letters, drawn thin or thick, upright or slanted."""

from __future__ import annotations

from PIL import ImageDraw

# The points of each line, as two digits: x from 0 to 4 and y from 0 (top) to 6; a comma begins the next line.
_GLYPHS = {
    "0": "10 30 41 45 36 16 05 01 10",
    "1": "11 20 26, 16 36",
    "2": "01 10 30 41 42 06 46",
    "3": "01 10 30 41 42 33 13, 33 44 45 36 16 05",
    "4": "36 30 04 44",
    "5": "40 00 02 32 43 45 36 16 05",
    "6": "30 10 01 05 16 36 45 44 33 13 04",
    "7": "00 40 16",
    "8": "13 02 01 10 30 41 42 33 13 04 05 16 36 45 44 33",
    "9": "42 33 13 02 01 10 30 41 45 36 16",
    "A": "06 20 46, 14 34",
    "B": "00 06 36 45 44 33 03, 33 42 41 30 00",
    "C": "41 30 10 01 05 16 36 45",
    "D": "00 06 26 44 42 20 00",
    "E": "40 00 06 46, 03 33",
    "F": "40 00 06, 03 33",
    "G": "41 30 10 01 05 16 36 45 43 23",
    "H": "00 06, 40 46, 03 43",
    "I": "10 30, 20 26, 16 36",
    "J": "40 45 36 16 05",
    "K": "00 06, 40 03 46",
    "L": "00 06 46",
    "M": "06 00 23 40 46",
    "N": "06 00 46 40",
    "O": "10 30 42 44 36 16 04 02 10",
    "P": "06 00 30 41 42 33 03",
    "Q": "10 30 42 44 36 16 04 02 10, 24 46",
    "R": "06 00 30 41 42 33 03, 23 46",
    "S": "41 30 10 01 02 13 33 44 45 36 16 05",
    "T": "00 40, 20 26",
    "U": "00 05 16 36 45 40",
    "V": "00 26 40",
    "W": "00 16 23 36 40",
    "X": "00 46, 40 06",
    "Y": "00 23 40, 23 26",
    "Z": "00 40 06 46",
}
GLYPHS = {
    character: [[(int(point[0]), int(point[1])) for point in line.split()] for line in lines.split(",")]
    for character, lines in _GLYPHS.items()
}
WIDTH, HEIGHT, ADVANCE = 4, 6, 5.6


def width_of(text: str, height: float) -> float:
    """The width in pixels of a text in letters of this height, without slant."""
    return (ADVANCE * (len(text) - 1) + WIDTH) * height / HEIGHT


def draw_strokes(
    canvas: ImageDraw.ImageDraw,
    text: str,
    corner: tuple[float, float],
    height: float,
    colour: tuple[int, int, int],
    thickness: int,
    slant: float = 0.0,
) -> None:
    """Draw digits and capital letters from the left upper corner.

    `slant` is how far their tops move to the right, in shares of the height.
    """
    scale = height / HEIGHT
    left, top = corner
    for place, character in enumerate(text):
        for line in GLYPHS[character]:
            points = [(left + (place * ADVANCE + x + slant * (HEIGHT - y)) * scale, top + y * scale) for x, y in line]
            canvas.line(points, fill=colour, width=thickness, joint="curve")
            for x, y in points:  # round ends
                radius = thickness / 2
                canvas.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)
