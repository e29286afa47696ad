"""Matches names of modules with regular expressions of model files, in bounded time whatever the expression.

Python's own matcher tries one way through an expression after the other, exponentially many for nested repetitions.
Here every part of an expression gives the set of all places where it may end, computed once for each place where it
begins (Thompson 1968). Groups are not remembered: references to them are not supported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

MAX_STEPS = 10_000_000
SIMPLE = re.compile(r"[\w.-]*")
"""Expressions with one way through them at most."""

_Places = frozenset[int]
_IS_IN_CATEGORY: Mapping[Any, Callable[[str], bool]] = {
    ops.CATEGORY_DIGIT: str.isdecimal,
    ops.CATEGORY_NOT_DIGIT: lambda character: not character.isdecimal(),
    ops.CATEGORY_SPACE: str.isspace,
    ops.CATEGORY_NOT_SPACE: lambda character: not character.isspace(),
    ops.CATEGORY_WORD: lambda character: character.isalnum() or character == "_",
    ops.CATEGORY_NOT_WORD: lambda character: not (character.isalnum() or character == "_"),
}


class NamePatterns:
    """The expressions of one file; all matches together may take MAX_STEPS."""

    def __init__(self) -> None:
        self._num_steps = 0
        self._trees: dict[str, Any] = {}

    def matches(self, pattern: str, name: str, *, may_be_end: bool = False) -> bool:
        """True if the whole name matches, or what follows one of its dots if it may be the end.

        Raises ValueError, which says what is wrong with the pattern.
        """
        whole = rf"(.*\.)?({pattern})" if may_be_end else pattern
        if SIMPLE.fullmatch(pattern):
            return re.fullmatch(whole, name) is not None
        try:
            if whole not in self._trees:
                self._trees[whole] = _parser.parse(whole)
            tree = self._trees[whole]
            if tree.state.flags & ~(re.UNICODE | re.VERBOSE):
                raise ValueError("flags are not supported")
            walk = _Walk(name, MAX_STEPS - self._num_steps)
            is_match = len(name) in walk.after_all(tree, 0)
        except re.error as error:
            raise ValueError(str(error)) from None
        except (RecursionError, OverflowError):
            raise ValueError("it is nested too deeply, or repeats too often") from None
        self._num_steps += walk.num_steps
        return is_match


class _Walk:
    """The places of one name where parts of an expression end; a part is a list of the parser of `re`."""

    def __init__(self, name: str, max_steps: int) -> None:
        self._name = name
        self._max_steps = max_steps
        self.num_steps = 0
        self._known: dict[tuple[int, int], _Places] = {}

    def after_all(self, items: Any, start: int) -> _Places:
        """Where a sequence that begins at `start` may end."""
        key = id(items), start
        if key not in self._known:
            ends = frozenset((start,))
            for operation, argument in items:
                self.num_steps += len(ends)
                ends = frozenset().union(*(self._after(operation, argument, end) for end in ends))
                if not ends:
                    break
            self._known[key] = ends
        self.num_steps += 1
        if self.num_steps > self._max_steps:
            raise ValueError("it takes too long")
        return self._known[key]

    def _after(self, operation: Any, argument: Any, start: int) -> _Places:
        is_passed: bool
        match operation:
            case ops.LITERAL | ops.NOT_LITERAL | ops.ANY | ops.IN:
                character = self._name[start : start + 1]
                return frozenset((start + 1,) if character and _is_one(character, operation, argument) else ())
            case ops.MAX_REPEAT | ops.MIN_REPEAT:
                least, most, items = argument
                return self._after_repeat(least, most, items, start)
            case ops.BRANCH:
                return frozenset().union(*(self.after_all(items, start) for items in argument[1]))
            case ops.SUBPATTERN if not any(argument[1:3]):
                return self.after_all(argument[3], start)
            case ops.AT if (found := self._is_at(argument, start)) is not None:
                is_passed = found
            case ops.ASSERT | ops.ASSERT_NOT:
                direction, items = argument
                if direction > 0:
                    has_match = bool(self.after_all(items, start))
                else:
                    has_match = any(start in self.after_all(items, earlier) for earlier in range(start + 1))
                is_passed = has_match == (operation is ops.ASSERT)
            case _:
                raise ValueError(f"{str(operation).lower()} is not supported")
        return frozenset((start,) if is_passed else ())

    def _after_repeat(self, least: int, most: int, items: Any, start: int) -> _Places:
        ends = frozenset((start,))
        for _ in range(min(least, len(self._name) + 1)):  # more repetitions end where one less did
            ends = self._after_each(items, ends)
        found = new = ends
        for _ in range(min(most - least, len(self._name) + 1)):
            new = self._after_each(items, new) - found
            if not new:
                break
            found |= new
        return found

    def _after_each(self, items: Any, starts: _Places) -> _Places:
        return frozenset().union(*(self.after_all(items, start) for start in starts))

    def _is_at(self, place: Any, start: int) -> bool | None:
        """Whether `start` is such a place; None for an unknown one."""
        match place:
            case ops.AT_BEGINNING | ops.AT_BEGINNING_STRING:
                return start == 0
            case ops.AT_END | ops.AT_END_STRING:
                return start == len(self._name)
            case ops.AT_BOUNDARY | ops.AT_NON_BOUNDARY:
                is_word = _IS_IN_CATEGORY[ops.CATEGORY_WORD]
                before, after = self._name[max(0, start - 1) : start], self._name[start : start + 1]
                is_boundary = (before != "" and is_word(before)) != (after != "" and is_word(after))
                return is_boundary == (place is ops.AT_BOUNDARY)
        return None


def _is_one(character: str, operation: Any, argument: Any) -> bool:
    """True if the character is one of those that an operation takes."""
    match operation:
        case ops.LITERAL:
            return bool(ord(character) == argument)
        case ops.NOT_LITERAL:
            return bool(ord(character) != argument)
        case ops.ANY:
            return character != "\n"
        case ops.RANGE:
            return bool(argument[0] <= ord(character) <= argument[1])
        case ops.CATEGORY:
            return _IS_IN_CATEGORY[argument](character)
        case _:  # IN: a set
            is_negated = argument[0][0] is ops.NEGATE
            return is_negated != any(_is_one(character, *item) for item in argument[is_negated:])
