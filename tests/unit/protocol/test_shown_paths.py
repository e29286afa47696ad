"""Clients read the reasons of failures without the directories of the server."""

from __future__ import annotations

import pytest

from cactus_actors.protocol.shown_paths import without_directories


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("/srv/models/rare: no such directory", "rare: no such directory"),
        ("/srv/our models/rare/model.safetensors is truncated", "model.safetensors is truncated"),
        ("'/srv/a/x.gguf' and \"~/b/y.gguf\" differ", "'x.gguf' and \"y.gguf\" differ"),
        ("FileNotFoundError: /srv/rare/", "FileNotFoundError: "),
        ("1/2 of the weights, in bfloat16/float32", "1/2 of the weights, in bfloat16/float32"),
        ("killed by signal 9", "killed by signal 9"),
    ],
)
def test_of_a_path_the_last_component_is_shown(message: str, shown: str) -> None:
    assert without_directories(message) == shown
