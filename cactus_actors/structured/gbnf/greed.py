"""Where matching a lexeme as far as it goes would lose texts of the grammar.

A lexeme that reads on where another, or itself, is complete and the rules would go on with the same
character takes that character away from them. Such a lexeme must be taken apart. What is found errs on that
side: counts are ignored, and any two lexemes are taken to be possible at one place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from cactus_actors.structured.gbnf.shape import (
    All,
    Either,
    Lexeme,
    Rule,
    RuleKey,
    Shape,
    Times,
    lexemes_in,
)
from cactus_actors.structured.gbnf.tree import (
    Characters,
    Choice,
    Node,
    Ranges,
    Reference,
    Repeat,
    Sequence,
    Text,
    references,
)

MAX_POSITIONS = 3000
MAX_PAIRS = 60_000
"""Beyond these every lexeme counts as greedy."""

Characters_ = int
"""A set of characters: one bit for each kind of character that the grammar tells apart."""


class Alphabet:
    """The kinds of characters that a grammar tells apart."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        bounds = {0}
        for node in nodes:
            for low, high in _ranges(node):
                bounds |= {low, high + 1}
        self._bounds = sorted(bounds)
        self._index = {bound: index for index, bound in enumerate(self._bounds)}
        self._known: dict[Ranges, Characters_] = {}

    def kinds(self, ranges: Ranges) -> Characters_:
        """The set of the characters in `ranges`, whose bounds are all known."""
        if ranges not in self._known:
            self._known[ranges] = sum(
                (1 << self._index[high + 1]) - (1 << self._index[low]) for low, high in ranges
            )
        return self._known[ranges]


def _ranges(node: Node) -> Iterator[tuple[int, int]]:
    match node:
        case Characters(ranges):
            yield from ranges
        case Text(text):
            yield from ((ord(one), ord(one)) for one in text)
        case Sequence(items) | Choice(items):
            for item in items:
                yield from _ranges(item)
        case Repeat(item):
            yield from _ranges(item)


class TooLarge(Exception):
    """The grammar is too large to be looked at in this way."""


@dataclass(slots=True)
class Ends:
    """Of a part of an expression: whether it may be empty, and the positions it may begin and end at."""

    is_nullable: bool
    first: int
    last: int


@dataclass(slots=True)
class Automaton:
    """An expression as positions (Glushkov 1961): the `kinds` of character at each, and what may follow."""

    ends: Ends
    kinds: list[Characters_] = field(default_factory=list)
    follow: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, node: Node, rules: Mapping[str, Node], alphabet: Alphabet) -> Automaton:
        """The automaton of a regular node; raises TooLarge."""
        automaton = cls(Ends(True, 0, 0))
        automaton.ends = automaton._build(node, rules, alphabet)
        return automaton

    def first_kinds(self) -> Characters_:
        return self.kinds_of(self.ends.first)

    def kinds_of(self, positions: int) -> Characters_:
        """The characters at any of `positions`."""
        kinds = 0
        for position in bits(positions):
            kinds |= self.kinds[position]
        return kinds

    def _build(self, node: Node, rules: Mapping[str, Node], alphabet: Alphabet) -> Ends:
        match node:
            case Characters(ranges):
                return self._position(alphabet.kinds(ranges))
            case Text(text):
                kinds = [alphabet.kinds(((ord(one), ord(one)),)) for one in text]
                return self._chain([self._position(one) for one in kinds])
            case Reference(name):
                return self._build(rules[name], rules, alphabet)
            case Sequence(items):
                return self._chain([self._build(item, rules, alphabet) for item in items])
            case Choice(items):
                options = [self._build(item, rules, alphabet) for item in items]
                return Ends(
                    any(option.is_nullable for option in options),
                    _union(option.first for option in options),
                    _union(option.last for option in options),
                )
            case Repeat(item, least, most):
                ends = self._build(item, rules, alphabet)
                if most is None or most > 1:
                    self._link(ends.last, ends.first)
                return Ends(ends.is_nullable or least == 0, ends.first, ends.last)
        raise AssertionError("a token is in no expression")

    def _position(self, kinds: Characters_) -> Ends:
        if len(self.kinds) >= MAX_POSITIONS:
            raise TooLarge
        self.kinds.append(kinds)
        self.follow.append(0)
        bit = 1 << (len(self.kinds) - 1)
        return Ends(False, bit, bit)

    def _chain(self, items: list[Ends]) -> Ends:
        whole = Ends(True, 0, 0)
        for item in items:
            self._link(whole.last, item.first)
            whole = Ends(
                whole.is_nullable and item.is_nullable,
                whole.first | (item.first if whole.is_nullable else 0),
                item.last | (whole.last if item.is_nullable else 0),
            )
        return whole

    def _link(self, last: int, first: int) -> None:
        for position in bits(last):
            self.follow[position] |= first


def greedy_lexemes(shapes: Mapping[RuleKey, Shape], rules: Mapping[str, Node]) -> frozenset[Node]:
    """The lexemes that take away what the rules would go on with."""
    nodes = list(dict.fromkeys(node for shape in shapes.values() for node in lexemes_in(shape)))
    if len(shapes) == 1 and isinstance(next(iter(shapes.values())), Lexeme):
        return frozenset()
    try:
        alphabet = Alphabet(_with_references(nodes, rules))
        automata = {node: Automaton.of(node, rules, alphabet) for node in nodes}
        if sum(len(automaton.kinds) for automaton in automata.values()) > MAX_POSITIONS:
            raise TooLarge
        after = _Following(shapes, automata).after
        return _takers(automata, after)
    except TooLarge:
        return frozenset(node for node in nodes if not isinstance(node, Characters))


