"""Ray's environment variables, which it reads when it is imported: its settings, and its authentication token.

The owner of the token can run code on every node, so a private token is required.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, MutableMapping
from importlib.util import find_spec
from pathlib import Path

from cactus_actors.keys.private_file import read_private, write_private
from cactus_actors.protocol.errors import ConfigurationInvalid

MODE, PATH, TOKEN = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN_PATH", "RAY_AUTH_TOKEN"
_RAYS_OWN_PATH = Path("~/.ray/auth_token")

RAY_TIMEOUTS = {
    # Ray runs on this machine only, and its end is noticed immediately: a missing answer means it is slow.
    "worker_register_timeout_seconds": 600,
    "agent_register_timeout_ms": 600_000,
    "gcs_server_request_timeout_seconds": 600,
    "gcs_rpc_server_connect_timeout_s": 600,
    "gcs_rpc_server_reconnect_timeout_s": 600,
    "raylet_start_wait_time_s": 600,
    "health_check_timeout_ms": 600_000,
    # Task events are not used; with them a driver waits 5 s for an ended server.
    "task_events_report_interval_ms": 0,
}
SETTINGS = {
    # Ray runs its workers at nice 15, after everything else on the machine.
    "RAY_worker_niceness": "0",
    # The autoscaler serves metrics to all without a token, unless its port is invalid.
    "AUTOSCALER_METRIC_PORT": "-1",
    "RAY_gcs_server_port_wait_time_s": "600",
    # A call to Ray after the end of the connection fails, and starts no other Ray.
    "RAY_ENABLE_AUTO_CONNECT": "0",
    **{f"RAY_{name}": str(value) for name, value in RAY_TIMEOUTS.items()},
}


def require_ray(needed_by: str) -> None:
    """Raise ConfigurationInvalid if Ray, an extra of the package, is not installed."""
    if find_spec("ray") is None:
        raise ConfigurationInvalid(f"{needed_by} needs Ray, which is not installed: pip install 'cactus-actors[ray]'")


def prepare_environment(state_dir: Path) -> None:
    """Set Ray's token and settings before `import ray`; variables that are set already are kept.

    Raises ConfigurationInvalid like `make_token`.
    """
    make_token(state_dir, os.environ)
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)


def make_token(state_dir: Path, environment: MutableMapping[str, str]) -> None:
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
    """Raise ConfigurationInvalid unless a cluster's Ray requires a token that only this user can read."""
    if environment.get(MODE) != "token":
        raise ConfigurationInvalid(
            f"{MODE} must be token, here and where Ray was started: "
            "without it, everybody who reaches the ports of Ray can run code on every node"
        )
    _check_file(environment)


def token_source() -> str:
    """The source of Ray's token: the name of a variable, or a path."""
    return TOKEN if os.environ.get(TOKEN) else str(_path(os.environ))


def _path(environment: Mapping[str, str]) -> Path:
    return Path(environment.get(PATH) or _RAYS_OWN_PATH).expanduser()


def _check_file(environment: Mapping[str, str]) -> None:
    if not environment.get(TOKEN):
        path = _path(environment)
        if not read_private(path).strip():
            raise ConfigurationInvalid(f"{path} holds no token")
