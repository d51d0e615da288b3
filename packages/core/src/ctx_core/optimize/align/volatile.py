"""Which lines of a prompt are about the request and not about the task: its clock, its ids, its scratch paths.

A line moves only if all of it is labelled so, in a closed set of labels and values; anything else is content and stays.
"""

from __future__ import annotations

import re
from typing import Final

_MAX_STATEMENT_CHARS: Final = 160

_CLOCK: Final = (
    r"(?:local|system|server|utc|gmt|user|date|time|day|datetime|timestamp|clock|weekday|zone|and|&|/|\s|_|-)+"
)
_IS: Final = r"\s*(?:\([^()]{1,24}\)\s*)?(?::|=|->|→|：|\bis\b(?:\s+now\b)?)\s*"
_MOMENT: Final = re.compile(
    rf"""(?:the\s+)?(?:current|today['’]?s|present|local|server|system|now)[\s_-]*{_CLOCK}{_IS}
    |(?:request|prompt|message|response)[\s_-]*(?:date|time|timestamp|received|sent)(?:\s+(?:at|on))?{_IS}
    |(?:(?:request|prompt|message|context)\s+)?(?:generated|rendered|sent|received)[\s_-](?:at|on)(?:{_IS}|\s+)
    |(?:today|right\s+now|now){_IS}
    |it\s+is\s+(?:now|currently)\s+(?:the\s+)?
    |the\s+(?:time|date)\s+is(?:\s+now)?\s+
    |(?:aktuelle[rs]?\s+(?:datum|zeit|uhrzeit|zeitpunkt)|heute\s+ist(?:\s+der)?|datum\s+heute){_IS}
    |(?:(?:date|heure)\s+actuelle|(?:fecha|hora)(?:\s+y\s+hora)?\s+actual(?:es)?|data\s+(?:e\s+hora\s+)?atual){_IS}
    |heute\s+ist(?:\s+der)?\s+
    |(?:当前|现在)的?(?:日期|时间|日期和时间|日期时间)(?:：|:|是|为)?\s*|今天是\s*|(?:現在の?|本日の?)(?:日時|時刻|日付)(?:：|:|は)?\s*
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Alone, these name a field of any record as well.
_FIELD: Final = re.compile(
    r"(?:date(?:\s*(?:&|and|/)\s*time)?|time|timestamp|date-?time|clock)\s*[:=]\s*", re.IGNORECASE
)
_RECORD: Final = re.compile(r"[\s>*•-]*[A-Za-z][A-Za-z_ /()-]{0,30}\s?[:=]\s*\S")

_MOMENT_WORD: Final = re.compile(
    r"""\d{4}-\d{1,2}-\d{1,2}(?:[T_]\d{1,2}[:.]?\d{2}(?:[:.]?\d{2}(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?
    |\d{1,4}[/.]\d{1,2}[/.]\d{1,4}|\d{8}T\d{4,6}Z?
    |\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:Z|[ap]\.?m\.?|[+-]\d{2}:?\d{2})?
    |\d{10}(?:\d{3})?(?:\.\d{1,9})?
    |(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?
    |(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?
      |nov(?:ember)?|dec(?:ember)?)
    |\d{1,4}年(?:\d{1,2}月)?(?:\d{1,2}日)?(?:\d{1,2}[时時](?:\d{1,2}分)?)?|(?:星期|周)[一二三四五六日天]|[月火水木金土日]曜日?
    """,
    re.IGNORECASE | re.VERBOSE,
)
_JOINING_WORD: Final = re.compile(
    r"""\d{1,2}(?:st|nd|rd|th)?\.?|\d{4}|[ap]\.?m\.?|at|on|the|of|and|um|der|den|uhr|o'clock|week|w\d{1,2}|[-–—|@/]|T|Z
    |(?:utc|gmt)?[+-]\d{1,2}(?::?\d{2})?|(?-i:[A-Z]{2,5}|[A-Z][A-Za-z]+/[A-Za-z_/+-]+[0-9]{0,2})|time(?:zone)?:?|local
    """,
    re.IGNORECASE | re.VERBOSE,
)

_ID_LABEL: Final = re.compile(
    r"""(?:the\s+|your\s+|this\s+)?(?:current\s+)?(?:x[\s_-])?(?P<of>request|req|run|session|trace|span|correlation
    |conversation|thread|chat|invocation|execution|turn)(?P<id>[\s_-]*(?:id|identifier|uuid|guid|token|key))?
    \s*(?::|=|->|→|：|\bis\b)\s*|(?:traceparent|nonce|cache[\s_-]?buster)\s*[:=]\s*""",
    re.IGNORECASE | re.VERBOSE,
)
_ID: Final = re.compile(r"(?=[^\d\n]{0,128}\d)[\w.:+=#@~-]{1,128}")
_LONG_ID: Final = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?=[^\d\n]{0,64}\d)(?!\d{4}-\d\d-\d\d)[\w-]{8,64}", re.IGNORECASE
)

_PATH_LABEL: Final = re.compile(
    r"""(?:the\s+|your\s+)?(?:current\s+|local\s+)?(?:working|work|temp(?:orary)?|tmp|scratch(?:pad)?|sandbox|session|run|output
    |artifacts?|upload|workspace)?[\s_-]*(?:dir(?:ectory)?|folder|path|cwd|workspace|sandbox|scratch(?:pad)?|tmpdir|file)
    \s*(?::|=|->|→|\bis\b)\s*""",
    re.IGNORECASE | re.VERBOSE,
)
_SCRATCH_PATH: Final = re.compile(
    r"(?:(?:/private)?/tmp/|/var/tmp/|/(?:private/)?var/folders/|/dev/shm/|/run/user/|[A-Za-z]:\\\S*\\Temp\\|%TEMP%\\)"
    r"(?=\S*(?:\d|tmp[a-z0-9_]{6}))\S{1,256}",
    re.IGNORECASE,
)
_TAGGED: Final = re.compile(r"<([A-Za-z][\w-]{0,40})>([^<>]{1,160})</\1>")
_BULLET: Final = re.compile(r"\s*(?:[-*•–]\s+)?")
_DECORATION: Final = re.compile(r"\*\*|__(?=\W|$)|(?<!\w)__|`|\"")


def is_volatile(statement: str, *, beside_fields: bool = False) -> bool:
    """Say whether all of `statement` is a label of the request and its value.

    Args:
        statement: A line or a sentence.
        beside_fields: Whether other `name: value` fields stand next to it, so that a bare `Date:` belongs to a record.
    """
    plain = _undecorated(statement)
    if not plain or len(plain) > _MAX_STATEMENT_CHARS:
        return False
    if _is_one(plain, beside_fields=beside_fields):
        return True
    parts = re.split(r"\s*[|·;]\s*|,\s+(?=[A-Za-z])", plain)
    return len(parts) > 1 and all(_is_one(part, beside_fields=beside_fields) for part in parts)


def is_record_field(line: str) -> bool:
    """Say whether a line reads `name: value`."""
    return _RECORD.match(line) is not None


def _undecorated(statement: str) -> str:
    plain = _DECORATION.sub("", statement[_BULLET.match(statement).end() :]).strip()  # type: ignore[union-attr] - matches always
    tagged = _TAGGED.fullmatch(plain)
    if tagged:
        plain = f"{tagged[1].replace('_', ' ')}: {tagged[2].strip()}"
    return plain.rstrip(".,;!。 ")


def _is_one(plain: str, *, beside_fields: bool) -> bool:
    label = _MOMENT.match(plain) or (None if beside_fields else _FIELD.match(plain))
    if label is not None and _is_moment(plain[label.end() :]):
        return True
    label = _ID_LABEL.match(plain)
    if label is not None and (_ID if label["id"] or not label["of"] else _LONG_ID).fullmatch(plain, label.end()):
        return True
    label = _PATH_LABEL.match(plain)
    return label is not None and _SCRATCH_PATH.fullmatch(plain, label.end()) is not None


def _is_moment(value: str) -> bool:
    words = [word for word in re.split(r"[\s,()\[\]]+", value) if word]
    named = [_MOMENT_WORD.fullmatch(word.rstrip(".,")) is not None for word in words]
    return any(named) and all(
        is_named or _JOINING_WORD.fullmatch(word) for word, is_named in zip(words, named, strict=True)
    )
