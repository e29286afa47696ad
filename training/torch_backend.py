"""Answers by the training network itself, to evaluate a run before the weights are exported."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from training.answering import MAX_ANSWER_TOKENS, Answer, Question
from training.chat import Chat
from training.model import Decoder, Shape, rope_tables
from training.vocabulary import TURN_END

FORBIDDEN = -1e4
BATCH = 64
INT8_GROUP = 64


def int8_rounded(weight: Tensor) -> Tensor:
    """The values that int8 weights with one scale per 64 elements of a row represent."""
    groups = weight.float().reshape(weight.shape[0], -1, INT8_GROUP)
    scales = (groups.abs().amax(-1, keepdim=True) / 127).clamp_min(1e-12)
    return ((groups / scales).round() * scales).reshape(weight.shape)


class TorchBackend:
    def __init__(self, model: Decoder, tokenizer: Tokenizer) -> None:
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.chat = Chat()
        self.stop = tokenizer.token_to_id(TURN_END)

    @classmethod
    def of_checkpoint(cls, directory: Path, int8: bool = False) -> TorchBackend:
        """The averaged weights of a run, rounded to bfloat16 or int8."""
        state = torch.load(directory / "checkpoint.pt", weights_only=True)["average"]
        return cls._of(state, Tokenizer.from_file(str(directory / "tokenizer.json")), int8)

    @classmethod
    def of_model(cls, directory: Path, int8: bool = False) -> TorchBackend:
        """The weights of an exported model directory."""
        state = load_file(directory / "model.safetensors")
        state = {name.removeprefix("model."): value.float() for name, value in state.items()}
        return cls._of(state, Tokenizer.from_file(str(directory / "tokenizer.json")), int8)

    @classmethod
    def _of(cls, state: dict[str, Tensor], tokenizer: Tokenizer, int8: bool) -> TorchBackend:
        model = Decoder(Shape.of(state))
        rounded = {
            name: int8_rounded(value) if int8 and value.ndim == 2 else value.bfloat16().float()
            for name, value in state.items()
        }
        model.load_state_dict(rounded)
        return cls(model, tokenizer)

    def answers(self, questions: Sequence[Question]) -> list[Answer]:
        prompts = [
            self.tokenizer.encode(self.chat.render(q.messages, q.tools, True), add_special_tokens=False).ids
            for q in questions
        ]
        order = sorted(range(len(prompts)), key=lambda place: len(prompts[place]))
        found: dict[int, Answer] = {}
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            for place, answer in zip(chosen, self._batch([prompts[place] for place in chosen]), strict=True):
                found[place] = answer
        return [found[place] for place in range(len(prompts))]

    def close(self) -> None:
        """No resources to release."""

    @torch.inference_mode()
    def _batch(self, prompts: list[list[int]]) -> list[Answer]:
        """Compute a batch; prompts are padded on the left, since the rotary embedding is relative."""
        rows, longest = len(prompts), max(map(len, prompts))
        cos, sin = rope_tables(self.model.shape, torch.arange(longest + MAX_ANSWER_TOKENS))
        tokens = torch.zeros(rows, longest, dtype=torch.long)
        visible = torch.zeros(rows, longest + MAX_ANSWER_TOKENS, dtype=torch.bool)
        for row, prompt in enumerate(prompts):
            tokens[row, longest - len(prompt) :] = torch.tensor(prompt)
            visible[row, longest - len(prompt) :] = True
        causal = torch.ones(longest, longest, dtype=torch.bool).tril()
        mask = torch.where(causal & visible[:, None, None, :longest], 0.0, FORBIDDEN)
        hidden, past = self.model(tokens, cos[:longest], sin[:longest], mask)
        outputs: list[list[int]] = [[] for _ in prompts]
        entropies: list[list[float]] = [[] for _ in prompts]
        chances: list[list[float]] = [[] for _ in prompts]
        ended = [False] * rows
        active = list(range(rows))
        for place in range(longest, longest + MAX_ANSWER_TOKENS):
            logits = functional.linear(hidden[:, -1], self.model.embed_tokens.weight)
            log_probabilities = logits.log_softmax(-1)  # (active rows, vocabulary)
            entropy = -(log_probabilities.exp() * log_probabilities).sum(-1)
            best = log_probabilities.max(-1)
            for index, row in enumerate(active):
                entropies[row].append(entropy[index].item())
                chances[row].append(best.values[index].item())
                ended[row] = best.indices[index].item() == self.stop
                if not ended[row]:
                    outputs[row].append(int(best.indices[index].item()))
            going = [index for index, row in enumerate(active) if not ended[row]]
            active = [active[index] for index in going]
            if not active:
                break
            past = [(keys[going], values[going]) for keys, values in past]
            mask = torch.where(visible[active][:, None, None, : place + 1], 0.0, FORBIDDEN)
            hidden, past = self.model(
                best.indices[going, None], cos[place : place + 1], sin[place : place + 1], mask, past
            )
        scale = math.log(self.model.shape.vocab_size)
        return [
            Answer(
                self.tokenizer.decode(outputs[row], skip_special_tokens=False),
                ended[row],
                [entropy / scale for entropy in entropies[row]],
                chances[row],
            )
            for row in range(rows)
        ]
