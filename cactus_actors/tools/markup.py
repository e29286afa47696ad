"""The tool-call markup of a model family."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from cactus_actors.tools.form import Form
from cactus_actors.tools.json_body import JsonBody

_TOKEN = re.compile(r"</?[^<>\s=]+>|\[/?[A-Z_]+\]|</?[^<>\s=]+(?= )")


class Markup(msgspec.Struct, frozen=True, kw_only=True):
    """The markup of one family: a row of the table.

    Calls are written and forced in the first of `forms`, and those that it cannot express in the first JSON form;
    all forms are parsed. Forms in `bare` count only at the start of a text. `hidden` are marks around text, and
    `hidden_first` such marks only at the start of a text: both are left out. If `is_begun`, a prompt ends with the
    mark of the first form, and a forced text begins like the first of `bare`. A chat template that matches `detect`
    belongs to the first such row. `call_ids` are the ids that the family's templates require: any, nine letters or
    digits, or the function's name and the position of the call.
    """

    forms: tuple[Form, ...]
    bare: tuple[Form, ...] = ()
    hidden: tuple[str, ...] = ()
    hidden_first: tuple[str, ...] = ()
    is_begun: bool = False
    call_ids: Literal["any", "nine", "numbered"] = "any"
    detect: str | None = None

    @property
    def json_form(self) -> Form:
        """The form for calls that the first cannot express."""
        return next(form for form in self.forms if isinstance(form.body, JsonBody))

    @property
    def tokens(self) -> tuple[str, ...]:
        """Texts that may be control tokens of a vocabulary."""
        literals = [text for form in (*self.forms, *self.bare) for text in form.literals]
        found = [token for text in (*literals, *self.hidden) for token in _TOKEN.findall(text)]
        return tuple(dict.fromkeys(found))

    @property
    def marks_every_text(self) -> bool:
        """True if answers without tools have marks too."""
        return bool(self.hidden_first)
