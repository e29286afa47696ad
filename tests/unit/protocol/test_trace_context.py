"""The traceparent header of https://www.w3.org/TR/trace-context-2/."""

from __future__ import annotations

import pytest

from cactus_actors.protocol.trace_context import is_traceparent, read_traceparent, trace_id_of

FIELDS = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
GOOD = f"00-{FIELDS}"


@pytest.mark.parametrize("header", [GOOD, f" {GOOD}\t", f"01-{FIELDS}", f"cc-{FIELDS}-what-comes-later"])
def test_valid_traceparents_are_read(header: str) -> None:
    read = read_traceparent(header)
    assert read == GOOD
    assert is_traceparent(read)
    assert trace_id_of(read) == "0af7651916cd43dd8448eb211c80319c"


@pytest.mark.parametrize(
    "header",
    [
        "",
        "00",
        GOOD[:-1],
        f"{GOOD}-more",
        f"{GOOD}\n",
        GOOD.upper(),
        f"ff-{FIELDS}",
        f"0x-{FIELDS}",
        f"01-{FIELDS}more",
        "00-" + "0" * 32 + "-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-" + "0" * 16 + "-01",
        GOOD.replace("b7", "٣٣"),
        "x" * 100_000,
    ],
)
def test_invalid_traceparents_are_refused(header: str) -> None:
    assert read_traceparent(header) is None
    assert not is_traceparent(header)
