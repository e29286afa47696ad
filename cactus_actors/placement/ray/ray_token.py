"""Ray's authentication token: its owner can run code on every node, so a private token is required."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, MutableMapping
from pathlib import Path

from cactus_actors.keys.private_file import read_private, write_private
from cactus_actors.protocol.errors import ConfigurationInvalid

MODE, PATH, TOKEN = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN_PATH", "RAY_AUTH_TOKEN"
_RAYS_OWN_PATH = Path("~/.ray/auth_token")


def make_token(state_dir: Path, environment: MutableMapping[str, str] = os.environ) -> None:
    """Make a local Ray require a token from `state_dir`; a token that the environment names is kept.

    Ray requires one by default (since 2.59), but its own is in a file that every user can read. Raises
    ConfigurationInvalid if the environment disables tokens or names an open file.
    """
    if environment.get(MODE, "token") != "token":
        raise ConfigurationInvalid(f"{MODE}={environment[MODE]} would let every user of this machine in")
    environment[MODE] = "token"
    if PATH not in environment and TOKEN not in environment:
        path = state_dir / "ray-token"
        if not path.exists():
            write_private(path, secrets.token_hex(32).encode())
        environment[PATH] = str(path)
    _check_file(environment)


def check_token(environment: Mapping[str, str] = os.environ) -> None:
    """Raises ConfigurationInvalid unless a cluster's Ray asks for a token that only this user can read."""
    if environment.get(MODE) != "token":
        raise ConfigurationInvalid(
            f"{MODE} must be token, here and where Ray was started: "
            "whoever reaches the ports of a Ray without it can run code on every node"
        )
    _check_file(environment)


def token_source(environment: Mapping[str, str] = os.environ) -> str:
    """The source of Ray's token: the name of a variable, or a path."""
    return TOKEN if environment.get(TOKEN) else str(_path(environment))


def _path(environment: Mapping[str, str]) -> Path:
    return Path(environment.get(PATH) or _RAYS_OWN_PATH).expanduser()


def _check_file(environment: Mapping[str, str]) -> None:
    if not environment.get(TOKEN):
        path = _path(environment)
        if not read_private(path).strip():
            raise ConfigurationInvalid(f"{path} holds no token")
