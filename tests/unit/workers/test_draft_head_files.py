"""Heads for drafts in model files: their tensors, their cache, and the models without one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

from cactus_actors.protocol.errors import ConfigurationInvalid, ModelFileInvalid
from cactus_actors.workers.loading.model_reader import read_model
from cactus_actors.workers.loading.packed_file import packed_path
from cactus_actors.workers.runtime.cache_shape import cache_shape_of
from cactus_actors.workers.runtime.layout import WeightLayout
from tests.goldens.to_gguf import read_safetensors, write_gguf
from tests.support.models.draft_heads import HEADS, NAMES, GoldenHead
from tests.support.models.rewritten_gguf import Tensor, rewritten
from tests.support.paths import GOLDENS

NAMES_OF_GGUF = {
    "fc": "nextn.eh_proj",
    "pre_fc_norm_embedding": "nextn.enorm",
    "pre_fc_norm_hidden": "nextn.hnorm",
    "norm": "nextn.shared_head_norm",
    "layers.0.input_layernorm": "attn_norm",
    "layers.0.post_attention_layernorm": "post_attention_norm",
    **{f"layers.0.self_attn.{part}_proj": f"attn_{part}" for part in "qkv"},
    "layers.0.self_attn.o_proj": "attn_output",
    "layers.0.self_attn.q_norm": "attn_q_norm",
    "layers.0.self_attn.k_norm": "attn_k_norm",
    **{f"layers.0.mlp.{part}_proj": f"ffn_{part}" for part in ("gate", "up", "down")},
    "layers.0.mlp.gate": "ffn_gate_inp",
    "layers.0.mlp.shared_expert_gate": "ffn_gate_inp_shexp",
    **{f"layers.0.mlp.shared_expert.{part}_proj": f"ffn_{part}_shexp" for part in ("gate", "up", "down")},
}


def head_of_gguf(name: str) -> Iterator[Tensor]:
    """The tensors of a head as in GGUF files, without the number of their layer."""
    for stored_name, values in read_safetensors(HEADS / name / "head.safetensors").items():
        part = stored_name.removeprefix("mtp.").removesuffix(".weight")
        if part.endswith("experts.gate_up_proj"):
            gate, up = np.split(values, 2, axis=1)
            yield from (("ffn_gate_exps.weight", gate), ("ffn_up_exps.weight", up))
        elif part.endswith("experts.down_proj"):
            yield "ffn_down_exps.weight", values
        else:
            yield f"{NAMES_OF_GGUF[part]}.weight", values + np.float32(1) if "norm" in part else values


@pytest.mark.parametrize("name", NAMES)
def test_gguf_files_have_the_same_head(name: str, tmp_path: Path) -> None:
    directory = GoldenHead.read(name).write(tmp_path / "model")
    num_layers = json.loads((directory / "config.json").read_text())["num_hidden_layers"]

    def with_head(stored_name: str, tensor: NDArray[np.float32]) -> Iterator[Tensor]:
        yield stored_name, tensor
        if stored_name == "output_norm.weight":
            yield from ((f"blk.{num_layers}.{part}", values) for part, values in head_of_gguf(name))

    stored = write_gguf(GOLDENS / name, tmp_path / "model.gguf")
    changed = rewritten(stored, with_head, block_count=num_layers + 1, nextn_predict_layers=1)
    of_file, of_directory = read_model(changed, drafts=True), read_model(directory, drafts=True)
    assert of_file.config.draft_layer == of_directory.config.draft_layer
    assert list(of_file.tensors) == list(of_directory.tensors)
    heads = [part for part in of_directory.tensors if part.startswith("mtp.")]
    assert len(heads) >= 15
    for part in heads:
        assert np.allclose(of_file.tensors[part], of_directory.tensors[part], rtol=0, atol=2e-7), part
    assert list(read_model(changed).tensors) == list(read_model(GOLDENS / name).tensors)


def test_a_head_has_a_layer_of_the_cache_and_a_hidden_state_in_the_slots(tmp_path: Path) -> None:
    directory = GoldenHead.read("qwen35").write(tmp_path)
    plain, drafting = (cache_shape_of(read_model(directory, drafts=drafts).graph) for drafts in (False, True))
    assert len(drafting.layers) == len(plain.layers) + 1
    costs = [shape.cost(16, "float32") for shape in (plain, drafting)]
    num_keys, num_values = 24 * 16, 32 * 16  # of one head in 16 positions
    more_bytes = costs[1].block_bytes - costs[0].block_bytes
    assert more_bytes == 4 * (num_keys + num_values)
    assert costs[1].state_bytes - costs[0].state_bytes == 4 * 256  # the hidden state has 32 numbers


def test_packed_weights_with_and_without_a_head_are_kept_side_by_side(tmp_path: Path) -> None:
    directory = GoldenHead.read("qwen35").write(tmp_path)
    paths = []
    for drafts in (False, True):
        layout = WeightLayout.for_weights(read_model(directory, drafts=drafts).graph, "int8")
        paths.append(packed_path(directory, layout))
    plain, drafting = (path.stem.rpartition("-")[0] for path in paths)
    assert not drafting.startswith(plain)
    assert not plain.startswith(drafting)


def changed_config(directory: Path, **changes: Any) -> Path:
    config = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps(config | changes))
    return directory


@pytest.mark.parametrize("changes", [{"mtp_num_hidden_layers": 0}, {"mtp_num_hidden_layers": None}])
def test_a_model_without_a_head_is_refused(changes: dict[str, Any], tmp_path: Path) -> None:
    directory = changed_config(GoldenHead.read("qwen35").write(tmp_path), **changes)
    with pytest.raises(ConfigurationInvalid, match="no head for drafts") as caught:
        read_model(directory, drafts=True)
    assert caught.value.param == "speculation"
    assert read_model(directory).config.draft_layer is None


@pytest.mark.parametrize("name", ["qwen35", "llama2"])
def test_files_without_a_head_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationInvalid, match="no head for drafts"):
        read_model(GOLDENS / name, drafts=True)
    if name == "qwen35":
        with pytest.raises(ConfigurationInvalid, match="no head for drafts"):
            read_model(write_gguf(GOLDENS / name, tmp_path / "model.gguf"), drafts=True)


@pytest.mark.parametrize(("key", "value"), [("mtp_num_hidden_layers", 2), ("mtp_use_dedicated_embeddings", True)])
def test_an_unsupported_head_is_refused_by_its_key(key: str, value: object, tmp_path: Path) -> None:
    directory = changed_config(GoldenHead.read("qwen35").write(tmp_path), **{key: value})
    with pytest.raises(ModelFileInvalid, match=f"{key}.*not supported"):
        read_model(directory, drafts=True)
    assert read_model(directory).config.draft_layer is None


@pytest.mark.parametrize(
    ("lost", "added", "named"),
    [("mtp.fc.weight", None, "'mtp.fc'"), (None, "mtp.lm_head.weight", "'mtp.lm_head.weight' is not part")],
)
def test_a_missing_or_surplus_tensor_is_named(lost: str | None, added: str | None, named: str, tmp_path: Path) -> None:
    directory = GoldenHead.read("qwen35").write(tmp_path)
    file = directory / "model-2-of-2.safetensors"
    tensors = read_safetensors(file)
    if lost:
        del tensors[lost]
    if added:
        tensors[added] = np.ones((2, 2), np.float32)
    save_file(tensors, file)
    with pytest.raises(ModelFileInvalid, match=named):
        read_model(directory, drafts=True)


def test_the_text_part_of_a_model_for_pictures_has_its_head(tmp_path: Path) -> None:
    """Names and keys as in Qwen3_5ForConditionalGeneration, where the head is beside the model."""
    plain, nested = (GoldenHead.read("qwen35").write(tmp_path / name) for name in ("plain", "nested"))
    config = json.loads((nested / "config.json").read_text())
    outside = {"architectures": ["Qwen3_5ForConditionalGeneration"], "model_type": "qwen3_5"}
    tied = {"tie_word_embeddings": config["tie_word_embeddings"]}
    (nested / "config.json").write_text(json.dumps(outside | tied | {"text_config": config}))
    file = nested / "model-1-of-2.safetensors"
    tensors = read_safetensors(file)
    save_file({name.replace("model.", "model.language_model.", 1): each for name, each in tensors.items()}, file)
    expected, found = (read_model(directory, drafts=True) for directory in (plain, nested))
    assert found.config.draft_layer is not None
    assert list(found.tensors) == list(expected.tensors)
    assert all(np.array_equal(found.tensors[name], tensor) for name, tensor in expected.tensors.items())
    changed = config | {"mtp_num_hidden_layers": 2}
    (nested / "config.json").write_text(json.dumps(outside | tied | {"text_config": changed}))
    with pytest.raises(ModelFileInvalid, match="mtp_num_hidden_layers 2 is not supported"):
        read_model(nested, drafts=True)
