"""Makes heads for drafts of some golden checkpoints: python -m tests.goldens.make_draft_heads [--into DIRECTORY]

Needs torch and transformers, which the tests do not; transformers has no class of the head, but the parts it is made
of. Per checkpoint: head.safetensors with random weights, logits.npy with the head's logits for NUM_DRAFTS drafts, and
reference.json with the drafts. The first one follows the prompt of the checkpoint's own reference and its first greedy
id; each other one follows the draft before it. All by eager attention in float32, from the stored weights.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import PreTrainedModel

from tests.goldens.families import FAMILIES
from tests.goldens.make import MAX_SEEDS, MIN_EFFECT, MIN_MARGIN, load, random_weights

NAMES = ("qwen35", "qwen35-untied", "qwen35moe")
NUM_DRAFTS = 4
HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--into", type=Path, default=HERE / "with_draft_head")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    for name in NAMES:
        make(name, arguments.into / name)


@dataclass
class Head:
    """The head, from the classes of the model's layers and norms."""

    model: PreTrainedModel
    fc: torch.nn.Linear
    layer: torch.nn.Module
    norms: dict[str, torch.nn.Module]

    @classmethod
    def of(cls, model: PreTrainedModel) -> Head:
        """A head without weights for this model."""
        config, (layer_class, norm_class) = model.config, (type(model.model.layers[0]), type(model.model.norm))
        layer = layer_class(config, config.layer_types.index("full_attention"))
        layer.self_attn.layer_idx = None
        fc = torch.nn.Linear(2 * config.hidden_size, config.hidden_size, bias=False)
        names = ("pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm")
        return cls(model, fc, layer, {each: norm_class(config.hidden_size, config.rms_norm_eps) for each in names})

    @property
    def modules(self) -> dict[str, torch.nn.Module]:
        """The parts by the beginnings of their names in published checkpoints."""
        return {"mtp.fc": self.fc, "mtp.layers.0": self.layer, **{f"mtp.{k}": v for k, v in self.norms.items()}}

    def parameters(self) -> dict[str, torch.nn.Parameter]:
        """All weights, by their names in published checkpoints."""
        return {
            f"{name}.{part}": weight
            for name, module in self.modules.items()
            for part, weight in module.named_parameters()
        }

    @torch.no_grad()
    def outputs(self, token_ids: list[int], hidden: torch.Tensor, *, swapped: bool = False) -> torch.Tensor:
        """Outputs after the last norm (tokens, hidden), from tokens and the hidden states before them."""
        embedded = self.norms["pre_fc_norm_embedding"](self.model.model.embed_tokens(torch.tensor(token_ids)))
        before = self.norms["pre_fc_norm_hidden"](hidden)
        x = self.fc(torch.cat([before, embedded] if swapped else [embedded, before], dim=-1))[None]
        positions = torch.arange(x.shape[1])
        mask = torch.full((x.shape[1], x.shape[1]), -torch.inf).triu(1)[None, None]
        rotary = self.model.model.rotary_emb(x, positions.view(1, 1, -1).expand(3, 1, -1))
        return self.norms["norm"](self.layer(x, position_embeddings=rotary, attention_mask=mask)[0])


def make(name: str, directory: Path) -> None:
    """Write the head of the first seed whose drafts have a clear margin and differ, and which errors would change."""
    directory.mkdir(parents=True, exist_ok=True)
    family = next(each for each in FAMILIES if each.name == name)
    given = json.loads((HERE / name / "reference.json").read_text())
    prompt_ids, next_id = given["prompt_ids"], given["greedy_ids"][0]
    for seed in range(MAX_SEEDS):
        model = load(HERE / name)
        head = Head.of(model)
        stored = {
            each: torch.from_numpy(random_weights(each, tuple(weight.shape), family, seed)).bfloat16()
            for each, weight in head.parameters().items()
        }
        save_file(stored, directory / "head.safetensors", metadata={"format": "pt"})
        (directory / "head.safetensors").chmod(0o644)
        with torch.no_grad():
            for each, values in load_file(directory / "head.safetensors").items():
                head.parameters()[each].copy_(values.float())
        logits, draft_ids, margin = drafted(head, prompt_ids, next_id)
        is_clear = margin > MIN_MARGIN and len(set(draft_ids)) == NUM_DRAFTS
        if is_clear and min(effects(head, prompt_ids, next_id, logits[0])) > MIN_EFFECT:
            break
    else:
        raise SystemExit(f"{name}: no seed will do; the last gave {draft_ids}, {margin:.2g}")
    np.save(directory / "logits.npy", logits)
    reference = {
        "draft_ids": draft_ids,
        "smallest_margin": float(f"{margin:.3g}"),
        "seed": seed,
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in reference.items()]
    (directory / "reference.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{name:16} seed {seed:2}  margin {margin:.4f}  {draft_ids}")


@torch.no_grad()
def hidden_of(head: Head, token_ids: list[int]) -> torch.Tensor:
    """The hidden states of the model after its last norm."""
    return head.model.model(torch.tensor([token_ids]), use_cache=False).last_hidden_state[0]


@torch.no_grad()
def drafted(head: Head, prompt_ids: list[int], next_id: int) -> tuple[np.ndarray, list[int], float]:
    """Logits of the drafts, the drafts, and their smallest margin."""
    hidden = hidden_of(head, prompt_ids)
    token_ids = [*prompt_ids[1:], next_id]
    rows, margins = [], []
    for _ in range(NUM_DRAFTS):
        output = head.outputs(token_ids, hidden)[-1:]
        rows.append(head.model.lm_head(output)[0].numpy())
        second, best = np.sort(rows[-1])[-2:]
        margins.append((best - second) / np.ptp(rows[-1]))
        token_ids.append(int(rows[-1].argmax()))
        hidden = torch.cat([hidden, output])
    return np.stack(rows), token_ids[len(prompt_ids) :], float(min(margins))


@torch.no_grad()
def effects(head: Head, prompt_ids: list[int], next_id: int, logits: np.ndarray) -> list[float]:
    """How far errors move the first logits: swapped halves, a pair too many at the start, other hidden states."""
    hidden, token_ids = hidden_of(head, prompt_ids), [*prompt_ids[1:], next_id]
    none = torch.zeros_like(hidden[:1])
    wrong = [
        head.outputs(token_ids, hidden, swapped=True),
        head.outputs([prompt_ids[0], *token_ids], torch.cat([none, hidden])),
        head.outputs(token_ids, torch.cat([none, hidden[:-1]])),
    ]
    return [float(np.abs(head.model.lm_head(each[-1]).numpy() - logits).max() / np.ptp(logits)) for each in wrong]


if __name__ == "__main__":
    main()
