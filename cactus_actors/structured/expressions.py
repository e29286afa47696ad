"""Checks, bounds and rewrites regular expressions of clients for the compiler.

The syntax is that of Rust's `regex` crate; \\d and \\w are ASCII, as in JavaScript and JSON Schema.
"""

from __future__ import annotations

from dataclasses import dataclass

from llguidance import regex_to_lark

from cactus_actors.protocol.errors import NotSupported, SchemaInvalid
from cactus_actors.structured.limits import MAX_DEPTH, MAX_REGEX, MAX_REPEATS, check_limit

_LOOKAROUNDS = ("(?=", "(?!", "(?<=", "(?<!")
_CLASS_OPERATORS = ("&&", "--", "~~")


def terminal_of(pattern: str, *, param: str) -> str:
    """`pattern` as a terminal of a grammar, matched from end to end.

    Raises SchemaInvalid and SchemaTooComplex with the position, NotSupported for expressions that are not regular.
    """
    check_expression(pattern, param=param, where="the expression")
    return f"/{regex_to_lark(pattern, 'dw')}/" if pattern else '""'


def check_expression(pattern: str, *, param: str, where: str) -> None:
    """Refuse an expression that cannot be enforced, would be misread, or is too large."""
    check_limit(len(pattern), MAX_REGEX, f"{where} is too long", param)
    _Scanner(pattern, param, where).scan()


@dataclass(slots=True)
class _Group:
    """An open group: the expanded size of its parts, the last separately, because a repetition may multiply it."""

    start: int
    size: int = 0
    last: int = 0
    is_repeated: bool = True  # True if a repetition here would repeat a repetition, or nothing

    def add(self, size: int) -> None:
        self.size += self.last
        self.last = size
        self.is_repeated = False

    @property
    def total(self) -> int:
        return self.size + self.last


class _Scanner:
    def __init__(self, pattern: str, param: str, where: str) -> None:
        self._pattern = pattern
        self._param = param
        self._where = where
        self._at = 0
        self._groups = [_Group(0)]

    def scan(self) -> None:
        while self._at < len(self._pattern):
            self._step()
            total = sum(group.total for group in self._groups)
            check_limit(total, MAX_REPEATS, f"{self._where}, position {self._at}: too large", self._param)
        if len(self._groups) > 1:
            raise self._invalid("a group is not closed", self._groups[-1].start)

    def _step(self) -> None:
        group = self._groups[-1]
        match self._pattern[self._at]:
            case "\\":
                self._escape()
                group.add(1)
            case "[":
                self._class()
                group.add(1)
            case "(":
                self._open()
            case ")":
                self._close()
            case "|":
                group.add(1)
                group.is_repeated = True
                self._at += 1
            case "*" | "+" | "?" | "{":
                self._repeat(group)
            case _:
                group.add(1)
                self._at += 1

    def _escape(self) -> None:
        following = self._pattern[self._at + 1 : self._at + 2]
        if not following:
            raise self._invalid("nothing follows the backslash", self._at)
        if (following.isdigit() and following != "0") or following == "k":
            raise self._refused("backreferences are not supported", self._at)
        if following in "bBAzZ":
            raise self._refused(f"\\{following} is not supported", self._at)
        opening = self._pattern[self._at + 2 : self._at + 3]
        self._at += 2
        if following in "xuUpP" and opening == "{":
            end = self._pattern.find("}", self._at)
            self._at = len(self._pattern) if end < 0 else end + 1

    def _class(self) -> None:
        start = self._at
        self._at += 1
        if self._pattern[self._at : self._at + 1] == "^":
            self._at += 1
        if self._pattern[self._at : self._at + 1] == "]":
            raise self._invalid("an empty class; write \\] for the character", self._at)
        while (character := self._pattern[self._at : self._at + 1]) != "]":
            if not character:
                raise self._invalid("a class is not closed", start)
            if character == "[":
                raise self._invalid("write \\[ for the character inside a class", self._at)
            if self._pattern.startswith(_CLASS_OPERATORS, self._at):
                raise self._refused("operators inside a class are not supported", self._at)
            if character == "\\":
                self._escape()
            else:
                self._at += 1
        self._at += 1

    def _open(self) -> None:
        if self._pattern.startswith(_LOOKAROUNDS, self._at):
            raise self._refused("look-ahead and look-behind are not supported", self._at)
        check_limit(len(self._groups), MAX_DEPTH, f"{self._where}: groups inside groups", self._param)
        self._groups.append(_Group(self._at))
        self._at += 1
        if self._pattern.startswith("?", self._at):
            end = min(
                (at for mark in ":>)" if (at := self._pattern.find(mark, self._at)) >= 0),
                default=len(self._pattern),
            )
            if self._pattern[end : end + 1] == ")":  # flags for what follows, such as (?i)
                self._groups.pop()
            self._at = end + 1

    def _close(self) -> None:
        if len(self._groups) == 1:
            raise self._invalid("a parenthesis closes no group", self._at)
        closed = self._groups.pop()
        self._groups[-1].add(max(1, closed.total))
        self._at += 1

    def _repeat(self, group: _Group) -> None:
        if group.is_repeated:
            raise self._invalid("nothing to repeat", self._at)
        if self._pattern[self._at] == "{":
            end = self._pattern.find("}", self._at)
            least, _, most = self._pattern[self._at + 1 : max(end, self._at)].partition(",")
            counts = [text for text in (least, most) if text]
            if not least or not all(text.isascii() and text.isdigit() for text in counts):
                raise self._invalid("a repetition is {m}, {m,} or {m,n}; write \\{ for the character", self._at)
            if any(len(text) > 9 for text in counts):
                check_limit(10**9, MAX_REPEATS, f"{self._where}, position {self._at}: too large", self._param)
            if most and int(most) < int(least):
                raise self._invalid("the highest count is below the lowest", self._at)
            group.last *= max(1, *map(int, counts))
            self._at = end + 1
        else:
            self._at += 1
        if self._pattern[self._at : self._at + 1] == "?":  # as few as possible: the same language
            self._at += 1
        group.is_repeated = True

    def _invalid(self, what: str, at: int) -> SchemaInvalid:
        return SchemaInvalid(f"{self._where}, position {at}: {what}", param=self._param)

    def _refused(self, what: str, at: int) -> NotSupported:
        return NotSupported(f"{self._where}, position {at}: {what}", param=self._param)
