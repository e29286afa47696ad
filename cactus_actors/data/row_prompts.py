"""Makes the prompt of a row: by a template, or of the columns of a prompt file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

from cactus_actors.api.strict_json import decode_strictly
from cactus_actors.batch.batch_errors import InputInvalid
from cactus_actors.batch.prompt_file import MAX_LINE_BYTES
from cactus_actors.data.row_batch import as_json
from cactus_actors.data.table_format import TableFormat
from cactus_actors.protocol.errors import InvalidJSON, InvalidRequest
from cactus_actors.protocol.similar_name import similar_name
from cactus_actors.text.prompt_template import PromptTemplate

MAX_NAMES_SHOWN = 40


class RowPrompt(Protocol):
    """Makes lines of a prompt file of rows; `columns` are those that it needs."""

    @property
    def columns(self) -> list[str]: ...

    def line(self, row: Mapping[str, Any]) -> bytes:
        """The line of a row; raises InvalidRequest."""


def row_prompt(schema: pa.Schema, form: TableFormat, template: str | None) -> RowPrompt:
    """The prompts of a table: by the template, or the lines of a text file, or its `messages` or `prompt`.

    Raises TemplateInvalid, and InputInvalid for columns that are missing or are bytes.
    """
    prompt = _row_prompt(schema, form, template)
    for name in prompt.columns:
        if _is_bytes(schema.field(name).type):
            raise InputInvalid(f"the column {name!r} has bytes, which cannot be in a prompt")
    return prompt


def _is_bytes(kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_dictionary(kind):
        return _is_bytes(kind.value_type)
    kinds = (types.is_binary, types.is_large_binary, types.is_fixed_size_binary, types.is_binary_view)
    return any(is_kind(kind) for is_kind in kinds)


def _row_prompt(schema: pa.Schema, form: TableFormat, template: str | None) -> RowPrompt:
    if not schema.names:
        raise InputInvalid("the table has no columns")
    if template is not None:
        return _Templated(schema, PromptTemplate(template))
    if form == "text":
        return _Given(schema.names[0], None)
    for name in ("messages", "prompt"):
        if name in schema.names:
            return _Given(name, name)
    raise InputInvalid(
        "which column is the prompt? Give --prompt-template, such as "
        f"'{{{{ {schema.names[0]} }}}}', or a column `messages` or `prompt`; {columns_in_words(schema.names)}"
    )


def named_columns(template: str | None) -> list[str]:
    """The columns that prompts need of a table whose columns are not known; raises TemplateInvalid."""
    return ["prompt"] if template is None else PromptTemplate(template).missing(())


def check_columns(wanted: Sequence[str], schema: pa.Schema, option: str) -> None:
    """Raise InputInvalid for the first of the `wanted` columns that the table does not have."""
    for name in wanted:
        if name not in schema.names:
            raise InputInvalid(
                f"{option}: there is no column {name!r}{similar_name(name, schema.names)}; "
                f"{columns_in_words(schema.names)}"
            )


def columns_in_words(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MAX_NAMES_SHOWN])
    more = f" and {len(names) - MAX_NAMES_SHOWN} more" if len(names) > MAX_NAMES_SHOWN else ""
    return f"the columns are {shown}{more}"


class _Templated:
    def __init__(self, schema: pa.Schema, template: PromptTemplate) -> None:
        check_columns(template.missing(schema.names), schema, "--prompt-template")
        self._template = template
        self.columns = template.used(schema.names)

    def line(self, row: Mapping[str, Any]) -> bytes:
        prompt = self._template.render({name: row[name] for name in self.columns})
        if not prompt.strip():
            raise InvalidRequest("the prompt of this row is empty", param="prompt_template")
        return _checked(as_json(prompt))


class _Given:
    """The value of a column: a question, or the field of that name of a prompt file's line."""

    def __init__(self, column: str, field: str | None) -> None:
        self.columns = [column]
        self._field = field

    def line(self, row: Mapping[str, Any]) -> bytes:
        value = row[self.columns[0]]
        if value is None:
            raise InvalidRequest(f"the column {self.columns[0]!r} has no value", param=self._field)
        if self._field is None:
            return _checked(as_json(value))
        if self._field == "messages" and isinstance(value, str):
            try:
                value = decode_strictly(value.encode(), "the column 'messages'")
            except InvalidJSON as error:
                raise InvalidRequest(error.message, param="messages") from None
        return _checked(as_json({self._field: value}))


def _checked(line: bytes) -> bytes:
    if len(line) > MAX_LINE_BYTES:
        raise InvalidRequest(f"the prompt is longer than {MAX_LINE_BYTES} bytes", param="prompt")
    return line
