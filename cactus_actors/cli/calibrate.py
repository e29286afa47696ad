"""`cactus calibrate`: finds a confidence threshold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args

import typer

from cactus_actors.cli import shared_options as shared
from cactus_actors.cli.calibrate_cascade import check_served, print_cascade, tiers_of
from cactus_actors.cli.calibrate_fits import (
    PROBABILITY,
    PROBE,
    PROMPT_PROBE,
    PROMPT_PROBE_OF_TWO,
    use_of,
    write_fit,
)
from cactus_actors.cli.calibrate_options import option_lines, options_in_force
from cactus_actors.cli.terminal import print_json
from cactus_actors.config import DEFAULT_JOBS_ENDPOINT
from cactus_actors.protocol.confidence import FittedSignalName, SignalName

if TYPE_CHECKING:
    from rich.progress import Progress

    from cactus_actors.calibration import Calibration, Example, ExampleOutcome, ThresholdTarget
    from cactus_actors.calibration.bound_report import BoundReport
    from cactus_actors.calibration.bound_scores import Bound

DEFAULT_PRECISION = 0.95
DEFAULT_CONFIDENCE = 0.95


def calibrate(
    source: Annotated[Path, typer.Argument(metavar="DATA.jsonl", help="Labelled questions, as described above.")],
    precision: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Required share of right answers among those that are not handed off.",
        ),
    ] = None,
    cloud_share: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Or: the share of the questions that is handed off at most.")
    ] = None,
    max_error: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Or: a bound. The share of wrong answers among those that stay."),
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(
            min=0.0, max=1.0, help="The probability with which the bound of --max-error holds; 0.95 if not given."
        ),
    ] = None,
    signal: Annotated[
        SignalName | None,
        typer.Option(
            help="The signal of --max-error, by default the one that the service uses, or of --probability, by default "
            "the one with the best AUROC."
        ),
    ] = None,
    first_gate: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=10,
            help="The first gate of --max-error, in tokens, 0 for the end alone; by default the one of the service.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The model that is asked, in a service of several; by default the first."),
    ] = None,
    cascade: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL,MODEL",
            help="With --max-error: a threshold for each of these models of the service, in the order of asking.",
        ),
    ] = None,
    costs: Annotated[
        str | None,
        typer.Option(
            metavar="COST,COST,COST",
            help="Of a question to each model of --cascade, and last to the cloud; by default 0 and 1.",
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Draw accuracy against the share handed off; needs matplotlib.")
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(metavar="JSONL", help="Write the answers with verdicts and scores, for the service's page."),
    ] = None,
    probe: Annotated[
        Path | None, typer.Option(metavar="JSON", help="Fit a confidence probe to the answers, and write it.")
    ] = None,
    probability: Annotated[
        Path | None,
        typer.Option(metavar="JSON", help="Fit the probability that an answer is right to a signal, and write it."),
    ] = None,
    prompt_probe: Annotated[
        Path | None,
        typer.Option(
            metavar="JSON",
            help='Fit a probe of prompts, for gate = "prompt", and write it; with --second, of what that improves.',
        ),
    ] = None,
    second: Annotated[
        str | None,
        typer.Option(
            metavar="ENDPOINT",
            help="The jobs endpoint, tcp://HOST:PORT, of a better cactus service in place of the cloud; it is asked "
            "all questions.",
        ),
    ] = None,
    max_in_flight: Annotated[int, typer.Option(min=1, max=1000, help="Jobs in the service at once.")] = 32,
    max_tokens: shared.MaxTokens = None,
    temperature: shared.Temperature = None,
    seed: shared.Seed = 0,
    as_json: shared.AsJson = False,
    endpoint: shared.Endpoint = DEFAULT_JOBS_ENDPOINT,
    stream_endpoint: shared.StreamEndpoint = None,
    key_file: shared.KeyFile = None,
) -> None:
    """Ask labelled questions, and find the threshold at which to hand off to the cloud.

    A line of DATA.jsonl has "question" (one message), "messages" or "prompt" (text to continue), and may have
    "tools". It says what is right with "answer" (equal except for case, white space and a final full stop),
    "contains" (a text or a list of them), "regex", or "calls" (tool calls, each with name and arguments). All
    that are given must hold. Answers are sampled, at temperature 0.6, unless --temperature is given: give the
    options of your requests, such as --temperature 0 for greedy answers. The output names those in force.

    The table has a row for each confidence signal: its AUROC (the chance that a right answer scores above a
    wrong one); the threshold that reaches --precision (by default 0.95) or --cloud-share on these questions;
    the share of right answers among those that stay, its exact 95% confidence interval, and the two counts.
    The threshold is chosen by the answers that it is judged by, so on other questions the precision may well
    be lower. The gates of the service are replayed token by token: a second table has the first gate of the
    service, a better one where one pays, and the tokens that are computed before a handoff. --max-error 0.05
    gives a bound instead: with --confidence, at most this share of the answers that stay is wrong, on all
    questions that are drawn as these were. It has a row for each "group" that lines name. With --cascade the
    thresholds of several models are chosen together, for the least mean cost. Use a threshold as
    cloud_handoff_threshold, with the printed settings under [handoff] in the file of cactus serve. A probe
    written by --probe is used as probe_file. It is fitted to the tokens that each gate of the service judges;
    the row "new probe" judges each answer by a probe that was fitted without it. --probability writes the
    probability_file of the signal probability; the row "new probability" and its calibration error (ECE) come
    from fits without the answer, too. --prompt-probe writes a prompt_probe_file, which hands off before the
    answer; so do the values of the row "new prompt", whose threshold is a prompt_threshold. With --second, that
    probe hands off what is answered wrong here and right there, else all that is answered wrong. A useful
    estimate takes some hundred lines and some dozen wrong answers.

    Example: cactus calibrate questions.jsonl --precision 0.97 --plot curve.png
    """
    options = shared.given_options(locals())
    import asyncio

    from cactus_actors.calibration import Calibration, ThresholdTarget, read_examples
    from cactus_actors.calibration.answers_file import head_of, write_answers
    from cactus_actors.calibration.bound_report import BoundReport
    from cactus_actors.calibration.bound_scores import Bound
    from cactus_actors.calibration.cascade_report import CascadeReport
    from cactus_actors.calibration.plotting import check_plotting, write_plot

    if sum(target is not None for target in (precision, cloud_share, max_error)) > 1:
        raise typer.BadParameter("give one of --precision, --cloud-share and --max-error")
    level = DEFAULT_CONFIDENCE if confidence is None else confidence
    if max_error is not None and not (0.0 < max_error < 1.0 and 0.0 < level < 1.0):
        raise typer.BadParameter("--max-error and --confidence are between 0 and 1, and neither")
    if max_error is None and (confidence is not None or first_gate is not None):
        raise typer.BadParameter("--confidence and --first-gate are about the bound of --max-error")
    if max_error is None and probability is None and signal is not None:
        raise typer.BadParameter(
            "--signal is that of --max-error or --probability; without them every signal has a row"
        )
    if probability is not None and signal == "probability":
        raise typer.BadParameter("--probability is fitted to another signal")
    bound = None if max_error is None else Bound(max_error, level, signal, first_gate)
    fits = [("--probe", probe), ("--probability", probability), ("--prompt-probe", prompt_probe)]
    tiers = tiers_of(
        cascade,
        costs,
        bound,
        [("--model", model), ("--plot", plot), ("--answers", answers), *fits, ("--second", second)],
    )
    if plot is not None:
        check_plotting()
    for path in filter(None, (plot, answers, probe, probability, prompt_probe)):
        _check_output(path)
    target = ThresholdTarget(precision if precision is not None else DEFAULT_PRECISION, cloud_share)
    examples = read_examples(source)
    if bound is not None and tiers is not None:
        asyncio.run(check_served(tiers.models, "--cascade", endpoint, stream_endpoint, key_file))
        asked = [_Asked(endpoint, stream_endpoint, model) for model in tiers.models]
        answered = asyncio.run(_ask(asked, key_file, examples, options, max_in_flight))
        print_cascade(CascadeReport.of(tiers.models, answered, tiers.costs, bound), bound, options, as_json=as_json)
        return
    if model is not None:
        asyncio.run(check_served([model], "--model", endpoint, stream_endpoint, key_file))
    asked = [_Asked(endpoint, stream_endpoint, model), *([_Asked(second)] if second else [])]
    answered = asyncio.run(_ask(asked, key_file, examples, options, max_in_flight))
    calibration = Calibration.of(
        answered[0],
        target,
        answered[1] if second else None,
        _fitted(signal, probability),
        fits_prompt=prompt_probe is not None,
    )
    if plot is not None:
        write_plot(calibration, plot)
    report = None if bound is None else BoundReport.of(answered[0], bound, answered[1] if second else None)
    if answers is not None:
        write_answers(answers, head_of(calibration, answered[0], target, report), answered[0], bound)
    if bound is None or report is None:
        _print(calibration, target, options, as_json=as_json)
    else:
        _print_bound(calibration, report, bound, options, as_json=as_json)
    rows = {signal.name: signal for signal in calibration.signals}
    for file, fit, kind in (
        (probe, calibration.probe, PROBE),
        (probability, calibration.probability, PROBABILITY),
        (prompt_probe, calibration.prompt_probe, PROMPT_PROBE_OF_TWO if second else PROMPT_PROBE),
    ):
        if file is not None:
            write_fit(kind, fit, file)
            row = None if bound is not None else rows.get(kind.row)
            typer.echo("\n".join(use_of(kind, file, row, model)), err=as_json)


class _Asked(NamedTuple):
    """A model that is asked all questions: the only one of its service, or the first, unless it is named."""

    endpoint: str
    stream_endpoint: str | None = None
    model: str | None = None


def _fitted(signal: SignalName | None, file: Path | None) -> tuple[FittedSignalName, ...]:
    """The candidates for the signal of --probability; none without it."""
    if file is None or signal == "probability":
        return ()
    return get_args(FittedSignalName) if signal is None else (signal,)


async def _ask(
    asked: list[_Asked],
    key_file: str | None,
    examples: list[Example],
    options: dict[str, Any],
    max_in_flight: int,
) -> list[list[ExampleOutcome]]:
    from cactus_actors.calibration import run_examples
    from cactus_actors.client import AsyncClient

    answered = []
    with _progress() as bar:
        for one in asked:
            task = bar.add_task(one.model or one.endpoint, total=len(examples))
            async with AsyncClient(
                one.endpoint, one.stream_endpoint, timeout=shared.FIRST_ANSWER_S, key_file=key_file
            ) as client:
                answered.append(
                    await run_examples(
                        client,
                        examples,
                        options if one.model is None else {**options, "model": one.model},
                        max_in_flight=max_in_flight,
                        observe=lambda task=task: bar.advance(task),  # type: ignore[misc]
                    )
                )
    return answered


def _progress() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )


def _check_output(path: Path) -> None:
    """Raise ConfigurationInvalid if no file can be written there, before any question is asked."""
    from cactus_actors.protocol.errors import ConfigurationInvalid

    if path.is_dir():
        raise ConfigurationInvalid(f"{path}: Is a directory")
    if not path.parent.is_dir():
        raise ConfigurationInvalid(f"{path}: there is no directory {path.parent}")


def _print(calibration: Calibration, target: ThresholdTarget, options: dict[str, Any], *, as_json: bool) -> None:
    from cactus_actors.calibration.report_table import report_lines

    if as_json:
        print_json(calibration.to_builtins() | {"options": options_in_force(options)})
        return
    typer.echo(_summary(calibration))
    for line in (*option_lines(options), *report_lines(calibration, target)):
        typer.echo(line)


def _print_bound(
    calibration: Calibration, report: BoundReport, bound: Bound, options: dict[str, Any], *, as_json: bool
) -> None:
    from cactus_actors.calibration.bound_report import bound_lines

    if as_json:
        print_json(report.to_builtins() | {"options": options_in_force(options)})
        return
    typer.echo(_summary(calibration))
    for line in (*option_lines(options), *bound_lines(report, bound)):
        typer.echo(line)


def _summary(calibration: Calibration) -> str:
    failed = f", {calibration.num_failed} could not be answered" if calibration.num_failed else ""
    second = "" if calibration.second_accuracy is None else f" (second service {calibration.second_accuracy:.1%})"
    answers = "1 answer" if calibration.num_answers == 1 else f"{calibration.num_answers} answers"
    truncated = f", {calibration.num_truncated} ended at max_tokens (wrong)" if calibration.num_truncated else ""
    return f"{answers}, {calibration.accuracy:.1%} right{second}{truncated}{failed}"
