"""The tokens that one source has generated for a job: the content of its stream."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from cactus_actors.protocol.handoff_gates import ConfidenceSamples
from cactus_actors.protocol.messages import Delta
from cactus_actors.protocol.results import TokenLogprob
from cactus_actors.protocol.worker_messages import SequenceDelta
from cactus_actors.router.state.reasoning_log import ReasoningLog
from cactus_actors.router.state.token_logprobs import Likely, TokenDecoder, token_logprob
from cactus_actors.router.state.token_texts import split_token_texts


class TokenLog:
    """Grows by deltas that carry their position, so that repeats are dropped and gaps are refused.

    The log has one text per token, so that any cut between tokens is also a cut of the text, and the same one in every
    dispatch. `tail` is text that came without a token; it follows the last token.

    With `tokenizer` it keeps likely tokens, too, and with `prompt_ids` those of the prompt. `reasoning` is set once the
    model has reasoned; `texts` and `text` are the answer's. `model` is the cloud model that generated the tokens, None
    for the local one.
    """

    __slots__ = (
        "_prompt",
        "_prompt_ids",
        "_tokenizer",
        "_tops",
        "entropies",
        "first_at",
        "last_at",
        "logprobs",
        "model",
        "reasoning",
        "tail",
        "texts",
        "token_ids",
    )

    def __init__(self, tokenizer: TokenDecoder | None = None, prompt_ids: Sequence[int] | None = None) -> None:
        self._tokenizer = tokenizer
        self._prompt_ids = prompt_ids
        self._tops: list[Likely] = []
        self._prompt: list[tuple[float, Likely]] = []
        self.token_ids: list[int] = []
        self.texts: list[str] = []
        self.tail = ""
        self.entropies = array("d")  # one per local token; empty for a cloud's chunks
        self.logprobs = array("d")
        self.reasoning: ReasoningLog | None = None
        self.model: str | None = None
        self.first_at: float | None = None
        self.last_at = 0.0

    def __len__(self) -> int:
        return len(self.token_ids)

    @property
    def text(self) -> str:
        return "".join(self.texts) + self.tail

    @property
    def confidence_samples(self) -> ConfidenceSamples:
        """The tokens of the answer, from which confidence is computed."""
        return self if self.reasoning is None else self.reasoning

    def extend(
        self,
        position: int,
        token_ids: list[int],
        text: str,
        entropies: list[float],
        logprobs: list[float],
        now: float,
        cuts: Sequence[int] = (),
        tops: Sequence[Likely] = (),
    ) -> bool:
        """Add the new tokens of a delta; returns False, and adds nothing, if tokens before it are missing."""
        num_known = len(self.token_ids) - position
        if num_known < 0:
            return False
        texts = [text] if len(token_ids) == 1 else split_token_texts(text, len(token_ids), cuts)
        if num_known:
            if num_known >= len(token_ids):
                return True
            token_ids, entropies, logprobs, texts = (
                token_ids[num_known:],
                entropies[num_known:],
                logprobs[num_known:],
                texts[num_known:],
            )
            tops = tops[num_known:]
        if not token_ids:
            self.tail += text
            return True
        texts[0], self.tail = self.tail + texts[0], ""
        self.token_ids += token_ids
        self.texts += texts
        self.entropies.extend(entropies)
        self.logprobs.extend(logprobs)
        if self._tokenizer is not None:
            self._tops += tops or [()] * len(token_ids)
        if self.first_at is None:
            self.first_at = now
        self.last_at = now
        return True

    def append(self, delta: SequenceDelta, now: float) -> bool:
        """Add a delta that has only the next token, as most do; returns False, and adds nothing, for any other."""
        token_ids = delta.token_ids
        if (
            len(token_ids) != 1
            or delta.position != len(self.token_ids)
            or self.tail
            or self.first_at is None
            or self._tokenizer is not None
            or self.reasoning is not None
            or delta.reasoning
            or delta.reasoning_flags
        ):
            return False
        self.token_ids += token_ids
        self.texts.append(delta.text)
        self.entropies.fromlist(delta.entropies)
        self.logprobs.fromlist(delta.logprobs)
        self.last_at = now
        return True

    def extend_reasoning(
        self, position: int, num_tokens: int, text: str, cuts: Sequence[int] = (), flags: Sequence[int] = ()
    ) -> None:
        """Add the reasoning of a delta of `num_tokens` tokens, after `extend` has added the rest of it."""
        if self.reasoning is None:
            if not (text or flags):
                return
            self.reasoning = ReasoningLog()
            self.reasoning.extend(self, 0, [""] * position, ())
        texts = split_token_texts(text, num_tokens, cuts) if num_tokens else []
        self.reasoning.extend(self, position, texts, flags)
        if not num_tokens:
            self.reasoning.tail += text

    def extend_prompt(self, position: int, likelihoods: Sequence[tuple[float, Likely]]) -> None:
        """Add new probabilities of the prompt's own tokens, from its token at `position` on."""
        num_known = len(self._prompt) - position
        if self._prompt_ids is not None and 0 <= num_known < len(likelihoods):
            self._prompt += likelihoods[num_known:]

    def token_logprobs(self, start: int = 0, stop: int | None = None) -> list[TokenLogprob] | None:
        """The items from `start` up to `stop` with their likely tokens; None unless requested."""
        if self._tokenizer is None:
            return None
        return [
            token_logprob(self.token_ids[i], self.logprobs[i], self._tops[i], self._tokenizer)
            for i in range(*slice(start, stop).indices(len(self.logprobs)))
        ]

    def prompt_logprobs(self) -> list[TokenLogprob] | None:
        """The prompt's tokens with their alternatives; None unless requested."""
        if self._tokenizer is None or self._prompt_ids is None:
            return None
        return [
            token_logprob(token_id, logprob, likely, self._tokenizer)
            for token_id, (logprob, likely) in zip(self._prompt_ids, self._prompt, strict=False)
        ]

    def delta(self, job_id: str, start: int, stop: int) -> Delta:
        """The items from `start` up to `stop`."""
        if stop - start == 1 and self._tokenizer is None and self.reasoning is None:  # as most are
            token_ids, text = [self.token_ids[start]], self.texts[start]
            return Delta(job_id=job_id, index=start, token_ids=token_ids, text=text, model=self.model)
        return Delta(
            job_id=job_id,
            index=start,
            token_ids=self.token_ids[start:stop],
            text="".join(self.texts[start:stop]),
            logprobs=None if self._tokenizer is None else self.token_logprobs(start, stop),
            prompt_logprobs=None if start else self.prompt_logprobs(),
            reasoning_content="" if self.reasoning is None else "".join(self.reasoning.texts[start:stop]),
            model=self.model,
        )

    def tail_delta(self, job_id: str) -> Delta:
        """The text after the last token; it is complete once the source has ended."""
        return Delta(
            job_id=job_id,
            index=len(self.token_ids),
            token_ids=[],
            text=self.tail,
            reasoning_content="" if self.reasoning is None else self.reasoning.tail,
            model=self.model,
        )

    @property
    def has_tail(self) -> bool:
        """True if there is text after the last token."""
        return bool(self.tail or (self.reasoning is not None and self.reasoning.tail))
