"""Encoders of pictures in the shapes of well-known models: metadata and tensors of llama.cpp's files (mmproj)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Dimensions = tuple[int, ...]
"""Rows first, as NumPy has them."""


@dataclass(frozen=True, kw_only=True)
class EncoderShape:
    """An encoder, and the picture that is measured: one tile of `tile` pixels.

    `text` is the architecture of its text model, of `text_hidden` lanes. `image_tokens` are the placeholder and the
    tokens around it. `positions` are the dimensions of the table of learned ones without the hidden size, `image_side`
    is in the file. The features of `feature_layers` are added to the text.
    """

    title: str
    projector: str
    text: str
    text_hidden: int
    image_tokens: tuple[str, ...]
    tile: tuple[int, int]
    hidden: int
    ffn: int
    layers: int
    heads: int
    patch_side: int
    merged_side: int
    image_side: int
    positions: Dimensions
    feature_layers: tuple[int, ...] = ()

    @property
    def metadata(self) -> dict[str, Any]:
        """What only this projector's files have; keys below `clip.`."""
        if self.projector == "qwen3vl_merger":
            marks = [layer in self.feature_layers for layer in range(self.layers)]
            return {"vision.spatial_merge_size": self.merged_side, "vision.is_deepstack_layers": marks}
        own: dict[str, Any] = {"vision.projector.scale_factor": self.merged_side}
        if self.projector == "idefics3":
            own["vision.preproc_image_size"] = self.image_side
        if self.projector == "gemma4v":
            own["vision.attention.head_count_kv"] = self.heads
        return own

    @property
    def tensors(self) -> Iterator[tuple[str, Dimensions]]:
        """Names and dimensions of all tensors."""
        yield from self._patches()
        for layer in range(self.layers):
            for name, dimensions in self._layer():
                yield f"v.blk.{layer}.{name}", dimensions
        yield from self._connector()

    def _patches(self) -> Iterator[tuple[str, Dimensions]]:
        kernel = (self.hidden, 3, self.patch_side, self.patch_side)
        yield "v.patch_embd.weight", kernel
        yield "v.position_embd.weight", (*self.positions, self.hidden)
        if self.projector == "qwen3vl_merger":
            yield "v.patch_embd.weight.1", kernel
        if self.projector != "gemma4v":
            yield "v.patch_embd.bias", (self.hidden,)

    def _layer(self) -> Iterator[tuple[str, Dimensions]]:
        hidden, ffn = self.hidden, self.ffn
        if self.projector == "gemma4v":
            for norm in ("ln1", "ln2", "attn_post_norm", "ffn_post_norm"):
                yield f"{norm}.weight", (hidden,)
            for norm in ("attn_q_norm", "attn_k_norm"):
                yield f"{norm}.weight", (hidden // self.heads,)
            for name in ("attn_q", "attn_k", "attn_v", "attn_out"):
                yield f"{name}.weight", (hidden, hidden)
            for name in ("ffn_gate", "ffn_up"):
                yield f"{name}.weight", (ffn, hidden)
            yield "ffn_down.weight", (hidden, ffn)
            return
        for norm in ("ln1", "ln2"):
            yield from with_bias(norm, (hidden,))
        if self.projector == "qwen3vl_merger":
            yield from with_bias("attn_qkv", (3 * hidden, hidden))
        else:
            for name in ("attn_q", "attn_k", "attn_v"):
                yield from with_bias(name, (hidden, hidden))
        yield from with_bias("attn_out", (hidden, hidden))
        yield from with_bias("ffn_up", (ffn, hidden))
        yield from with_bias("ffn_down", (hidden, ffn))

    def _connector(self) -> Iterator[tuple[str, Dimensions]]:
        merged = self.hidden * self.merged_side**2
        if self.projector == "gemma4v":
            yield "mm.input_projection.weight", (self.text_hidden, self.hidden)
            return
        yield from with_bias("v.post_ln", (self.hidden,))
        if self.projector == "idefics3":
            yield "mm.model.fc.weight", (self.text_hidden, merged)
        elif self.projector == "gemma3":
            yield "mm.input_projection.weight", (self.hidden, self.text_hidden)
            yield "mm.soft_emb_norm.weight", (self.hidden,)
        else:
            yield from with_bias("mm.0", (merged, merged))
            yield from with_bias("mm.2", (self.text_hidden, merged))
        for layer in self.feature_layers:
            yield from with_bias(f"v.deepstack.{layer}.norm", (merged,))
            yield from with_bias(f"v.deepstack.{layer}.fc1", (merged, merged))
            yield from with_bias(f"v.deepstack.{layer}.fc2", (self.text_hidden, merged))


def with_bias(name: str, dimensions: Dimensions) -> Iterator[tuple[str, Dimensions]]:
    """A matrix or a norm, and its bias."""
    yield f"{name}.weight", dimensions
    yield f"{name}.bias", dimensions[:1]


ENCODERS: Mapping[str, EncoderShape] = {
    "smolvlm": EncoderShape(
        title="SmolVLM 256M",
        projector="idefics3",
        text="llama",
        text_hidden=576,
        image_tokens=("<image>",),
        tile=(512, 512),
        hidden=768,
        ffn=3072,
        layers=12,
        heads=12,
        patch_side=16,
        merged_side=4,
        image_side=512,
        positions=(1024,),
    ),
    "gemma3": EncoderShape(
        title="Gemma 3 4B",
        projector="gemma3",
        text="gemma3",
        text_hidden=2560,
        image_tokens=("<image_soft_token>", "<start_of_image>", "<end_of_image>"),
        tile=(896, 896),
        hidden=1152,
        ffn=4304,
        layers=27,
        heads=16,
        patch_side=14,
        merged_side=4,
        image_side=896,
        positions=(4096,),
    ),
    "gemma4": EncoderShape(
        title="Gemma 4 E2B",
        projector="gemma4v",
        text="gemma4",
        text_hidden=1536,
        image_tokens=("<|image|>", "<|image>", "<image|>"),
        tile=(768, 768),
        hidden=768,
        ffn=3072,
        layers=16,
        heads=12,
        patch_side=16,
        merged_side=3,
        image_side=224,
        positions=(2, 10240),
    ),
    "qwen3vl": EncoderShape(
        title="Qwen3-VL 2B",
        projector="qwen3vl_merger",
        text="qwen3vl",
        text_hidden=2048,
        image_tokens=("<|image_pad|>", "<|vision_start|>", "<|vision_end|>"),
        tile=(512, 512),
        hidden=1024,
        ffn=4096,
        layers=24,
        heads=16,
        patch_side=16,
        merged_side=2,
        image_side=768,
        positions=(2304,),
        feature_layers=(5, 11, 17),
    ),
}
