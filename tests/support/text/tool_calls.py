"""One tool call in the markup of each family."""

from __future__ import annotations

import json
from typing import Any

from cactus_actors.protocol.results import ToolCall

ROUTE = ToolCall("plan_route", {"from": "Zürich", "stops": 2, "avoid": ["tolls", "ferries"]})
NOW = ToolCall("now", {})


TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "plan_route",
            "parameters": {
                "type": "object",
                "properties": {
                    "from": {"type": "string"},
                    "stops": {"type": "integer"},
                    "avoid": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["from"],
            },
        },
    },
    {"type": "function", "function": {"name": "now"}},
    {
        "type": "function",
        "function": {
            "name": "save_note",
            "parameters": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "tags": {"type": "object"},
                    "id": {"type": ["string", "null"]},
                    "share": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
                },
            },
        },
    },
]

ROUTE_JSON = '{"from": "Zürich", "stops": 2, "avoid": ["tolls", "ferries"]}'
ROUTE_PYTHON = "plan_route(from='Zürich', stops=2, avoid=['tolls', \"ferries\"])"
ROUTE_TAGS = (
    "<function=plan_route>\n<parameter=from>\nZürich\n</parameter>\n<parameter=stops>\n2\n</parameter>\n"
    '<parameter=avoid>\n["tolls", "ferries"]\n</parameter>\n</function>'
)


def named(name: str = "name", arguments: str = "arguments") -> str:
    return f'{{"{name}": "plan_route", "{arguments}": {ROUTE_JSON}}}'


def hunyuan(suffix: str) -> list[str]:
    pairs = {"from": "Zürich", "stops": "2", "avoid": '["tolls", "ferries"]'}
    arguments = "".join(
        f"<arg_key{suffix}>{name}</arg_key{suffix}>\n<arg_value{suffix}>{value}</arg_value{suffix}>\n"
        for name, value in pairs.items()
    )
    head = f"<tool_call{suffix}>plan_route<tool_sep{suffix}>"
    call = f"{head}\n{arguments}</tool_call{suffix}>"
    return [
        f"<tool_calls{suffix}>\n{call}\n</tool_calls{suffix}>",
        call,
        f"{head}{ROUTE_JSON}<end_of_tool_call{suffix}>",
    ]


SOLAR = f"<|tool_call:begin|>a1b2c3d4e5<|tool_call:name|>plan_route<|tool_call:args|>{ROUTE_JSON}<|tool_call:end|>"
MCP = f"<tool_name>plan_route</tool_name>\n<arguments>\n{ROUTE_JSON}\n</arguments>"

