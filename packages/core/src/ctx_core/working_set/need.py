"""Need: what the coming step asks for, as the conversation itself shows it, and how well a fact serves it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from ctx_core.working_set.facts import topic_words
from ctx_core.working_set.names import find_names, name_weight, split_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from ctx_core.messages import Message
    from ctx_core.working_set.facts import Fact

Reason: TypeAlias = Literal[
    "argument",
    "mentioned",
    "same object",
    "used before",
    "said by the user",
    "new name",
    "recent",
    "in several results",
]

_RECENT_MESSAGES: Final = 3
"""Newest messages that say what comes next: a request, the step it led to, and its result."""

_SHORTEST_PART: Final = 3
"""Digits of a number by which people refer to a longer one: the last four of a card, the last three of an order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """How much each sign of need adds to a fact's value.

    The order says what each stands for: a value that can only be repeated comes before one that can be reworded, and what calls
    have asked for before comes before what merely stands near. `bench/bench_working_set.py` measures the retention without
    each; none of them moves it by more than a few hundredths, so that the exact figures matter little.
    """

    base: float = 0.1
    name: float = 0.6
    argument: float = 0.6
    linked: float = 0.5
    recurring: float = 0.2
    shown_elsewhere: float = 0.3
    used: float = 0.4
    recency: float = 0.3
    new_name: float = 0.45
    overlap: float = 0.3
    by_user: float = 0.25


WEIGHTS: Final = Weights()
_COUNTED_NAMES: Final = 4
"""New names of one sentence that count; a line of twenty names is a listing."""


@dataclass(slots=True)
class Usage:
    """What calls and answers have used so far; grows with the conversation."""

    arguments: set[frozenset[str]] = field(default_factory=set[frozenset[str]])
    values: set[str] = field(default_factory=set[str])

    def add(self, message: Message, *, names: Iterable[str]) -> None:
        """Take in the calls of an answer, and the names in it."""
        self.values.update(names)
        for call in message.tool_calls:
            for key, value in _arguments(call.arguments):
                self.arguments.add(topic_words(key))
                self.values.add(value)

    def add_tools(self, tools: Iterable[Mapping[str, Any]]) -> None:
        """Take in the parameters of tools, in OpenAI's, Anthropic's or LangChain's form."""
        for tool in tools:
            function = cast("Mapping[str, Any]", tool.get("function") or tool)
            schema = next(
                (function[key] for key in ("parameters", "input_schema", "args_schema", "args") if key in function), {}
            )
            if not isinstance(schema, dict):
                continue
            properties = schema.get("properties", schema)
            self.arguments.update(topic_words(str(name)) for name in properties)


def _arguments(text: str) -> list[tuple[str, str]]:
    try:
        document = json.loads(text or "{}", parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return []
    found: list[tuple[str, str]] = []
    stack: list[tuple[str, Any]] = [("", document)]
    while stack:
        key, node = stack.pop()
        if isinstance(node, dict):
            stack.extend(node.items())
        elif isinstance(node, list):
            stack.extend((key, item) for item in node)
        elif isinstance(node, str) and key:
            found.append((key, node))
    return found


class Need:
    """What one step asks for.

    Args:
        words: Words of the newest messages.
        names: Names in them, and numbers by which a longer one may be meant.
        usage: What calls have used before.
        length: Messages so far, by which recency is measured.
    """

    def __init__(self, *, words: frozenset[str], names: frozenset[str], usage: Usage, length: int) -> None:
        self.words = words
        self.names = names
        self.usage = usage
        self.length = length
        self._endings = tuple(filter(str.isdigit, names))
        self._serving: dict[frozenset[str], bool] = {}

    @classmethod
    def of(cls, messages: Sequence[Message], usage: Usage, *, length: int) -> Need:
        """Read the need from the newest of `messages`."""
        recent = messages[-_RECENT_MESSAGES:]
        texts = [
            text for message in recent for text in (message.text, *(call.arguments for call in message.tool_calls))
        ]
        words = frozenset[str]().union(*map(split_words, texts))
        names = {name for text in texts for name in find_names(text)}
        parts = {word for word in words if word.isdigit() and len(word) >= _SHORTEST_PART}
        return cls(words=words, names=frozenset(names | parts), usage=usage, length=max(length, 1))

    def mentions(self, fact: Fact) -> bool:
        """Return True if the newest messages name the value of a field, in whole or by its last digits."""
        text = fact.text
        if text in self.names:
            return True
        if " " in text:
            return fact.words <= self.words
        if text.isalpha():
            return len(text) > _SHORTEST_PART and text.lower() in self.words
        return text[-_SHORTEST_PART:].isdigit() and text.endswith(self._endings)

    def is_argument(self, topics: frozenset[str]) -> bool:
        """Return True if a call has a parameter of the name that these are the words of."""
        serves = self._serving.get(topics)
        if serves is None:
            serves = any(argument <= topics for argument in self.usage.arguments if argument)
            self._serving[topics] = serves
        return serves

    def value_of_field(self, fact: Fact, source: int, *, is_linked: bool, is_recurring: bool) -> tuple[float, Reason]:
        """Return how much a field serves, and the strongest reason."""
        signs: list[tuple[float, Reason]] = [(WEIGHTS.recency * (source + 1) / self.length, "recent")]
        if self.is_argument(fact.topics):
            signs.append((WEIGHTS.argument, "argument"))
        if is_linked:
            linked = WEIGHTS.linked * (1 + fact.weight) / 2
            signs.append((linked, "mentioned" if self.mentions(fact) else "same object"))
        if is_recurring:
            signs.append((WEIGHTS.recurring * fact.weight, "in several results"))
        if fact.text in self.usage.values:
            signs.append((WEIGHTS.used, "used before"))
        return WEIGHTS.base + WEIGHTS.name * fact.weight + sum(value for value, _ in signs), max(signs)[1]

    def value_of_text(
        self, fact: Fact, source: int, *, is_user: bool, new_names: Sequence[str], alike: int
    ) -> tuple[float, Reason]:
        """Return how much a sentence, line or call serves, and the strongest reason.

        Sentences that differ in numbers alone share what their words are worth: thirty that say "step n is done" say little more
        than one. Names are worth as much each time.
        """
        named: list[tuple[float, Reason]] = [
            (WEIGHTS.new_name * min(sum(map(name_weight, new_names)), _COUNTED_NAMES), "new name"),
            (WEIGHTS.recency * sum(name in self.usage.values for name in new_names), "used before"),
        ]
        worded: list[tuple[float, Reason]] = [
            (WEIGHTS.recency * (source + 1) / self.length, "recent"),
            (WEIGHTS.overlap * len(fact.words & self.words) / (len(fact.words) + 1), "mentioned"),
            (WEIGHTS.by_user * is_user, "said by the user"),
        ]
        value = sum(value for value, _ in named) + (WEIGHTS.base + sum(value for value, _ in worded)) / max(alike, 1)
        return value, max(named + worded)[1]
