"""Retrieves documents for a job's question and puts them into its prompt.

Only a process that has documents imports this, and NumPy with it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from cactus_actors.protocol.messages import ChatMessage, Submit
from cactus_actors.protocol.results import Source
from cactus_actors.retrieval import NUM_SOURCES, Corpus, Index, fitting, question_of, with_sources
from cactus_actors.router.preparation.prompt_model import PromptModel

REFRESH_S = 2.0

_log = logging.getLogger(__name__)


class Documents:
    """Ranks by words alone: embeddings need a worker, and preparing a job must not wait for one.

    A thread watches the files, so that no job waits for the disk either.
    """

    def __init__(self, directory: Path, model: PromptModel, *, refresh_s: float = REFRESH_S) -> None:
        """Raises ConfigurationInvalid if `directory` is none."""
        self._model = model
        self._index = Index(Corpus(directory))
        self._refresh_s = refresh_s
        self._is_closing = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="cactus-documents", daemon=True)
        self._thread.start()

    def find(self, submit: Submit) -> list[Source]:
        """The best chunks for the last question, at most the requested number, within half of the context."""
        if submit.messages is None:
            return []
        messages: list[dict[str, Any]] = [msgspec.to_builtins(turn) for turn in submit.messages]
        wanted = submit.options.tool_rag_top_k
        num_sources = NUM_SOURCES if wanted is None else wanted
        if num_sources <= 0:  # a negative number is refused later, with the other options
            return []
        found = self._index.query(question_of(messages), min(num_sources, self._index.num_chunks))
        return fitting(found, self._model.max_context // 2, self._num_tokens)

    def close(self) -> None:
        """End the thread."""
        self._is_closing.set()
        self._thread.join()

    def _num_tokens(self, text: str) -> int:
        return len(self._model.tokenizer.encode(text, add_special=False, parse_special=False))

    def _follow(self) -> None:
        while not self._is_closing.wait(self._refresh_s):
            try:
                self._index.refresh()
            except Exception as error:  # the earlier documents stay in use
                _log.warning("the documents could not be read again: %s", error)


def with_documents(submit: Submit, sources: Sequence[Source]) -> Submit:
    """The job with the sources in its system message; a prompt without messages stays as it is."""
    if submit.messages is None:
        return submit
    turns = with_sources([msgspec.to_builtins(turn) for turn in submit.messages], sources)
    return msgspec.structs.replace(submit, messages=msgspec.convert(turns, list[ChatMessage]))
