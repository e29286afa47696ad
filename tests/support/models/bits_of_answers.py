"""Prints the kernels of this processor, and digests of the answers of models: NAME... of MODELS.

A digest is of all that a model says, tokens and numbers; the last one is of samples from a large vocabulary.
"""

from __future__ import annotations

import hashlib
import sys

from cactus_actors.workers.kernels.instruction_sets import choose_instruction_set
from tests.support.models.exact_dispatches import alone, on_one_and_two_threads, said
from tests.support.models.sampler_cases import make_case, sample


def main() -> None:
    """One line."""
    digests = []
    for name in sys.argv[1:]:
        with on_one_and_two_threads(name) as models:
            digests.append(_digest(said(alone(models[1]))))
    digests.append(_digest([_sampled(seed) for seed in range(40)]))
    print(choose_instruction_set().name, *digests)


def _sampled(seed: int) -> object:
    samples = sample(make_case(seed, vocab=5003, num_logprobs=20, mirostat=seed % 3))
    return samples.rows.tolist(), samples.top(0)


def _digest(answers: object) -> str:
    return hashlib.sha256(repr(answers).encode()).hexdigest()[:16]


if __name__ == "__main__":
    main()
