"""The cost of one job at the cloud."""

from __future__ import annotations

from dataclasses import dataclass

from cactus_actors.config import HandoffSettings
from cactus_actors.handoff.spending import Spending
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.protocol.results import Usage

TOKENS_OF_A_PRICE = 1_000_000
NUM_DECIMALS = 12
BATCH_SHARE = 0.5
"""The price of a question in a batch, as a share of that of a single one."""


@dataclass(frozen=True)
class Prices:
    """Prices of a million tokens, in `currency`."""

    prompt: float
    completion: float
    currency: str

    @classmethod
    def of(cls, settings: HandoffSettings) -> Prices | None:
        """The configured prices, None if there are none; raises ConfigurationInvalid if one is missing."""
        prompt, completion = settings.prompt_price, settings.completion_price
        if prompt is not None and completion is not None:
            return cls(prompt, completion, settings.currency)
        if prompt is not None or completion is not None:
            missing = "prompt_price" if prompt is None else "completion_price"
            raise ConfigurationInvalid(f"handoff {missing} is missing", param=f"handoff.{missing}")
        if any(budget.max_cost is not None for budget in (*settings.budgets, *settings.audit_budgets)):
            raise ConfigurationInvalid(
                "a handoff budget with max_cost needs prompt_price and completion_price",
                param="handoff.budgets",
            )
        return None

    def in_batch(self) -> Prices:
        """The prices of questions that are asked in a batch."""
        return Prices(self.prompt * BATCH_SHARE, self.completion * BATCH_SHARE, self.currency)

    def cost(self, usage: Usage) -> float:
        total = usage.prompt_tokens * self.prompt + usage.completion_tokens * self.completion
        return round(total / TOKENS_OF_A_PRICE, NUM_DECIMALS)


class Meter:
    """Records requests and tokens of one job, whose prompt has `num_prompt_tokens` by the local tokenizer.

    `has_begun` is set when an answer starts; `usage` is the cloud's own count, once known.
    """

    def __init__(self, spending: Spending, tenant: str, num_prompt_tokens: int) -> None:
        self._spending = spending
        self._tenant = tenant
        self._num_prompt_tokens = num_prompt_tokens
        self.num_chunks = 0
        self.has_begun = False
        self.usage: Usage | None = None

    def refusal(self) -> str | None:
        """The budget that forbids a request now; None if none does."""
        return self._spending.refusal(self._tenant)

    def on_request(self) -> None:
        self._spending.add(self._tenant, requests=1)

    def counted(self) -> Usage | None:
        """The cloud's usage.

        For a started answer without usage it is an estimate: the local prompt tokens and one token per chunk. None
        otherwise.
        """
        if self.usage is not None or not self.has_begun:
            return self.usage
        return Usage(prompt_tokens=self._num_prompt_tokens, completion_tokens=self.num_chunks)

    def settle(self, prices: Prices | None) -> float | None:
        """Record the tokens and return their cost, if there are prices. Call once, at the end."""
        usage = self.counted()
        if usage is None:
            return None
        cost = None if prices is None else prices.cost(usage)
        self._spending.add(self._tenant, tokens=usage.total_tokens, cost=cost or 0.0)
        return cost
