"""Downloads the needed files of models from the Hugging Face hub into its local cache."""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cactus_actors.models.checked_files import PICKLE_SUFFIXES
from cactus_actors.models.hub_cache import (
    INDEX_NAME,
    SINGLE_NAME,
    HubModel,
    cache_directory,
    cached,
    is_mmproj,
    shard_names,
)
from cactus_actors.models.pooling import POOLING_FILE
from cactus_actors.protocol.errors import ModelFileInvalid, Unavailable

LIST_TIMEOUT_S = 10.0
TEXT_FILES = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
    "preprocessor_config.json",
    "processor_config.json",
    POOLING_FILE,
    INDEX_NAME,
)
_ERROR_NUMBER = re.compile(r"^\[Errno -?\d+\] ")
_UNRESOLVED = ("Name or service not known", "Temporary failure in name resolution", "nodename nor servname")
_ONE_OF_MANY = re.compile(r"-\d{5}-of-\d{5}\.gguf$")


def fetch(model: HubModel, announce: Callable[[str], None]) -> Path:
    """The directory or GGUF file of `model`, downloaded first if any of it is missing in the cache.

    Cached files are used without a request to the hub; `announce` gets a message before a download. Raises
    ModelFileInvalid if the hub has no such model or denies access to it, Unavailable if the hub is out of reach.
    """
    if model.file is not None and not model.file.endswith(".gguf"):
        raise _invalid(model, "the part after the colon must be a GGUF file")
    if path := cached(model):
        return path
    names = _list_files(model)
    file = _wanted_file(model, names)
    announce(f"{model} is downloaded to {cache_directory()}")
    if file is not None:
        return _download(model, {file, *_encoder_beside(file, names)}) / file
    # The index first: a repository may hold the same weights twice, and only the index names the files to load.
    snapshot = _download(model, names & set(TEXT_FILES))
    shards = set(shard_names(snapshot))
    if absent := sorted(shards - names):
        raise _invalid(model, f"{INDEX_NAME} names {absent[0]!r:.100}, which is not in this repository")
    return _download(model, shards)


def _list_files(model: HubModel) -> set[str]:
    from huggingface_hub import HfApi

    with _plain_errors(model):
        info = HfApi().model_info(model.repo, revision=model.revision, timeout=LIST_TIMEOUT_S)
    return {sibling.rfilename for sibling in info.siblings or ()}


def _download(model: HubModel, names: Iterable[str]) -> Path:
    """The snapshot of `model` with at least the files `names`; existing files are not loaded again."""
    from huggingface_hub import snapshot_download

    patterns = [glob.escape(name) for name in names]
    with _plain_errors(model):
        return Path(snapshot_download(model.repo, revision=model.revision, allow_patterns=patterns))


def _wanted_file(model: HubModel, names: set[str]) -> str | None:
    """The one GGUF file to load, None for the safetensors at the root of the repository."""
    gguf_files = sorted(name for name in names if name.endswith(".gguf"))
    if model.file is not None:
        if model.file not in names:
            raise _invalid(model, f"no such file; GGUF files there: {', '.join(gguf_files) or 'none'}")
        return _whole_file(model, model.file)
    gguf_files = [name for name in gguf_files if not is_mmproj(name)]
    if "config.json" in names and names & {SINGLE_NAME, INDEX_NAME}:
        if "tokenizer.json" not in names:
            raise _invalid(model, "no tokenizer.json in this repository")
        return None
    if len(gguf_files) == 1:
        return _whole_file(model, gguf_files[0])
    if gguf_files:
        raise _invalid(model, f"several GGUF files; name one as {model}:FILE: {', '.join(gguf_files)}")
    pickles = sorted(name for name in names if Path(name).suffix in PICKLE_SUFFIXES)
    if pickles:
        raise _invalid(
            model,
            f"its weights are a pickle ({pickles[0]}), which can run code and is not loaded;"
            " only safetensors and GGUF are",
        )
    raise _invalid(model, "neither config.json with safetensors nor a GGUF file in this repository")


def _whole_file(model: HubModel, name: str) -> str:
    if _ONE_OF_MANY.search(name):
        raise _invalid(model, f"{name} is one part of several, which is not supported; merge them first")
    return name


def _encoder_beside(file: str, names: Iterable[str]) -> list[str]:
    """The only file of an encoder in the folder of a GGUF file; none of several."""
    found = [name for name in names if is_mmproj(name) and Path(name).parent == Path(file).parent]
    return found if len(found) == 1 and found != [file] else []


@contextmanager
def _plain_errors(model: HubModel) -> Iterator[None]:
    """Raise errors of the hub client as one sentence with the remedy."""
    from huggingface_hub import constants, errors

    place = f"{constants.ENDPOINT}/{model.repo}"
    try:
        yield
    except errors.GatedRepoError as error:
        raise _invalid(
            model, f"access is granted by its owners: ask at {place}, then set HF_TOKEN to a token of yours"
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise _invalid(
            model,
            f"no such file or directory here, and no repository {place};"
            " if it is a private one, set HF_TOKEN to a token that may read it",
        ) from error
    except errors.RevisionNotFoundError as error:
        raise _invalid(model, f"{place} has no revision {model.revision!r}") from error
    except errors.HfHubHTTPError as error:
        if error.response.status_code in (401, 403):
            raise _invalid(model, f"{place} refuses access; set HF_TOKEN to a token that may read it") from error
        raise _unreachable(model, f"it answered {error.response.status_code}") from error
    except errors.OfflineModeIsEnabled as error:
        raise _unreachable(model, "HF_HUB_OFFLINE is set") from error
    except OSError as error:
        if error.errno is not None:
            raise ModelFileInvalid(f"{model}: cannot be stored in {cache_directory()}: {error.strerror}") from error
        raise _unreachable(model, cause_of(error)) from error
    except Exception as error:  # the errors of the HTTP package below, which differ between versions of it
        raise _unreachable(model, cause_of(error)) from error


def cause_of(error: BaseException) -> str:
    """The root cause of `error`, in one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    what = _ERROR_NUMBER.sub("", " ".join(str(error).split()))[:200] or type(error).__name__
    if what.startswith(_UNRESOLVED):
        return "its name cannot be resolved (no network, or no name server that knows it)"
    return what


def _invalid(model: HubModel, what: str) -> ModelFileInvalid:
    return ModelFileInvalid(f"{model}: {what}", param="model")


def _unreachable(model: HubModel, why: str) -> Unavailable:
    return Unavailable(
        f"{model}: no such file or directory, not completely in the cache at {cache_directory()}, and the hub"
        f" cannot be reached: {why}; download the model elsewhere, or give a directory or a GGUF file",
        param="model",
    )
