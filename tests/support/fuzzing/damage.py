"""Mutations of valid input: bytes flipped, cut, doubled and moved, values replaced by odd ones."""

from __future__ import annotations

import struct
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.support.fuzzing.values import changed, json_bytes, odd, places_in

LENGTHS = (0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**62, 2**63, 2**64 - 1)
EXTREME_BYTES = (0, 1, 0x7F, 0x80, 0xC1, 0xD9, 0xDB, 0xDD, 0xDF, 0xFF, 0x22, 0x7B, 0x5B, 0x2C, 0x30)


def damaged(sound: bytes | SearchStrategy[bytes], reach: int | None = None) -> SearchStrategy[bytes]:
    """`sound` with one to four mutations, all within its first `reach` bytes."""
    content = st.just(sound) if isinstance(sound, bytes) else sound
    return content.flatmap(lambda whole: _damaged(whole, len(whole) if reach is None else reach))


@st.composite
def _damaged(draw: DrawFn, sound: bytes, reach: int) -> bytes:
    content = bytearray(sound)
    for _ in range(draw(st.integers(1, 4))):
        end = min(reach, len(content))
        at = draw(st.integers(0, max(0, end - 1)))
        size = draw(st.integers(1, max(1, min(64, end - at))))
        match draw(st.integers(0, 8)):
            case 0 if content:
                content[at] ^= 1 << draw(st.integers(0, 7))
            case 1 if content:
                content[at] = draw(st.sampled_from(EXTREME_BYTES))
            case 2:
                del content[at:]
            case 3:
                content[at:at] = content[at : at + size] * draw(st.sampled_from([1, 1, 2, 200]))
            case 4:
                del content[at : at + size]
            case 5:
                other = draw(st.integers(0, max(0, end - 1)))
                content[at : at + size] = content[other : other + size]
            case 6:
                form = draw(st.sampled_from(["<Q", "<I", ">I", ">H", ">Q"]))
                length = draw(st.sampled_from(LENGTHS)) % 2 ** (8 * struct.calcsize(form))
                content[at : at + struct.calcsize(form)] = struct.pack(form, length)
            case 7:
                content[at:at] = draw(st.binary(max_size=16))
            case _:
                content += draw(st.binary(max_size=16))
    return bytes(content)


@st.composite
def changed_data(draw: DrawFn, sound: Any, *, leave_root: bool = True) -> Any:
    """Plain data with one to three of its values replaced by odd ones, doubled, or removed."""
    value = sound
    for _ in range(draw(st.integers(1, 3))):
        places = places_in(value)[leave_root:]
        if not places:
            return value
        place = draw(st.sampled_from(places))
        is_cut = draw(st.booleans()) and len(place) > 0
        value = _without(value, place) if is_cut else changed(value, place, draw(odd))
    return value


@st.composite
def changed_json(draw: DrawFn, sound: Any) -> bytes:
    """The JSON text of mutated data, some of it with damaged bytes."""
    text = json_bytes(draw(changed_data(sound, leave_root=draw(st.booleans()))))
    return draw(damaged(text)) if draw(st.integers(0, 3)) == 0 else text


def _without(value: Any, place: tuple[Any, ...]) -> Any:
    *around, last = place
    container = value
    for key in around:
        container = container[key]
    if isinstance(container, dict):
        smaller: Any = {key: item for key, item in container.items() if key != last}
    else:
        smaller = [item for index, item in enumerate(container) if index != last]
    return changed(value, tuple(around), smaller)
