"""The method `format` of texts in chat templates."""

from __future__ import annotations

import re
from typing import Any

from jinja2.sandbox import SandboxedFormatter

from cactus_actors.text.template_bounds import TemplateLimit, check_size, measured

_WIDE = re.compile(r"[0-9]{4,}")


class BoundedFormatter(SandboxedFormatter):
    """`str.format` that accesses attributes and items by the environment's rules, with a limit of the text's length.

    An instance formats one text: the sizes of its fields are added up.
    """

    _num_written = 0

    def format_field(self, value: Any, format_spec: str) -> str:
        """One field; raises TemplateLimit for an excessive width."""
        if _WIDE.search(format_spec):
            raise TemplateLimit("a format pads to a width that no chat template needs")
        text: str = super().format_field(measured(value), format_spec)
        self._num_written += len(text)
        check_size(self._num_written)
        return text

    def convert_field(self, value: Any, conversion: Any) -> Any:
        """`value` by `!s`, `!r` or `!a`."""
        return super().convert_field(measured(value), conversion)
