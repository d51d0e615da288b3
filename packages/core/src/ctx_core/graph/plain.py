"""How the parts of a graph turn into plain JSON values and back, and how what callers pass is read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache, wraps
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, cast

from ctx_core.errors import InvalidBundle

if TYPE_CHECKING:
    from collections.abc import Iterable

_EMPTY: Final = (None, "", (), {})

_E = TypeVar("_E", bound=StrEnum)
_P = TypeVar("_P", bound="Plain")
_T = TypeVar("_T")


class Plain:
    """Conversion to and from plain JSON values, field by field."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values; None and empty values are left out."""
        named = ((f.name, getattr(self, f.name)) for f in fields(cast("Any", self)) if f.init)
        return {name: _plain(value) for name, value in named if value not in _EMPTY}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build from what `to_dict` returned; an unknown key is an error that names the known ones."""
        known = {f.name for f in fields(cast("Any", cls)) if f.init}
        unknown = sorted(set(values) - known)
        if unknown:
            raise InvalidBundle(f"{cls.__name__} has no field {unknown[0]!r}; known are {', '.join(sorted(known))}")
        try:
            return cls(**values)
        except TypeError as error:
            raise InvalidBundle(f"{cls.__name__} cannot be built: {error}") from error


Parser = Callable[[Any, str], Any]


def set_given_fields(kind: type[_T]) -> type[_T]:
    """Let the constructor of a frozen dataclass set its fields all at once.

    Nodes and relations come by the thousand. The generated constructor sets each field of a frozen class by a call: of a
    relation, twenty, which takes four times as long as everything else about it.
    """
    generated: Callable[..., None] = kind.__init__
    defaults = {f.name: None if f.default is MISSING else f.default for f in fields(cast("Any", kind)) if f.init}
    required = {f.name for f in fields(cast("Any", kind)) if f.default is MISSING and f.default_factory is MISSING}

    @wraps(generated)
    def set_given(self: Any, *args: Any, **given: Any) -> None:
        if args or not required <= given.keys() <= defaults.keys():
            generated(self, *args, **given)  # raises what Python raises
        assign(self, "__dict__", {**defaults, **given})
        self.__post_init__()

    cast("Any", kind).__init__ = set_given
    return kind


def parse_fields(target: object, parsers: Mapping[str, Parser]) -> None:
    """Replace the value of each field that is not empty by what its parser makes of value and name."""
    values = vars(target)
    for name, parse in parsers.items():
        if (value := values[name]) is not None:
            values[name] = parse(value, name)


def assign(target: object, name: str, value: object) -> None:
    """Set a field of a frozen dataclass that is being built."""
    object.__setattr__(target, name, value)


def _plain(value: Any) -> Any:
    if isinstance(value, Plain):
        return value.to_dict()
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in cast("Sequence[Any]", value)]
    return value


def canonical(item: Plain) -> str:
    """Return everything about an item in one canonical line of JSON."""
    return _encode(_read_fields(type(item))(item))


@cache
def _read_fields(kind: type[Plain]) -> Callable[[Plain], Sequence[Any]]:
    return attrgetter(*(f.name for f in fields(cast("Any", kind)) if f.init))


def _plain_or_text(value: Any) -> Any:
    plain = _plain(value)
    return str(value) if plain is value else plain


# One encoder for all: building one takes longer than encoding a relation.
_encode: Final = json.JSONEncoder(default=_plain_or_text, sort_keys=True).encode


def digest(text: str) -> str:
    """Return the SHA-256 of a text in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def require_id(value: object, what: str) -> None:
    """Raise `InvalidBundle` unless a value is text that is not blank."""
    if not isinstance(value, str) or not value or value.isspace():
        raise InvalidBundle(f"the {what} must be text that is not blank, not {value!r}")


def member(kind: type[_E], value: object, what: str) -> _E:
    """Return the member of an enum that a value names; an unknown one is an error that names the known ones."""
    if type(value) is kind:
        return value
    try:
        return kind(str(value).strip())
    except ValueError:
        known = ", ".join(kind)
        raise InvalidBundle(f"unknown {what} {value!r}; known are {known}") from None


def text_or_none(value: str | None) -> str | None:
    """Return a text, or None for a blank one."""
    return value if value is not None and str(value).strip() else None


def strings(values: Sequence[str] | None) -> tuple[str, ...]:
    """Return texts as a tuple; a single text is one of them."""
    return (values,) if isinstance(values, str) else tuple(values or ())


def count_or_none(value: object, what: str) -> int | None:
    """Return a whole number from 0, also when it is written as text."""
    if value is None:
        return None
    text = str(value).strip()
    if isinstance(value, bool) or not (text.isascii() and text.isdigit()):
        raise InvalidBundle(f"{what} must be a whole number from 0, not {value!r}")
    return int(text)


def time_or_none(value: datetime | str | None, what: str) -> datetime | None:
    """Return a time, parsed from ISO 8601 text if it is one; its zone is kept."""
    if value is None or isinstance(value, datetime):
        return value
    if not value.strip():
        return None
    try:
        return datetime.fromisoformat(value.strip())
    except ValueError:
        raise InvalidBundle(f"{what} must be an ISO 8601 time, not {value!r}") from None


def require_interval(start: object, end: object, what: str) -> None:
    """Raise `InvalidBundle` where an interval ends before it starts; a time without a zone counts as UTC."""
    if isinstance(start, datetime) and isinstance(end, datetime) and with_zone(end) < with_zone(start):
        raise InvalidBundle(
            f"{what} has valid_until {end.isoformat()} before valid_from {start.isoformat()}; swap or correct them"
        )


def with_zone(moment: datetime) -> datetime:
    """Return a time that can be compared: one without a zone counts as UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def nested(kind: type[_P], value: Any) -> _P | None:
    """Return a part that may be given as plain values."""
    return kind.from_dict(value) if isinstance(value, Mapping) else value


def all_of(kind: type[_P], items: Iterable[Any]) -> list[_P]:
    """Return items of one kind, building those given as plain values."""
    built = [kind.from_dict(item) if isinstance(item, Mapping) else item for item in items]
    for item in built:
        if not isinstance(item, kind):
            raise InvalidBundle(f"expected a {kind.__name__}, not {item!r}")
    return built


def unique(items: Iterable[_P], key: str) -> dict[str, _P]:
    """Return items by their id; two different items of one id are an error."""
    found: dict[str, _P] = {}
    for item in items:
        identity = getattr(item, key)
        if (other := found.setdefault(identity, item)) is not item and other != item:
            raise InvalidBundle(f"two different {type(item).__name__}s carry the {key} {identity!r}")
    return found
