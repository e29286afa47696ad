"""Chat templates: rendered as transformers does, refused with a line, bounded in time and size."""

from __future__ import annotations

import json
import time
import tracemalloc
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.protocol.errors import ModelFileInvalid, NotSupported, TemplateInvalid
from cactus_actors.text import ChatTemplate, TextModel
from cactus_actors.text.text_model import ChatSupport

FILE = Path("some-model/chat_template.jinja")
HELLO = [{"role": "user", "content": "hello"}]

CHAT_ML = """\
{%- if tools %}
    {{- "<|im_start|>system\\n# Tools\\n" }}
    {%- for tool in tools %}
        {{- tool | tojson }}
        {{- "\\n" }}
    {%- endfor %}
    {{- "<|im_end|>\\n" }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role not in ["system", "user", "assistant", "tool"] %}
        {{- raise_exception("unknown role " ~ message.role) }}
    {%- endif %}
    {%- if loop.index0 == 10 %}{% break %}{% endif %}
    {{- "<|im_start|>" + message["role"] + "\\n" + message.content | trim + eos_token + "\\n" }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- "<|im_start|>assistant\\n" }}
{%- endif %}
"""


def compiled(source: str, **special_tokens: str) -> ChatTemplate:
    return ChatTemplate.compile(source, FILE, special_tokens)


def render(source: str, messages: list[dict[str, Any]] | None = None, **tokens: str) -> str:
    return compiled(source, **tokens).render(HELLO if messages is None else messages)


def test_a_common_chat_template_is_rendered() -> None:
    template = compiled(CHAT_ML, eos_token="<|im_end|>")
    assert template.render(HELLO) == "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n"
    assert template.render(HELLO, add_generation_prompt=False) == "<|im_start|>user\nhello<|im_end|>\n"
    with_tools = template.render(HELLO, [{"name": "<é>"}])
    assert with_tools.startswith('<|im_start|>system\n# Tools\n{"name": "<é>"}\n<|im_end|>\n')
    assert template.render(HELLO * 12).count("hello") == 10


def test_blocks_are_trimmed_like_transformers() -> None:
    assert render("a\n  {% if true %}\nb\n  {% endif %}\nc") == "a\nb\nc"


def test_json_is_written_like_transformers() -> None:
    value = {"b": "<é & 'x'>", "a": [1, None, True]}
    messages = [{"role": "user", "content": value}]
    assert render("{{ messages[0].content | tojson }}", messages) == json.dumps(value, ensure_ascii=False)
    indented = render("{{ messages[0].content | tojson(indent=2) }}", messages)
    assert indented == json.dumps(value, ensure_ascii=False, indent=2)


def test_generation_blocks_render_their_content() -> None:
    assert render("a{% generation %}b{% endgeneration %}c") == "abc"


def test_the_date_is_available() -> None:
    assert render("{{ strftime_now('%Y') }}") in {str(datetime.now().year), str(datetime.now().year - 1)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ 'a' ~ 1 ~ none ~ undefined }}", "a1None"),
        ("{{ 'a' + 'b' * 3 }}{{ [1] + [2] }}{{ 7 % 4 }}{{ 2 ** 5 }}", "abbb[1, 2]332"),
        ("{{ '%s-%03d' % ('x', 7) }}{{ '%s!' | format('y') }}", "x-007y!"),
        ("{{ '{:02d}:{}|{x!r}'.format(7, 'y', x='z') }}", "07:y|'z'"),
        ("{{ '{0[role]}: {0[content]}'.format(messages[0]) }}", "user: hello"),
        ("{{ '{:,.2f} {:{}}|'.format(1234.5, 'a', 3) }}", "1,234.50 a  |"),
        ("{{ 'a,b'.split(',') | join('+') }}{{ ', '.join(['c', 'd']) }}", "a+bc, d"),
        ("{{ 'aXbX'.replace('X', '-') }}{{ 'aXbX' | replace('X', '-', 1) }}", "a-b-a-bX"),
        ("{{ 'a\nb' | indent(2) }}", "a\n  b"),
        ("{{ messages | map(attribute='role') | list }}", "['user']"),
        ("{{ messages | selectattr('role', 'equalto', 'user') | list | length }}", "1"),
        ("{{ messages[0] | attr('nothing') is undefined }}", "True"),
        (
            "{% set ns=namespace(n=0) %}{% for i in range(5) %}{% set ns.n=ns.n + i %}{% endfor %}{{ ns.n }}",
            "10",
        ),
        ("{% macro m(x) %}[{{ x }}]{% endmacro %}{{ m(1) ~ m(2) }}", "[1][2]"),
        ("{% for k, v in messages[0].items() %}{{ k }}={{ v }};{% endfor %}", "role=user;content=hello;"),
        ("{{ bos_token is defined }}{{ tools is none }}", "FalseTrue"),
    ],
)
def test_supported_elements_are_rendered(source: str, expected: str) -> None:
    assert render(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__ }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ '' | attr('__class__') }}",
        "{{ ''['__class__'] }}",
        "{{ ('{0.__class__}' | attr('format'))('') }}",
        "{{ '{0.__class__}'.format('') }}",
        "{{ '{a.__class__}'.format_map({'a': 1}) }}",
        "{{ '{0[__class__]}'.format('') }}",
        "{{ '{x.__init__.__globals__}'.format(x=cycler) }}",
        "{{ '{0.append}'.format(messages) }}",
        "{% set f = '{0.__class__}'.format %}{{ f('') }}",
        "{{ '{:{0.__class__}}'.format('') }}",
        "{{ messages | map(attribute='__class__') | list }}",
        "{{ messages | map('attr', '__class__') | list }}",
        "{{ messages.append(1) }}",
        "{{ messages | attr('append') }}",
        "{{ messages[0].update({}) }}",
        "{{ messages[0].clear() }}",
        "{{ self.__init__.__globals__ }}",
        "{{ raise_exception.__globals__ }}",
        "{{ strftime_now.__globals__ }}",
        "{% include 'x' %}",
        "{% import 'x' as y %}",
        "{% extends 'x' %}",
        "{{ lipsum(n=10) }}",
        "{{ open('/etc/passwd') }}",
    ],
)
def test_templates_cannot_leave_the_sandbox(source: str) -> None:
    with pytest.raises(TemplateInvalid, match="line 1 of the chat template"):
        render(source)