ONE_CALL = [
    ("hermes", f"<tool_call>\n{named()}\n</tool_call>"),
    ("hermes", f"<tool_call>{named()}"),
    ("hermes", f'<tool_call>{{"arguments": {json.dumps(ROUTE_JSON)}, "name": "plan_route"}}</tool_call>'),
    ("hermes", f'<tool_call>{{"arguments": {ROUTE_JSON}, "id": 3, "name": "plan_route"}}</tool_call>'),
    ("hermes", named()),
    ("hermes", f"[{named()}]"),
    ("qwen3_coder", f"<tool_call>\n{ROUTE_TAGS}\n</tool_call>"),
    ("qwen3_coder", ROUTE_TAGS),
    ("qwen3_coder", ROUTE_TAGS.removesuffix("</function>") + "</tool_call>"),
    ("qwen3_coder", f"<tool_call>\n{named()}\n</tool_call>"),
    ("seed_oss", f"<seed:tool_call>\n{ROUTE_TAGS}\n</seed:tool_call>"),
    (
        "seed_oss",
        "<seed:tool_call><function=plan_route><parameter=from>Zürich</parameter><parameter=stops>2</parameter>"
        '<parameter=avoid>["tolls","ferries"]</parameter></function></seed:tool_call>',
    ),
    (
        "deepseek_r1",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>plan_route\n```json\n"
        f"{ROUTE_JSON}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    ("deepseek_r1", f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>plan_route\n```json\n{ROUTE_JSON}"),
    (
        "deepseek_v31",
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>plan_route<｜tool▁sep｜>{ROUTE_JSON}"
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    (
        "deepseek_v32",
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="plan_route">\n'
        '<｜DSML｜parameter name="from" string="true">Zürich</｜DSML｜parameter>\n'
        '<｜DSML｜parameter name="stops" string="false">2</｜DSML｜parameter>\n'
        '<｜DSML｜parameter name="avoid" string="false">["tolls", "ferries"]</｜DSML｜parameter>\n'
        "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    ),
    (
        "minimax_m2",
        '<minimax:tool_call>\n<invoke name="plan_route">\n<parameter name="from">Zürich</parameter>\n'
        '<parameter name="stops">2</parameter>\n<parameter name="avoid">["tolls","ferries"]</parameter>\n'
        "</invoke>\n</minimax:tool_call>",
    ),
    (
        "glm45",
        "<tool_call>plan_route\n<arg_key>from</arg_key>\n<arg_value>Zürich</arg_value>\n"
        "<arg_key>stops</arg_key>\n<arg_value>2</arg_value>\n"
        '<arg_key>avoid</arg_key>\n<arg_value>["tolls", "ferries"]</arg_value>\n'
        "</tool_call>",
    ),
    (
        "glm47",
        "<tool_call>plan_route<arg_key>from</arg_key><arg_value>Zürich</arg_value><arg_key>stops</arg_key>"
        '<arg_value>2</arg_value><arg_key>avoid</arg_key><arg_value>["tolls", "ferries"]</arg_value>'
        "</tool_call>",
    ),
    (
        "kimi_k2",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.plan_route:0<|tool_call_argument_begin|>"
        f"{ROUTE_JSON}<|tool_call_end|><|tool_calls_section_end|>",
    ),
    ("kimi_k2", f"<|tool_call_begin|>functions.plan_route:11<|tool_call_argument_begin|>{ROUTE_JSON}"),
    (
        "minicpm5",
        '<function name="plan_route"><param name="from"><![CDATA[Zürich]]></param>'
        '<param name="stops">2</param>'
        '<param name="avoid">["tolls", "ferries"]</param></function>',
    ),
    (
        "command_r7b",
        f'<|START_ACTION|>[\n{{"tool_call_id": "0", {named("tool_name", "parameters")[1:]}\n]<|END_ACTION|>',
    ),
    ("command_r_plus", f"Action: ```json\n[\n    {named('tool_name', 'parameters')}\n]```"),
    (
        "harmony",
        f"<|channel|>commentary to=functions.plan_route <|constrain|>json<|message|>{ROUTE_JSON}<|call|>",
    ),
    (
        "harmony",
        f"<|start|>assistant to=functions.plan_route<|channel|>commentary json<|message|>{ROUTE_JSON}",
    ),
    ("harmony", f" to=functions.plan_route<|channel|>analysis<|message|>{ROUTE_JSON}<|call|>"),
    (
        "gemma4",
        '<|tool_call>call:plan_route{from:<|"|>Zürich<|"|>,stops:2,avoid:[<|"|>tolls<|"|>,<|"|>ferries<|"|>]}'
        "<tool_call|>",
    ),
    (
        "functiongemma",
        "<start_function_call>call:plan_route{from:<escape>Zürich<escape>,stops:2,"
        "avoid:[<escape>tolls<escape>,<escape>ferries<escape>]}<end_function_call>",
    ),
    ("phi4_mini", f"<|tool_call|>[{named()}]<|/tool_call|>"),
    ("phi4_mini", f"functools[{named()}]"),
    ("granite", f"<|tool_call|>[{named()}]"),
    ("granite", f"<function_call> {named()}"),
    ("firefunction", f" functools[{named()}]"),
    ("nemotron", f"<TOOLCALL>[{named()}]</TOOLCALL>"),
    ("apertus", f'<|tools_prefix|>[{{"plan_route": {ROUTE_JSON}}}]<|tools_suffix|>'),
    ("apriel", f"<tool_calls>[{named()}]</tool_calls>"),
    ("minimax_m1", f"<tool_calls>\n{named()}\n</tool_calls>"),
    ("gigachat31", f"<|function_call|>{named()}"),
    ("gigachat3", f"<|message_sep|>\n\nfunction call<|role_sep|>\n{named()}"),
    ("functionary_v32", f"plan_route\n{ROUTE_JSON}"),
    ("functionary_v32", f">>>plan_route\n{ROUTE_JSON}"),
    ("functionary_v31", f"<function=plan_route>{ROUTE_JSON}</function>"),
    ("olmo3", f"<function_calls>\n{ROUTE_PYTHON}\n</function_calls>"),
    ("internlm2", f"<|action_start|><|plugin|>\n{named(arguments='parameters')}<|action_end|>"),
    ("llama4", f"<|python_start|>[{ROUTE_PYTHON}]<|python_end|>"),
    ("pythonic", f"[{ROUTE_PYTHON}]"),
    ("lfm2", f"<|tool_call_start|>[{ROUTE_PYTHON}]<|tool_call_end|>"),
    ("lfm2", f"<|tool_call_start|>[{named()}]<|tool_call_end|>"),
    ("lfm2", f"[{ROUTE_PYTHON}]"),
    ("mistral", f"[TOOL_CALLS] [{named()}]"),
    ("mistral", f"[TOOL_CALLS]plan_route[ARGS]{ROUTE_JSON}"),
    ("mistral_args", f"[TOOL_CALLS]plan_route[CALL_ID]a1b2c3d4e[ARGS]{ROUTE_JSON}"),
    ("mistral_args", f'[TOOL_CALLS][{{"name": "plan_route", "arguments": {ROUTE_JSON}, "id": "a1b2c3d4e"}}]'),
    ("llama3", f"<|python_tag|>{named(arguments='parameters')}"),
    ("llama3", f'{{"type": "function", "function": {named(arguments="parameters")}}}'),
    ("gemma", f"```tool_code\nprint(default_api.{ROUTE_PYTHON})\n```"),
    ("gemma", f"```tool_code\n[{ROUTE_PYTHON}]\n```"),
    ("gemma", f"[{ROUTE_PYTHON}]"),
    ("gemma", f"```json\n{named()}\n```"),
    ("json", f"```json\n[{named()}]\n```"),
    ("json", named()),
    ("a markup of tomorrow", named()),
    ("glm4", f"plan_route\n{ROUTE_JSON}"),
    ("glm4", f"<|assistant|>plan_route\n{ROUTE_JSON}"),
    *(("hunyuan_v3", text) for text in hunyuan(":opensource")),
    *(("hunyuan_v3_plain", text) for text in hunyuan("")),
    ("solar_open", f"<|tool_calls|>{SOLAR}"),
    ("solar_open", f"<|begin|>assistant<|tool_calls|>{SOLAR}<|calls|>"),
    ("solar_open", SOLAR.removesuffix("<|tool_call:end|>")),
    ("mirothinker", f"<use_mcp_tool>\n<server_name>tool-python</server_name>\n{MCP}\n</use_mcp_tool>"),
    ("mirothinker", f"<use_mcp_tool><server_name>search_and_scrape_webpage</server_name>{MCP}"),
    ("mirothinker", f"<tool_call>\n{named()}\n</tool_call>"),
]
