"""What `cactus calibrate` predicts of a threshold, beside what a service hands off by it.

python -m benchmarks.escalation.served

cactus-sprout answers the hand-written questions without tools. A threshold is chosen by all of them, and asked of the
same ones; then by each half, and asked of the other half, where chance makes a difference. The cloud of the service is
a second one of cactus-sprout.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from benchmarks.escalation.judged_answers import asked_questions, handwritten
from benchmarks.escalation.prompt_gate import TOOL_KINDS
from benchmarks.server_process import cactus_serve
from cactus_actors.calibration import Calibration, Example, ExampleOutcome, ThresholdTarget, run_examples
from cactus_actors.calibration.thresholds import Cut
from cactus_actors.client import AsyncClient
from cactus_actors.protocol.confidence import DEFAULT_SIGNAL, SignalName
from cactus_actors.protocol.messages import ChatMessage
from cactus_actors.protocol.results import Result
from training.answering import MAX_ANSWER_TOKENS, Answer

ROOT = Path(__file__).parents[2]
OPTIONS: dict[str, Any] = {"temperature": 0.0, "max_tokens": MAX_ANSWER_TOKENS}
MAX_IN_FLIGHT = 16
PRECISIONS = (0.95, 0.97)


@dataclass(frozen=True, slots=True)
class Served:
    """The share of questions that a service handed off, and the share of right answers among the others."""

    handed_off: float
    precision: float


class Asking:
    """A client that asks the hand-written questions, and judges the answers."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        questions = [question for question in asked_questions() if question.kind not in TOOL_KINDS]
        self._judged = [handwritten(question) for question in questions]
        self._examples = [
            Example(messages=[ChatMessage(**message) for message in one.asked.messages]) for one in self._judged
        ]

    async def outcomes(self) -> list[ExampleOutcome]:
        """All answers, as `cactus calibrate` gets them."""
        found = await run_examples(self._client, self._examples, OPTIONS, max_in_flight=MAX_IN_FLIGHT)
        return [replace(one, is_right=self._is_right(place, one.result)) for place, one in enumerate(found)]

    async def served(self, places: Sequence[int], threshold: float) -> Served:
        """Ask these questions with a threshold."""
        turns = asyncio.Semaphore(MAX_IN_FLIGHT)

        async def ask(place: int) -> bool | None:
            async with turns:
                result = await self._client.complete(
                    messages=self._examples[place].messages, cloud_handoff_threshold=threshold, **OPTIONS
                )
            return None if result.cloud_handoff else self._is_right(place, result)

        verdicts = await asyncio.gather(*map(ask, places))
        kept = [verdict for verdict in verdicts if verdict is not None]
        return Served(1.0 - len(kept) / len(verdicts), sum(kept) / len(kept))

    def _is_right(self, place: int, result: Result | None) -> bool:
        return result is not None and self._judged[place].is_right(Answer(result.text, result.finish_reason == "stop"))


def cut_of(outcomes: Sequence[ExampleOutcome], signal: SignalName, precision: float) -> Cut:
    """The threshold that calibration finds, with what it predicts."""
    signals = Calibration.of(outcomes, ThresholdTarget(precision)).signals
    cut = next(one.cut for one in signals if one.name == signal)
    if cut is None:
        raise SystemExit(f"no threshold of {signal} reaches {precision:.0%}")
    return cut


async def compare(signal: SignalName, jobs: str, stream: str) -> None:
    async with AsyncClient(jobs, stream) as client:
        asking = Asking(client)
        outcomes = await asking.outcomes()
        order = np.random.default_rng(0).permutation(len(outcomes)).tolist()
        halves = order[::2], order[1::2]
        for precision in PRECISIONS:
            for name, chosen, asked in (
                ("the same", order, order),
                ("second half", *halves),
                ("first half", *reversed(halves)),
            ):
                cut = cut_of([outcomes[place] for place in chosen], signal, precision)
                served = await asking.served(asked, cut.threshold)
                print(
                    f"{signal:14} {precision:>9.0%}  {name:11} {len(asked):>9} {cut.handed_off:>10.1%} "
                    f"{served.handed_off:>7.1%} {cut.accuracy:>10.1%} {served.precision:>7.1%}",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--signals", nargs="+", choices=get_args(SignalName), default=[DEFAULT_SIGNAL, "entropy"])
    options = parser.parse_args()
    print(f"{'':14} {'':>9}  {'':11} {'':>9} {'handed off':>18} {'right of kept':>18}")
    print(
        f"{'signal':14} {'precision':>9}  {'asked':11} {'questions':>9} {'predicted':>10} {'served':>7} "
        f"{'predicted':>10} {'served':>7}"
    )
    with tempfile.TemporaryDirectory() as directory, cactus_serve(["--http", "127.0.0.1:0"], ROOT) as cloud:
        for signal in options.signals:
            config = Path(directory) / f"{signal}.toml"
            config.write_text(f'[handoff]\nbase_url = "{cloud.http}/v1"\nconfidence_signal = "{signal}"\n')
            with cactus_serve(["--config", str(config), "--http", ""], ROOT) as service:
                asyncio.run(compare(signal, service.jobs, service.stream))


if __name__ == "__main__":
    main()
