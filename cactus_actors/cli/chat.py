"""`cactus chat`: a conversation at the terminal."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cactus_actors.cli.options import (
    FIRST_ANSWER_S,
    Endpoint,
    HandoffThreshold,
    KeyFile,
    MaxTokens,
    Seed,
    ShowReasoning,
    StreamEndpoint,
    Temperature,
    Think,
    ThinkingBudget,
)
from cactus_actors.cli.terminal import AnswerWriter, show, summary
from cactus_actors.config import DEFAULT_JOBS_ENDPOINT
from cactus_actors.protocol.errors import CactusError, ContextExceeded, NotSupported, Unavailable
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.params import resolve_options

if TYPE_CHECKING:
    from cactus_actors.client import Client

HELP = """\
/reset   forget the conversation
/help    this list
/exit    leave (Ctrl-D does too)
Ctrl-C stops an answer."""


def chat(
    system: Annotated[str | None, typer.Option(help="A system message that opens the conversation.")] = None,
    max_tokens: MaxTokens = None,
    temperature: Temperature = None,
    seed: Seed = None,
    think: Think = None,
    thinking_budget: ThinkingBudget = None,
    show_reasoning: ShowReasoning = None,
    cloud_handoff_threshold: HandoffThreshold = None,
    endpoint: Endpoint = DEFAULT_JOBS_ENDPOINT,
    stream_endpoint: StreamEndpoint = None,
    key_file: KeyFile = None,
) -> None:
    """Talk with the model; answers appear while they are made.

    Example: cactus chat --system "Answer briefly." --temperature 0.3
    """
    given = {
        "max_tokens": max_tokens,
        "temperature": temperature,
        "seed": seed,
        "enable_thinking": think,
        "thinking_budget": thinking_budget,
        "cloud_handoff_threshold": cloud_handoff_threshold,
    }
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  (line editing and history for input)

    from cactus_actors.client import Client

    resolve_options(Options(**options))  # a mistake is told before anybody has typed a word
    with Client(endpoint, stream_endpoint, timeout=FIRST_ANSWER_S, key_file=key_file) as client:
        _whisper(f"{client.status().model} · /help for commands")
        Conversation(client, system, options, show_reasoning).run()


class Conversation:
    """Turns so far and how to make the next one."""

    def __init__(
        self, client: Client, system: str | None, options: dict[str, Any], shows_reasoning: bool | None = None
    ) -> None:
        self._client = client
        self._opening = [] if system is None else [{"role": "system", "content": system}]
        self._turns = list(self._opening)
        self._options = options
        self._shows_reasoning = shows_reasoning

    def run(self) -> None:
        """Take turns until the user leaves."""
        while (said := _read_line()) is not None:
            match said.strip():
                case "":
                    continue
                case "/exit" | "/quit":
                    return
                case "/help":
                    _whisper(HELP)
                case "/reset":
                    self._turns = list(self._opening)
                    _whisper("the conversation starts again")
                case command if command.startswith("/") and " " not in command:
                    _whisper(f"no command {command}; /help lists them")
                case _:
                    self._take_turn(said)

    def _take_turn(self, said: str) -> None:
        asked = [*self._turns, {"role": "user", "content": said}]
        answer, reasoning = "", ""
        writer = AnswerWriter(self._shows_reasoning)
        try:
            with self._client.stream(messages=asked, **self._options) as stream:
                for delta in stream:
                    answer += delta.text
                    reasoning += delta.reasoning_content
                    writer.add(delta)
                result = stream.result()
            writer.end()
            _whisper(summary(result))
        except KeyboardInterrupt:  # wherever it came; leaving the stream has cancelled the job
            show("\n")
            _whisper("stopped")
            if not answer:
                return
        except (Unavailable, NotSupported):  # no other turn would fare better
            raise
        except ContextExceeded as error:
            _whisper(f"{error.message}; /reset starts again")
            return
        except CactusError as error:
            show("\n" if answer else "")
            typer.secho(f"error: {error.message}", fg=typer.colors.RED, err=True)
            return
        thought = {"reasoning_content": reasoning} if reasoning else {}
        self._turns = [*asked, {"role": "assistant", "content": answer, **thought}]


def _read_line() -> str | None:
    """What the user types, None at the end of input; Ctrl-C clears the line."""
    while True:
        try:
            return input("> " if sys.stdin.isatty() else "")
        except KeyboardInterrupt:
            show("\n")
        except EOFError:
            return None


def _whisper(text: str) -> None:
    typer.secho(text, dim=True, err=True)