GROWING = "{%% set ns = namespace(x='aaaaaaaa') %%}{%% for i in range(60) %%}%s{%% endfor %%}{{ ns.x }}"


@pytest.mark.parametrize(
    "source",
    [
        "{% for i in range(10**9) %}{% endfor %}",
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        pytest.param(
            "{% macro m() %}{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}"
            "{% endmacro %}{{ m() }}",
            marks=pytest.mark.slow,
        ),
        "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}",
        "{% macro f(n) %}{% if n %}{% set a = f(n - 1) ~ f(n - 1) %}{% endif %}{% endmacro %}{{ f(60) }}",
        "{% block a %}{% set x = self.a() ~ self.a() %}{% endblock %}",
        "{{ 'a' * 10**10 }}",
        "{{ 10**10 * 'a' }}",
        "{{ [0] * 10**10 }}",
        "{{ 9 ** (9 ** 9) }}",
        "{{ '%9999999999d' % 1 }}",
        "{{ '%*d' % (999999999, 1) }}",
        "{{ '%999999999d' | format(1) }}",
        "{{ ('%(a)s' * 1000) % {'a': 'a' * 100000} }}",
        GROWING % "{% set ns.x = ns.x ~ ns.x %}",
        GROWING % "{% set ns.x = ns.x + ns.x %}",
        GROWING % "{% set ns.x = ns.x.replace('a', ns.x) %}",
        GROWING % "{% set ns.x = ns.x | replace('a', ns.x) %}",
        GROWING % "{% set ns.x = ns.x.join([ns.x] * 9) %}",
        GROWING % "{% set ns.x = range(9) | join(ns.x) %}",
        GROWING % "{% set ns.x = [ns.x, ns.x] %}",
        (GROWING % "{% set ns.x = [ns.x, ns.x] %}").replace("ns.x }}", "ns.x | upper }}"),
        (GROWING % "{% set ns.x = {'a': ns.x, 'b': ns.x} %}").replace("ns.x }}", "ns.x | tojson }}"),
        "{{ 'a'.center(10**9) }}",
        "{{ 'a'.zfill(10**9) }}",
        "{{ (1).to_bytes(10**9) }}",
        "{{ '{:>999999999}'.format('a') }}",
        "{{ '{:{}}'.format('a', 999999999) }}",
        "{{ '{:.999999999f}'.format(1.5) }}",
        "{{ ('{0:>999}' * 99999).format('a') }}",
        "{{ ('{0}' * 9999).format('a' * 9999) }}",
        "{{ 'a' | indent(10**9, true) }}",
        "{{ [1] | tojson(indent=10**9) }}",
        "{{ strftime_now('%999999999d') }}",
        "{% set x %}{% for i in range(1000) %}{{ 'a' * 1000000 }}{% endfor %}{% endset %}",
        "{% for i in range(1000) %}{{ 'a' * 10000 }}{% endfor %}",
    ],
)
def test_time_and_size_are_bounded(source: str) -> None:
    start = time.thread_time()
    with pytest.raises(TemplateInvalid):
        render(source)
    assert time.thread_time() - start < 4.0


