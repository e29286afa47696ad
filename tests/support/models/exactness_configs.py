"""Small configs of families whose outputs must be exact."""

from __future__ import annotations

from dataclasses import replace

from cactus_actors.workers.loading.random_weights import parse_random_spec
from cactus_actors.workers.spec.attention_heads import AttentionHeads
from cactus_actors.workers.spec.model_config import (
    ClampedGate,
    Experts,
    Layer,
    PerLayerInputs,
    QueryGrowth,
    RecurrentHeads,
    ResidualStreams,
)
from cactus_actors.workers.spec.rope_scaling import ProportionalScaling
from cactus_actors.workers.spec.rotary import Rope

# 199 tokens and 56 features fill no tile and no vector; two query heads share a key-value head.
LLAMA = parse_random_spec("llama:hidden=56,ffn=100,layers=2,heads=4,kv_heads=2,head_dim=16,vocab=199,context=128")
CONV, DELTA, MAMBA, EXPERTS = Layer(kind="conv"), Layer(kind="delta"), Layer(kind="mamba"), Layer(has_experts=True)
WIDE = AttentionHeads(num_heads=4, num_kv_heads=1, head_dim=40)
LFM2 = replace(LLAMA, family="LFM2", layers=(CONV, Layer(), CONV, CONV), num_taps=3)
QWEN3_MOE = replace(
    LLAMA,
    family="Qwen3 MoE",
    layers=(EXPERTS, Layer(), EXPERTS),
    experts=Experts(num_experts=5, num_chosen=2, ffn_size=36, normalised=False),
)
LFM3 = replace(
    LLAMA,
    family="LFM3",
    layers=(CONV, Layer(window=21), CONV, Layer(rope=1)),
    ropes=(*LLAMA.ropes, replace(LLAMA.ropes[0], theta=100.0)),
    query_growth=QueryGrowth(0.3, period=16),
    num_taps=4,
    has_norms_after=True,
    has_head_gates=True,
)
QWEN3_5 = replace(
    LLAMA,
    family="Qwen3.5",
    layers=(DELTA, Layer(), DELTA),
    num_taps=4,
    recurrent_heads=RecurrentHeads(num_key_heads=2, key_dim=18, num_value_heads=4, value_dim=37),
)
GRANITE4 = replace(
    LLAMA,
    family="Granite 4",
    layers=(MAMBA, Layer(), MAMBA),
    num_taps=4,
    conv_bias=True,
    recurrent_heads=RecurrentHeads(num_key_heads=2, key_dim=11, num_value_heads=4, value_dim=35),
)
GPT_OSS = replace(
    LLAMA,
    family="gpt-oss",
    layers=(replace(EXPERTS, window=21), EXPERTS, replace(EXPERTS, window=21)),
    experts=Experts(num_experts=5, num_chosen=2, ffn_size=36, normalised=True, gate=ClampedGate(1.702, 1.5)),
    attention_bias=True,
    output_bias=True,
)
GEMMA3N = replace(
    LLAMA,
    family="Gemma 3n",
    layers=(
        *(Layer(window=21, rope=1, ffn_size=60, gate_cutoff=0.5), Layer(ffn_size=100)),
        *(Layer(window=21, rope=1, ffn_size=100, kv_layer=0), Layer(ffn_size=100, kv_layer=1)),
    ),
    ropes=(Rope(1e6, 16), LLAMA.ropes[0]),
    attention_scale=1.0,
    logit_softcap=30.0,
    per_layer_inputs=PerLayerInputs(size=10, vocab_size=190),
    streams=ResidualStreams(num_streams=3, active=1, rank=7, has_output_gains=True),
)
GEMMA4 = replace(
    LLAMA,
    family="Gemma 4",
    layers=(
        *(Layer(window=21, rope=1, has_experts=True), Layer(heads=WIDE, ffn_size=60, shares_key_projection=True)),
        *(Layer(window=21, rope=1, kv_layer=0), Layer(heads=WIDE, kv_layer=1)),
    ),
    ropes=(Rope(1e6, 40, ProportionalScaling(0.5)), LLAMA.ropes[0]),
    attention_scale=1.0,
    logit_softcap=30.0,
    per_layer_inputs=PerLayerInputs(size=10, vocab_size=199),
    experts=Experts(num_experts=5, num_chosen=2, ffn_size=36, normalised=True),
)
