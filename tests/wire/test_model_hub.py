"""Models from the hub: downloads, the cache, and errors."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from cactus_actors.config_models import DEFAULT_MODEL
from cactus_actors.models.catalog import resolve_model
from cactus_actors.models.hub_cache import HubModel, cached_models, pinned
from cactus_actors.models.mmproj_path import find_mmproj
from cactus_actors.protocol.errors import ModelFileInvalid, Unavailable
from cactus_actors.text import load_text_model
from tests.support.http.fake_hub import COMMIT, TAGGED_COMMIT, FakeHub

GGUF = b"GGUF" + bytes(60)
TEXT = {"config.json": b"{}", "tokenizer.json": b"{ }", "tokenizer_config.json": b"{  }"}
REPOSITORIES = {
    "owner/whole": TEXT
    | {
        "model.safetensors": b"weights",
        "consolidated.safetensors": b"the same again",
        "pytorch_model.bin": b"\x80\x04.",
        "onnx/model.onnx": b"onnx",
        "README.md": b"# read me",
    },
    "owner/shards": TEXT
    | {
        "model.safetensors.index.json": b"""{"weight_map":
            {"a": "model-1.safetensors", "b": "model-2.safetensors", "c": "model-1.safetensors"}}""",
        "model-1.safetensors": b"1",
        "model-2.safetensors": b"2",
        "model-3.safetensors": b"of something else",
    },
    "owner/lost-shard": TEXT | {"model.safetensors.index.json": b'{"weight_map": {"a": "x.safetensors"}}'},
    "owner/one-gguf": {"README.md": b"", "m-Q8_0.gguf": GGUF, "config.json": b"{}"},
    "owner/many-gguf": {"m-Q4_K_M.gguf": GGUF, "deep/m[1]-Q8_0.gguf": GGUF + b"8"},
    "owner/mmproj": {"m-Q8_0.gguf": GGUF, "mmproj-F16.gguf": GGUF + b"m", "mmproj.txt": b""},
    "owner/many-mmproj": {"m-Q8_0.gguf": GGUF, "mmproj-F16.gguf": GGUF + b"m", "mmproj-F32.gguf": GGUF + b"32"},
    "owner/split-gguf": {"m-00001-of-00002.gguf": GGUF, "m-00002-of-00002.gguf": GGUF},
    "owner/pickle": TEXT | {"pytorch_model.bin": b"\x80\x04."},
    "owner/empty": {"README.md": b""},
    "owner/no-tokenizer": {"config.json": b"{}", "model.safetensors": b"", "tokenizer.model": b""},
    "owner/gated": TEXT | {"model.safetensors": b"weights"},
}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache; the hub client reads its environment once, so its settings are set here directly."""
    directory = tmp_path / "cache" / "hub"
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(directory))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.chdir(tmp_path)
    return directory