def test_memory_is_bounded() -> None:
    tracemalloc.start()
    try:
        for source in (GROWING % "{% set ns.x = ns.x ~ ns.x %}", "{{ 'a' * 10**10 }}"):
            with pytest.raises(TemplateInvalid):
                render(source)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 << 20


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("a\nb{% bad %}", "line 2"),
        ("a\n\n{{ x", "line 3"),
        ("{% if %}", "line 1"),
        ("{{ 'a' | center(5) }}", "center"),
        ("{{" + "(" * 2000 + "1" + ")" * 2000 + "}}", "does not compile"),
        ("{% set cactus_budget = 1 %}", "cactus_budget"),
        ("{{ cactus_budget }}", "cactus_budget"),
        ("a" * (2 << 20), "allowed"),
    ],
)
def test_a_template_that_does_not_compile_names_its_file(source: str, named: str) -> None:
    with pytest.raises(ModelFileInvalid, match=named) as caught:
        compiled(source)
    assert str(FILE) in caught.value.message


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("a\nb\n{{ 1 / 0 }}", "line 3 of the chat template: ZeroDivisionError"),
        ("a\n{{ raise_exception('no system role') }}", "line 2 of the chat template: no system role"),
        ("{{ missing.field }}", "'missing' is undefined"),
        ("{{ 'a' + 1 }}", "TypeError"),
    ],
)
def test_a_failure_while_rendering_names_its_line(source: str, named: str) -> None:
    with pytest.raises(TemplateInvalid, match=named) as caught:
        render(source)
    assert caught.value.param == "messages"


def test_long_messages_of_a_template_are_shortened() -> None:
    with pytest.raises(TemplateInvalid) as caught:
        render("{{ raise_exception('x' * 100000) }}")
    assert len(caught.value.message) < 600


@pytest.mark.parametrize("value", ["joiner()", "messages | map('upper')", "cycler('a').next"])
def test_no_message_contains_memory_addresses(value: str) -> None:
    for source in (f"{{{{ raise_exception({value}) }}}}", f"{{{{ messages[{value}].content }}}}"):
        with pytest.raises(TemplateInvalid) as caught:
            render(source)
        assert "0x" not in caught.value.message


def a_call(arguments: Any) -> list[dict[str, Any]]:
    """A conversation with one tool call, as OpenAI writes it: no content, the arguments as JSON text."""
    function = {"name": "look_up", "arguments": arguments}
    return [*HELLO, {"role": "assistant", "tool_calls": [{"id": "1", "function": function}]}]


ARGUMENTS = "{% set call = messages[1].tool_calls[0].function %}"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ call.arguments | tojson }}", '{"word": "<é>", "n": 1}'),
        ("{% for k, v in call.arguments | items %}{{ k }}={{ v }};{% endfor %}", "word=<é>;n=1;"),
        ("{{ call.arguments is mapping }}", "True"),
        # A template that joins texts cannot take an object.
        ("{{ 'json ' + call.arguments }}", 'json {"word":"<é>","n":1}'),
    ],
)
def test_arguments_have_the_type_that_the_template_accepts(source: str, expected: str) -> None:
    assert render(ARGUMENTS + source, a_call('{"word":"<é>","n":1}')) == expected
    if "'json '" not in source:
        assert render(ARGUMENTS + source, a_call({"word": "<é>", "n": 1})) == expected


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", "[" * 100_000, '{"n": ' + "9" * 10_000 + "}"])
def test_arguments_that_are_not_an_object_stay_text(text: str) -> None:
    assert render(ARGUMENTS + "{{ call.arguments }}", a_call(text)) == text


def test_an_error_of_a_template_is_reported_with_object_arguments() -> None:
    source = ARGUMENTS + "{{ raise_exception('no calls, ' ~ (call.arguments is mapping)) }}"
    with pytest.raises(TemplateInvalid, match="no calls, True"):
        render(source, a_call("{}"))


def test_strings_in_arguments_are_escaped() -> None:
    template = compiled(ARGUMENTS + "{{ call.arguments.word }}")
    assert template.render(a_call('{"word": "<end>"}'), escape=lambda text: text.replace("<", "(")) == "(end>"


def test_missing_content_is_empty() -> None:
    source = "{{ 'said ' + messages[1].content }}{{ '</think>' in messages[1]['content'] }}"
    assert render(source, a_call("{}")) == "said False"


def test_given_content_is_kept() -> None:
    assert render("{{ messages[0].content is none }}", [{"role": "assistant", "content": None}]) == "True"


def deep_list(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("value", [object(), b"bytes", {1: 2}, {"a": {3}}, deep_list(100_000)])
def test_only_plain_data_reaches_a_template(value: Any) -> None:
    with pytest.raises(TemplateInvalid):
        render("{{ messages }}", [{"role": "user", "content": value}])


def test_messages_of_the_caller_are_not_changed() -> None:
    messages = [{"role": "user", "content": ["a"]}]
    render("{% for m in messages %}{{ m.content }}{% endfor %}", messages)
    assert messages == [{"role": "user", "content": ["a"]}]


def test_a_model_without_a_template_refuses_messages() -> None:
    model = TextModel(
        name="plain",
        tokenizer=None,  # type: ignore[arg-type]  # it is not reached
        eos_ids=frozenset(),
        max_context=8,
        chat=ChatSupport(),
    )
    with pytest.raises(NotSupported, match="plain has no chat template"):
        model.chat_prompt(HELLO)
