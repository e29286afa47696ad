"""`cactus auth`: the cloud key."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cactus_actors.protocol.errors import ConfigurationInvalid


def auth(
    show: Annotated[bool, typer.Option("--show", help="Say which key is stored, masked.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Remove the stored key.")] = False,
) -> None:
    """Store the key of the cloud that takes handoffs, readable by you alone.

    The key is asked for, or read from stdin; never from the command line, which others can see.

    Example: cactus auth < key.txt
    """
    from cactus_actors.handoff.credentials import (
        KEY_VARIABLE,
        CloudKey,
        credentials_path,
        forget_key,
        load_key,
        store_key,
    )

    if show and forget:
        raise ConfigurationInvalid("--show and --forget exclude each other")
    if forget:
        typer.echo("the key is forgotten" if forget_key() else "no key was stored")
    elif show:
        key = load_key()
        if key is None:
            typer.echo(f"no key: neither {KEY_VARIABLE} nor {credentials_path()}")
        else:
            typer.echo(_masked(key.reveal()))
    else:
        if not (key_given := _ask_for_key()):
            raise ConfigurationInvalid("no key was given; nothing is stored")
        typer.echo(f"stored in {store_key(CloudKey(key_given))}")


def _ask_for_key() -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().strip()
    import getpass

    try:
        return getpass.getpass("cloud key (not shown): ").strip()
    except EOFError:
        return ""


def _masked(key: str) -> str:
    return f"{key[:3]}…{key[-4:]}" if len(key) >= 16 else "…"