def _takers(automata: Mapping[Node, Automaton], after: Mapping[Node, Characters_]) -> frozenset[Node]:
    budget = MAX_PAIRS
    takers: set[Node] = set()
    for complete in automata:
        for taker in automata:
            if taker in takers or not after[complete]:
                continue
            pairs, is_taken = _meet(automata[complete], automata[taker], after[complete], budget)
            budget -= pairs
            if is_taken:
                takers.add(taker)
    return frozenset(takers)


def _meet(complete: Automaton, taker: Automaton, after: Characters_, budget: int) -> tuple[int, bool]:
    """How many pairs of positions were looked at, and whether `taker` reads on with a character of `after`
    behind a text of `complete`."""
    seen: set[tuple[int, int]] = set()
    pending = _common(complete, complete.ends.first, taker, taker.ends.first)
    while pending:
        pair = pending.pop()
        if pair in seen:
            continue
        seen.add(pair)
        if len(seen) > budget:
            raise TooLarge
        left, right = pair
        if complete.ends.last >> left & 1 and taker.kinds_of(taker.follow[right]) & after:
            return len(seen), True
        pending += _common(complete, complete.follow[left], taker, taker.follow[right])
    return len(seen), False


def _common(
    left: Automaton, left_positions: int, right: Automaton, right_positions: int
) -> list[tuple[int, int]]:
    """The pairs of positions that share a character."""
    return [
        (one, other)
        for one in bits(left_positions)
        for other in bits(right_positions)
        if left.kinds[one] & right.kinds[other]
    ]


class _Following:
    """The characters that may come behind each lexeme."""

    def __init__(self, shapes: Mapping[RuleKey, Shape], automata: Mapping[Node, Automaton]) -> None:
        self._shapes = shapes
        self._automata = automata
        self._nullable: set[RuleKey] = set()
        self._first: dict[RuleKey, Characters_] = dict.fromkeys(shapes, 0)
        self._behind: dict[RuleKey, Characters_] = dict.fromkeys(shapes, 0)
        self.after: dict[Node, Characters_] = dict.fromkeys(automata, 0)
        while self._grow_firsts():
            pass
        while self._grow_after():
            pass

    def _grow_firsts(self) -> bool:
        before = len(self._nullable), sum(map(int.bit_count, self._first.values()))
        for key, shape in self._shapes.items():
            if self._is_nullable(shape):
                self._nullable.add(key)
            self._first[key] |= self._first_of(shape)
        return before != (len(self._nullable), sum(map(int.bit_count, self._first.values())))

    def _grow_after(self) -> bool:
        before = sum(map(int.bit_count, [*self._behind.values(), *self.after.values()]))
        for key, shape in self._shapes.items():
            self._walk(shape, self._behind[key])
        return before != sum(map(int.bit_count, [*self._behind.values(), *self.after.values()]))

    def _is_nullable(self, shape: Shape) -> bool:
        match shape:
            case Lexeme(node):
                return self._automata[node].ends.is_nullable
            case Rule(key):
                return key in self._nullable
            case All(items):
                return all(map(self._is_nullable, items))
            case Either(items):
                return any(map(self._is_nullable, items))
            case Times(item, least):
                return least == 0 or self._is_nullable(item)
        return False

    def _first_of(self, shape: Shape) -> Characters_:
        match shape:
            case Lexeme(node):
                return self._automata[node].first_kinds()
            case Rule(key):
                return self._first[key]
            case All(items):
                kinds = 0
                for item in items:
                    kinds |= self._first_of(item)
                    if not self._is_nullable(item):
                        break
                return kinds
            case Either(items):
                return _union(map(self._first_of, items))
            case Times(item):
                return self._first_of(item)
        return 0

    def _walk(self, shape: Shape, behind: Characters_) -> None:
        match shape:
            case Lexeme(node):
                self.after[node] |= behind
            case Rule(key):
                self._behind[key] |= behind
            case All(items):
                for item in reversed(items):
                    self._walk(item, behind)
                    behind = self._first_of(item) | (behind if self._is_nullable(item) else 0)
            case Either(items):
                for item in items:
                    self._walk(item, behind)
            case Times(item, _, most):
                again = 0 if most == 1 else self._first_of(item)
                self._walk(item, behind | again)


def _with_references(nodes: Iterable[Node], rules: Mapping[str, Node]) -> list[Node]:
    """`nodes` and the rules that they lead to."""
    found: dict[str, Node] = {}
    pending = list(nodes)
    for node in pending:
        for reference in references(node):
            if reference.name not in found:
                found[reference.name] = rules[reference.name]
                pending.append(rules[reference.name])
    return pending


def _union(sets: Iterable[int]) -> int:
    union = 0
    for one in sets:
        union |= one
    return union


def bits(positions: int) -> Iterator[int]:
    """The positions whose bits are set."""
    while positions:
        lowest = positions & -positions
        yield lowest.bit_length() - 1
        positions ^= lowest
