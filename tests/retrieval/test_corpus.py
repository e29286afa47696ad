"""The files of a directory that are read, and the changes after which they are read again."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.retrieval import Corpus, CorpusLimits


def write(directory: Path, **files: str) -> None:
    for name, text in files.items():
        path = directory / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def sources(corpus: Corpus) -> list[str]:
    return [chunk.source for chunk in corpus.chunks]


def test_text_and_markdown_files_of_all_subdirectories_are_read(tmp_path: Path) -> None:
    write(tmp_path, b_md="B", a_txt="A", deep__c_rst="C", image_png="D", hidden__d_md="E")
    (tmp_path / "hidden").rename(tmp_path / ".hidden")
    assert sources(Corpus(tmp_path)) == ["a.txt", "b.md", "deep/c.rst"]


def test_only_changed_files_are_read_again(tmp_path: Path) -> None:
    write(tmp_path, a_md="one", b_md="two")
    corpus = Corpus(tmp_path)
    [kept, _] = corpus.chunks
    assert corpus.refresh() is False
    write(tmp_path, b_md="changed", c_md="new")
    assert corpus.refresh() is True
    assert [chunk.text for chunk in corpus.chunks] == ["one", "changed", "new"]
    assert corpus.chunks[0] is kept
    (tmp_path / "a.md").unlink()
    assert corpus.refresh() is True
    assert sources(corpus) == ["b.md", "c.md"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param(b"\xff\xfe\x00text", "is skipped", id="not UTF-8"),
        pytest.param(b"text\0text", "binary", id="binary"),
        pytest.param(b"x" * 101, "more than 100 bytes", id="too large"),
    ],
)
def test_unusable_files_are_skipped_with_a_warning(
    tmp_path: Path, content: bytes, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, good_md="good")
    (tmp_path / "bad.md").write_bytes(content)
    with caplog.at_level(logging.WARNING):
        corpus = Corpus(tmp_path, CorpusLimits(file_bytes=100))
    assert sources(corpus) == ["good.md"]
    assert "bad.md" in caplog.text
    assert told in caplog.text
    caplog.clear()
    assert corpus.refresh() is False
    assert not caplog.text  # one warning is enough


def test_a_link_out_of_the_directory_is_ignored(tmp_path: Path) -> None:
    write(tmp_path, secret_md="secret", corpus__a_md="a")
    inside = tmp_path / "corpus"
    (inside / "out.md").symlink_to(tmp_path / "secret.md")
    (inside / "in.md").symlink_to(inside / "a.md")
    (inside / "loop").symlink_to(inside)
    os.mkfifo(inside / "pipe.md")
    (inside / "gone.md").symlink_to(tmp_path / "nowhere")
    assert sources(Corpus(inside)) == ["a.md", "in.md"]


def test_a_corpus_has_limits_of_files_and_chunks(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path, a_md="# 1\na\n# 2\nb", b_md="c", c_md="d")
    assert sources(Corpus(tmp_path, CorpusLimits(num_files=2))) == ["a.md", "a.md", "b.md"]
    assert sources(Corpus(tmp_path, CorpusLimits(num_chunks=3))) == ["a.md", "a.md", "b.md"]
    assert "4 chunks; 3 are used" in caplog.text


def test_a_path_that_is_not_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationInvalid, match="not a directory"):
        Corpus(tmp_path / "nothing")
