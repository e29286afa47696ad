"""A key file: the CURVE keys that a client or worker needs for one service."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
import zmq

from cactus_actors.keys.key_pair import KeyPair, is_public_key
from cactus_actors.keys.private_file import read_private, write_private
from cactus_actors.protocol.errors import ConfigurationInvalid

KEY_FILE_VARIABLE = "CACTUS_KEY_FILE"

Role = Literal["client", "worker", "operator"]
"""A client submits jobs, an operator also scales the service, a worker runs jobs."""


@dataclass(frozen=True)
class Credentials:
    """A key pair and the public key of the service that accepts it."""

    pair: KeyPair
    server_key: str
    name: str = ""

    def secure(self, socket: zmq.Socket[Any]) -> None:
        """Encrypt `socket`, which is not yet connected, for that service only."""
        socket.setsockopt(zmq.CURVE_SERVERKEY, self.server_key.encode())
        socket.setsockopt(zmq.CURVE_PUBLICKEY, self.pair.public.encode())
        socket.setsockopt(zmq.CURVE_SECRETKEY, self.pair.reveal().encode())


class _KeyFile(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    role: Role
    tenant: str
    public_key: str
    secret_key: str
    server_key: str


def write_key_file(path: Path, credentials: Credentials, role: Role, tenant: str) -> None:
    """Write a key file, readable by its owner alone."""
    content = _KeyFile(
        name=credentials.name,
        role=role,
        tenant=tenant,
        public_key=credentials.pair.public,
        secret_key=credentials.pair.reveal(),
        server_key=credentials.server_key,
    )
    write_private(path, msgspec.json.format(msgspec.json.encode(content)) + b"\n")


def read_key_file(path: Path) -> Credentials:
    """Read a key file; raises ConfigurationInvalid, without quoting the content."""
    content = read_private(path.expanduser())
    try:
        file = msgspec.json.decode(content, type=_KeyFile)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise ConfigurationInvalid(f"{path} is not a key file of `cactus keys new`") from None
    try:
        pair = KeyPair(file.secret_key)
    except ConfigurationInvalid as error:
        raise ConfigurationInvalid(f"{path}: secret_key: {error.message}") from None
    if pair.public != file.public_key or not is_public_key(file.server_key):
        raise ConfigurationInvalid(f"{path} is damaged: its keys do not belong together")
    return Credentials(pair, file.server_key, file.name)


def find_credentials(key_file: str | Path | None) -> Credentials | None:
    """Read `key_file`; None stands for the file that CACTUS_KEY_FILE names, "" for no key."""
    path = os.environ.get(KEY_FILE_VARIABLE) if key_file is None else key_file
    try:
        return read_key_file(Path(path)) if path else None
    except ConfigurationInvalid as error:
        given_by = f"key_file, --key-file or {KEY_FILE_VARIABLE}"
        raise ConfigurationInvalid(f"{error.message} (the key file of {given_by})", param="key_file") from None
