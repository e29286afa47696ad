"""The tiny checkpoints of Gemma that read pictures."""

from __future__ import annotations

from tests.goldens.picture_families import PictureFamily

TEXT = {
    "model_type": "gemma3_text",
    "hidden_activation": "gelu_pytorch_tanh",
    "max_position_embeddings": 512,
    "rope_theta": 1000000.0,
    "rope_local_base_freq": 10000.0,
    "bos_token_id": 2,
    "eos_token_id": 1,
    "pad_token_id": 0,
}
PROCESSOR = {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "rescale_factor": 1 / 255}

GEMMA_PICTURE_FAMILIES = (
    PictureFamily(
        name="gemma3",
        stands_for="Gemma 3 4B: tiles wider than the window and than a block, means of four patches, tied",
        storage="bfloat16",
        config={
            "architectures": ["Gemma3ForConditionalGeneration"],
            "model_type": "gemma3",
            "image_token_index": 230,
            "boi_token_index": 231,
            "eoi_token_index": 232,
            "mm_tokens_per_image": 25,
            "text_config": {
                **TEXT,
                "vocab_size": 240,
                "hidden_size": 32,
                "intermediate_size": 52,
                "num_hidden_layers": 3,
                "num_attention_heads": 4,
                "num_key_value_heads": 2,
                "head_dim": 12,
                "query_pre_attn_scalar": 12,
                "sliding_window": 11,
                "sliding_window_pattern": 3,
            },
            "vision_config": {
                "model_type": "siglip_vision_model",
                "hidden_size": 24,
                "intermediate_size": 40,
                "num_hidden_layers": 2,
                "num_attention_heads": 2,
                "image_size": 30,
                "patch_size": 3,
                "vision_use_head": False,
            },
        },
        processor=PROCESSOR,
        pictures=(((30, 30, 25),), ((30, 30, 25),) * 2),
        text_length=9,
    ),
    PictureFamily(
        name="gemma3-untied",
        stands_for="tiles larger than a step with logits of each row, exact GELU, one key-value head, untied",
        storage="float16",
        config={
            "architectures": ["Gemma3ForConditionalGeneration"],
            "model_type": "gemma3",
            "image_token_index": 198,
            "boi_token_index": 199,
            "eoi_token_index": 200,
            "mm_tokens_per_image": 100,
            "tie_word_embeddings": False,
            "text_config": {
                **TEXT,
                "vocab_size": 203,
                "hidden_size": 36,
                "intermediate_size": 46,
                "num_hidden_layers": 2,
                "num_attention_heads": 3,
                "num_key_value_heads": 1,
                "head_dim": 10,
                "query_pre_attn_scalar": 24,
                "attention_bias": True,
                "sliding_window": 50,
                "layer_types": ["sliding_attention", "full_attention"],
                "rms_norm_eps": 1e-5,
            },
            "vision_config": {
                "model_type": "siglip_vision_model",
                "hidden_size": 42,
                "intermediate_size": 46,
                "num_hidden_layers": 2,
                "num_attention_heads": 3,
                "image_size": 30,
                "patch_size": 3,
                "hidden_act": "gelu",
                "layer_norm_eps": 1e-5,
                "vision_use_head": False,
            },
        },
        processor={**PROCESSOR, "image_mean": [0.48, 0.45, 0.4], "image_std": [0.26, 0.27, 0.28]},
        pictures=(((30, 30, 100),), ((30, 30, 100),)),
        text_length=20,
    ),
)
