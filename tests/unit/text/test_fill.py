"""Prompts that continue a given beginning: gaps, begun answers, reasoning."""

from __future__ import annotations

from pathlib import Path

import pytest

from cactus_actors.protocol.errors import NotSupported
from tests.support.models.json_tokenizers import load_model

HELLO = [{"role": "user", "content": "hello"}]
QWEN = ("<|endoftext|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|fim_pad|>", "<|file_sep|>")
DEEPSEEK = ("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>")


@pytest.mark.parametrize(
    ("special", "fill_tokens"),
    [
        (QWEN, (257, 258, 259)),
        (DEEPSEEK, (256, 257, 258)),
        (("<fim_middle>", "<fim_suffix>", "<fim_prefix>"), (258, 257, 256)),
        (("▁<PRE>", "▁<MID>", "▁<SUF>"), (256, 258, 257)),
        (("<fim_middle>", "<fim_prefix>"), None),
        ((), None),
    ],
)
def test_infill_tokens_are_found_in_the_vocabulary(
    tmp_path: Path, special: tuple[str, ...], fill_tokens: tuple[int, ...] | None
) -> None:
    assert load_model(tmp_path, *special).fill_tokens == fill_tokens


def test_infill_ends_at_file_and_padding_tokens(tmp_path: Path) -> None:
    assert load_model(tmp_path, *QWEN).eos_ids == {5, 260, 261}
    assert load_model(tmp_path, "<|endoftext|>", "<|file_sep|>").eos_ids == {5}


def test_a_begun_answer_is_continued_without_control_tokens(tmp_path: Path) -> None:
    model = load_model(tmp_path, "<|endoftext|>", "<me>")
    begun = model.chat_prompt(HELLO, answer_begins="Well, <|endoftext|>").ids
    assert begun == [
        *model.chat_prompt(HELLO).ids,
        *model.tokenizer.encode("Well, <|endoftext|>", add_special=False, parse_special=False),
    ]
    assert 256 not in begun


@pytest.mark.parametrize("switch", ["enable_thinking", "thinking"])
def test_reasoning_is_enabled_in_templates_that_support_it(tmp_path: Path, switch: str) -> None:
    template = f"{{% if {switch} is defined and {switch} %}}think{{% endif %}}{{{{ messages[0].content }}}}"
    model = load_model(tmp_path, template=template)
    assert model.tokenizer.decode(model.chat_prompt(HELLO, thinking=True, needs_switch=True).ids) == "thinkhello"
    assert model.tokenizer.decode(model.chat_prompt(HELLO).ids) == "hello"


def test_enabling_reasoning_without_template_support_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotSupported, match="no reasoning mode") as caught:
        load_model(tmp_path).chat_prompt(HELLO, thinking=True, needs_switch=True)
    assert caught.value.param == "prompt_mode"


def test_tokens_are_found_by_name(tmp_path: Path) -> None:
    tokenizer = load_model(tmp_path, "<|endoftext|>").tokenizer
    assert tokenizer.token_of(256) == "<|endoftext|>"
    assert tokenizer.token_of(10_000) is None
