"""Makes the golden checkpoints that read pictures: python -m tests.goldens.make_pictures [--only NAME]

As `tests.goldens.make`, into `with_pictures`: per family config.json, preprocessor_config.json and model.safetensors
with random weights, reference.json with a prompt and its greedy continuation, logits.npy with the logits at some
positions. The pictures are those of `random_pictures.random_picture` with the seed and the number of the picture.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import zlib
from pathlib import Path

import numpy as np
import torch
import transformers
from transformers import AutoConfig, AutoModelForImageTextToText, PreTrainedModel

from cactus_actors.protocol.pictures import PreparedPicture
from tests.goldens.gemma_picture_families import GEMMA_PICTURE_FAMILIES
from tests.goldens.lfm3_picture_families import LFM3_PICTURE_FAMILIES
from tests.goldens.picture_families import PICTURE_FAMILIES, PictureFamily
from tests.goldens.picture_inputs import Inputs, inputs_of, token_types_of
from tests.goldens.qwen_picture_families import QWEN_PICTURE_FAMILIES
from tests.support.models.random_pictures import image_token_id_of, prompt_with, random_picture

FAMILIES = PICTURE_FAMILIES + GEMMA_PICTURE_FAMILIES + QWEN_PICTURE_FAMILIES + LFM3_PICTURE_FAMILIES
BUFFERS = ("layer_scalar", "std_bias", "std_scale", "_min", "_max")  # that checkpoints have
NUM_GREEDY = 64
MAX_SEEDS = 60
MIN_MARGIN = 1e-3  # between the best and the second-best logit of every greedy step, of the logits' range
MIN_DISTINCT = 6
MIN_EFFECT = 0.02  # of the logits' range, of other pictures


_OFFSET = re.compile(r"language_model\.(.*layernorm|.*[qk]_norm|norm)\.weight")
"""Norms whose gain is one more than what the files of Qwen3.5 have."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=[family.name for family in FAMILIES])
    parser.add_argument("--into", type=Path, default=Path(__file__).parent / "with_pictures")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    for family in FAMILIES:
        if arguments.only in (None, family.name):
            make(family, arguments.into / family.name)


def make(family: PictureFamily, directory: Path) -> None:
    """Write the checkpoint of the first seed whose greedy continuation is clear-cut."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(family.config, indent=2) + "\n")
    (directory / "preprocessor_config.json").write_text(json.dumps(family.processor, indent=2) + "\n")
    for seed in range(MAX_SEEDS):
        write_weights(family, directory, seed)
        model = load(directory)
        pictures = pictures_of(family, seed)
        prompt_ids = random_prompt(family, pictures, seed)
        inputs = inputs_of(family.config, family.processor, pictures)
        greedy_ids, margin = continued(model, prompt_ids, inputs)
        if margin > MIN_MARGIN and len(set(greedy_ids)) >= MIN_DISTINCT:
            break
    else:
        raise SystemExit(f"{family.name}: no seed will do; the last gave {greedy_ids}, {margin:.2g}")
    positions = sorted({0, 1, *range(2, len(prompt_ids), 5), len(prompt_ids) - 1})
    logits = logits_of(model, prompt_ids, inputs)[positions]
    others = logits_of(model, prompt_ids, inputs_of(family.config, family.processor, pictures_of(family, seed + 1000)))[
        positions
    ]
    effect = np.abs(others - logits).max() / np.ptp(logits)
    assert effect > MIN_EFFECT, f"{family.name}: other pictures move the logits by {effect:.2g} of their range"
    np.save(directory / "logits.npy", logits)
    reference = {
        "prompt_ids": prompt_ids,
        "pictures": family.pictures,
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


def pictures_of(family: PictureFamily, seed: int) -> list[PreparedPicture]:
    return [random_picture(sizes, seed, number) for number, sizes in enumerate(family.pictures)]


def random_prompt(family: PictureFamily, pictures: list[PreparedPicture], seed: int) -> list[int]:
    """A prompt whose text has ids that repeat some earlier ones."""
    vocab_size = family.config["text_config"]["vocab_size"]
    text = np.random.default_rng([seed, family.text_length]).integers(4, vocab_size // 3, family.text_length)
    return prompt_with(pictures, image_token_id_of(family.config), text.tolist())


def write_weights(family: PictureFamily, directory: Path, seed: int) -> None:
    """model.safetensors of random weights, under the names that published checkpoints have."""
    config = AutoConfig.from_pretrained(directory, trust_remote_code=False)
    model = AutoModelForImageTextToText.from_config(config)
    with torch.no_grad():
        buffers = [(name, each) for name, each in model.named_buffers() if name.endswith(BUFFERS)]
        for name, parameter in [*model.named_parameters(), *buffers]:
            weights = random_weights(family.name, name, tuple(parameter.shape), seed)
            is_offset = config.model_type.startswith("qwen3_5") and _OFFSET.search(name)
            parameter.copy_(torch.from_numpy(weights - 1 if is_offset else weights))
    with tempfile.TemporaryDirectory() as scratch:
        model.to(getattr(torch, family.storage)).save_pretrained(scratch)
        (directory / "model.safetensors").write_bytes((Path(scratch) / "model.safetensors").read_bytes())


def random_weights(family: str, name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Weights that keep activations near one, with attention and logits of some spread."""
    if "gemma" in family:
        return gemma_weights(family, name, shape, seed)
    normal = np.random.default_rng([seed, zlib.crc32(name.encode())]).standard_normal(shape)
    if name.endswith(".bias"):
        values = 0.5 * normal
    elif name.endswith(".A_log"):
        values = normal - 2.0  # decays near one, so that delta nets have a long memory
    elif len(shape) == 1:
        values = 0.3 * normal + 1.0
    elif "embed_tokens" in name or "lm_head" in name:
        values = 3.0 * normal / np.sqrt(shape[-1])
    elif "position_embedding" in name or "pos_embed" in name:
        values = normal
    else:
        values = 1.5 * normal / np.sqrt(np.prod(shape[1:]))
    return values.astype(np.float32)


