"""Parses the notation."""

from __future__ import annotations

import re
from bisect import bisect_right

from cactus_actors.protocol.errors import SchemaInvalid
from cactus_actors.structured.gbnf import tree
from cactus_actors.structured.limits import MAX_BYTES, MAX_DEPTH, MAX_REPEATS, MAX_RULES, check_limit, short
from cactus_actors.tools.grammar_builder import TokenNames

PARAM = "grammar"

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_COUNTS = re.compile(r"\{\s*(?P<least>\d{1,9})\s*(?P<comma>,\s*(?P<most>\d{1,9})?\s*)?\}")
_TOKEN = re.compile(r"(?P<negated>!?)(?:<\[(?P<id>\d{1,9})\]>|(?P<text><[^<>\s\[\]][^<>\s]*>))")
_ESCAPE = re.compile(
    r"\\(?:x(?P<x>[0-9A-Fa-f]{2})|u(?P<u>[0-9A-Fa-f]{4})|U(?P<U>[0-9A-Fa-f]{8})|(?P<character>[tnr\\\"'\[\]]))"
)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r"}
_REPEATS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def parse_grammar(text: str, vocabulary: TokenNames) -> tree.Grammar:
    """The rules of a text; raises SchemaInvalid with line and column, and SchemaTooComplex."""
    check_limit(len(text.encode()), MAX_BYTES, "bytes of the grammar", PARAM)
    return _Parser(text, vocabulary).read()


