"""Makes the golden checkpoints: python -m tests.goldens.make [--only NAME] [--into DIRECTORY]

Needs torch and transformers, which the tests do not. Per family of `families.py`: config.json and
model.safetensors with random weights, reference.json with a prompt and its greedy continuation, logits.npy
with the logits at some positions of the prompt, all by eager attention in float32 from the stored weights.
The same versions write the same bytes.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import zlib
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM, Mxfp4Config, PreTrainedModel

from tests.goldens.families import FAMILIES
from tests.goldens.family import Family
from tests.goldens.mxfp4_blocks import quantised

NUM_GREEDY = 20
MAX_SEEDS = 30
MIN_MARGIN = 2e-3  # between the best and the second-best logit of every greedy step, of the logits' range
MIN_DISTINCT = 6  # tokens among the greedy ones: a loop would hide errors
MIN_EFFECT = 0.01  # of the logits' range, of each change in Family.matters
MAX_CACHE_ERROR = 1e-5  # of the logits' range, between steps with and without a cache


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=[family.name for family in FAMILIES])
    parser.add_argument("--into", type=Path, default=Path(__file__).parent)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    for family in FAMILIES:
        if arguments.only in (None, family.name):
            make(family, arguments.into / family.name)


def make(family: Family, directory: Path) -> None:
    """Write the checkpoint of the first seed whose greedy continuation has a clear margin."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(family.config, indent=2) + "\n")
    for seed in range(MAX_SEEDS):
        write_weights(family, directory, seed)
        model = load(directory)
        prompt_ids = random_prompt(family, seed)
        greedy_ids, margin = continued(model, prompt_ids)
        if margin > MIN_MARGIN and len(set(greedy_ids)) >= MIN_DISTINCT:
            break
    else:
        raise SystemExit(f"{family.name}: no seed will do; the last gave {greedy_ids}, {margin:.2g}")
    positions = [0, 1, len(prompt_ids) // 3, 2 * len(prompt_ids) // 3, len(prompt_ids) - 1]
    logits = logits_of(model, prompt_ids)[positions]
    for change in family.matters:
        effect = np.abs(changed(directory, change, prompt_ids)[positions] - logits).max() / np.ptp(logits)
        assert effect > MIN_EFFECT, f"{family.name}: {change} moves the logits by {effect:.2g} of their range"
    np.save(directory / "logits.npy", logits)
    reference = {
        "prompt_ids": prompt_ids,
        "positions": positions,
        "greedy_ids": greedy_ids,
        "smallest_margin": float(f"{margin:.3g}"),
        "seed": seed,
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in reference.items()]
    (directory / "reference.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    num_bytes = sum(path.stat().st_size for path in directory.iterdir())
    print(f"{family.name:16} seed {seed:2}  margin {margin:.4f}  {num_bytes / 1000:5.1f} kB  {greedy_ids}")


def write_weights(family: Family, directory: Path, seed: int) -> None:
    """model.safetensors of random weights, under the names that published checkpoints have."""
    config = AutoConfig.from_pretrained(directory, trust_remote_code=False)
    is_mxfp4 = getattr(config, "quantization_config", None) is not None
    if is_mxfp4:
        del config.quantization_config
    model = AutoModelForCausalLM.from_config(config)
    stored = [(name, each) for name, each in model.named_buffers() if name.endswith(("expert_bias", "layer_scalar"))]
    with torch.no_grad():
        for name, parameter in [*model.named_parameters(), *stored]:
            parameter.copy_(torch.from_numpy(random_weights(name, tuple(parameter.shape), family, seed)))
    with tempfile.TemporaryDirectory() as scratch:
        model.to(getattr(torch, family.storage)).save_pretrained(scratch)
        if is_mxfp4:
            quantise_experts(Path(scratch) / "model.safetensors")
        (directory / "model.safetensors").write_bytes((Path(scratch) / "model.safetensors").read_bytes())


def quantise_experts(path: Path) -> None:
    """The matrices of experts (experts, inputs, outputs) in MXFP4, as blocks and scales."""
    tensors = load_file(path)
    for name in [name for name in tensors if name.endswith(("gate_up_proj", "down_proj"))]:
        blocks, scales = quantised(tensors.pop(name).float().transpose(1, 2).contiguous().numpy())
        tensors[f"{name}_blocks"], tensors[f"{name}_scales"] = torch.from_numpy(blocks), torch.from_numpy(scales)
    save_file(tensors, path, metadata={"format": "pt"})


def random_weights(name: str, shape: tuple[int, ...], family: Family, seed: int) -> np.ndarray:
    """Weights that keep activations near one, with attention and logits that vary."""
    normal = np.random.default_rng([seed, zlib.crc32(name.encode())]).standard_normal(shape)
    gemma = "gemma" in family.name  # scales its embedding up, and before Gemma 3n by one more than its norms store
    is_recent = family.name.startswith(("gemma3n", "gemma4"))
    is_qwen = "qwen35" in family.name and not name.endswith("linear_attn.norm.weight")
    is_offset = is_qwen or (gemma and not is_recent)
    if name.endswith(".bias"):
        values = 0.5 * normal
    elif name.endswith(".A_log"):
        values = normal - 2.0  # decays near one, so that delta nets have a long memory
    elif len(shape) == 1:
        # The last norm compensates for the small embedding, to which Gemma's output is tied.
        values = 0.3 * normal + 2.0 * (gemma and name == "model.norm.weight") + (0.0 if is_offset else 1.0)
    elif "embed" in name or "lm_head" in name:
        values = (0.7 if gemma else 3.0) * normal / np.sqrt(shape[-1])
    else:
        values = 1.5 * normal / np.sqrt(shape[-1])
    if is_recent and name.endswith(("q_norm.weight", "k_norm.weight")):
        values *= shape[0] ** -0.25  # scores are not divided by the square root of the size of a head
    return values.astype(np.float32)


def random_prompt(family: Family, seed: int) -> list[int]:
    """Ids that repeat some earlier ones, so that attention depends on the content."""
    generator = np.random.default_rng([seed, family.prompt_length])
    return generator.integers(4, family.config["vocab_size"] // 3, family.prompt_length).tolist()


def load(directory: Path, **config_changes: object) -> PreTrainedModel:
    """The checkpoint in float32 with eager attention; MXFP4 is dequantised by transformers."""
    if "quantization_config" in json.loads((directory / "config.json").read_text()):
        config_changes["quantization_config"] = Mxfp4Config(dequantize=True)
    loaded = AutoModelForCausalLM.from_pretrained(
        directory,
        dtype=torch.float32,
        attn_implementation="eager",
        experts_implementation="eager",
        trust_remote_code=False,
        **config_changes,
    )
    return loaded.eval()


def changed(directory: Path, change: dict[str, object], prompt_ids: list[int]) -> np.ndarray:
    """The logits of the same weights under another config."""
    with tempfile.TemporaryDirectory() as scratch:
        config = json.loads((directory / "config.json").read_text())
        (Path(scratch) / "config.json").write_text(json.dumps(config | change))
        (Path(scratch) / "model.safetensors").write_bytes((directory / "model.safetensors").read_bytes())
        return logits_of(load(Path(scratch)), prompt_ids)


@torch.no_grad()
def logits_of(model: PreTrainedModel, token_ids: list[int]) -> np.ndarray:
    """Logits (tokens, vocab) in one pass without a cache."""
    return model(torch.tensor([token_ids]), use_cache=False).logits[0].numpy()


@torch.no_grad()
def continued(model: PreTrainedModel, prompt_ids: list[int]) -> tuple[list[int], float]:
    """The greedy continuation and its smallest margin, computed with and without a cache."""
    token_ids = list(prompt_ids)
    margins = []
    step = model(torch.tensor([token_ids]), use_cache=True)
    for _ in range(NUM_GREEDY):
        logits = logits_of(model, token_ids)[-1]
        spread = np.ptp(logits)
        assert np.abs(step.logits[0, -1].numpy() - logits).max() < MAX_CACHE_ERROR * spread
        second, best = np.sort(logits)[-2:]
        margins.append((best - second) / spread)
        token_ids.append(int(logits.argmax()))
        step = model(torch.tensor([token_ids[-1:]]), use_cache=True, past_key_values=step.past_key_values)
    return token_ids[len(prompt_ids) :], float(min(margins))


if __name__ == "__main__":
    main()
