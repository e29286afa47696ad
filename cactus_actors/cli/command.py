"""Command and Group: typer's, with a help page and errors in our own words."""

from __future__ import annotations

import math
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from cactus_actors.cli.parameters import wanted_by
from cactus_actors.cli.texts import accept_texts


class Command(TyperCommand):
    """A command; the error of an invalid argument names its type, choices or range in words. NaN is in no range."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        accept_texts(self, ctx)
        try:
            rest = super().parse_args(ctx, args)
        except typer.BadParameter as error:
            # a message of a parser of ours has no cause; the others are those of typer's libraries
            is_ours = error.__cause__ is None or error.param is None
            wanted = None if is_ours else wanted_by(self, error.param)
            if wanted is not None:
                error.message = f"it must be {wanted}"
            raise
        parameters: list[Any] = [*self.params]
        for parameter in parameters:
            value = ctx.params.get(parameter.name)
            if isinstance(value, float) and math.isnan(value):
                raise typer.BadParameter(f"it must be {wanted_by(self, parameter)}", ctx=ctx, param=parameter)
        return rest

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from cactus_actors.cli.help_page import help_page

        formatter.write(help_page(self, ctx))


class Group(TyperGroup):
    """A command of commands."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        accept_texts(self, ctx)
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from cactus_actors.cli.help_page import help_page

        formatter.write(help_page(self, ctx))
