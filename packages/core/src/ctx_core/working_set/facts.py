"""Facts: the pieces of a message that stand alone, each with where it came from.

A JSON result becomes its scalars, each with the object it belongs to; every other text becomes its sentences and lines; a tool call
becomes one fact. A fact's text is always a literal quotation.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ctx_core.tokens import estimate
from ctx_core.working_set.names import find_names, name_weight, split_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ctx_core.messages import Message, ToolCall

Path: TypeAlias = tuple[str, ...]

_MAX_FACTS: Final = 4000
"""Facts of one message at most; an answer of 4,000 scalars is a data set, which is better read through its original."""

_LONG_LINE: Final = 240
"""Characters beyond which a line is cut into its sentences; two sentences of ordinary length."""

_LONG_CALL: Final = 120
"""Characters beyond which the arguments of a call are facts of their own."""

_LONGEST: Final = 600
"""Characters of one fact at most; of anything longer its head is quoted."""

_SENTENCE: Final = re.compile(r"(?<=[.!?。！？])\s+")
_IDENTIFYING: Final = frozenset(
    {"id", "uuid", "key", "code", "number", "name", "path", "file", "email", "slug", "sku", "ref"}
)
"""Last words of field names that tell one object from its like, in the usual naming of JSON interfaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One piece of a message.

    Args:
        text: The value, sentence, line or call, as it was written.
        key: The field's name; empty for what is no field.
        label: The name of the object that the field belongs to; empty at the top.
        group: Number of its object, sentence run or call within the message: facts of one group are shown together.
        entity: What the fact is about, as far as its message says: two facts of one entity and key are two states of one thing.
        is_identity: Whether it names its object, so that other facts of the object cannot be read without it.
        names: The names in it.
        words: Words of the text.
        topics: Words of key and label, for fields.
        weight: How surely a field's value is a name; see `name_weight`.
        wording: The words of a sentence without its numbers.
        tokens: About how many tokens it takes where it is shown.
    """

    text: str
    key: str = ""
    label: str = ""
    group: int = 0
    entity: tuple[str, ...] = ()
    is_identity: bool = False
    names: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    weight: float = 0.0
    wording: frozenset[str] = frozenset()
    tokens: int = 0

    @property
    def is_field(self) -> bool:
        """Whether it is a scalar of a JSON object."""
        return bool(self.key)


def read_facts(message: Message, call: ToolCall | None = None) -> tuple[Fact, ...]:
    """Return the facts of a message in the order of its text.

    Args:
        message: Any message.
        call: The call that a tool message answers; it says what the result is about.
    """
    text = message.text
    document = _read_document(text) if message.role == "tool" or text[:1] in "{[" else None
    facts = list(_fields(document, call)) if document is not None else list(_sentences(text))
    for each in message.tool_calls:
        facts += _call_facts(each, facts[-1].group + 1 if facts else 0)
    return tuple(facts[:_MAX_FACTS])


def _read_document(text: str) -> Any:
    """Return a JSON document with its numbers as they were written; None for any other text."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        document = json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError):
        return None
    return document or None


def _fields(document: Any, call: ToolCall | None) -> Iterator[Fact]:
    about = (call.name, call.arguments) if call else ()
    root = _identity_of(document) if isinstance(document, dict) else ()
    for group, (path, own) in enumerate(_objects(document)):
        identities = _identity_keys(own)
        named = tuple(value for key, value in own if key in identities)
        entity = (*(root or about), *path[:-1], *(named or path[-1:]))
        label = _label_of(path, own)
        for key, value in own:
            quoted = value[:_LONGEST]
            yield Fact(
                text=quoted,
                key=key or "value",
                label=label,
                group=group,
                entity=(*entity, key),
                is_identity=key in identities,
                names=tuple(find_names(quoted)) or ((quoted,) if name_weight(quoted) else ()),
                words=split_words(quoted),
                topics=topic_words(f"{label} {key}"),
                weight=name_weight(quoted),
                tokens=estimate(quoted) + 2,
            )


def _label_of(path: Path, own: Sequence[tuple[str, str]]) -> str:
    """Return the name of the member that holds the object; where that is the object's own id, of the one above."""
    if len(path) > 1 and any(value == path[-1] for _, value in own):
        return path[-2]
    return path[-1] if path else ""