@pytest.fixture
def hub(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    with FakeHub(REPOSITORIES, gated=frozenset({"owner/gated"})).serving() as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        template = hub.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        yield hub


def files_in(directory: Path) -> set[str]:
    return {path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()}


def test_only_the_files_of_one_model_are_downloaded(hub: FakeHub, cache: Path) -> None:
    said: list[str] = []
    path = resolve_model("owner/whole", said.append)
    assert path == cache / "models--owner--whole" / "snapshots" / COMMIT
    assert files_in(path) == {*TEXT, "model.safetensors"}
    assert (path / "model.safetensors").read_bytes() == b"weights"
    assert hub.downloaded == sorted(files_in(path))
    assert said == [f"owner/whole is downloaded to {cache}"]


def test_the_index_names_the_shards(hub: FakeHub) -> None:
    path = resolve_model("owner/shards")
    assert {name for name in files_in(path) if name.endswith(".safetensors")} == {
        "model-1.safetensors",
        "model-2.safetensors",
    }


@pytest.mark.parametrize(
    ("name", "file", "size"),
    [
        ("owner/one-gguf", "m-Q8_0.gguf", 64),
        ("owner/one-gguf:m-Q8_0.gguf", "m-Q8_0.gguf", 64),
        ("owner/many-gguf:deep/m[1]-Q8_0.gguf", "deep/m[1]-Q8_0.gguf", 65),
    ],
)
def test_one_gguf_file_is_downloaded(hub: FakeHub, cache: Path, name: str, file: str, size: int) -> None:
    path = resolve_model(name)
    assert path.relative_to(path.parents[file.count("/")]).as_posix() == file
    assert path.stat().st_size == size
    assert hub.downloaded == [file]


def test_the_only_encoder_is_downloaded_with_its_text_model(hub: FakeHub) -> None:
    for name in ("owner/mmproj", "owner/mmproj:m-Q8_0.gguf"):
        path = resolve_model(name)
        assert path.name == "m-Q8_0.gguf"
        assert find_mmproj(path) == path.with_name("mmproj-F16.gguf")
    assert hub.downloaded == ["m-Q8_0.gguf", "mmproj-F16.gguf"]
    assert [str(model) for model, _ in cached_models()] == ["owner/mmproj:m-Q8_0.gguf"]


def test_one_of_several_encoders_is_named(hub: FakeHub) -> None:
    path = resolve_model("owner/many-mmproj")
    assert hub.downloaded == ["m-Q8_0.gguf"]
    assert find_mmproj(path) is None
    mmproj = find_mmproj(path, "owner/many-mmproj:mmproj-F32.gguf")
    assert mmproj == path.with_name("mmproj-F32.gguf")
    assert pinned("owner/many-mmproj:mmproj-F32.gguf", mmproj) == f"owner/many-mmproj@{COMMIT}:mmproj-F32.gguf"


def test_a_revision_is_another_model(hub: FakeHub) -> None:
    path = resolve_model("owner/whole@v1")
    assert path.name == TAGGED_COMMIT
    assert resolve_model(f"owner/whole@{TAGGED_COMMIT}") == path
    assert resolve_model("owner/whole").name == COMMIT


def test_a_cluster_gets_the_resolved_commit(hub: FakeHub, tmp_path: Path) -> None:
    for name, elsewhere in (
        ("owner/whole", f"owner/whole@{COMMIT}"),
        ("owner/whole@v1", f"owner/whole@{TAGGED_COMMIT}"),
        ("owner/many-gguf:deep/m[1]-Q8_0.gguf", f"owner/many-gguf@{COMMIT}:deep/m[1]-Q8_0.gguf"),
    ):
        path = resolve_model(name)
        assert pinned(name, path) == elsewhere
        assert resolve_model(elsewhere) == path
    for name in (DEFAULT_MODEL, "owner/whole", str(tmp_path)):
        assert pinned(name, tmp_path / "owner" / "whole") == name


@pytest.mark.parametrize("name", ["owner/whole", "owner/shards", "owner/one-gguf", "owner/whole@v1"])
def test_a_cached_model_needs_no_request(hub: FakeHub, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path = resolve_model(name)
    hub.asked.clear()
    said: list[str] = []
    assert resolve_model(name, said.append) == path
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert resolve_model(name, said.append) == path
    assert (hub.asked, said) == ([], [])


@pytest.mark.parametrize("missing", ["model-2.safetensors", "tokenizer.json", "config.json"])
def test_files_missing_in_the_cache_are_downloaded(hub: FakeHub, missing: str) -> None:
    path = resolve_model("owner/shards")
    whole = files_in(path)
    (path / missing).resolve().unlink()
    (path / missing).unlink()
    hub.asked.clear()
    assert resolve_model("owner/shards") == path
    assert files_in(path) == whole
    assert hub.downloaded == [missing]


def test_a_cache_that_was_filled_elsewhere_is_used_offline(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = cache / "models--someone--a-model"
    snapshot = folder / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (folder / "refs" / "pr").mkdir(parents=True)
    for name in ("main", "pr/1"):
        (folder / "refs" / name).write_text(COMMIT)
    for name, content in {**TEXT, "model.safetensors": b"w", "m.gguf": GGUF}.items():
        (snapshot / name).write_bytes(content)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    for name in ("someone/a-model", "someone/a-model@pr/1", f"someone/a-model@{COMMIT}"):
        assert resolve_model(name) == snapshot
    assert resolve_model("someone/a-model:m.gguf") == snapshot / "m.gguf"
    assert [str(model) for model, _ in cached_models()] == [
        "someone/a-model",
        "someone/a-model:m.gguf",
        "someone/a-model@pr/1",
        "someone/a-model@pr/1:m.gguf",
    ]
    with pytest.raises(
        Unavailable, match=rf"other/a-model: .* not completely in the cache at {cache}, .* HF_HUB_OFFLINE"
    ):
        resolve_model("other/a-model")
    (snapshot / "model.safetensors").unlink()
    assert next(str(model) for model, _ in cached_models()) == "someone/a-model:m.gguf"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "owner/pickle",
            r"owner/pickle: its weights are a pickle \(pytorch_model\.bin\).*only safetensors and GGUF",
        ),
        ("owner/empty", "neither config.json with safetensors nor a GGUF file"),
        ("owner/no-tokenizer", "no tokenizer.json"),
        (
            "owner/many-gguf",
            r"several GGUF files; name one as owner/many-gguf:FILE: deep/m\[1\]-Q8_0\.gguf, m-Q4_K_M",
        ),
        ("owner/many-gguf:none.gguf", "no such file; GGUF files there: deep"),
        ("owner/empty:none.gguf", "no such file; GGUF files there: none"),
        ("owner/whole:pytorch_model.bin", "must be a GGUF file"),
        ("owner/split-gguf:m-00001-of-00002.gguf", "one part of several"),
        ("owner/lost-shard", "index.json names 'x.safetensors'"),
        ("owner/whole@v9", "no revision 'v9'"),
        ("owner/nothing", "no such file or directory here, and no repository http.*owner/nothing.*HF_TOKEN"),
        ("owner/gated", "ask at http.*owner/gated, then set HF_TOKEN"),
    ],
)
def test_unsupported_repositories_are_reported(hub: FakeHub, name: str, said: str) -> None:
    with pytest.raises(ModelFileInvalid, match=said):
        resolve_model(name)
    assert name == "owner/gated" or set(hub.downloaded) <= {*TEXT, "model.safetensors.index.json"}


