"""The settings, and the addresses that a service will listen on."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from pathlib import Path

from cactus_actors.config import ServeConfig
from cactus_actors.doctor.finding import Finding
from cactus_actors.protocol.errors import CactusError, ConfigurationInvalid
from cactus_actors.service.ports import check_ports
from cactus_actors.service.preflight import check_settings
from cactus_actors.service.state_directory import LOCK


def settings(config: ServeConfig, environment: Mapping[str, str]) -> Finding:
    """Everything that a start refuses before it creates anything."""
    try:
        check_settings(config, environment)
    except CactusError as error:
        advice = "change this setting: cactus serve refuses it"
        return Finding(subject="settings", grade="bad", text=error.message, advice=advice)
    return Finding(subject="settings", grade="good", text="cactus serve accepts them")


def ports(config: ServeConfig) -> Finding:
    """The ports are free, or the service of this state directory runs."""
    listening = ", ".join(filter(None, (config.jobs_endpoint, config.stream_endpoint, config.http, config.ollama)))
    if owner := running_service(config.state_dir.expanduser()):
        return Finding(subject="ports", grade="good", text=f"the service of this state directory runs: {owner}")
    try:
        check_ports(config, wait_s=0.0)
    except ConfigurationInvalid as error:
        advice = "stop the other program (ss -ltnp names it), or choose other ports"
        return Finding(subject="ports", grade="bad", text=error.message, advice=advice)
    return Finding(subject="ports", grade="good", text=f"free: {listening}")


def running_service(state_dir: Path) -> str:
    """The process and endpoint of the service that has the state directory; empty if none has it."""
    try:
        lock = os.open(state_dir / LOCK, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return ""
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(lock, 1000, 0).decode(errors="replace").strip() or "unnamed"
    finally:
        os.close(lock)
    return ""
