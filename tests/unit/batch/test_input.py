"""Prompt files: accepted lines, error lines, and files that are refused before anything runs."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import socket
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.batch.batch_errors import InputChanged, InputInvalid
from cactus_actors.batch.input_scan import InputScan, PendingLines, scan
from cactus_actors.batch.prompt_file import MAX_LINE_BYTES, Format, PromptFile, RawLine
from cactus_actors.batch.prompt_lines import PromptLine, decode_line, request_of_line
from cactus_actors.protocol.errors import InvalidRequest, NotSupported
from cactus_actors.protocol.messages import ChatMessage, Submit
from cactus_actors.protocol.options import Options


def write(directory: Path, content: bytes, name: str = "prompts.jsonl") -> Path:
    path = directory / name
    path.write_bytes(content)
    return path


def read(path: Path) -> list[RawLine]:
    with PromptFile(path) as file:
        return list(file.lines())


async def scanned(path: Path) -> InputScan:
    with PromptFile(path) as file:
        return await scan(file, file.format())


def job_id_of(choice: int) -> str:
    return f"{choice:032x}"


def submit_of(text: str, defaults: Options | None = None) -> Submit:
    line = decode_line(RawLine(1, 0, text.encode()), "jsonl")
    [submit] = request_of_line(line, job_id_of, defaults or Options(), line.model).submits
    return submit


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n \r\n\t\n", []),
        (b'"a"\n"b"', [(1, b'"a"'), (2, b'"b"')]),
        (b'"a"\r\n\r\n"b"\r\n', [(1, b'"a"'), (3, b'"b"')]),
        (b'\xef\xbb\xbf"a"\n', [(1, b'"a"')]),
        (b"\xef\xbb\xbf\n", []),
    ],
)
def test_lines_of_jsonl_are_read(tmp_path: Path, content: bytes, lines: list[tuple[int, bytes]]) -> None:
    read_lines = read(write(tmp_path, content))
    assert [(line.number, line.content) for line in read_lines] == lines
    for line in read_lines:
        assert line.content is not None
        assert content[line.offset :].startswith(line.content)


@pytest.mark.parametrize("tail", [b"", b'\n"next"\n'])
@pytest.mark.parametrize("length", [MAX_LINE_BYTES + 1, 3 * MAX_LINE_BYTES, 2 * (MAX_LINE_BYTES + 1)])
def test_a_too_long_line_is_reported_without_its_content(tmp_path: Path, length: int, tail: bytes) -> None:
    lines = read(write(tmp_path, b"x" * length + tail))
    assert lines[0] == RawLine(1, 0, None)
    assert [line.number for line in lines[1:]] == ([2] if tail else [])


@given(st.lists(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), min_size=1)))
def test_plain_text_is_one_prompt_per_line(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    texts = [text for text in texts if text.encode().strip() and "\0" not in text and text[0] not in "\x1f\ufeff"]
    path = write(tmp_path_factory.mktemp("text"), "\n".join(["first", *texts]).encode(), "prompts.txt")
    with PromptFile(path) as file:
        assert file.format() == "text"
        values = [decode_line(raw, "text").value for raw in file.lines()]
    assert values == ["first", *texts]


@pytest.mark.parametrize(
    ("name", "content", "form"),
    [
        ("a.jsonl", b"hello", "jsonl"),
        ("a.txt", b'{"prompt": 1}', "text"),
        ("a", b'\n {"prompt": "x"}', "jsonl"),
        ("a", b'"x"', "jsonl"),
        ("a.csv", b"hello", "text"),
    ],
)
def test_the_format_follows_from_the_file_name(tmp_path: Path, name: str, content: bytes, form: str) -> None:
    with PromptFile(write(tmp_path, content, name)) as file:
        assert file.format() == form


@pytest.mark.parametrize(
    ("head", "what"),
    [
        (b"PK\x03\x04", "zip"),
        ("\ufeffhello".encode("utf-16-le"), "UTF-16"),
        ("\ufeffhello".encode("utf-16-be"), "UTF-16"),
        (b"hello\0", "offset 5"),
    ],
)
def test_a_file_that_is_not_text_is_refused(tmp_path: Path, head: bytes, what: str) -> None:
    with pytest.raises(InputInvalid, match=f"not_text.*{what}"):
        read(write(tmp_path, head))


def test_a_gzip_file_is_read_as_its_content(tmp_path: Path) -> None:
    content = "eins\r\n\r\nzwei ü\ndrei".encode()
    plain, packed = write(tmp_path, content, "a.txt"), write(tmp_path, gzip.compress(content), "a.txt.gz")
    with PromptFile(plain) as first, PromptFile(packed) as second:
        assert list(first.lines()) == list(second.lines())
        assert first.digest == second.digest
        assert second.format() == "text"
    with PromptFile(write(tmp_path, gzip.compress(b'{"prompt": "a"}'), "a.jsonl.gz")) as file:
        assert file.format() == "jsonl"


@pytest.mark.parametrize(
    "damage",
    [
        lambda packed: packed[:-9],
        lambda packed: packed[:12],
        lambda packed: packed[:30] + bytes([packed[30] ^ 0xFF]) + packed[31:],
        lambda packed: packed[:-6] + b"\0\0" + packed[-4:],
        lambda packed: packed + b"rubbish",
        lambda _: b"\x1f\x8b\x08\x00",
    ],
)
def test_a_damaged_gzip_file_is_refused(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    lines = b"".join(hashlib.sha256(bytes([number])).hexdigest().encode() + b"\n" for number in range(200))
    with pytest.raises(InputInvalid, match="gzip"):
        read(write(tmp_path, damage(gzip.compress(lines)), "a.txt.gz"))


@pytest.mark.parametrize("content", [b"\x8a\x03random", b"plain text\n", b""])
def test_a_gz_file_must_be_gzip(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputInvalid, match=r"a\.jsonl\.gz: not_gzip: "):
        read(write(tmp_path, content, "a.jsonl.gz"))


def test_a_truncated_gzip_file_is_reported_with_its_whole_lines(tmp_path: Path) -> None:
    lines = [hashlib.sha256(bytes([number])).hexdigest().encode() + b"\n" for number in range(200)]
    packed = gzip.compress(b"".join(lines))
    unpacker = zlib.decompressobj(31)
    num_whole = unpacker.decompress(packed[:5000]).count(b"\n")
    assert 0 < num_whole < 200
    with pytest.raises(InputInvalid, match=f"is cut short; lines 1 to {num_whole} were read before it"):
        read(write(tmp_path, packed[:5000], "a.txt.gz"))
    with pytest.raises(InputInvalid, match="is cut short; no line of it is whole"):
        read(write(tmp_path, packed[:12], "a.txt.gz"))


def test_compressed_content_must_be_text(tmp_path: Path) -> None:
    with pytest.raises(InputInvalid, match="zero byte"):
        read(write(tmp_path, gzip.compress(b"a\0b")))


def test_a_path_that_is_not_a_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "socket"))
    for name in ("missing", "", "fifo", "loop", "socket", "/dev/zero"):
        with pytest.raises(InputInvalid) as caught:
            PromptFile(tmp_path / name)
        assert str(tmp_path / name) in caught.value.message
    listener.close()


def test_a_sparse_file_of_100_gb_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "sparse.jsonl"
    with path.open("wb") as file:
        file.truncate(100 << 30)
    with pytest.raises(InputInvalid, match="not_text"):
        PromptFile(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"custom_id":"a","prompt":"x"}\n"y"\n{"custom_id":"a","prompt":"z"}\n', "line 1 and on line 3"),
        (b'"x"\n{"custom_id":"line-1","prompt":"z"}\n', "line 1 and on line 2"),
        (b'{"method":"POST","url":"/v1/completions","body":{}}', "line 1: custom_id is required"),
        (b'"x"\n{"custom_id":7,"prompt":"z"}', "line 2: custom_id is required"),
        (b'{"custom_id":"","prompt":"z"}', "line 1: custom_id"),
        (b'{"custom_id":"a\\nb","prompt":"z"}', "printable"),
        (b'{"custom_id":"' + b"a" * 10_000 + b'","prompt":"z"}', "at most 512"),
    ],
)
async def test_lines_without_a_unique_custom_id_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(InputInvalid, match=message):
        await scanned(write(tmp_path, content))


async def test_scan_counts_lines_and_finds_the_model(tmp_path: Path) -> None:
    path = write(tmp_path, b'"x"\n\nbroken\n{"prompt":"y","model":"m"}\n{"prompt":"z","model":"n"}\n')
    found = await scanned(path)
    assert (found.num_lines, found.model) == (4, "m")
    path.write_bytes(path.read_bytes() + b"\n")
    assert (await scanned(path)).sha256 != found.sha256


@pytest.mark.parametrize(
    ("content", "given"),
    [
        (b'"a"\n"b"\n"c"\n', ["a", "b", "c"]),
        (b'"a"\n"X"\n"c"\n', ["a"]),
        (b'"a"\n\n"b"\n"c"\n', ["a"]),
        (b'"a"\n"b"\n"c"\n"d"\n', ["a", "b", "c"]),
        (b'"a"\n"b"\n', ["a", "b"]),
        (b'"a"\n"b"\n"c"\n\n', ["a", "b", "c"]),
    ],
)
async def test_lines_that_changed_after_the_scan_are_not_returned(
    tmp_path: Path, content: bytes, given: list[str]
) -> None:
    original = b'"a"\n"b"\n"c"\n'
    path = write(tmp_path, original)
    with PromptFile(path) as file:
        seen = await scan(file, "jsonl")
    path.write_bytes(content)
    got: list[str] = []
    with PromptFile(path) as file, contextlib.ExitStack() as stack:
        if content != original:
            stack.enter_context(pytest.raises(InputChanged, match="input_changed"))
        lines = PendingLines(file, "jsonl", seen, lambda _: False, max_ahead_bytes=1)
        while (line := await lines.next()) is not None:
            got.append(line.value)
    assert got == given


async def test_a_repeated_custom_id_is_found_at_any_distance(tmp_path: Path) -> None:
    lines = [b'{"custom_id":"%d","prompt":"x"}' % number for number in range(5000)]
    path = write(tmp_path, b"\n".join([*lines, lines[1234]]))
    with pytest.raises(InputInvalid, match="'1234' is on line 1235 and on line 5001"):
        await scanned(path)


async def test_a_tail_of_zero_bytes_is_refused_before_all_of_it_is_read(tmp_path: Path) -> None:
    path = write(tmp_path, b'"a"\n' * 2000)
    with path.open("r+b") as file:
        file.truncate(100 << 30)
    with pytest.raises(InputInvalid, match="zero bytes from offset 8000 on"):
        await scanned(path)


def test_a_read_error_of_the_disk_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputInvalid, match="/proc/self/mem: Input/output error"):
        PromptFile(Path("/proc/self/mem"))


def test_all_four_forms_of_a_line_are_accepted() -> None:
    assert submit_of('"hi"').prompt == "hi"
    line = PromptLine(1, "line-1", "hi")
    [plain] = request_of_line(line, job_id_of, Options(), None, as_chat=True).submits
    assert (plain.prompt, plain.messages) == (None, [ChatMessage(role="user", content="hi")])
    assert submit_of('{"prompt": [1, 2], "max_tokens": 3}').prompt == [1, 2]
    chat = submit_of('{"messages": [{"role": "user", "content": "hi"}], "temperature": 0}')
    assert chat.messages == [ChatMessage(role="user", content="hi")]
    batch = submit_of(
        '{"custom_id":"a","method":"POST","url":"/v1/chat/completions",'
        '"body":{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":3}}'
    )
    assert (batch.messages, batch.model, batch.options.max_tokens) == (chat.messages, "m", 3)


def test_a_line_may_be_a_message_of_anthropics_api() -> None:
    text = (
        '{"custom_id":"a","method":"POST","url":"/v1/messages",'
        '"body":{"max_tokens":3,"system":%s,"messages":[{"role":"user","content":"hi"}]}}'
    )
    said, asked = ChatMessage(role="system", content="brief"), ChatMessage(role="user", content="hi")
    assert submit_of(text % '"brief"').messages == [said, asked]
    assert submit_of(text % "null").messages == [asked]
    line = decode_line(RawLine(1, 0, (text % "null").encode()), "jsonl")
    [given] = request_of_line(line, job_id_of, Options(temperature=0.0), None, system="brief").submits
    assert given.messages == [said, asked]
    assert (given.options.max_tokens, given.options.temperature) == (3, 0.0)


def test_defaults_apply_to_missing_options_of_a_line() -> None:
    defaults = Options(max_tokens=9, seed=5, temperature=0.0)
    options = submit_of('{"prompt": "x", "max_tokens": 3}', defaults).options
    assert (options.max_tokens, options.seed, options.temperature) == (3, 5, 0.0)
    aliased = submit_of('{"prompt": "x", "random_seed": 3}', defaults).options
    assert (aliased.seed, aliased.random_seed) == (None, 3)
    assert submit_of('"x"').options.seed == int(job_id_of(0)[:16], 16)
    body = '{"custom_id":"a","method":"POST","url":"/v1/completions","body":%s}'
    batch = submit_of(body % '{"prompt": "x", "max_completion_tokens": 3}', defaults).options
    assert (batch.max_tokens, batch.max_completion_tokens, batch.seed) == (None, 3, 5)


@pytest.mark.parametrize(
    ("text", "param"),
    [
        ("5", "line"),
        ("[]", "line"),
        ("null", "line"),
        ("{}", "prompt"),
        ('{"promt": "x"}', "promt"),
        ('{"prompt": "x", "note": 1}', "note"),
        ('{"prompt": 7}', "prompt"),
        ('{"prompt": "x", "messages": []}', "prompt"),
        ('{"prompt": "x", "temprature": 1}', "temprature"),
        ('{"prompt": "x", "max_tokens": "many"}', "max_tokens"),
        ('{"custom_id": "a", "method": "GET", "url": "/v1/completions", "body": {}}', "method"),
        ('{"custom_id": "a", "method": "POST", "url": "/v1/embeddings", "body": {}}', "url"),
        ('{"custom_id": "a", "method": "POST", "body": {}}', "url"),
        ('{"custom_id": "a", "method": "POST", "url": "/v1/completions", "body": 5}', "body"),
        (
            '{"custom_id":"a","method":"POST","url":"/v1/completions","body":{"prompt":"x","stream":true}}',
            "stream",
        ),
        ('{"custom_id": "a", "method": "POST", "url": "/v1/completions", "body": {}, "more": 1}', "line"),
    ],
)
def test_invalid_options_of_a_line_are_refused(text: str, param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        submit_of(text)
    assert caught.value.param == param


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"promt": "x"}', "unknown field 'promt'; did you mean 'prompt'?"),
        ('{"mesages": []}', "unknown field 'mesages'; did you mean 'messages'?"),
        ('{"prompt": "x", "temprature": 1}', "unknown field 'temprature'; did you mean 'temperature'?"),
        ('{"qqqq": 1}', "unknown field 'qqqq'"),
    ],
)
def test_an_unknown_field_is_named(text: str, message: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        submit_of(text)
    assert caught.value.message == message


def test_unsupported_features_are_named() -> None:
    with pytest.raises(NotSupported, match="best_of"):
        submit_of('{"custom_id":"a","method":"POST","url":"/v1/completions","body":{"prompt":"x","best_of":3}}')


def test_a_line_with_another_model_is_refused() -> None:
    line = PromptLine(2, "line-2", {"prompt": "x", "model": "n"})
    with pytest.raises(InvalidRequest, match=r"one model.*'m'"):
        request_of_line(line, job_id_of, Options(), "m")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{broken", "not JSON"),
        (b"[" * 100_000, "nested too deeply|not JSON"),
        (b'{"custom_id": "a", "prompt": "x", "prompt": "y"}', "'prompt' is given twice"),
        (b'{"prompt": "x", "stop": {"a": 1, "a": 2}}', "'a' is given twice"),
        (b'{"custom_id": "a", "custom_id": "b", "prompt": "x"}', "'custom_id' is given twice"),
        (b'"caf\xe9"', "byte 104 of the file"),
        (None, "longer than"),
    ],
)
def test_unreadable_lines_are_refused(content: bytes | None, message: str) -> None:
    line = decode_line(RawLine(3, 100, content), "jsonl")
    assert line.custom_id == "line-3"
    with pytest.raises(InvalidRequest, match=message):
        request_of_line(line, job_id_of, Options(), None)


@given(st.binary(max_size=200).filter(lambda content: b"\n" not in content))
def test_arbitrary_bytes_are_lines_or_typed_errors(content: bytes) -> None:
    for form in get_args(Format):
        with contextlib.suppress(InvalidRequest, InputInvalid):
            line = decode_line(RawLine(1, 0, content), form)
            request_of_line(line, job_id_of, Options(), line.model)
