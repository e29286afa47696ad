"""The tool-call markups of model families, one row each.

Sources: the families' chat templates; Google's guides to function calling for Gemma; OpenAI's description of
the harmony format. A template belongs to the first row whose `detect` matches it.
"""

from __future__ import annotations

import re
from typing import Any

from cactus_actors.tools.form import Body, Form
from cactus_actors.tools.gemma_body import GemmaBody
from cactus_actors.tools.json_body import JsonBody
from cactus_actors.tools.markup import Markup
from cactus_actors.tools.named_body import NamedBody
from cactus_actors.tools.parameter_body import TYPED, ParameterBody
from cactus_actors.tools.python_body import PythonBody

_JSON = JsonBody()
_PYTHON = PythonBody()


def _forms(*bodies: Body, **marks: Any) -> tuple[Form, ...]:
    """Marks that are common to calls in several notations."""
    return tuple(Form(body=body, **marks) for body in bodies)


def _lines(opening: str, closing: str, body: Body = _JSON) -> Form:
    """Calls on lines of their own between marks."""
    return Form(open=(opening,), body=body, separator="\n", close=(closing,))


def _list(body: Body, opening: tuple[str, ...] = (), closing: tuple[str, ...] = ()) -> Form:
    """A list of calls, which may stand between marks."""
    return Form(open=(*opening, "["), body=body, separator=", ", close=("]", *closing))


def _json_between(opening: str, closing: str, body: JsonBody = _JSON) -> tuple[Form, ...]:
    """A list of JSON objects between marks; a single object is parsed, too."""
    ends = (closing,) if closing else ()
    return (_list(body, (opening,), ends), Form(open=(opening,), body=body, close=ends))


_BARE_JSON = Form(body=_JSON, separator="\n")
_PYTHON_LIST = _list(_PYTHON)
_JSON_LIST = _list(_JSON)
_JSON_FENCE = _lines("```json\n", "\n```")
_CALL_FENCE = _lines("```tool_call\n", "\n```")
_HERMES = Form(begin="<tool_call>\n", body=_JSON, end="\n</tool_call>", separator="\n")


_COHERE = JsonBody(name_key="tool_name", arguments_key="parameters")


def _glm(gap: str, detect: str) -> Markup:
    body = ParameterBody(
        before="",
        mark="",
        key="<arg_key>",
        key_end=f"</arg_key>{gap}<arg_value>",
        value_end="</arg_value>",
        after="</tool_call>",
        gap=gap,
    )
    return Markup(detect=detect, forms=(Form(begin="<tool_call>", body=body, separator=gap), _HERMES))


def _hunyuan(suffix: str, detect: str) -> Markup:
    def tag(name: str) -> str:
        return f"<{name}{suffix}>"

    begin, end = tag("tool_call"), tag("/tool_call")
    calls: dict[str, Any] = {"open": (f"{tag('tool_calls')}\n",), "close": (tag("/tool_calls"),)}
    body = ParameterBody(
        before="",
        mark=tag("tool_sep"),
        key=tag("arg_key"),
        key_end=f"{tag('/arg_key')}\n{tag('arg_value')}",
        value_end=tag("/arg_value"),
        after=end,
    )
    object_body = NamedBody(mark=tag("tool_sep"))
    return Markup(
        detect=detect,
        forms=(
            Form(begin=begin, body=body, end="\n", **calls),
            Form(begin=begin, body=_JSON, end=f"{end}\n", **calls),
            Form(begin=begin, body=object_body, end=tag("end_of_tool_call"), **calls),
            Form(begin=begin, body=body),
            Form(begin=begin, body=object_body, end=tag("end_of_tool_call")),
        ),
    )


def _deepseek(detect: str, body: NamedBody, separator: str) -> Markup:
    calls, calls_end = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
    call, call_end = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"
    return Markup(
        detect=detect,
        forms=(
            Form(open=(calls,), begin=call, body=body, end=call_end, separator=separator, close=(calls_end,)),
            Form(open=(calls,), begin=call, body=_JSON, end=call_end, close=(calls_end,)),
            Form(begin=call, body=body, end=call_end, close=(calls_end,)),
        ),
    )


