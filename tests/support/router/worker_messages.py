"""Messages of workers, and the state of the other end of a worker's socket."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cactus_actors.protocol.block_hashes import block_hashes
from cactus_actors.protocol.worker_messages import (
    AskBatch,
    Audit,
    Dispatch,
    Finish,
    Hello,
    Report,
    SequenceDelta,
    SequenceExtras,
)

SURE, UNSURE = 0.1, 0.9  # normalised entropies


def make_hello(
    worker_id: str = "w1",
    *,
    kind: str = "local",
    num_slots: int = 2,
    num_blocks: int = 64,
    model: str = "letters",
    node: str = "here",
    **more: Any,
) -> Hello:
    return Hello(
        worker_id=worker_id,
        kind=kind,  # type: ignore[arg-type]
        model=model,
        num_slots=num_slots,
        num_blocks=num_blocks if kind == "local" else 0,
        block_size=16 if kind == "local" else 0,
        max_context=4096,
        node=node,
        pid=1,
        **more,
    )


def make_delta(
    dispatch_id: int,
    position: int,
    text: str,
    *,
    entropy: float | None = SURE,
    finish: Finish | None = None,
    token_ids: list[int] | None = None,
    cuts: tuple[int, ...] = (),
    extras: SequenceExtras | None = None,
) -> SequenceDelta:
    """One token per character, unless `token_ids` are given."""
    token_ids = [ord(letter) for letter in text] if token_ids is None else token_ids
    measured = [] if entropy is None else [entropy] * len(token_ids)
    return SequenceDelta(
        dispatch_id=dispatch_id,
        position=position,
        token_ids=token_ids,
        text=text,
        entropies=measured,
        logprobs=[-value for value in measured],
        finish=finish,
        cuts=list(cuts),
        extras=extras,
    )


@dataclass
class Worker:
    """The state of the other end of the worker socket."""

    identity: bytes
    hello: Hello
    dispatches: dict[int, Dispatch] = field(default_factory=dict)
    aborted: list[int] = field(default_factory=list)
    num_accepted: int = 0
    cached: dict[int, None] = field(default_factory=dict)
    adapters: dict[str, str] = field(default_factory=dict)  # paths by key
    audits: list[Audit] = field(default_factory=list)
    batches: list[AskBatch] = field(default_factory=list)

    def report(self, *deltas: SequenceDelta, unavailable: str | None = None) -> Report:
        stored = list(dict.fromkeys(block for delta in deltas for block in self.newly_cached(delta)))
        self.cached.update(dict.fromkeys(stored))
        for delta in deltas:
            if delta.finish is not None:
                self.dispatches.pop(delta.dispatch_id, None)
        free = max(0, self.hello.num_slots - len(self.dispatches))
        return Report(
            num_accepted=self.num_accepted,
            free_slots=free,
            free_blocks=self.hello.num_blocks,
            num_running=min(len(self.dispatches), self.hello.num_slots),
            deltas=list(deltas),
            unavailable=unavailable,
            stored=stored,
        )

    def newly_cached(self, delta: SequenceDelta) -> list[int]:
        """The full blocks that are computed once these tokens are known."""
        dispatch = self.dispatches.get(delta.dispatch_id)
        if dispatch is None or not dispatch.params.cache_prompt:
            return []
        known = [*dispatch.prompt_ids, *dispatch.emitted_ids[: delta.position], *delta.token_ids]
        hashes = block_hashes(known[:-1], dispatch.cache_salt, (), dispatch.adapter)
        return [block for block in hashes if block not in self.cached]


def report(*deltas: SequenceDelta, num_accepted: int = 0, num_running: int = 0) -> Report:
    return Report(num_accepted, 2 - num_running, 64, num_running, list(deltas))
