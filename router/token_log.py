"""What one source has generated for a job so far: the truth behind its stream."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from cactus_actors.protocol.messages import Delta


class TokenLog:
    """Grows by deltas that carry their position, so that repeats are dropped and gaps are refused.

    One text a token, so that any cut between tokens is also a cut of the text, and the same one in every
    attempt. `tail` is text that came with no token at all; it follows the last token.
    """

    __slots__ = ("entropies", "first_at", "last_at", "logprobs", "tail", "texts", "token_ids")

    def __init__(self) -> None:
        self.token_ids: list[int] = []
        self.texts: list[str] = []
        self.tail = ""
        self.entropies = array("d")  # one a local token; empty for a cloud's chunks
        self.logprobs = array("d")
        self.first_at: float | None = None
        self.last_at = 0.0

    def __len__(self) -> int:
        return len(self.token_ids)

    @property
    def text(self) -> str:
        return "".join(self.texts) + self.tail

    def extend(
        self,
        position: int,
        token_ids: list[int],
        text: str,
        entropies: list[float],
        logprobs: list[float],
        now: float,
        cuts: Sequence[int] = (),
    ) -> bool:
        """Take what is new in a delta; False, and nothing is taken, when tokens before it are missing."""
        num_known = len(self.token_ids) - position
        if num_known < 0:
            return False
        texts = _texts(text, len(token_ids), cuts)
        if num_known:
            if num_known >= len(token_ids):
                return True
            token_ids, entropies, logprobs, texts = (
                token_ids[num_known:],
                entropies[num_known:],
                logprobs[num_known:],
                texts[num_known:],
            )
        if not token_ids:
            self.tail += text
            return True
        texts[0], self.tail = self.tail + texts[0], ""
        self.token_ids += token_ids
        self.texts += texts
        self.entropies.extend(entropies)
        self.logprobs.extend(logprobs)
        if self.first_at is None:
            self.first_at = now
        self.last_at = now
        return True

    def delta(self, job_id: str, start: int, stop: int) -> Delta:
        """The items from `start` up to `stop`."""
        token_ids, text = self.token_ids[start:stop], "".join(self.texts[start:stop])
        return Delta(job_id=job_id, index=start, token_ids=token_ids, text=text)

    def tail_delta(self, job_id: str) -> Delta:
        """The text after the last token; it is complete once the source has ended."""
        return Delta(job_id=job_id, index=len(self.token_ids), token_ids=[], text=self.tail)


def _texts(text: str, num_tokens: int, cuts: Sequence[int]) -> list[str]:
    """The text of each token; without `cuts`, one fewer than tokens, all of it is the last one's."""
    if num_tokens <= 1 or len(cuts) != num_tokens - 1:
        return [""] * (num_tokens - 1) + [text]
    return [text[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(text)], strict=True)]