def gemma_weights(family: str, name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Gemma scales its embedding up, and norms before Gemma 4 store one less than their gains."""
    values = np.random.default_rng([seed, zlib.crc32(name.encode())]).standard_normal(shape)
    is_text, is_gemma3 = "language_model" in name, family.startswith("gemma3")
    if name.endswith((".bias", "std_bias")):
        values *= 0.5
    elif name.endswith(("_min", "_max")):  # bounds that some values exceed, and others that none does
        reach = 0.5 + np.abs(values) if "layers.0" in name else np.array(np.inf)
        values = -reach if name.endswith("_min") else reach
    elif len(shape) == 1:
        is_offset = is_gemma3 and (is_text or "soft_emb_norm" in name)
        # The last norm compensates for the small embedding, to which the output is tied.
        is_last = name.endswith("language_model.norm.weight")
        values = 0.3 * values + 2.0 * is_last + (0.0 if is_offset else 1.0)
    elif "embed_tokens" in name or "lm_head" in name:
        values *= 0.7 / np.sqrt(shape[-1])
    elif "position_embedding" not in name:
        num_inputs = shape[0] if name.endswith("projection_weight") else np.prod(shape[1:])
        values *= 1.5 / np.sqrt(num_inputs)
    if not is_gemma3 and name.endswith(("q_norm.weight", "k_norm.weight")):
        values *= shape[0] ** -0.25  # scores are not divided by the square root of the size of a head
    return np.asarray(values, np.float32)


def load(directory: Path) -> PreTrainedModel:
    """The checkpoint in float32 with eager attention."""
    loaded = AutoModelForImageTextToText.from_pretrained(
        directory,
        dtype=torch.float32,
        attn_implementation="eager",
        experts_implementation="eager",
        trust_remote_code=False,
    )
    return loaded.eval()


@torch.no_grad()
def logits_of(model: PreTrainedModel, token_ids: list[int], inputs: Inputs) -> np.ndarray:
    """Logits (tokens, vocab) in one pass without a cache."""
    ids = torch.tensor([token_ids])
    return model(input_ids=ids, use_cache=False, **token_types_of(model.config, ids), **inputs).logits[0].numpy()


def continued(model: PreTrainedModel, prompt_ids: list[int], inputs: Inputs) -> tuple[list[int], float]:
    """The greedy continuation and its smallest margin; a placeholder is never continued with."""
    token_ids = list(prompt_ids)
    margins = []
    for _ in range(NUM_GREEDY):
        logits = logits_of(model, token_ids, inputs)[-1]
        second, best = np.sort(logits)[-2:]
        margins.append((best - second) / np.ptp(logits))
        token_ids.append(int(logits.argmax()))
        if token_ids[-1] == model.config.image_token_id:
            return token_ids[len(prompt_ids) :], 0.0  # without a cache it would be one more placeholder
        if margins[-1] < MIN_MARGIN:
            break
    return token_ids[len(prompt_ids) :], float(min(margins))


if __name__ == "__main__":
    main()
