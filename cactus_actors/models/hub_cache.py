"""Names of models on the Hugging Face hub, and look-ups in its local cache.

The layout of the cache is the documented one of `huggingface_hub`: in the folder of a repository,
refs/REVISION holds a commit, and snapshots/COMMIT the files of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from cactus_actors.models.checked_files import PICKLE_SUFFIXES, read_json_object
from cactus_actors.protocol.errors import ModelFileInvalid

INDEX_NAME = "model.safetensors.index.json"
SINGLE_NAME = "model.safetensors"
MMPROJ_FILES = "mmproj*.gguf"
"""Files of encoders of pictures, which belong to the GGUF files of text models next to them."""

_PART = r"[A-Za-z0-9][\w.-]*"
_NAME = re.compile(rf"(?P<repo>{_PART}/{_PART})(@(?P<revision>{_PART}(/{_PART})*))?(:(?P<file>[^:/][^:]*))?")
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class HubModel:
    """A model on the hub, written `owner/name[@revision][:file.gguf]`."""

    repo: str
    revision: str | None = None
    file: str | None = None

    @classmethod
    def parse(cls, name: str) -> HubModel | None:
        """The model of that name; None if it cannot be the name of one."""
        match = _NAME.fullmatch(name)
        if match is None or ".." in name or "--" in match["repo"]:
            return None
        if Path(match["repo"]).suffix in PICKLE_SUFFIXES | {".gguf", ".safetensors", ".json"}:
            return None  # a file in a directory
        return cls(match["repo"], match["revision"], match["file"])

    def __str__(self) -> str:
        revision = f"@{self.revision}" if self.revision else ""
        return f"{self.repo}{revision}{f':{self.file}' if self.file else ''}"


def pinned(name: str, path: Path) -> str:
    """The name by which other machines find the same model as `path`, to which `name` resolved here."""
    model = HubModel.parse(name)
    if model is None or not path.is_relative_to(cache_directory()):
        return name
    _, _, commit, *_ = path.relative_to(cache_directory()).parts
    return str(replace(model, revision=commit))


def cached(model: HubModel) -> Path | None:
    """Path of `model` in the cache; None if any file is missing. Needs no network."""
    folder = cache_directory() / f"models--{model.repo.replace('/', '--')}"
    revision = model.revision or "main"
    commit = revision if _COMMIT.fullmatch(revision) else _read_ref(folder / "refs" / revision)
    if commit is None:
        return None
    snapshot = folder / "snapshots" / commit
    if model.file is not None:
        return snapshot / model.file if (snapshot / model.file).is_file() else None
    return _only_model_of(snapshot)


def cached_models() -> Iterator[tuple[HubModel, Path]]:
    """The models in the cache, each with its directory or GGUF file, by name."""
    for ref in sorted(cache_directory().glob("models--*--*/refs/**/*")):
        commit = _read_ref(ref)
        if commit is None:
            continue
        folder = next(parent for parent in ref.parents if parent.name.startswith("models--"))
        revision = ref.relative_to(folder / "refs").as_posix()
        model = HubModel(
            folder.name.removeprefix("models--").replace("--", "/", 1),
            None if revision == "main" else revision,
        )
        snapshot = folder / "snapshots" / commit
        if _is_whole(snapshot):
            yield model, snapshot
        for file in sorted(snapshot.glob("**/*.gguf")):
            if file.is_file() and not is_mmproj(file.name):
                yield replace(model, file=file.relative_to(snapshot).as_posix()), file


def is_mmproj(name: str) -> bool:
    """True if the file of that name, or path, is one of MMPROJ_FILES."""
    return PurePath(name).match(MMPROJ_FILES)


def cache_directory() -> Path:
    """The cache of the hub's files, by HF_HOME and HF_HUB_CACHE."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE).expanduser()


def shard_names(snapshot: Path) -> list[str]:
    """The weight files that the index in `snapshot` names, or the single one of a model without an index."""
    index = snapshot / INDEX_NAME
    if not index.is_file():
        return [SINGLE_NAME]
    weight_map = read_json_object(index).get("weight_map")
    names = weight_map.values() if isinstance(weight_map, dict) else ()
    return sorted({name for name in names if isinstance(name, str)}) or [SINGLE_NAME]


def repository_of(path: Path) -> str | None:
    """`owner/name` for a snapshot in a cache of the hub, None for any other path."""
    if path.parent.name != "snapshots" or not path.parent.parent.name.startswith("models--"):
        return None
    return path.parent.parent.name.removeprefix("models--").replace("--", "/", 1)


def _only_model_of(snapshot: Path) -> Path | None:
    if _is_whole(snapshot):
        return snapshot
    files = [file for file in snapshot.glob("**/*.gguf") if file.is_file() and not is_mmproj(file.name)]
    has_others = any(snapshot.glob("*.safetensors*"))
    return files[0] if len(files) == 1 and not has_others else None


def _is_whole(snapshot: Path) -> bool:
    if not all((snapshot / name).is_file() for name in ("config.json", "tokenizer.json")):
        return False
    try:
        return all((snapshot / name).is_file() for name in shard_names(snapshot))
    except ModelFileInvalid:
        return False


def _read_ref(path: Path) -> str | None:
    if not path.is_file():
        return None
    commit = path.read_text(encoding="ascii", errors="replace").strip()
    return commit if _COMMIT.fullmatch(commit) else None
