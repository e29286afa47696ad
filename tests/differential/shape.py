"""The sizes of a tiny model, which its other settings must fit."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Shape:
    """Sizes that every config.json states; the head size may be overridden by `head_dim`."""

    vocab_size: int
    hidden_size: int
    ffn_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    max_context: int

    @classmethod
    def drawn(cls, random: Random, *, max_layers: int) -> Shape:
        """Random sizes, with and without special cases in the kernels."""
        num_heads = random.choice([1, 2, 3, 4, 6])
        head_dim = random.choice([4, 6, 8, 10, 12, 16])
        return cls(
            vocab_size=random.randint(64, 300),
            hidden_size=num_heads * head_dim,
            ffn_size=random.randint(5, 90),
            num_layers=random.randint(1, max_layers),
            num_heads=num_heads,
            num_kv_heads=random.choice([n for n in (1, 2, 3, 6) if num_heads % n == 0]),
            head_dim=head_dim,
            max_context=random.choice([64, 128, 512]),
        )

    @property
    def config(self) -> dict[str, object]:
        """The keys of config.json with these sizes."""
        return {
            "vocab_size": self.vocab_size,
            "hidden_size": self.hidden_size,
            "intermediate_size": self.ffn_size,
            "num_hidden_layers": self.num_layers,
            "num_attention_heads": self.num_heads,
            "num_key_value_heads": self.num_kv_heads,
            "max_position_embeddings": self.max_context,
        }
