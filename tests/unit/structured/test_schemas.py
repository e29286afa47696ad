"""JSON schemas: accepted keywords are enforced, all others are refused by name, and quickly."""

from __future__ import annotations

import contextlib
import json
import time
from typing import Any

import pytest

from cactus_actors.protocol.errors import (
    InvalidRequest,
    NotSupported,
    SchemaInvalid,
    SchemaTooComplex,
    SchemaUnsatisfiable,
)
from cactus_actors.structured.bounded_cache import BoundedCache
from cactus_actors.structured.keywords import ANNOTATIONS
from cactus_actors.structured.keywords import REFUSED as REFUSED_KEYWORDS
from cactus_actors.structured.schema import KEYWORD_READERS
from tests.support.text.grammar_texts import accepted, grammar_of

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2},
    },
    "required": ["name"],
    "additionalProperties": False,
}


def nested(depth: int) -> Any:
    schema: Any = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return schema


def definitions(number: int, schema: Any) -> Any:
    return {f"d{index}": schema for index in range(number)}


def name(value: Any) -> str:
    """The name of a case."""
    return f"{list(value)[:1]}" if isinstance(value, dict) else str(value)[:40] if isinstance(value, str) else ""


ENFORCED: list[tuple[Any, list[str], list[str]]] = [
    (
        PERSON,
        ['{"name":"x"}', '{ "name" : "x", "age": 150, "tags": ["a", "b"] }'],
        [
            "{}",
            '{"name":""}',
            '{"name":"x","age":151}',
            '{"name":"x","tags":["a","a","a"]}',
            '{"name":"x","y":1}',
        ],
    ),
    ({}, ["1", '"a"', "null", '[{"a":[]}]'], ["", "nul", "{a:1}"]),
    (True, ["false"], ["x"]),
    ({"type": ["integer", "null"]}, ["-5", "null"], ["1.5", '"1"']),
    ({"type": ["integer", "number"]}, ["1", "1.5"], ["true"]),
    ({"minimum": 3}, ["3", '"a"'], ["2"]),
    ({"type": "number", "minimum": 0}, ["0.5", "12"], ["-1"]),
    ({"type": "number", "exclusiveMinimum": 0, "maximum": 1}, ["0.01", "1"], ["0", "1.1"]),
    ({"type": "integer", "minimum": 3, "exclusiveMinimum": True}, ["4"], ["3"]),
    ({"type": "integer", "maximum": 3, "exclusiveMaximum": False}, ["3"], ["4"]),
    ({"type": "number", "multipleOf": 0.5}, ["1.5"], ["1.3"]),
    ({"type": "string", "maxLength": 2}, ['"ab"', '"😀é"'], ['"abc"']),
    ({"type": "string", "pattern": "^[a-c]+$"}, ['"abc"'], ['"abd"', '""']),
    ({"type": "string", "pattern": r"\d"}, ['"a1"'], ['"a"', '"٣"']),
    ({"type": "string", "format": "date"}, ['"2024-02-29"'], ['"2024-02-30"', '"x"']),
    ({"const": {"a": [1]}}, ['{"a": [1]}'], ['{"a":[2]}']),
    ({"const": -(2**63) + 1024}, ["-9223372036854774784"], ["-9223372036854774785"]),
    ({"enum": [1, "x", None]}, ["1", '"x"', "null"], ["2"]),
    ({"anyOf": [{"type": "integer"}, {"const": "x"}]}, ["5", '"x"'], ['"y"']),
    ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, ["5", '"x"'], ["null"]),
    ({"allOf": [{"type": "integer"}, {"minimum": 2}]}, ["2"], ["1"]),
    ({"type": "array", "prefixItems": [{"type": "integer"}], "items": False}, ["[]", "[1]"], ["[1,2]"]),
    (
        {"type": "array", "items": [{"type": "integer"}], "additionalItems": False},
        ["[1]"],
        ["[1,2]", '["a"]'],
    ),
    ({"type": "array", "minItems": 2.0}, ["[1,2]"], ["[1]"]),
    ({"type": "array", "uniqueItems": False, "maxItems": 2}, ["[1,1]"], ["[1,1,1]"]),
    ({"type": "object", "minProperties": 1, "maxProperties": 1}, ['{"a":1}'], ["{}", '{"a":1,"b":2}']),
    (
        {"type": "object", "patternProperties": {"^x": {"type": "integer"}}},
        ['{"x":1}', '{"y":"a"}'],
        ['{"x":"a"}'],
    ),
    ({"type": "object", "additionalProperties": {"type": "integer"}}, ['{"x":1}'], ['{"x":"a"}']),
    (
        {"type": "object", "required": ["a"], "additionalProperties": {"type": "integer"}},
        ['{"a":1}'],
        ["{}", '{"a":"x"}'],
    ),
    ({"properties": {"a": {"type": "integer"}}}, ['{"a":1}', '{"b":"x"}'], ['{"a":"x"}', '{"\\u0061":"x"}']),
    ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "integer"}}}, ["1"], ['"1"']),
    ({"$ref": "#/definitions/a%25", "definitions": {"a%": {"type": "integer"}}}, ["1"], ['"1"']),
    ({"$ref": "#here", "$defs": {"a": {"$anchor": "here", "type": "integer"}}}, ["1"], ['"1"']),
    (
        {"$id": "http://x/y", "$ref": "http://x/y#/$defs/a", "$defs": {"a": {"type": "null"}}},
        ["null"],
        ["1"],
    ),
    (
        {"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": False},
        ["{}", '{"next":{"next":{}}}'],
        ['{"next":1}'],
    ),
    (
        # the endless alternative is not offered
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/endless"}, "b": {}},
            "$defs": {"endless": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/endless"}}},
        },
        ["{}", '{"b":1}'],
        ['{"a":[]}'],
    ),
    ({"type": "integer", "not": {"type": "string"}}, ["1"], ['"a"']),
    ({"not": {"type": ["object", "array", "null"]}}, ["1", '"a"', "true"], ["{}", "[]", "null"]),
    ({"not": {"type": "number"}}, ['"a"'], ["1", "1.5"]),
    ({"not": False, "type": "null"}, ["null"], ["1"]),
    ({"not": {"required": ["a"]}}, ["{}", '{"b":1}'], ['{"a":1}']),
    ({"if": {"type": "string"}, "type": "null"}, ["null"], ["1"]),
    ({"if": {}, "type": "null"}, ["null"], ["1"]),
    ({"if": {}, "then": {"type": "null"}, "else": {"type": "integer"}}, ["null"], ["1", '"a"']),
    ({"if": True, "then": {"minimum": 3}, "type": "integer"}, ["3"], ["2", "null"]),
    ({"if": False, "then": {"type": "null"}, "else": {"type": "integer"}}, ["1"], ["null", '"a"']),
    ({"if": {}, "else": {"type": "integer"}, "allOf": [{"type": "null"}]}, ["null"], ["1"]),
    ({"if": False, "then": {"type": "null"}, "type": "integer"}, ["1"], ["null"]),
    ({"then": {"type": "string"}, "minContains": 2, "type": "null"}, ["null"], ["1"]),
    ({"contains": {"type": "null"}, "minContains": 0, "type": "array"}, ["[]", "[1]"], ["1"]),
    ({"type": "object", "propertyNames": {"pattern": "^a"}}, ["{}", '{"ab":1}'], ['{"b":1}']),
    ({"type": "object", "propertyNames": {"enum": ["a. -", "b"]}}, ['{"a. -":1}', '{"b":2}'], ['{"ax -":1}']),
    ({"type": "object", "propertyNames": {"const": "a"}}, ['{"a":1}'], ['{"b":1}']),
    ({"type": "object", "propertyNames": False}, ["{}"], ['{"a":1}']),
    ({"type": "object", "propertyNames": True}, ["{}", '{"a":1}'], ["1"]),
    ({"type": "object", "dependentRequired": {"a": ["b"]}}, ["{}", '{"b":1}', '{"a":1,"b":2}'], ['{"a":1}']),
    (
        {"type": "object", "dependentSchemas": {"a": {"properties": {"b": {"type": "null"}}}}},
        ["{}", '{"b":1}', '{"a":1}', '{"a":1,"b":null}'],
        ['{"a":1,"b":1}'],
    ),
    ({"type": "object", "dependencies": {"a": ["b"]}}, ["{}", '{"a":1,"b":2}'], ['{"a":1}']),
    (
        {"type": "object", "properties": {"a": {}}, "unevaluatedProperties": False},
        ["{}", '{"a":1}'],
        ['{"b":1}'],
    ),
    ({"type": "array", "prefixItems": [{}], "unevaluatedItems": False}, ["[]", "[1]"], ["[1,2]"]),
    (
        {"title": "t", "description": "d", "default": 5, "examples": [{"not": 1}], "type": "null"},
        ["null"],
        ["1"],
    ),
]


