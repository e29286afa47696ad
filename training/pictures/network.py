"""A SmolVLM in PyTorch, for training only: a SigLIP encoder, pixel shuffle, a projection, and a Llama.

The architectures are those of SmolVLM (Marafioti et al. 2025) and SigLIP (Zhai et al. 2023); parameters have
the names that transformers' SmolVLMForConditionalGeneration gives them, after `exported` has renamed them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional

from training.model import Decoder, Shape, attend, rope_tables
from training.pictures.cells import NUM_COLOURS, NUM_KINDS

HEADS = ("kind_of_cell", "colour_of_cell", "kind_of_patch", "colour_of_patch")


@dataclass(frozen=True, slots=True)
class VisionShape:
    """The encoder's dimensions; a tile is `image_size` pixels wide and high."""

    image_size: int = 120
    patch_size: int = 12
    hidden_size: int = 192
    intermediate_size: int = 768
    num_hidden_layers: int = 4
    num_attention_heads: int = 3
    layer_norm_eps: float = 1e-6
    scale_factor: int = 2

    @property
    def patches_per_side(self) -> int:
        return self.image_size // self.patch_size

    @property
    def num_patches(self) -> int:
        return self.patches_per_side**2

    @property
    def num_tokens(self) -> int:
        """Embeddings of a picture."""
        return self.tokens_per_side**2

    @property
    def tokens_per_side(self) -> int:
        return self.patches_per_side // self.scale_factor


@dataclass(frozen=True, slots=True)
class PictureShape:
    vision: VisionShape = field(default_factory=VisionShape)
    text: Shape = field(
        default_factory=lambda: Shape(
            vocab_size=1536,
            hidden_size=192,
            num_hidden_layers=4,
            num_attention_heads=3,
            num_key_value_heads=1,
            intermediate_size=512,
            rope_theta=10_000.0,
        )
    )


class VisionAttention(nn.Module):
    def __init__(self, shape: VisionShape) -> None:
        super().__init__()
        self.num_heads = shape.num_attention_heads
        self.q_proj = nn.Linear(shape.hidden_size, shape.hidden_size)
        self.k_proj = nn.Linear(shape.hidden_size, shape.hidden_size)
        self.v_proj = nn.Linear(shape.hidden_size, shape.hidden_size)
        self.out_proj = nn.Linear(shape.hidden_size, shape.hidden_size)

    def forward(self, x: Tensor) -> Tensor:
        pictures, patches, width = x.shape

        def heads(projected: Tensor) -> Tensor:
            return projected.view(pictures, patches, self.num_heads, -1).transpose(1, 2)

        mixed = attend(heads(self.q_proj(x)), heads(self.k_proj(x)), heads(self.v_proj(x)), torch.zeros(()))
        return self.out_proj(mixed.transpose(1, 2).reshape(pictures, patches, width))


class VisionMLP(nn.Module):
    def __init__(self, shape: VisionShape) -> None:
        super().__init__()
        self.fc1 = nn.Linear(shape.hidden_size, shape.intermediate_size)
        self.fc2 = nn.Linear(shape.intermediate_size, shape.hidden_size)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(functional.gelu(self.fc1(x), approximate="tanh"))


class VisionLayer(nn.Module):
    def __init__(self, shape: VisionShape) -> None:
        super().__init__()
        self.layer_norm1 = nn.LayerNorm(shape.hidden_size, shape.layer_norm_eps)
        self.self_attn = VisionAttention(shape)
        self.layer_norm2 = nn.LayerNorm(shape.hidden_size, shape.layer_norm_eps)
        self.mlp = VisionMLP(shape)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.self_attn(self.layer_norm1(x))
        return x + self.mlp(self.layer_norm2(x))


