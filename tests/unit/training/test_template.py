"""The embedded model's chat template: training and the service render the same prompts."""

from __future__ import annotations

from cactus_actors.text import load_text_model
from training.chat import MODEL_DIRECTORY, Chat
from training.corpus.registry import evaluation_samples
from training.corpus.sample import assistant, user

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the weather for a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "unit": {"type": "string"}},
            "required": ["city"],
        },
    },
}


def test_tools_are_written_with_their_arguments_and_optional_ones_are_marked() -> None:
    text = Chat().render([user("Hi")], [WEATHER], add_generation_prompt=True)
    assert text == (
        "<|im_start|>system\nTools:\n"
        "get_weather(city: string, unit?: string) Get the weather for a city.<|im_end|>\n"
        "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )


def test_a_structured_call_renders_like_the_text_the_model_wrote() -> None:
    structured = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"type": "function", "function": {"name": "get_weather", "arguments": {"city": "Paris"}}}],
    }
    as_json_text = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}],
    }
    written = Chat().render([user("Hi"), assistant(CALL)], [WEATHER])
    assert Chat().render([user("Hi"), structured], [WEATHER]) == written
    assert Chat().render([user("Hi"), as_json_text], [WEATHER]) == written


def test_content_may_come_in_parts() -> None:
    parts = {
        "role": "user",
        "content": [{"type": "text", "text": "Hello, "}, {"type": "text", "text": "you"}],
    }
    assert Chat().render([parts]) == Chat().render([user("Hello, you")])


def test_the_service_tokenizes_evaluation_prompts_like_training() -> None:
    service, chat = load_text_model(MODEL_DIRECTORY), Chat()
    for sample in evaluation_samples(5, 2):
        ids = service.chat_prompt(sample.prompt, sample.tools).ids
        text = chat.render(sample.prompt, sample.tools, add_generation_prompt=True)
        assert ids == service.tokenizer.encode(text, add_special=False)


def test_digits_are_single_tokens_and_a_turn_ends_with_one_token() -> None:
    service = load_text_model(MODEL_DIRECTORY)
    assert len(service.tokenizer.encode("1234567890", add_special=False)) == 10
    assert service.tokenizer.encode("<|im_end|>", add_special=False)[0] in service.eos_ids
    call = service.tokenizer.encode(CALL, add_special=False)
    assert service.tokenizer.decode(call) == CALL
