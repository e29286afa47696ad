"""Watches labelled answers one by one, and shows when the share of wrong ones has risen above a bound.

The evidence is an e-process (Ramdas et al., arXiv 2210.01948): the wealth of bets against "an answer is wrong with a
probability of at most `max_error`", which is not expected to grow while that is true. By Ville's inequality it then
ever reaches 1 / level with a probability of at most `level`, however often it is looked at. To detect a change after
any number of good answers, the stake is divided into parts, one of which is placed every PLACING_PERIOD answers, as in
an e-detector (Shin et al., arXiv 2203.03532).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

HORIZON = 100_000
"""The number of answers for which the limit of false alarms holds. After it a monitor starts again."""
PLACING_PERIOD = 100
EXCESS_RATES = (0.03, 0.055, 0.2)
"""The bets gain most at rates of wrong answers that are above `max_error` by these shares of the rest."""
STAKES = (0.25, 0.5, 0.25)

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


class Bets:
    """The bets of one or several monitors of the same bound; `shape` is that of the monitors, () for one.

    A bet on a rate multiplies its stake, at each answer, by the answer's likelihood at that rate over its likelihood
    at `max_error`.
    """

    def __init__(self, max_error: float, shape: tuple[int, ...] = ()) -> None:
        rates = max_error + (1.0 - max_error) * np.array(EXCESS_RATES)
        self._factor_wrong = rates / max_error
        self._factor_right = (1.0 - rates) / (1.0 - max_error)
        self._values = np.zeros((*shape, len(rates)))
        self._num_answers = 0

    @property
    def wealth(self) -> Floats:
        """The value of all bets and the part of the stake that is not placed yet; 1 at the start."""
        num_placed = -(-self._num_answers // PLACING_PERIOD)
        return np.asarray(self._values.sum(axis=-1) + (1.0 - num_placed * PLACING_PERIOD / HORIZON))

    @property
    def is_over(self) -> bool:
        """True after HORIZON answers: no part of the stake is left."""
        return self._num_answers >= HORIZON

    def update(self, is_wrong: bool | Bools) -> None:
        """Settle the bets on the next answer of each monitor."""
        if self._num_answers % PLACING_PERIOD == 0:
            self._values += np.array(STAKES) * PLACING_PERIOD / HORIZON
        self._values *= np.where(np.asarray(is_wrong)[..., None], self._factor_wrong, self._factor_right)
        self._num_answers += 1


class DriftMonitor:
    """Shows that more than `max_error` of the answers are wrong, from labels that arrive one by one.

    While at most `max_error` of the answers are wrong, `has_drifted` becomes true within HORIZON answers with a
    probability of at most 1 - `confidence`. A rise from 5% to 10% is shown after about 470 answers.
    """

    def __init__(self, max_error: float = 0.05, confidence: float = 0.95) -> None:
        """Raises ValueError for a number that is not between 0 and 1."""
        for name, share in (("max_error", max_error), ("confidence", confidence)):
            if not 0.0 < share < 1.0:
                raise ValueError(f"{name} must be between 0 and 1, and neither: it is {share}")
        self._max_error = max_error
        self._level = 1.0 - confidence
        self._bets = Bets(max_error)
        self.num_answers = 0
        self.num_wrong = 0
        self.has_drifted = False

    @property
    def evidence(self) -> float:
        """The wealth of the bets: 1 is no evidence, 1 / (1 - confidence) is enough."""
        return float(self._bets.wealth)

    def update(self, is_wrong: bool) -> bool:
        """Add the label of an answer, chosen at random among those that stay; return `has_drifted`.

        Raises ValueError for a label that is neither true nor false.
        """
        if is_wrong not in (True, False):
            raise ValueError(f"a label is true or false, not {is_wrong!r:.80}")
        if self._bets.is_over:
            self._bets = Bets(self._max_error)
        self._bets.update(is_wrong)
        self.num_answers += 1
        self.num_wrong += bool(is_wrong)
        self.has_drifted = self.has_drifted or self.evidence >= 1.0 / self._level
        return self.has_drifted