def _dsml(block: str) -> Markup:
    body = ParameterBody(
        before='<｜DSML｜invoke name="',
        mark='">',
        key='<｜DSML｜parameter name="',
        key_end=f'" string="{TYPED}">',
        value_end="</｜DSML｜parameter>",
        after="</｜DSML｜invoke>",
    )
    marks: dict[str, Any] = {"open": (f"<｜DSML｜{block}>\n",), "end": "\n", "close": (f"</｜DSML｜{block}>",)}
    return Markup(detect=rf"｜DSML｜(?s:.*){block}>", forms=_forms(body, _JSON, **marks))


def _gemma_tokens(begin: str, end: str, quote: str) -> Markup:
    return Markup(detect=re.escape(begin), forms=_forms(GemmaBody(quote=quote), _JSON, begin=begin, end=end))


def _tags(key: str, value_end: str = "</parameter>", **marks: Any) -> ParameterBody:
    """Arguments between tags; the name is an attribute or follows an equals sign."""
    end = '">' if key.endswith('"') else ">"
    return ParameterBody(mark=end, key=key, key_end=end, value_end=value_end, **marks)


def _harmony(before: str) -> Form:
    body = NamedBody(
        before=f"{before}to=functions.",
        header=" <|constrain|>json",
        may_stand=r"(<\|channel\|>\w+)?\s*(<\|constrain\|>)?\s*\w*",
        mark="<|message|>",
    )
    return Form(body=body, separator="<|end|><|start|>assistant")


_QWEN = _tags("<parameter=", before="<function=", after="</function>", ends=("</tool_call>",), lines="always")
_SEED = _tags("<parameter=", before="<function=", after="</function>", ends=("</seed:tool_call>",), lines="read")
_MINIMAX = _tags('<parameter name="', before='<invoke name="', after="</invoke>")
_MINICPM = _tags('<param name="', "</param>", before='<function name="', after="</function>", gap="", has_cdata=True)
_MISTRAL_ARGS = Form(begin="[TOOL_CALLS]", body=NamedBody(mark="[ARGS]", may_stand=r"(\[CALL_ID\][\w-]{0,64})?"))
_MISTRAL_LIST = _json_between("[TOOL_CALLS]", "")
_KIMI = NamedBody(before="functions.", header=":0", number=r":\d+", mark="<|tool_call_argument_begin|>")
_KIMI_CALL: dict[str, Any] = {"begin": "<|tool_call_begin|>", "end": "<|tool_call_end|>"}
_KIMI_CALLS: dict[str, Any] = {
    "open": ("<|tool_calls_section_begin|>",), "close": ("<|tool_calls_section_end|>",),
}  # fmt: skip

_SOLAR = NamedBody(label="0", before="<|tool_call:name|>", mark="<|tool_call:args|>")
_SOLAR_CALL: dict[str, Any] = {"begin": "<|tool_call:begin|>", "end": "<|tool_call:end|>"}
_MCP = NamedBody(
    label="generic-extras",
    before="</server_name>\n<tool_name>",
    mark="</tool_name>\n<arguments>\n",
    after="\n</arguments>",
)
_MCP_CALLS: dict[str, Any] = {"open": ("<use_mcp_tool>\n",), "close": ("</use_mcp_tool>",)}