@lru_cache(maxsize=4096)
def topic_words(name: str) -> frozenset[str]:
    """Return the words of a field's name in the singular, so that `payment_methods` serves an argument `payment_method`."""
    return frozenset(word[:-1] if len(word) > 3 and word.endswith("s") else word for word in split_words(name))


def _objects(document: Any) -> Iterator[tuple[Path, list[tuple[str, str]]]]:
    """Yield each object that has scalars, with its path of keys and those scalars; list positions are no part of a path."""
    stack: list[tuple[Path, Any]] = [((), document)]
    while stack:
        path, node = stack.pop()
        if isinstance(node, list):
            if own := [
                ("", _spell(item)) for item in node if not isinstance(item, (dict, list)) and item not in (None, "")
            ]:
                yield path, own
            stack.extend((path, item) for item in reversed(node) if isinstance(item, (dict, list)))
            continue
        own = [
            (key, _spell(value))
            for key, value in node.items()
            if not isinstance(value, (dict, list)) and value not in (None, "")
        ]
        for key, value in node.items():
            if isinstance(value, list):
                own += (
                    (key, _spell(item))
                    for item in value
                    if not isinstance(item, (dict, list)) and item not in (None, "")
                )
        if own:
            yield path, own
        stack.extend(
            reversed([((*path, key), _inner(value)) for key, value in node.items() if isinstance(value, (dict, list))])
        )


def _inner(value: Any) -> Any:
    """Return a container without the scalars of a list, which belong to the object that holds the list."""
    return [item for item in value if isinstance(item, (dict, list))] if isinstance(value, list) else value


def _spell(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _identity_of(node: dict[str, Any]) -> tuple[str, ...]:
    own = [(key, value) for key, value in node.items() if isinstance(value, str)]
    keys = _identity_keys(own)
    return tuple(value for key, value in own if key in keys)[:1]


def _identity_keys(own: Sequence[tuple[str, str]]) -> frozenset[str]:
    """Return the fields that tell an object from its like: the first that is called an id, number, name …, or has such a form."""
    for key, value in own:
        words = split_words(key)
        if words & _IDENTIFYING and not value.isspace():
            return frozenset({key})
    return frozenset(next(([key] for key, value in own if key and name_weight(value) == 1.0), []))


def _sentences(text: str) -> Iterator[Fact]:
    for group, line in enumerate(text.split("\n")):
        for sentence in _SENTENCE.split(line) if len(line) > _LONG_LINE else (line,):
            for quoted in _cut_long(sentence.strip()):
                yield _text_fact(quoted, group)


def _cut_long(sentence: str) -> Iterator[str]:
    """Yield a sentence in runs of at most `_LONG_LINE` characters, cut between words where there are any."""
    while len(sentence) > _LONG_LINE:
        cut = sentence.rfind(" ", _LONG_LINE // 2, _LONG_LINE) + 1 or _LONG_LINE
        yield sentence[:cut].rstrip()
        sentence = sentence[cut:].lstrip()
    if sentence:
        yield sentence


def _text_fact(quoted: str, group: int) -> Fact:
    names = tuple(dict.fromkeys(find_names(quoted)))
    words = split_words(quoted)
    numbers = frozenset(filter(str.isdigit, words))
    return Fact(
        text=quoted,
        group=group,
        names=names,
        words=words,
        wording=words - numbers if numbers else words,
        tokens=estimate(quoted) + 1,
    )


def _call_facts(call: ToolCall, group: int) -> Iterator[Fact]:
    """Yield a short call whole, and a long one argument by argument."""
    text = spell_call(call)
    document = _read_document(call.arguments) if len(text) > _LONG_CALL else None
    if isinstance(document, dict):
        for fact in _fields({call.name: document}, None):
            yield replace(fact, group=group + fact.group, entity=())
        return
    yield _text_fact(text[:_LONGEST], group)


@lru_cache(maxsize=512)
def spell_call(call: ToolCall) -> str:
    """Return a call as `name(key=value, …)`; nested arguments stay JSON."""
    try:
        arguments = json.loads(call.arguments or "{}", parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return f"{call.name}({call.arguments})"
    if not isinstance(arguments, dict):
        return f"{call.name}({call.arguments})"
    spelled = (
        f"{key}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for key, value in arguments.items()
    )
    return f"{call.name}({', '.join(spelled)})"
