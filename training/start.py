"""Initial weights with an induction head: one head attends to the previous token, another continues an earlier match.

Small networks spend most of a short training on finding these two heads; here they are set by hand and then
trained like everything else. Every embedding gets one constant feature, the source of the first head's
queries and keys. See Olsson et al. 2022 for induction heads.
"""

from __future__ import annotations

import torch

from training.model import Decoder

EMBEDDING_SCALE = 0.05
CONSTANT_FEATURE = 0
CONSTANT = 2.0
# Rotary pairs of high frequency separate neighbouring positions; those of low frequency match content at any distance.
NUM_FAST_PAIRS = 12
FIRST_SLOW_PAIR = 14
PREVIOUS_SHARPNESS = 7.5
MATCH_SHARPNESS = 1.75
PREVIOUS_STRENGTH = 0.15
COPY_STRENGTH = 0.3


@torch.no_grad()
def set_copying_start(model: Decoder, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    shape = model.shape
    for name, parameter in model.named_parameters():
        if parameter.ndim == 2:
            is_output = name.endswith(("o_proj.weight", "down_proj.weight"))
            parameter.normal_(0.0, 0.01 if is_output else 0.03, generator=generator)
    embeddings = model.embed_tokens.weight
    embeddings.normal_(0.0, EMBEDDING_SCALE, generator=generator)
    embeddings[:, CONSTANT_FEATURE] = CONSTANT * EMBEDDING_SCALE

    random = torch.randn(shape.hidden_size - 1, 2 * shape.head_dim, generator=generator)
    basis = torch.zeros(2 * shape.head_dim, shape.hidden_size)
    basis[:, 1:] = torch.linalg.qr(random).Q.T
    reading, writing = basis.chunk(2)  # (head_dim, hidden) each, orthogonal to the constant and to one another
    half = shape.head_dim // 2
    angles = shape.rope_theta ** (-torch.arange(half) / half)

    look_back = model.layers[0].self_attn
    for head in range(shape.num_attention_heads // shape.num_key_value_heads):
        queries = look_back.q_proj.weight[head * shape.head_dim : (head + 1) * shape.head_dim]
        queries.zero_()
        queries[:NUM_FAST_PAIRS, CONSTANT_FEATURE] = PREVIOUS_SHARPNESS / CONSTANT
    keys = look_back.k_proj.weight[: shape.head_dim]
    keys.zero_()
    fast = angles[:NUM_FAST_PAIRS]
    keys[:NUM_FAST_PAIRS, CONSTANT_FEATURE] = PREVIOUS_SHARPNESS / CONSTANT * fast.cos()
    keys[half : half + NUM_FAST_PAIRS, CONSTANT_FEATURE] = PREVIOUS_SHARPNESS / CONSTANT * fast.sin()
    look_back.v_proj.weight[: shape.head_dim] = reading
    look_back.o_proj.weight[:, : shape.head_dim] = PREVIOUS_STRENGTH * writing.T

    continue_copy = model.layers[1].self_attn
    slow = torch.cat((torch.arange(FIRST_SLOW_PAIR, half), torch.arange(half + FIRST_SLOW_PAIR, 2 * half)))
    for head in range(shape.num_attention_heads // shape.num_key_value_heads):
        queries = continue_copy.q_proj.weight[head * shape.head_dim : (head + 1) * shape.head_dim]
        queries.zero_()
        queries[slow] = MATCH_SHARPNESS * reading[: len(slow)]
    keys = continue_copy.k_proj.weight[: shape.head_dim]
    keys.zero_()
    keys[slow] = MATCH_SHARPNESS * writing[: len(slow)]
    continue_copy.v_proj.weight[: shape.head_dim] = reading
    continue_copy.o_proj.weight[:, : shape.head_dim] = COPY_STRENGTH * reading.T
