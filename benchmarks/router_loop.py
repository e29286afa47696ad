"""Deltas a second through the router: worker frames in, published frames out, without sockets.

python -m benchmarks.router_loop --sequences 16 --steps 2000
"""

from __future__ import annotations

import argparse
import json
import time

from cactus_actors.config import RouterSettings
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.params import resolve_options
from cactus_actors.protocol.wire import encode, encode_published, worker_message_decoder
from cactus_actors.protocol.worker_messages import CloudRequest, Hello, Report, SequenceDelta
from router.core import RouterCore
from router.effects import Prepare, Publish
from router.prepare.prepared import Prepared

PROMPT_IDS = list(range(64))
WORKER = b"worker"


def prepared(submit: Submit) -> Prepared:
    params, policy = resolve_options(submit.options, context_left=1 << 20)
    return Prepared(PROMPT_IDS, params, policy, CloudRequest(prompt=""), "bench")


def measure(num_sequences: int, num_steps: int) -> dict[str, float]:
    """Mean and worst milliseconds of one step message of `num_sequences` one-token deltas."""
    core = RouterCore(RouterSettings(on_deck=0), epoch=1, now=0.0)
    hello = Hello("w", "local", "bench", num_sequences, 1 << 20, 16, 1 << 20, "here", 1)
    core.on_worker(WORKER, hello, 0.0)
    for number in range(num_sequences):
        job_id = f"{number:032x}"
        core.on_subscribed(job_id, 0.0)
        submit = Submit(job_id=job_id, prompt="", options=Options(max_tokens=num_steps, seed=number))
        [effect] = core.on_client(b"client", submit, "m", 0.0)
        assert isinstance(effect, Prepare)
        core.on_prepared(effect.ticket, prepared(submit), 0.0)
    decode = worker_message_decoder().decode
    steps = [
        encode(
            Report(
                num_accepted=num_sequences,
                free_slots=0,
                free_blocks=1 << 10,
                num_running=num_sequences,
                deltas=[
                    SequenceDelta(number + 1, step, [step], " word", [0.1], [-0.1])
                    for number in range(num_sequences)
                ],
            )
        )
        for step in range(num_steps)
    ]
    num_published = 0
    durations = []
    for step, frames in enumerate(steps):
        started = time.perf_counter()
        for effect in core.on_worker(WORKER, decode(frames), step * 0.01):
            if isinstance(effect, Publish):
                encode_published(effect.topic, effect.message, effect.encoding)
                num_published += 1
        durations.append(time.perf_counter() - started)
    assert num_published == num_sequences * num_steps
    return {
        "sequences": num_sequences,
        "deltas_per_second": round(num_published / sum(durations)),
        "step_ms_mean": round(1000 * sum(durations) / num_steps, 4),
        "step_ms_p99": round(1000 * sorted(durations)[int(num_steps * 0.99)], 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sequences", type=int, default=16)
    parser.add_argument("--steps", type=int, default=2000)
    arguments = parser.parse_args()
    print(json.dumps(measure(arguments.sequences, arguments.steps)))


if __name__ == "__main__":
    main()
