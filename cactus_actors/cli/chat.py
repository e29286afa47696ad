"""`cactus chat`: a conversation at the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from cactus_actors.api.params import resolve_options
from cactus_actors.cli import shared_options as shared
from cactus_actors.cli.chat_input import ReadLine, is_conversation, reader, unechoed
from cactus_actors.cli.image_files import pictures_of_files, typed_path
from cactus_actors.cli.interrupts import raising_interrupted
from cactus_actors.cli.terminal import AnswerWriter, summary
from cactus_actors.cli.wait_notice import WaitNotice
from cactus_actors.config import DEFAULT_JOBS_ENDPOINT
from cactus_actors.protocol.errors import (
    CactusError,
    ContextExceeded,
    InvalidRequest,
    ModelNotFound,
    NotSupported,
    Unavailable,
)
from cactus_actors.protocol.options import Options

if TYPE_CHECKING:
    from cactus_actors.client import Client
    from cactus_actors.protocol.messages import Status
    from cactus_actors.protocol.service_status import ModelStatus

HELP = """\
/system TEXT      open the conversation with this, from its start; alone: show it
/set NAME VALUE   change an option, such as temperature; alone: show them; without VALUE: as it was
/image FILE       ask the next question about this picture, too; alone: about none
/retry            ask the last question again
/save FILE        write the conversation as JSON messages
/reset            forget the conversation
/help             this list
/exit             leave (Ctrl-D does too)
Ctrl-C stops an answer. Several lines that are pasted are one message."""


def chat(
    system: Annotated[str | None, typer.Option(help="A system message that opens the conversation.")] = None,
    model: shared.Model = None,
    lora: shared.Lora = None,
    max_tokens: shared.MaxTokens = None,
    temperature: shared.Temperature = None,
    seed: shared.Seed = None,
    enable_thinking: shared.Think = None,
    thinking_budget: shared.ThinkingBudget = None,
    show_reasoning: shared.ShowReasoning = None,
    cloud_handoff_threshold: shared.HandoffThreshold = None,
    endpoint: shared.Endpoint = DEFAULT_JOBS_ENDPOINT,
    stream_endpoint: shared.StreamEndpoint = None,
    key_file: shared.KeyFile = None,
) -> None:
    """Talk with the model; answers appear while they are generated.

    Example: cactus chat --system "Answer briefly." --temperature 0.3

    Example: cactus chat --model qwen
    """
    options = shared.given_options(locals())
    from cactus_actors.client import Client

    resolve_options(Options(**options))  # check the options before the first message
    with (
        raising_interrupted(),
        Client(endpoint, stream_endpoint, timeout=shared.FIRST_ANSWER_S, key_file=key_file) as client,
    ):
        _print_greeting(client.status(), model, lora or "")
        ChatSession(client, system, options, show_reasoning, model).run(reader())


def _print_greeting(status: Status, model: str | None, lora: str) -> None:
    """Print the name of the model and of the adapter at a terminal.

    Raises NotSupported for a model without chat template, and ModelNotFound for an adapter that it lacks. Nothing is
    known of a cascade.
    """
    from cactus_actors.client.served_model_names import requested_model

    asked = requested_model(model, status)
    has_template = status.has_chat_template if asked is None else asked.has_chat_template
    name = status.model if asked is None else asked.name
    is_known = asked is not None or not status.models
    if is_known and not has_template:
        raise NotSupported(
            f"the model {name} has no chat template, which a conversation needs: "
            "`cactus complete --raw` continues text, `cactus serve --chat-template FILE` gives it a template",
            param="messages",
        )
    if lora and is_known:
        _check_adapter(lora, status, asked)
    if is_conversation():
        shown = model if model is not None and status.models else status.model
        _print_dimmed(f"{':'.join(filter(None, (shown, lora)))} · /help for commands")


def _check_adapter(lora: str, status: Status, model: ModelStatus | None) -> None:
    """Raise ModelNotFound unless the model, by default the only one, has the adapter."""
    names = [adapter.name for adapter in status.adapters if model is None or adapter.model == model.name]
    if lora in names:
        return
    owner = "this service" if model is None else model.name
    other = next((adapter.model for adapter in status.adapters if adapter.name == lora), "")
    hint = f"; {other} has it: --model {other}" if other else ""
    raise ModelNotFound(
        f"no adapter {lora[:80]!r}; adapters of {owner}: {', '.join(names) or 'none'}{hint}", param="lora"
    )


class ChatSession:
    """The conversation so far, and its options."""

    def __init__(
        self,
        client: Client,
        system: str | None,
        options: dict[str, Any],
        shows_reasoning: bool | None = None,
        model: str | None = None,
    ) -> None:
        self._client = client
        self._model = model
        self._opening: list[dict[str, Any]] = []
        if system is not None:
            self._opening.append({"role": "system", "content": system})
        self._turns = list(self._opening)
        self._images: list[bytes] = []
        """The pictures of the next question."""
        self._options = options
        self._shows_reasoning = shows_reasoning

    def run(self, read: ReadLine) -> None:
        """Run turns until the user leaves."""
        while (text := read()) is not None:
            if not text.strip():
                continue
            command, _, rest = text.strip().partition(" ")
            if "\n" in text or not command.startswith("/"):
                self._take_turn(text)
            elif command in ("/exit", "/quit"):
                return
            else:
                self._run_command(command, rest.strip())

    def _run_command(self, command: str, rest: str) -> None:
        match command:
            case "/help":
                _print_dimmed(HELP)
            case "/reset":
                self._turns = list(self._opening)
                _print_dimmed("the conversation starts again")
            case "/system":
                self._set_system(rest)
            case "/set":
                self._set_option(*rest.partition(" ")[::2])
            case "/image":
                self._add_image(rest)
            case "/retry":
                self._retry()
            case "/save":
                self._save(rest)
            case _:
                _print_dimmed(f"no command {command}; /help lists them")

    def _set_system(self, text: str) -> None:
        if text:
            turns = self._turns[len(self._opening) :]
            self._opening = [{"role": "system", "content": text}]
            self._turns = [*self._opening, *turns]
        _print_dimmed(f"system: {self._opening[0]['content'] if self._opening else '-'}")

    def _set_option(self, name: str, value: str) -> None:
        """Change an option by name; an invalid value is reported and ignored."""
        name = name.replace("-", "_")
        if name:
            changed = {other: known for other, known in self._options.items() if other != name}
            if value.strip():
                changed[name] = _value(value.strip())
            try:
                resolve_options(_known_options(name, changed))
            except CactusError as error:
                _print_dimmed(f"/set {name}: {error}")
                return
            self._options = changed
        shown = ", ".join(f"{name} {value}" for name, value in sorted(self._options.items()))
        _print_dimmed(f"options: {shown or '-'}")

    def _add_image(self, name: str) -> None:
        """Read a picture for the next question; one that cannot be read is reported and ignored."""
        if not name:
            self._images = []
        else:
            try:
                self._images += pictures_of_files([typed_path(name)])
            except InvalidRequest as error:
                _print_dimmed(f"/image: {error.message}")
                return
        _print_dimmed(f"pictures of the next question: {len(self._images)}")

    def _retry(self) -> None:
        asked = self._turns[:-1] if self._turns and self._turns[-1]["role"] == "assistant" else self._turns
        if not asked or asked[-1]["role"] != "user":
            _print_dimmed("nothing was asked yet")
            return
        self._turns = asked[:-1]
        self._images = asked[-1].get("images", [])
        self._take_turn(str(asked[-1]["content"]))

    def _save(self, name: str) -> None:
        if not name:
            _print_dimmed("/save FILE")
            return
        path = Path(name).expanduser()
        try:
            with path.open("xb") as file:
                messages = [_with_data_urls(turn) for turn in self._turns]
                file.write(msgspec.json.format(msgspec.json.encode({"messages": messages}), indent=2))
        except OSError as error:
            _print_dimmed(f"{path}: {error.strerror}")
            return
        _print_dimmed(f"{len(self._turns)} messages are in {path}")

    def _take_turn(self, text: str) -> None:
        pictures = {"images": self._images} if self._images else {}
        asked = [*self._turns, {"role": "user", "content": text, **pictures}]
        self._images = []
        answer, reasoning = "", ""
        writer = AnswerWriter(self._shows_reasoning)
        try:
            with (
                unechoed(),
                self._client.stream(messages=asked, model=self._model, **self._options) as stream,
                WaitNotice(self._client) as notice,
            ):
                for delta in stream:
                    notice.stop()
                    answer += delta.text
                    reasoning += delta.reasoning_content
                    writer.add(delta.text, delta.reasoning_content)
                result = stream.result()
            writer.end()
            _print_dimmed(summary(result))
        except KeyboardInterrupt:  # leaving the stream has cancelled the job
            writer.end()
            _print_dimmed("stopped")
            if not answer:
                return
        except (Unavailable, NotSupported) as error:  # later turns would fail as well, except those without pictures
            if not pictures or isinstance(error, Unavailable):
                raise
            typer.secho(f"error: {error.message}", fg=typer.colors.RED, err=True)
            return
        except ContextExceeded as error:
            _print_dimmed(f"{error.message}; /reset starts again")
            return
        except CactusError as error:
            if isinstance(error, ModelNotFound) and error.param == "model" and self._turns == self._opening:
                raise
            if answer:
                writer.end()
            typer.secho(f"error: {error.message}", fg=typer.colors.RED, err=True)
            return
        thought = {"reasoning_content": reasoning} if reasoning else {}
        self._turns = [*asked, {"role": "assistant", "content": answer, **thought}]


def _known_options(name: str, given: dict[str, Any]) -> Options:
    """Raise InvalidRequest for an unknown option or a wrong type."""
    from cactus_actors.client.submit import make_options

    if name not in Options.__struct_fields__ and name not in given:
        make_options({name: None})  # resetting an unknown option is an error, too
    return make_options(given)


def _with_data_urls(turn: dict[str, Any]) -> dict[str, Any]:
    """The turn with its pictures inside."""
    from cactus_actors.client.picture_files import data_url

    return {**turn, "images": [*map(data_url, turn["images"])]} if "images" in turn else turn


def _value(text: str) -> Any:
    """The value as JSON, otherwise as text."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _print_dimmed(text: str) -> None:
    typer.secho(text, dim=True, err=True)