@pytest.mark.parametrize(("schema", "valid", "invalid"), ENFORCED, ids=name)
def test_supported_schemas_are_enforced(schema: Any, valid: list[str], invalid: list[str]) -> None:
    grammar = grammar_of(json_schema=schema)
    assert accepted(grammar, valid + invalid) == valid


REFUSED: list[tuple[Any, type[InvalidRequest], str]] = [
    ({"type": "string", "colour": 1}, NotSupported, "unknown keyword 'colour', at #/colour"),
    (
        {"properties": {"a/b": {"not": {"minimum": 1}}}},
        NotSupported,
        "the keyword not cannot be enforced, at #/properties/a~1b/not",
    ),
    ({"anyOf": [{}, {"if": {"type": "null"}, "then": {}}]}, NotSupported, "#/anyOf/1/if"),
    ({"if": {"type": "null"}, "else": {"type": "string"}}, NotSupported, "the keyword if cannot be enforced, at #/if"),
    ({"if": {}, "then": None}, SchemaInvalid, "a schema is an object or a boolean"),
    # an `if` counts by its value, with and without branches
    ({"if": {"properties": {"a": True}}, "unevaluatedProperties": False}, NotSupported, "the keyword if"),
    ({"if": {}, "then": {"properties": {"a": True}}, "unevaluatedProperties": False}, NotSupported, "the keyword if"),
    ({"not": {"type": "integer"}}, NotSupported, "not"),
    ({"not": {}}, SchemaUnsatisfiable, ""),
    ({"propertyNames": {"maxLength": 3}}, NotSupported, "propertyNames"),
    ({"allOf": [{}], "unevaluatedProperties": False}, NotSupported, "unevaluatedProperties"),
    ({"dependentRequired": {name: [] for name in "abcde"}}, NotSupported, "dependentRequired"),
    ({"contains": {"type": "null"}}, NotSupported, "contains"),
    ({"uniqueItems": True}, NotSupported, "uniqueItems"),
    ({"x-guidance": {"lenient": True}}, NotSupported, "x-guidance"),
    ({"format": "iban"}, NotSupported, "'iban'"),
    ({"minProperties": 2}, NotSupported, "minProperties"),
    ({"oneOf": [{"type": "integer"}, {"minimum": 2}]}, NotSupported, "oneOf"),
    ({"pattern": "^(?!x)"}, NotSupported, "at #/pattern, position 1"),
    ({"patternProperties": {"(?=a)": True}}, NotSupported, "patternProperties"),
    ({"const": "\x01"}, NotSupported, "#/const"),
    ({"const": -(2**63)}, NotSupported, "the number -9223372036854775808"),
    ({"enum": [1, {"a": [-(2**63) + 511]}]}, NotSupported, "#/enum/1"),
    ({"$ref": "#/allOf/" + "0" * 5000, "allOf": [{}]}, SchemaInvalid, "nothing at"),
    ({"$ref": "http://localhost/x"}, NotSupported, "not fetched"),
    ({"$ref": "file:///etc/passwd"}, NotSupported, "not fetched"),
    ({"properties": {"a": {"$id": "x"}}}, NotSupported, "$id"),
    ({"$dynamicRef": "#a"}, NotSupported, "$dynamicRef"),
    ({"$ref": "#/nowhere"}, SchemaInvalid, "nothing at"),
    ({"$ref": "#nowhere"}, SchemaInvalid, "anchor"),
    ({"$ref": "#"}, SchemaInvalid, "leads to itself"),
    (
        {"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}},
        SchemaInvalid,
        "leads to itself",
    ),
    ({"type": 5}, SchemaInvalid, "#/type"),
    ({"type": "text"}, SchemaInvalid, "#/type"),
    ({"type": []}, SchemaInvalid, "#/type"),
    ({"pattern": 5}, SchemaInvalid, "#/pattern"),
    ({"properties": []}, SchemaInvalid, "#/properties"),
    ({"items": 5}, SchemaInvalid, "#/items"),
    ({"required": ["a", 1]}, SchemaInvalid, "#/required"),
    ({"required": True}, SchemaInvalid, "#/required"),
    ({"minItems": -1}, SchemaInvalid, "#/minItems"),
    ({"minLength": True}, SchemaInvalid, "#/minLength"),
    ({"minimum": "1"}, SchemaInvalid, "#/minimum"),
    ({"multipleOf": 0}, SchemaInvalid, "#/multipleOf"),
    ({"enum": []}, SchemaInvalid, "#/enum"),
    ({"anyOf": []}, SchemaInvalid, "#/anyOf"),
    ({"minimum": float("nan")}, SchemaInvalid, "not JSON"),
    ({"properties": {"a": 5}}, SchemaInvalid, "#/properties/a"),
    (False, SchemaUnsatisfiable, ""),
    ({"type": "integer", "minimum": 4, "maximum": 3}, SchemaUnsatisfiable, "minimum"),
    ({"type": "string", "enum": [1]}, SchemaUnsatisfiable, ""),
    ({"type": "string", "minLength": 3, "maxLength": 2}, SchemaUnsatisfiable, "minLength"),
    ({"type": "string", "pattern": "^a{5}$", "maxLength": 3}, SchemaUnsatisfiable, ""),
    ({"allOf": [{"type": "string"}, {"type": "null"}]}, SchemaUnsatisfiable, ""),
    ({"type": "object", "properties": {"a": False}, "required": ["a"]}, SchemaUnsatisfiable, ""),
    (
        {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
        SchemaUnsatisfiable,
        "finite",
    ),
    (nested(10_000), SchemaTooComplex, "nested"),
    (nested(65), SchemaTooComplex, "inside"),
    ({"enum": list(range(100_000))}, SchemaTooComplex, ""),
    ({"enum": list(range(5001))}, SchemaTooComplex, "5001, at most 5000"),
    ({"minItems": 10**9}, SchemaTooComplex, "#/minItems"),
    ({"maxLength": 10**9}, SchemaTooComplex, "#/maxLength"),
    ({"type": "integer", "multipleOf": 9_529_033}, SchemaTooComplex, "#/multipleOf"),
    ({"type": "number", "multipleOf": 0.999983}, SchemaTooComplex, "#/multipleOf"),
    ({"properties": {f"k{index}": {} for index in range(1000)}}, SchemaTooComplex, "optional"),
    (
        {
            "anyOf": [{"$ref": f"#/$defs/d{index}"} for index in range(10_000)],
            "$defs": definitions(10_000, {}),
        },
        SchemaTooComplex,
        "bytes",
    ),
    ({"anyOf": [{"type": "string"}] * 5000}, SchemaTooComplex, "schemas inside the schema"),
    (
        {
            "$ref": "#/$defs/d0",
            "$defs": {f"d{index}": {"items": {"$ref": f"#/$defs/d{(index + 1) % 100}"}} for index in range(100)},
        },
        SchemaTooComplex,
        "chain of $ref",
    ),
]


@pytest.mark.parametrize(("schema", "kind", "names"), REFUSED, ids=name)
def test_unsupported_schemas_are_refused(schema: Any, kind: type[InvalidRequest], names: str) -> None:
    started = time.process_time()
    with pytest.raises(InvalidRequest) as caught:
        grammar_of(json_schema=schema)
    assert time.process_time() - started < 2
    assert type(caught.value) is kind
    assert names in caught.value.message
    assert caught.value.param == "json_schema"
    assert len(caught.value.message) < 700


def test_the_largest_accepted_schemas_compile_quickly() -> None:
    large = [
        nested(60),
        {"enum": [f"v{index}" for index in range(5000)]},
        {"properties": {f"k{index}": {"type": "string"} for index in range(256)}},
        {"type": "string", "maxLength": 100_000},
        {
            "$ref": "#/$defs/d0",
            "$defs": {f"d{index}": {"items": {"$ref": f"#/$defs/d{(index + 1) % 60}"}} for index in range(60)},
        },
    ]
    started = time.process_time()
    for schema in large:
        grammar_of(json_schema=schema)
    assert time.process_time() - started < 5


def test_many_schemas_stay_within_the_cache() -> None:
    cache: BoundedCache[str] = BoundedCache(max_bytes=10_000)
    for index in range(1000):
        cache.put(f"{index:04}", "g" * 96, 100)
        assert cache.num_bytes <= 10_000
    assert cache.get("0999") == "g" * 96
    assert cache.get("0000") is None


def test_the_same_schema_is_compiled_once() -> None:
    schema = {"enum": [f"same {index}" for index in range(3000)]}
    first = grammar_of(json_schema=schema)
    again = [grammar_of(json_schema=json.loads(json.dumps(schema))) for _ in range(3)]
    assert all(grammar is first for grammar in again)


KEYWORDS = sorted({*KEYWORD_READERS, *ANNOTATIONS, *REFUSED_KEYWORDS, "$id", "id"})
ODD = [
    None,
    True,
    False,
    0,
    -1,
    1.5,
    10**30,
    "",
    "#",
    "(",
    "é",
    [],
    [None],
    [[]],
    [{}],
    ["a"],
    {},
    {"a": 1},
    {"": {}},
]


@pytest.mark.parametrize("keyword", KEYWORDS)
def test_unusual_keyword_values_are_compiled_or_refused(keyword: str) -> None:
    for value in ODD:
        for around in ({}, {"type": "object", "allOf": [{}], "properties": {"a": {}}, "items": [{}]}):
            with contextlib.suppress(InvalidRequest):
                grammar_of(json_schema={**around, keyword: value})
