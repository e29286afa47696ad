"""`cactus batch`: runs a prompt file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from cactus_actors.cli import shared_options as shared
from cactus_actors.cli.batch_preview import show_estimate, show_lines
from cactus_actors.cli.batch_report import print_parts_report, print_report
from cactus_actors.cli.batch_rows import TABLES, RowOptions
from cactus_actors.cli.batch_run import ON_RAY, Place, ShownRun, check_ray_options
from cactus_actors.cli.interrupts import Interrupted
from cactus_actors.config import DEFAULT_JOBS_ENDPOINT
from cactus_actors.data import TableFormat
from cactus_actors.protocol.errors import CactusError


def batch(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="IN...",
            help="JSONL, or plain text with one prompt a line, or .gz of either; - is stdin. Or files of a table, "
            "and globs of them: Parquet, Arrow, CSV, TSV, and .gz or .zst of text; also at URLs.",
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT",
            help="OpenAI batch lines; for out.jsonl failed lines go to out.errors.jsonl. Or a table; or, with / at the "
            "end, a folder or URL for a table in parts.",
        ),
    ],
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", "--only-failed", help="Run the lines of the error file again.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing OUT.")] = False,
    second_pass: Annotated[
        bool,
        typer.Option(
            "--second-pass", help="Hand off nothing until the end; then ask the cloud in batches, at half the price."
        ),
    ] = False,
    second_pass_model: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="A second pass by this model of the service, instead of the cloud."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the first three lines as they would be sent, and end.")
    ] = False,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Ask some lines, print what all would take, and end.")
    ] = False,
    max_in_flight: Annotated[int, typer.Option(min=1, max=10_000, help="Jobs in the service at once.")] = 64,
    form: Annotated[
        TableFormat | None, typer.Option("--format", help="Format of the input; by default from suffix and content.")
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Continue plain lines as they are, without the chat template.")
    ] = False,
    system: Annotated[str | None, typer.Option(help="A system message for questions and chats without one.")] = None,
    json_schema: Annotated[
        str | None,
        typer.Option(
            "--json-schema",
            "--schema",
            metavar="FILE|JSON",
            help="A JSON Schema that answers must obey; in a table, its properties are columns.",
        ),
    ] = None,
    prompt_template: Annotated[
        str | None,
        typer.Option(rich_help_panel=TABLES, metavar="TEXT", help="The prompt of a row: 'Summarise: {{ text }}'."),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(rich_help_panel=TABLES, metavar="A,B", help="Columns of IN that OUT has; by default all."),
    ] = None,
    prefix: Annotated[
        str, typer.Option(rich_help_panel=TABLES, help="The beginning of the names of the answers' columns.")
    ] = "",
    output_format: Annotated[
        TableFormat | None, typer.Option(rich_help_panel=TABLES, help="Format of OUT; by default from its suffix.")
    ] = None,
    part_rows: Annotated[
        int, typer.Option(rich_help_panel=TABLES, min=1, help="The most rows of a part, for an OUT that ends with /.")
    ] = 10_000,
    ray: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=ON_RAY, metavar="HOST:PORT", help="Answer the parts of OUT on this Ray cluster; or `auto`."
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=ON_RAY, metavar="MODEL", help="An engine in each actor, instead of the running service."
        ),
    ] = None,
    actors: Annotated[
        int | None, typer.Option(rich_help_panel=ON_RAY, min=1, help="The most actors; by default what has room.")
    ] = None,
    engine_threads: Annotated[
        int, typer.Option(rich_help_panel=ON_RAY, min=1, help="Threads of each engine, which are CPUs of the cluster.")
    ] = 1,
    model: shared.Model = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Answer the first lines or rows only.")] = None,
    max_tokens: shared.MaxTokens = None,
    temperature: shared.Temperature = None,
    seed: shared.Seed = None,
    priority: Annotated[
        int | None,
        typer.Option(help="Lower is served first; 10 by default, after interactive work, which has 0."),
    ] = None,
    cloud_handoff_threshold: shared.HandoffThreshold = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write a page with plots of the results at the end.")
    ] = None,
    as_json: shared.AsJson = False,
    endpoint: shared.Endpoint = DEFAULT_JOBS_ENDPOINT,
    stream_endpoint: shared.StreamEndpoint = None,
    key_file: shared.KeyFile = None,
) -> None:
    """Answer every line of a prompt file exactly once, whatever is killed during the run.

    A plain line (text, or a JSON string) is a question to a chat model. For a model without a chat template,
    and with --raw, it is text to continue. {"prompt": ...} is always text to continue, {"messages": ...} is a
    chat, and an OpenAI batch line is a request to its url. Options apply to lines that leave them out, --model to
    lines that name no model.

    Rows of a table are prompts by --prompt-template, which has their columns by name, or by their column `messages` or
    `prompt`. OUT then has a row for each of IN, in its order: its columns, those of the answer, and `error`. IN or OUT
    is a table if its name says so (.parquet, .arrow, .csv, .tsv, .zst) or if an option for tables is given; that needs
    the extra `data`. Results of rows so far are in OUT.results.jsonl.partial, and OUT is written from them at the end.
    If OUT ends with /, it is a folder or a URL prefix, and gets a file for every --part-rows rows of each input file as
    soon as they are answered.

    With --ray, the parts of OUT/ are answered by a pipeline of Ray Data, which asks the service at the endpoints, or
    has engines of its own (--engine). OUT is a folder that all nodes share, or a URL prefix. Whatever is killed, no
    part that is there is repeated; if this command is, the same one with --resume continues, with or without --ray.

    Pictures of messages are files of this machine: their paths are relative to the folder of IN (to the current one
    for standard input), and the files are sent inside the requests.

    Standard input (-) is kept in OUT.input; --resume and --retry-failed read it from there.

    Results are written to OUT.partial as they finish, which becomes OUT when all are there. Failed lines are
    written to the error file in the same way. OUT.journal stays, so that --resume detects a changed input. The
    first Ctrl-C (SIGTERM, SIGHUP) cancels the jobs in flight and says so; a second one ends immediately.

    With --second-pass, every line keeps its local answer until all are there. Then the cloud's batch endpoint is
    asked the lines that would have been handed off (--cloud-handoff-threshold), and its answers replace theirs in
    OUT. That may take a day. An interrupted second pass is continued by --resume; a finished run may have one, too.

    With --second-pass-model, a larger model of the same service ([[models]] of its configuration) answers these lines
    instead, as jobs of the run's priority, and nothing is sent to a cloud. Lines of which it is not sure either are
    left to a next second pass, by another model or by the cloud.

    --report writes one HTML file that needs no network: reasons of failures, and plots of confidence, times, lengths
    and handing off. It is made of the results alone: with --resume, a finished run gets a report without a service.

    Exit code: 0 if every line succeeded, 1 if any line failed, 2 if an option or OUT is wrong, 66 if IN is
    not usable or has changed, 69 if the service became unavailable, 74 if a write failed, 130 if
    interrupted (143 by SIGTERM, 129 by SIGHUP). The same command with --resume continues.

    Example: cactus batch prompts.jsonl -o results.jsonl --resume

    Example: cactus batch prompts.jsonl -o results.jsonl --cloud-handoff-threshold 0.8 --second-pass

    Example: cactus batch prompts.jsonl -o results.jsonl --cloud-handoff-threshold 0.8 --second-pass-model qwen

    Example: cactus batch reviews/*.parquet -o answers.parquet --prompt-template 'Summarise: {{ text }}'

    Example: cactus batch 's3://lake/in/*.parquet' -o s3://lake/answers/ --prompt-template 'Summarise: {{ text }}'

    Example: cactus batch 's3://lake/in/*.parquet' -o s3://lake/answers/ --ray auto --engine cactus-sprout

    Example: zcat questions.gz | cactus batch - -o answers.jsonl --system "Answer briefly."
    """
    given = shared.given_options(locals())
    import asyncio

    from cactus_actors.batch import BatchRequest, FirstLines, check_for_all, keep_input
    from cactus_actors.batch.report import check_report_path, figures_of, write_report
    from cactus_actors.protocol.options import Options

    if json_schema is not None:
        given["json_schema"] = shared.schema_of(json_schema)
    options = Options(**given)
    check_for_all(options, system)  # before a pipe is read
    rows = RowOptions(
        form=form,
        output_form=output_format,
        template=prompt_template,
        columns=columns,
        prefix=prefix,
        limit=limit,
        part_rows=part_rows,
    )
    is_table = rows.make_a_table(inputs, output)
    source = Path(inputs[0])
    pictures = Path() if inputs[0] == "-" or "://" in inputs[0] else source.parent
    if inputs == ["-"]:
        source = keep_input(sys.stdin.buffer, Path(output), overwrite=overwrite)
        inputs = [str(source)]
    request = BatchRequest(
        source=source if limit is None else FirstLines(source, limit),
        output=Path(output),
        options=options,
        form=None if is_table else rows.line_form,
        raw=raw,
        system=system,
        model=model,
        max_in_flight=max_in_flight,
        resume=resume,
        retry_failed=retry_failed,
        overwrite=overwrite,
        second_pass=second_pass or second_pass_model is not None,
        second_pass_model=second_pass_model,
        pictures=pictures,
    )
    table = rows.request(inputs, output, request) if is_table else None
    request = request if table is None else table.run
    if dry_run:
        from cactus_actors.batch.preview import lines_as_sent

        show_lines(lines_as_sent(request), as_json=as_json)
        return
    if report is not None:
        check_report_path(report, request.paths.output, request.paths.errors, Path(output), *map(Path, inputs))
    check_ray_options(table, ray, engine, estimates=estimate, has_model=model is not None)
    run = ShownRun(request, table, Place(endpoint, stream_endpoint, key_file, ray, engine, engine_threads, actors))
    try:
        if estimate:
            show_estimate(asyncio.run(run.estimate()), as_json=as_json)
            return
        progress = asyncio.run(run.run())
    except Interrupted as interrupt:
        typer.secho(f"interrupted; {run.so_far()}", fg=typer.colors.YELLOW, err=True)
        raise typer.Exit(interrupt.exit_code) from None
    except CactusError:
        if run.progress is not None:
            typer.echo(run.so_far(), err=True)
        raise
    if report is not None:
        write_report(report, output, figures_of(request.paths) if run.parts is None else run.parts.figures)
    if run.parts is not None:
        print_parts_report(progress, run.parts, page=report, as_json=as_json)
    else:
        print_report(progress, run.second_pass, run.table, request, page=report, as_json=as_json)
    if progress.num_failed:
        raise typer.Exit(1)
