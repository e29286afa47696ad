"""`cactus complete`: one answer."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cactus_actors.cli import shared_options as shared
from cactus_actors.cli.image_files import pictures_of_files
from cactus_actors.cli.interrupts import raising_interrupted
from cactus_actors.cli.terminal import AnswerWriter, print_json, summary
from cactus_actors.cli.wait_notice import WaitNotice
from cactus_actors.config import DEFAULT_JOBS_ENDPOINT
from cactus_actors.protocol.errors import InvalidRequest, NotSupported
from cactus_actors.protocol.results import Result

if TYPE_CHECKING:
    from cactus_actors.client import Client


def complete(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="PROMPT", help="The question; by default it is read from stdin."),
    ] = None,
    stream: Annotated[bool, typer.Option("--stream", help="Show the answer while it is generated.")] = False,
    system: Annotated[str | None, typer.Option(help="A system message before the question.")] = None,
    image: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A picture to ask about; the option may be repeated."),
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Continue the text as it is, without the chat template.")] = False,
    model: shared.Model = None,
    lora: shared.Lora = None,
    max_tokens: shared.MaxTokens = None,
    temperature: shared.Temperature = None,
    top_p: shared.TopP = None,
    top_k: shared.TopK = None,
    min_p: shared.MinP = None,
    seed: shared.Seed = None,
    stop: shared.Stop = None,
    repeat_penalty: shared.RepeatPenalty = None,
    ignore_eos: Annotated[bool | None, typer.Option("--ignore-eos", help="Continue after an end token.")] = None,
    enable_thinking: shared.Think = None,
    thinking_budget: shared.ThinkingBudget = None,
    show_reasoning: shared.ShowReasoning = None,
    cloud_handoff_threshold: shared.HandoffThreshold = None,
    no_cloud: Annotated[bool, typer.Option("--no-cloud", help="Never hand off, whatever the confidence.")] = False,
    timeout_ms: Annotated[int | None, typer.Option(help="The job's deadline in milliseconds.")] = None,
    as_json: shared.AsJson = False,
    endpoint: shared.Endpoint = DEFAULT_JOBS_ENDPOINT,
    stream_endpoint: shared.StreamEndpoint = None,
    key_file: shared.KeyFile = None,
) -> None:
    """Answer one question.

    Example: cactus complete "What is the capital of France?" --stream --temperature 0
    """
    request = shared.given_options(locals())
    text = " ".join(words) if words else _standard_input()
    if not text:
        raise InvalidRequest("the prompt is empty", param="prompt")
    if model is not None:
        request["model"] = model
    if no_cloud:
        request["allow_cloud"] = False
    if raw:
        if system is not None or image:
            name = "image" if image else "system"
            raise InvalidRequest(f"--{name} needs the chat template that --raw leaves out", param=name)
        request["prompt"] = text
    else:
        turns = [{"role": "system", "content": system}] if system is not None else []
        pictures = {"images": pictures_of_files(image)} if image else {}
        request["messages"] = [*turns, {"role": "user", "content": text, **pictures}]

    from cactus_actors.client import Client

    writer = AnswerWriter(show_reasoning)
    with (
        raising_interrupted(),  # closing the stream cancels the job
        Client(endpoint, stream_endpoint, timeout=shared.FIRST_ANSWER_S, key_file=key_file) as client,
    ):
        try:
            _answer(client, request, writer, stream=stream, as_json=as_json)
        except NotSupported as error:
            # a model without a chat template can only continue text
            if error.param != "messages" or system is not None or image:
                raise
            del request["messages"]
            _answer(client, {**request, "prompt": text}, writer, stream=stream, as_json=as_json)


def _answer(client: Client, request: dict[str, Any], writer: AnswerWriter, *, stream: bool, as_json: bool) -> None:
    if not stream:
        with WaitNotice(client):
            result = client.complete(**request)
        if not as_json:
            writer.add(result.text, result.reasoning_content or "")
        _finish(result, writer, as_json=as_json)
        return
    with client.stream(**request) as deltas, WaitNotice(client) as notice:
        for delta in deltas:
            notice.stop()
            if as_json:
                print_json(delta)
            else:
                writer.add(delta.text, delta.reasoning_content)
        _finish(deltas.result(), writer, as_json=as_json)


def _finish(result: Result, writer: AnswerWriter, *, as_json: bool) -> None:
    if as_json:
        print_json(result)
        return
    writer.end()
    if sys.stderr.isatty() or result.handoff.status != "none":
        typer.secho(summary(result), dim=True, err=True)


def _standard_input() -> str:
    if sys.stdin.isatty():
        raise InvalidRequest("give a prompt, or send one on stdin", param="prompt")
    # the C.UTF-8 locale would decode invalid UTF-8 to surrogates
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="strict")
    try:
        text = sys.stdin.read()
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"stdin is not UTF-8 at byte {error.start}", param="prompt") from None
    return text.removesuffix("\n")