def test_a_gated_repository_is_read_with_a_token(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", hub.token)
    assert (resolve_model("owner/gated") / "model.safetensors").read_bytes() == b"weights"


@pytest.mark.parametrize("status", [500, 503])
def test_an_error_of_the_hub_is_reported(hub: FakeHub, status: int) -> None:
    hub.fails_with = status
    with pytest.raises(Unavailable, match=f"cannot be reached: it answered {status}"):
        resolve_model("owner/whole")


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_download_names_the_token_setting(hub: FakeHub, status: int) -> None:
    hub.fails_with = status
    with pytest.raises(ModelFileInvalid, match="HF_TOKEN"):
        resolve_model("owner/whole")


def test_a_missing_network_is_reported_with_advice(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(Unavailable) as caught:
        resolve_model("owner/whole")
    assert f"in the cache at {cache}" in caught.value.message
    assert "Connection refused" in caught.value.message
    assert "download the model elsewhere, or give a directory" in caught.value.message


def test_an_unwritable_cache_is_reported(hub: FakeHub, cache: Path) -> None:
    cache.parent.write_text("a file where the cache should be")
    with pytest.raises(ModelFileInvalid, match=f"cannot be stored in {cache}"):
        resolve_model("owner/whole")
    assert cache.parent.is_file()


@pytest.mark.parametrize(
    "name",
    [
        "name",
        "./owner/name",
        "/owner/name",
        "~/name",
        "a/b/c",
        "a/../b",
        "owner/m.gguf",
        "owner/m.bin",
        "a--b/c",
        "owner/",
        "/name",
        "owner/name@",
        "owner/name:",
        "owner/name@../x",
        "owner/na me",
        "",
    ],
)
def test_a_path_is_not_treated_as_a_hub_name(hub: FakeHub, name: str) -> None:
    assert HubModel.parse(name) is None
    with pytest.raises(ModelFileInvalid):
        resolve_model(name)
    assert hub.asked == []


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("owner/name", HubModel("owner/name")),
        ("o-1/n_2.5@main", HubModel("o-1/n_2.5", "main")),
        ("o/n@refs/pr/1:q/f-Q4_K_M.gguf", HubModel("o/n", "refs/pr/1", "q/f-Q4_K_M.gguf")),
        ("o/n:f.gguf", HubModel("o/n", None, "f.gguf")),
    ],
)
def test_hub_names_are_recognised(name: str, model: HubModel) -> None:
    assert HubModel.parse(name) == model
    assert str(model) == name


def test_a_local_directory_precedes_the_hub(hub: FakeHub, tmp_path: Path) -> None:
    directory = tmp_path / "owner" / "whole"
    directory.mkdir(parents=True)
    with pytest.raises(ModelFileInvalid, match=r"no config\.json"):
        resolve_model("owner/whole")
    assert hub.asked == []


def test_a_downloaded_model_has_its_hub_name(hub: FakeHub) -> None:
    embedded = resolve_model(DEFAULT_MODEL)
    files = {path.name: path.read_bytes() for path in embedded.iterdir() if path.suffix in (".json", ".jinja")}
    hub.repositories = {"owner/embedded": files | {"model.safetensors": b""}}
    assert load_text_model(resolve_model("owner/embedded")).name == "owner/embedded"


def test_the_environment_of_the_hub_client_is_respected(hub: FakeHub, tmp_path: Path) -> None:
    script = (
        "import sys; from cactus_actors.models.catalog import resolve_model\n"
        "assert 'huggingface_hub' not in sys.modules\n"
        "print(resolve_model('owner/one-gguf'))"
    )
    environment = {"HF_HOME": str(tmp_path / "elsewhere"), "HF_ENDPOINT": hub.url}
    for offline in ("0", "1"):
        finished = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            timeout=60,
            env=os.environ | environment | {"HF_HUB_OFFLINE": offline},
        )
        assert finished.returncode == 0, finished.stderr
        assert Path(finished.stdout.strip()).is_relative_to(tmp_path / "elsewhere" / "hub")
    assert hub.downloaded == ["m-Q8_0.gguf"]
