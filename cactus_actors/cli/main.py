"""`cactus`: its commands; errors are one line and an exit code."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Annotated, Any

import typer

from cactus_actors.cli.command import Command, Group
from cactus_actors.cli.interrupts import Interrupted
from cactus_actors.protocol.errors import (
    CactusError,
    ConfigurationInvalid,
    InvalidRequest,
    Overloaded,
    StorageFailure,
    Unavailable,
)

EXIT_FAILED, EXIT_USAGE, EXIT_NO_INPUT, EXIT_UNAVAILABLE, EXIT_IO = 1, 2, 66, 69, 74
EXIT_INTERRUPTED = 130
TRACEBACK_VARIABLE = "CACTUS_TRACEBACK"
# types of cactus_actors.batch.batch_errors, by name so that only `cactus batch` loads them
_EXIT_CODES = {"input_invalid": EXIT_NO_INPUT, "input_changed": EXIT_NO_INPUT, "output_failed": EXIT_IO}

PANELS = {
    "Ask": ("complete", "chat", "batch"),
    "Serve": ("serve", "status", "scale", "drain", "restart", "demo", "doctor"),
    "Models": ("models", "warm", "quantize", "bench"),
    "The cloud": ("auth", "calibrate", "audit"),
}
"""The commands, which are functions of modules of their names."""
_MODULES = {"scale": "status", "restart": "status"}
"""Commands of other modules."""


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        import importlib.metadata

        typer.echo(f"cactus-actors {importlib.metadata.version('cactus-actors')}")
        raise typer.Exit


def cactus(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """An inference server for small language models on CPUs."""


def program(only: str | None = None) -> typer.Typer:
    """The program with all commands, or for a quick start with one of them alone, if there is one of that name."""
    app = typer.Typer(
        name="cactus",
        cls=Group,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(cactus)
    is_one = any(only in commands for commands in PANELS.values())
    for panel, commands in PANELS.items():
        for name in commands:
            if name == only or not is_one:
                # -1 is an invalid number, not an option
                context = {"ignore_unknown_options": True} if name == "scale" else None
                app.command(cls=Command, rich_help_panel=panel, context_settings=context)(_loaded(name))
    if not is_one:
        for name in ("keys", "lora"):
            app.add_typer(_loaded(name), name=name, rich_help_panel="Serve")
    return app


def _loaded(name: str) -> Any:
    return getattr(importlib.import_module(f"cactus_actors.cli.{_MODULES.get(name, name)}"), name)


def __getattr__(name: str) -> typer.Typer:
    """`app`, the program with all commands, which a run of one command does not need."""
    if name != "app":
        raise AttributeError(name)
    app = globals()["app"] = program()
    return app


def main() -> None:
    """Run one command.

    Exit codes: 0 success, 1 failure, 2 wrong usage, configuration or request, 66 unusable input file, 69 service
    not available, 74 failed write, 130 interrupted (129 by SIGHUP, 143 by SIGTERM).
    """
    try:
        program(only=sys.argv[1] if len(sys.argv) > 1 else None)()
    except CactusError as error:
        _print_error(error.message)
        sys.exit(exit_code(error))
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    except Interrupted as interrupt:
        sys.exit(interrupt.exit_code)
    except BrokenPipeError:
        # the reader of the output has ended: nothing may be flushed to it at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_FAILED)
    except Exception as error:
        if os.environ.get(TRACEBACK_VARIABLE):
            raise
        _print_error(f"unexpected {type(error).__name__}: {error} ({TRACEBACK_VARIABLE}=1 shows where)")
        sys.exit(EXIT_FAILED)


def _print_error(message: str) -> None:
    typer.secho(f"error: {' '.join(message.split())}", fg=typer.colors.RED, err=True)


def exit_code(error: CactusError) -> int:
    """The exit code for `error`; see `main`."""
    match error:
        case _ if error.type in _EXIT_CODES:
            return _EXIT_CODES[error.type]
        case ConfigurationInvalid() | InvalidRequest():
            return EXIT_USAGE
        case Unavailable() | Overloaded() | StorageFailure():
            return EXIT_UNAVAILABLE
    return EXIT_FAILED


if __name__ == "__main__":
    main()