class _Parser:
    def __init__(self, text: str, vocabulary: TokenNames) -> None:
        self._text = text
        self._vocabulary = vocabulary
        self._at = 0
        self._depth = 0
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]  # where each begins

    def read(self) -> tree.Grammar:
        rules: dict[str, tree.Node] = {}
        places: dict[str, str] = {}
        self._skip_space(over_lines=True)
        while self._at < len(self._text):
            start = self._at
            name = self._name()
            if name in rules:
                raise self._invalid(f"the rule {name} is defined twice", start)
            places[name] = self._place(start)
            self._skip_space()
            self._expect("::=")
            self._skip_space(over_lines=True)
            rules[name] = self._choice()
            if self._at < len(self._text) and self._text[self._at] not in "\r\n":
                raise self._invalid(f"{short(self._text[self._at])} does not belong here", self._at)
            check_limit(len(rules), MAX_RULES, "rules of the grammar", PARAM)
            self._skip_space(over_lines=True)
        return tree.Grammar(rules, places)

    def _choice(self) -> tree.Node:
        options = [self._sequence()]
        while self._text.startswith("|", self._at):
            self._at += 1
            self._skip_space(over_lines=True)
            options.append(self._sequence())
        return options[0] if len(options) == 1 else tree.Choice(tuple(options))

    def _sequence(self) -> tree.Node:
        items: list[tree.Node] = []
        while (item := self._item()) is not None:
            self._skip_space(over_lines=self._depth > 0)
            items.append(self._repeated(item))
        return items[0] if len(items) == 1 else tree.Concatenation(tuple(items))

    def _item(self) -> tree.Node | None:
        match self._text[self._at : self._at + 1]:
            case '"' | "'" as quote:
                return self._literal(quote)
            case "[":
                return self._class()
            case "(":
                return self._group()
            case "." as character:
                self._at += len(character)
                return tree.Characters(tree.ANY)
            case "<" | "!":
                return self._token()
            case "" | "|" | ")" | "\r" | "\n":
                return None
        start = self._at
        return tree.Reference(self._name(), self._place(start))

    def _repeated(self, item: tree.Node) -> tree.Node:
        while (sign := self._text[self._at : self._at + 1]) and sign in "*+?{":
            start = self._at
            if sign == "{":
                least, most = self._counts()
            else:
                self._at += 1
                least, most = _REPEATS[sign]
            item = tree.Repeat(item, least, most, self._place(start))
            check_limit(_size(item), MAX_REPEATS, f"{self._place(start)}: too many repetitions", PARAM)
            self._skip_space(over_lines=self._depth > 0)
        return item

    def _counts(self) -> tuple[int, int | None]:
        match = _COUNTS.match(self._text, self._at)
        if match is None:
            raise self._invalid("a repetition is {m}, {m,} or {m,n}", self._at)
        start, self._at = self._at, match.end()
        least = int(match["least"])
        if not match["comma"]:
            return least, least
        most = int(match["most"]) if match["most"] else None
        if most is not None and most < least:
            raise self._invalid("the highest count is below the lowest", start)
        return least, most

    def _group(self) -> tree.Node:
        start = self._at
        self._depth += 1
        check_limit(self._depth, MAX_DEPTH, f"{self._place(start)}: groups inside groups", PARAM)
        self._at += 1
        self._skip_space(over_lines=True)
        node = self._choice()
        if not self._text.startswith(")", self._at):
            raise self._invalid("the group is not closed", start)
        self._at += 1
        self._depth -= 1
        return node

    def _literal(self, quote: str) -> tree.Node:
        start = self._at
        self._at += 1
        characters = []
        while (character := self._character(quote, start, "the string is not closed")) is not None:
            characters.append(character)
        return tree.Text("".join(map(chr, characters)))

    def _class(self) -> tree.Node:
        start = self._at
        self._at += 1
        is_negated = self._text.startswith("^", self._at)
        self._at += is_negated
        ranges = []
        while (low := self._character("]", start, "the class is not closed")) is not None:
            high = low
            if self._text.startswith("-", self._at) and not self._text.startswith("-]", self._at):
                self._at += 1
                upper = self._character("", start, "the class is not closed")
                assert upper is not None
                high = upper
            if high < low:
                raise self._invalid("a range of the class ends before it begins", start)
            ranges.append((low, high))
        characters = tree.merged(ranges)
        if is_negated:
            characters = tree.complement(characters)
        if not characters:
            raise self._invalid("the class has no characters", start)
        return tree.Characters(characters)

    def _character(self, closing: str, start: int, unclosed: str) -> int | None:
        """The next code point of a string or class, None at its end."""
        character = self._text[self._at : self._at + 1]
        if not character or character in "\r\n":
            raise self._invalid(unclosed, start)
        if closing and character == closing:
            self._at += 1
            return None
        if character != "\\":
            self._at += 1
            return ord(character)
        match = _ESCAPE.match(self._text, self._at)
        if match is None:
            raise self._invalid("unknown escape", self._at)
        self._at = match.end()
        if (character := match["character"]) is not None:
            return ord(_CONTROLS.get(character, character))
        code_point = int(match["x"] or match["u"] or match["U"], 16)
        if code_point > tree.LAST_CODE_POINT or 0xD800 <= code_point <= 0xDFFF:
            raise self._invalid("the escape is not a character", match.start())
        return code_point

    def _token(self) -> tree.Node:
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            raise self._invalid("a token is <text> or <[id]>, or ! and one of these", self._at)
        if match["id"] is not None:
            token_id: int | None = int(match["id"])
        else:
            token_id = self._vocabulary.id_of(match["text"])
        if token_id is None or token_id >= self._vocabulary.vocab_size:
            raise self._invalid(f"{match[0][:80]} is not a token of this model", self._at)
        start, self._at = self._at, match.end()
        is_negated = bool(match["negated"])
        is_control = not is_negated and self._vocabulary.is_special(token_id)
        return tree.Token(token_id, is_negated, is_control, self._place(start))

    def _name(self) -> str:
        match = _NAME.match(self._text, self._at)
        if match is None:
            found = self._text[self._at : self._at + 1]
            raise self._invalid(f"a rule's name is expected, not {short(found)}", self._at)
        self._at = match.end()
        return match[0]

    def _expect(self, sign: str) -> None:
        if not self._text.startswith(sign, self._at):
            raise self._invalid(f"{sign} is expected", self._at)
        self._at += len(sign)

    def _skip_space(self, *, over_lines: bool = False) -> None:
        spaces = " \t\r\n" if over_lines else " \t"
        while (character := self._text[self._at : self._at + 1]) and (character in spaces or character == "#"):
            if character == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            else:
                self._at += 1

    def _place(self, at: int) -> str:
        line = bisect_right(self._lines, at)
        return f"line {line}, column {at - self._lines[line - 1] + 1}"

    def _invalid(self, what: str, at: int) -> SchemaInvalid:
        return SchemaInvalid(f"{self._place(at)}: {what}", param=PARAM)


def _size(node: tree.Node) -> int:
    """Characters and references, repetitions multiplied out."""
    match node:
        case tree.Text(text):
            return len(text)
        case tree.Concatenation(items) | tree.Choice(items):
            return sum(map(_size, items))
        case tree.Repeat(item, least, most):
            return max(1, _size(item)) * max(least, most or 1, 1)
    return 1