class Encoder(nn.Module):
    """Pictures (pictures, 3, side, side) with values from -1 to 1 -> embeddings (pictures, tokens, hidden of text)."""

    def __init__(self, shape: PictureShape) -> None:
        super().__init__()
        vision = self.shape = shape.vision
        self.patch_embedding = nn.Linear(3 * vision.patch_size**2, vision.hidden_size)
        self.position_embedding = nn.Parameter(torch.zeros(vision.patches_per_side**2, vision.hidden_size))
        self.layers = nn.ModuleList(VisionLayer(vision) for _ in range(vision.num_hidden_layers))
        self.post_layernorm = nn.LayerNorm(vision.hidden_size, vision.layer_norm_eps)
        merged = vision.hidden_size * vision.scale_factor**2
        self.proj = nn.Linear(merged, shape.text.hidden_size, bias=False)

    def forward(self, pictures: Tensor) -> tuple[Tensor, Tensor]:
        """The embeddings, and the state of each patch (pictures, patches, hidden) that they are made from."""
        shape, number = self.shape, len(pictures)
        side, size = shape.patches_per_side, shape.patch_size
        patches = pictures.view(number, 3, side, size, side, size).permute(0, 2, 4, 1, 3, 5)
        x = self.patch_embedding(patches.reshape(number, side * side, -1)) + self.position_embedding
        for layer in self.layers:
            x = layer(x)
        x = self.post_layernorm(x)
        scale = shape.scale_factor
        grid = x.view(number, side // scale, scale, side // scale, scale, -1).transpose(2, 3)
        return self.proj(grid.reshape(number, shape.num_tokens, -1)), x


class PictureNetwork(nn.Module):
    """The encoder and the decoder; `image_id` is the token whose embeddings the picture's replace.

    The image tokens of every row begin at `picture_start`: with all shapes fixed, the compiler can fuse the layers.

    The heads tell the kind and the colour of a cell from its embedding, and of a patch from its state. Only the
    training uses them.
    """

    def __init__(self, shape: PictureShape, image_id: int, picture_start: int) -> None:
        super().__init__()
        self.shape = shape
        self.image_id = image_id
        self.picture_start = picture_start
        self.encoder = Encoder(shape)
        self.decoder = Decoder(shape.text)
        self.kind_of_cell = nn.Linear(shape.text.hidden_size, NUM_KINDS)
        self.colour_of_cell = nn.Linear(shape.text.hidden_size, NUM_COLOURS)
        self.kind_of_patch = nn.Linear(shape.vision.hidden_size, NUM_KINDS)
        self.colour_of_patch = nn.Linear(shape.vision.hidden_size, NUM_COLOURS)

    def forward(
        self, pictures: Tensor, tokens: Tensor, positions: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Normalised hidden states (rows, tokens, hidden), and the encoder's embeddings and states of patches.

        Each row has a picture; a row without image tokens does not see it. positions (rows, tokens); mask (rows, 1,
        tokens, tokens) is added to the scores.
        """
        embedded, patches = self.encoder(pictures)
        x = self.decoder.embed_tokens(tokens)
        after = tokens.shape[1] - self.picture_start - embedded.shape[1]
        in_place = functional.pad(embedded, (0, 0, self.picture_start, after)).to(x.dtype)
        x = torch.where((tokens == self.image_id)[..., None], in_place, x)
        cos, sin = rope_tables(self.shape.text, positions.reshape(-1))
        cos, sin = (table.view(*positions.shape, -1)[:, None] for table in (cos, sin))
        hidden, _ = self.decoder.continued(x, cos, sin, mask)
        return hidden, embedded, patches


@torch.no_grad()
def initialise(network: PictureNetwork, seed: int) -> None:
    """Small random weights; smaller ones where a layer adds to the stream."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in network.named_parameters():
        if parameter.ndim == 2:
            adds = name.endswith(("o_proj.weight", "out_proj.weight", "down_proj.weight", "fc2.weight"))
            parameter.normal_(0.0, 0.01 if adds else 0.04, generator=generator)
        elif name.endswith("bias"):
            parameter.zero_()


def exported(state: dict[str, Tensor], shape: VisionShape) -> dict[str, Tensor]:
    """The tensors by the names of a SmolVLM checkpoint."""
    tensors: dict[str, Tensor] = {}
    for name, value in state.items():
        module, _, rest = name.partition(".")
        if module in HEADS:
            continue
        if module == "decoder":
            tensors[f"model.text_model.{rest}"] = value
        elif rest == "proj.weight":
            tensors["model.connector.modality_projection.proj.weight"] = value
        elif rest == "position_embedding":
            tensors["model.vision_model.embeddings.position_embedding.weight"] = value
        elif rest == "patch_embedding.weight":
            kernel = value.view(-1, 3, shape.patch_size, shape.patch_size)
            tensors["model.vision_model.embeddings.patch_embedding.weight"] = kernel
        elif rest == "patch_embedding.bias":
            tensors["model.vision_model.embeddings.patch_embedding.bias"] = value
        elif rest.startswith("layers."):
            tensors[f"model.vision_model.encoder.{rest}"] = value
        else:
            tensors[f"model.vision_model.{rest}"] = value
    return tensors
