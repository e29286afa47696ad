"""`cactus auth`: stores the cloud key."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from cactus_actors.protocol.errors import ConfigurationInvalid

MIN_SHOWN = 20  # nothing of a shorter key is shown


def auth(
    show: Annotated[bool, typer.Option("--show", help="Print the stored key, masked.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Remove the stored key.")] = False,
    config: Annotated[
        Path | None,
        typer.Option(help="The service's TOML file; its [handoff] base_url is where the key is sent."),
    ] = None,
) -> None:
    """Store the key of the cloud that takes handoffs, readable by you alone.

    The key goes to the endpoint that `cactus serve` hands answers off to and nowhere else: OpenAI's, unless
    `base_url` in `[handoff]` of its configuration names another (docs/guide/handoff.md). It is asked for, or read
    from stdin; never from the command line, which others can see.

    Example: cactus auth < key.txt
    """
    from cactus_actors.handoff.cloud_key import (
        CLOUD_KEY_VARIABLE,
        CloudKey,
        credentials_path,
        forget_cloud_key,
        load_cloud_key,
        store_cloud_key,
    )

    if show and forget:
        raise ConfigurationInvalid("--show and --forget exclude each other")
    if forget:
        typer.echo("the stored key was removed" if forget_cloud_key() else "no key was stored")
    elif show:
        key = load_cloud_key()
        if key is None:
            typer.echo(f"no key: neither {CLOUD_KEY_VARIABLE} nor {credentials_path()}")
        else:
            typer.echo(masked(key.reveal()))
    else:
        typer.echo(_destination(config), err=True)
        if not (key_given := _ask_for_key()):
            raise ConfigurationInvalid("no key was given; nothing is stored")
        typer.echo(f"stored in {store_cloud_key(CloudKey(key_given))}")


def _ask_for_key() -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().strip()
    import getpass

    try:
        return getpass.getpass("cloud key (not shown): ").strip()
    except EOFError:
        return ""


def _destination(config: Path | None) -> str:
    """The destination of a stored key."""
    import httpx

    from cactus_actors.cli.config_file import config_of
    from cactus_actors.handoff.settings_check import plain_text_warning

    settings = config_of(config, {}).handoff
    url = httpx.URL(settings.base_url)
    text = (
        f"the key goes to {url.host} ({settings.base_url}, asked for the model {settings.model}), "
        "with the prompts that are handed off"
    )
    if config is None:
        text += "; [handoff] base_url in the --config file of cactus serve names another (docs/guide/handoff.md)"
    if warning := plain_text_warning(settings):
        text += f"\nwarning: {warning}"
    return text


def masked(key: str) -> str:
    """The last four characters of a key, to recognise it; nothing of a short key."""
    return f"…{key[-4:]} ({len(key)} characters)" if len(key) >= MIN_SHOWN else f"{len(key)} characters"
