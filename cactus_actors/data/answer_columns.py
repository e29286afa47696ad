"""The columns that answers add to a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from cactus_actors.batch.batch_request import Misfit
from cactus_actors.batch.result_lines import MISFIT
from cactus_actors.data.column_types import JSON, ColumnType, column_type, property_types
from cactus_actors.data.line_results import LineAnswer

ANSWER = "answer"
MAX_SHOWN = 1000
_TEXT = ColumnType(pa.string(), lambda value: value)
_OF_EACH: dict[str, pa.DataType] = {
    "confidence": pa.float64(),
    "provider": pa.string(),
    "handoff_status": pa.string(),
    "model": pa.string(),
    "finish_reason": pa.string(),
    "prompt_tokens": pa.int64(),
    "completion_tokens": pa.int64(),
    "error": pa.string(),
}


class AnswerColumns:
    """`answer`, or with a JSON Schema a column for each property of its object; then those of every answer.

    All names begin with `prefix`. A property takes the place of a column of every answer with its name. `num_misfits`
    counts the answers that do not obey the schema, such as one that ended early: their columns are null, and `error`
    has the reason and the beginning of the answer. With `are_whole` an object is `answer`, as JSON text.
    """

    def __init__(self, json_schema: Any = None, prefix: str = "", *, are_whole: bool = False) -> None:
        self.num_misfits = 0
        self._is_json = json_schema is not None
        properties = property_types(json_schema) if self._is_json else None
        self._is_object = properties is not None
        self._types = properties or {ANSWER: column_type(json_schema, json_schema) if self._is_json else _TEXT}
        self._are_whole = are_whole and self._is_object
        columns = {ANSWER: JSON} if self._are_whole else self._types
        of_each = [pa.field(prefix + name, kind) for name, kind in _OF_EACH.items() if name not in columns]
        self.schema = pa.schema([kind.field(prefix + name) for name, kind in columns.items()] + of_each)
        self._names = [*columns, *(name for name in _OF_EACH if name not in columns)]

    def batch(self, answers: Sequence[LineAnswer]) -> pa.RecordBatch:
        """The columns of these answers."""
        rows = [self._row(answer) for answer in answers]
        arrays = [
            pa.array([row.get(name) for row in rows], field.type)
            for name, field in zip(self._names, self.schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _row(self, answer: LineAnswer) -> dict[str, Any]:
        of_each = answer._asdict()
        if not self._is_json:
            return {**of_each, ANSWER: answer.text}
        if answer.text is None and answer.error is not None:
            return {**of_each, **dict.fromkeys(self._types)}
        text = answer.text or ""
        try:
            return {**of_each, **self._values(text)}
        except ValueError as error:
            self.num_misfits += 1
            misfit = f"{MISFIT}: {_in_words(error, answer.finish_reason)}; the model said: {text[:MAX_SHOWN]}"
            return {**of_each, "error": misfit, **dict.fromkeys(self._types)}

    def misfit(self, text: str, finish_reason: str | None) -> str | None:
        """Why an answer does not obey the schema; None if it does."""
        try:
            self._values(text)
        except ValueError as error:
            return _in_words(error, finish_reason)
        return None

    def _values(self, text: str) -> dict[str, Any]:
        try:
            value = json.loads(text)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
        if not self._is_object:
            return {ANSWER: None if value is None else self._types[ANSWER].value_of(value)}
        if not isinstance(value, dict):
            raise ValueError("it is no object")
        values = {
            name: None if value.get(name) is None else kind.value_of(value[name]) for name, kind in self._types.items()
        }
        return {ANSWER: JSON.value_of(value)} if self._are_whole else values


def misfit_of(json_schema: Any) -> Misfit | None:
    """What tells the answers that do not obey the schema; None without one."""
    return None if json_schema is None else AnswerColumns(json_schema).misfit


def _in_words(error: ValueError, finish_reason: str | None) -> str:
    why = "it ended early" if finish_reason in ("length", "model_length") else str(error)
    return f"the answer does not obey the schema: {why}"