MARKUPS: dict[str, Markup] = {
    "mirothinker": Markup(
        detect="<use_mcp_tool>",
        forms=(Form(begin="<server_name>", body=_MCP, end="\n", **_MCP_CALLS), _HERMES),
    ),
    "solar_open": Markup(
        detect=r"<\|tool_call:begin\|>",
        forms=(
            *_forms(_SOLAR, _JSON, open=("<|tool_calls|>",), **_SOLAR_CALL),
            Form(body=_SOLAR, **_SOLAR_CALL),
        ),
        hidden=("<|begin|>assistant", "<|content|>", "<|end|>", "<|flush|>", "<|calls|>"),
    ),
    "hunyuan_v3": _hunyuan(":opensource", "tool_sep(?s:.*):opensource|:opensource(?s:.*)tool_sep"),
    "hunyuan_v3_plain": _hunyuan("", "<tool_sep>"),
    "deepseek_v32": _dsml("function_calls"),
    "deepseek_v4": _dsml("tool_calls"),
    "deepseek_r1": _deepseek(
        "<｜tool▁calls▁begin｜>(?s:.*)```json",
        NamedBody(before="function<｜tool▁sep｜>", mark="\n```json\n", after="\n```"),
        "\n",
    ),
    "deepseek_v31": _deepseek("<｜tool▁calls▁begin｜>", NamedBody(mark="<｜tool▁sep｜>"), ""),
    "qwen3_coder": Markup(
        detect="<parameter=(?s:.*)<tool_call>|<tool_call>(?s:.*)<parameter=",
        forms=(
            Form(begin="<tool_call>\n", body=_QWEN, end="\n</tool_call>", separator="\n"),
            _HERMES,
            Form(body=_QWEN, end="</tool_call>"),
        ),
        bare=(_BARE_JSON,),
    ),
    "seed_oss": Markup(
        detect="<seed:tool_call>",
        forms=_forms(_SEED, _JSON, begin="<seed:tool_call>\n", end="\n</seed:tool_call>", separator="\n"),
    ),
    "minimax_m2": Markup(
        detect="<minimax:tool_call>",
        forms=_forms(_MINIMAX, _JSON, open=("<minimax:tool_call>\n",), end="\n", close=("</minimax:tool_call>",)),
    ),
    "glm45": _glm("\n", r"</arg_key>(\\n|\s)+<arg_value>"),
    "glm47": _glm("", "<arg_key>"),
    "kimi_k2": Markup(
        call_ids="numbered",
        detect=r"<\|tool_calls_section_begin\|>",
        forms=(
            *_forms(_KIMI, _JSON, **_KIMI_CALLS, **_KIMI_CALL),
            Form(body=_KIMI, close=("<|tool_calls_section_end|>",), **_KIMI_CALL),
        ),
    ),
    "minicpm5": Markup(detect='<param name="', forms=(Form(body=_MINICPM, separator="\n"), _HERMES)),
    "command_r7b": Markup(
        detect=r"<\|START_ACTION\|>",
        forms=_json_between("<|START_ACTION|>", "<|END_ACTION|>", _COHERE),
        hidden=("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"),
    ),
    "command_r_plus": Markup(
        detect=r"Action:(?s:.*)```json(?s:.*)tool_name",
        forms=(
            _list(_COHERE, ("Action:", "```json\n"), ("\n```",)),
            Form(open=("Action:", "```json\n"), body=_COHERE, close=("\n```",)),
        ),
    ),
    "harmony": Markup(
        detect=r"<\|channel\|>",
        forms=(
            _harmony("<|channel|>commentary "),
            _harmony("<|channel|>analysis "),
            _harmony(""),
            *_json_between("<|channel|>commentary json<|message|>", ""),
        ),
        hidden=(
            "<|channel|>final<|message|>",
            "<|channel|>final <|constrain|>json<|message|>",
            "<|channel|>commentary<|message|>",
            "<|channel|>commentary to=assistant",
            "<|start|>assistant",
            "<|end|>",
            "<|call|>",
            "<|return|>",
        ),
    ),
    "gemma4": _gemma_tokens("<|tool_call>", "<tool_call|>", '<|"|>'),
    "functiongemma": _gemma_tokens("<start_function_call>", "<end_function_call>", "<escape>"),
    "phi4_mini": Markup(
        detect=r"<\|/tool(_call)?\|>",
        forms=(
            Form(begin="<|tool_call|>", body=_JSON, end="<|/tool_call|>"),
            Form(open=("functools",), body=_JSON),
        ),
        bare=(_BARE_JSON,),
    ),
    "granite": Markup(
        detect=r"<\|tool_call\|>|<function_call>",
        forms=(*_json_between("<|tool_call|>", ""), Form(begin="<function_call>", body=_JSON), _HERMES),
        bare=(_BARE_JSON,),
    ),
    "firefunction": Markup(detect="functools", forms=_json_between(" functools", "")),
    "nemotron": Markup(detect="<TOOLCALL>", forms=_json_between("<TOOLCALL>", "</TOOLCALL>")),
    "apertus": Markup(
        detect=r"<\|tools_prefix\|>",
        forms=_json_between("<|tools_prefix|>", "<|tools_suffix|>", JsonBody(is_named_by_key=True)),
    ),
    "apriel": Markup(
        detect=r"<tool_calls>\s*\[", forms=_json_between("<tool_calls>", "</tool_calls>"), bare=(_BARE_JSON,)
    ),
    "minimax_m1": Markup(
        detect="<tool_calls>",
        forms=(_lines("<tool_calls>\n", "\n</tool_calls>"),),
    ),
    "gigachat31": Markup(detect=r"<\|function_call\|>", forms=(Form(begin="<|function_call|>", body=_JSON),)),
    "gigachat3": Markup(
        detect=r"'function call'",
        forms=(Form(open=("<|message_sep|>\n\n", "function call", "<|role_sep|>\n"), body=_JSON),),
    ),
    "functionary_v32": Markup(
        detect=r">>>\$\{recipient\}",
        forms=(Form(body=NamedBody(before=">>>", mark="\n")), _JSON_FENCE),
        bare=(Form(body=NamedBody(mark="\n"), separator=">>>"),),
        is_begun=True,
        hidden=(">>>all\n",),
        hidden_first=("all\n",),
    ),
    "glm4": Markup(
        detect=r"请使用 [Jj][Ss][Oo][Nn] 格式表示调用的参数",
        forms=(Form(body=NamedBody(before="<|assistant|>", mark="\n")), _JSON_FENCE),
        bare=(Form(body=NamedBody(mark="\n"), separator="<|assistant|>"),),
        is_begun=True,
    ),
    "functionary_v31": Markup(
        detect="<function=|`<function`",
        forms=(
            Form(body=NamedBody(before="<function=", mark=">", after="</function>")),
            Form(open=("<|python_tag|>",), body=_JSON),
        ),
    ),
    "olmo3": Markup(
        detect="<function_calls>",
        forms=tuple(_lines("<function_calls>", "</function_calls>", body) for body in (_PYTHON, _JSON)),
    ),
    "internlm2": Markup(
        detect=r"<\|action_start\|>",
        forms=(
            Form(
                open=("<|action_start|>", "<|plugin|>\n"),
                body=JsonBody(arguments_key="parameters"),
                close=("\n<|action_end|>",),
            ),
        ),
    ),
    "llama4": Markup(
        detect=r"<\|python_start\|>",
        forms=(_list(_PYTHON, ("<|python_start|>",), ("<|python_end|>",)), _PYTHON_LIST, _JSON_LIST),
        bare=(_BARE_JSON,),
    ),
    "pythonic": Markup(detect=r"\[func_name1\(", forms=(_PYTHON_LIST, _JSON_LIST), bare=(_BARE_JSON,)),
    "lfm2": Markup(
        detect=r"<\|tool_call_start\|>|<\|tool_list_start\|>|List of tools: \[",
        forms=(
            _list(_PYTHON, ("<|tool_call_start|>",), ("<|tool_call_end|>",)),
            *_json_between("<|tool_call_start|>", "<|tool_call_end|>"),
            _PYTHON_LIST,
        ),
        bare=(_BARE_JSON,),
    ),
    "mistral_args": Markup(
        call_ids="nine", detect=r"\[ARGS\]", forms=(_MISTRAL_ARGS, *_MISTRAL_LIST), bare=(_BARE_JSON,)
    ),
    "mistral": Markup(
        call_ids="nine", detect=r"\[TOOL_CALLS\]", forms=(*_MISTRAL_LIST, _MISTRAL_ARGS), bare=(_BARE_JSON,)
    ),
    "hermes": Markup(detect="<tool_call>", forms=(_HERMES,), bare=(_BARE_JSON,)),
    "gemma": Markup(
        detect="tool_code",
        forms=(
            _JSON_FENCE,
            _CALL_FENCE,
            _lines("```tool_code\n", "\n```", _PYTHON),
            _list(_PYTHON, ("```tool_code\n",), ("\n```",)),
            _PYTHON_LIST,
        ),
        bare=(_BARE_JSON,),
    ),
    "llama3": Markup(
        detect=r"<\|python_tag\|>|ipython",
        forms=(
            Form(open=("<|python_tag|>",), body=JsonBody(arguments_key="parameters"), separator="; "),
            Form(open=("<|python_tag|>",), body=_PYTHON),
        ),
        bare=(_BARE_JSON,),
    ),
    "json": Markup(forms=(_JSON_FENCE, _CALL_FENCE), bare=(_BARE_JSON,)),
}


def markup_named(name: str) -> Markup:
    """The markup of that name; plain JSON for an unknown one."""
    return MARKUPS.get(name, MARKUPS["json"])
