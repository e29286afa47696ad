"""What one source has generated for a job so far: the truth behind its stream."""

from __future__ import annotations

from array import array

from cactus_actors.protocol.messages import Delta


class TokenLog:
    """Grows by deltas that carry their position, so that repeats are dropped and gaps are refused.

    One text a token: a delta's text belongs to its last token, so that any cut between tokens is also a cut
    of the text. `tail` is text that came with no token at all; it follows the last token.
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
    ) -> bool:
        """Take what is new in a delta; False, and nothing is taken, when tokens before it are missing."""
        num_known = len(self.token_ids) - position
        if num_known < 0:
            return False
        if num_known:
            if num_known >= len(token_ids):
                return True
            token_ids, entropies, logprobs = (
                token_ids[num_known:],
                entropies[num_known:],
                logprobs[num_known:],
            )
        if not token_ids:
            self.tail += text
            return True
        text, self.tail = self.tail + text, ""
        self.token_ids += token_ids
        if len(token_ids) > 1:
            self.texts += [""] * (len(token_ids) - 1)
        self.texts.append(text)
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
