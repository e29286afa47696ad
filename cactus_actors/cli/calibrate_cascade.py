"""The models of `cactus calibrate --cascade`, and what it prints about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from cactus_actors.cli.calibrate_options import option_lines, options_in_force
from cactus_actors.cli.shared_options import FIRST_ANSWER_S
from cactus_actors.cli.terminal import print_json

if TYPE_CHECKING:
    from cactus_actors.calibration.bound_scores import Bound
    from cactus_actors.calibration.cascade_report import CascadeReport


class Tiers(NamedTuple):
    """The models of a cascade, and the cost of each and of the cloud."""

    models: list[str]
    costs: list[float]


def tiers_of(
    cascade: str | None, costs: str | None, bound: Bound | None, others: list[tuple[str, object]]
) -> Tiers | None:
    """The models of --cascade, which goes with --max-error and none of the other options; None without it."""
    if cascade is None:
        if costs is not None:
            raise typer.BadParameter("--costs are those of --cascade")
        return None
    if bound is None:
        raise typer.BadParameter("--cascade needs a bound: give --max-error")
    for name, value in others:
        if value is not None:
            raise typer.BadParameter(f"{name} is about one model: leave out --cascade")
    models = [name.strip() for name in cascade.split(",")]
    if not all(models) or len(set(models)) < len(models):
        raise typer.BadParameter("--cascade takes different names of models, with commas between them")
    try:
        given = [0.0] * len(models) + [1.0] if costs is None else [float(cost) for cost in costs.split(",")]
    except ValueError:
        raise typer.BadParameter("--costs takes numbers, with commas between them") from None
    if len(given) != len(models) + 1 or not all(0.0 <= cost < float("inf") for cost in given):
        raise typer.BadParameter(f"--costs takes {len(models) + 1} numbers that are not negative, the cloud's last")
    return Tiers(models, given)


async def check_served(
    models: list[str], option: str, endpoint: str, stream_endpoint: str | None, key_file: str | None
) -> None:
    """Raise InvalidRequest unless the models of an option are different ones of the service."""
    from cactus_actors.client import AsyncClient
    from cactus_actors.client.served_model_names import model_names
    from cactus_actors.protocol.errors import InvalidRequest

    async with AsyncClient(endpoint, stream_endpoint, timeout=FIRST_ANSWER_S, key_file=key_file) as client:
        status = await client.status()
    names = [model_names(model, status, option).name for model in models]
    if len(set(names)) < len(names):
        raise InvalidRequest(f"{option}: two of the names are of one model", param=option)


def print_cascade(report: CascadeReport, bound: Bound, options: Mapping[str, Any], *, as_json: bool) -> None:
    """Print the thresholds, or the report as JSON."""
    from cactus_actors.calibration.cascade_report import cascade_lines

    if as_json:
        print_json(report.to_builtins() | {"options": options_in_force(options)})
        return
    for line in (*option_lines(options), *cascade_lines(report, bound)):
        typer.echo(line)
