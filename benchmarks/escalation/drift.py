"""Measures the false alarms of the drift monitor, and how soon it shows a rise of the share of wrong answers.

python -m benchmarks.escalation.drift

False alarms are counted over the monitor's horizon of 100,000 answers, wrong with a probability of exactly --max-error:
the hardest case. A delay is counted from the first answer after the rise, in the runs without an alarm before it.
"""

from __future__ import annotations

import argparse

import numpy as np

from cactus_actors.calibration.drift_monitor import HORIZON, Bets

EVIDENCE = 20.0
"""The wealth that shows a drift at a confidence of 95%."""
MAX_DELAY = 20_000


def first_alarms(max_error: float, num_runs: int, rates: list[tuple[int, float]], seed: int) -> np.ndarray:
    """The number of answers before the alarm of each run, or -1; `rates` are numbers of answers and their error."""
    draw = np.random.default_rng(seed)
    bets = Bets(max_error, (num_runs,))
    alarms = np.full(num_runs, -1)
    num_answers = 0
    for number, rate in rates:
        for _ in range(number):
            bets.update(draw.random(num_runs) < rate)
            num_answers += 1
            alarms[(bets.wealth >= EVIDENCE) & (alarms < 0)] = num_answers
            if (alarms >= 0).all():
                return alarms
    return alarms


def false_alarms(max_error: float, num_runs: int, seed: int, num_answers: int = HORIZON) -> float:
    """The share of runs that report a drift although the answers are wrong just as often as allowed."""
    return float((first_alarms(max_error, num_runs, [(num_answers, max_error)], seed) >= 0).mean())


def mean_delay(max_error: float, raised: float, num_before: int, num_runs: int, seed: int) -> float:
    """The mean number of answers from the rise to the alarm."""
    alarms = first_alarms(max_error, num_runs, [(num_before, max_error), (MAX_DELAY, raised)], seed)
    assert (alarms >= 0).all(), "a drift was not shown"
    return float((alarms - num_before)[alarms > num_before].mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--max-error", type=float, default=0.05)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    share = false_alarms(options.max_error, options.runs, options.seed)
    print(f"false alarms within {HORIZON:,} answers: {share:.1%} of {options.runs} runs")
    for rise in (0.025, 0.05, 0.1):
        for num_before in (0, 10_050):
            raised = options.max_error + rise
            delay = mean_delay(options.max_error, raised, num_before, options.runs, options.seed)
            print(f"rise to {raised:.1%} after {num_before:6,} answers: shown after {delay:,.0f} (mean)")


if __name__ == "__main__":
    main()
