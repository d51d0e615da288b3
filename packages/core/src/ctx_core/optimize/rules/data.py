"""Rules for what holds values rather than sentences: JSON, tables, listings, markup, configuration and blobs."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.content import COMPACT_JSON, ContentType, Detection

if TYPE_CHECKING:
    from ctx_core.optimize.rules.sample import Sample

_VALUE: Final = r'(?:"(?:[^"\\]|\\.){0,400}"?|-?\d|true\b|false\b|null\b|NaN\b|-?Infinity\b|[\[{])'
_JSON_HEAD: Final = re.compile(
    rf'\ufeff?\s*(?:\{{\s*(?:\}}|"(?:[^"\\]|\\.){{0,400}}"\s*:\s*{_VALUE})|\[\s*(?:\]|{_VALUE}))'
)
_JSON_LINE: Final = re.compile(r'\s*(?:\{\s*(?:"|\}\s*$)|\[\s*(?:["\[{\d-]|\]\s*$))')
_BASE64: Final = re.compile(r"(?:data:[\w.+/-]+(?:;[\w=.-]+)*;base64,)?[A-Za-z0-9+/_=\s-]+\Z")
_ARMOUR: Final = re.compile(r"-----BEGIN [A-Z0-9 ]+-----")

_QUOTED: Final = re.compile(r'"(?:[^"]|"")*"')
_TABLE_ROW: Final = re.compile(r"\s*\|.*\|\s*$|\s*[^|\s][^|]*(?:\|[^|]*){2,}$")
_TABLE_RULE: Final = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)+\|?\s*$", re.MULTILINE)
_BOX: Final = re.compile(r"\s*(?:\+[-=+]{3,}\+|\|.*\||[┌├└│╭╰┏┡╞].*)\s*$")
_LS: Final = re.compile(r"total \d|[-dlcbps][-rwxsStT]{9}[.+@]?\s+\d")
_PS: Final = re.compile(
    r"[A-Z%][A-Z0-9%()/_-]*(?: [A-Z0-9%]+)*(?:\s{2,}|\s+%?)[A-Z%][A-Z0-9% ()/_-]*(?:\s+[A-Z%][A-Za-z0-9%()/_-]*)+\s*$"
)
_GAP: Final = re.compile(r"\s{2,}|\t")

_HTML: Final = re.compile(
    r"\s*<(?:!doctype html|html|head|body|div|span|p|ul|ol|li|table|section|article|main|nav|header|footer|form|h[1-6]|a|script|style|svg)\b[^<]*>",
    re.IGNORECASE,
)
_XML: Final = re.compile(r"\ufeff?\s*(?:<\?xml\b|<[A-Za-z_][\w.:-]*(?:\s[^<>]*)?/?>)")
_TAG: Final = re.compile(r"</?[A-Za-z][^<>]{0,300}>")

_SECTION: Final = re.compile(r"\s*\[\[?[\w.\-\"' :/*]+\]\]?\s*(?:[#;].*)?$")
_ASSIGNED: Final = re.compile(r"\s*[\w.\-\"/]+\s*=\s*\S?")
_ENV: Final = re.compile(r"(?:export )?[A-Za-z_][A-Za-z0-9_.]*=[^=]|#")
_YAML: Final = re.compile(r"\s*(?:- )*[\w.\-/\"'$*<]+:(?:\s|$)|\s*- \S|\s*#|---\s*$|\.\.\.\s*$|\s+\S")
_YAML_KEY: Final = re.compile(r"\s*(?:- )*[\w.\-/\"'$]+:(?:\s+\S.*)?$")


def json_document(sample: Sample) -> Detection | None:
    """One JSON value: it opens and closes as one, and starts as only JSON does."""
    if sample.text.startswith(COMPACT_JSON):
        return _of(ContentType.JSON, "json")
    if "".join(sample.edges) not in ("{}", "[]") or not _JSON_HEAD.match(sample.head):
        return None
    lines = sample.lines
    if len(lines) > 1 and all(_JSON_LINE.match(line) and line.rstrip()[-1:] in "]}" for line in lines[:20]):
        return _of(ContentType.JSON, "jsonl")
    return _of(ContentType.JSON, "json")


def compact_json(sample: Sample) -> Detection | None:
    """The form that our own JSON compressor writes."""
    return _of(ContentType.JSON, "compact") if sample.text.startswith(COMPACT_JSON) else None


def json_lines(sample: Sample) -> Detection | None:
    """One JSON value a line, a broken line or two among them."""
    if len(sample.lines) < 2 or sample.share(_JSON_LINE) < 0.9:
        return None
    closed = sum(1 for line in sample.lines if len(line) == 400 or line.rstrip()[-1:] in ("}", "]"))
    return _of(ContentType.JSON, "jsonl") if closed / len(sample.lines) >= 0.9 else None


def blob(sample: Sample) -> Detection | None:
    """Base64 or another run of encoded bytes, a data URI, or an armoured key."""
    if _ARMOUR.match(sample.head):
        return _of(ContentType.BLOB, "pem")
    if sample.size < 64 or not _BASE64.match(sample.head) or not _BASE64.match(sample.tail or "A"):
        return None
    words = sample.head.split()
    if max(map(len, words)) < 48 or sum(map(len, words)) / len(words) < 40:
        return None
    letters = set(sample.head)
    mixed = (
        any(c.isupper() for c in letters) and any(c.islower() for c in letters) and any(c.isdigit() for c in letters)
    )
    # A list of hashes is a list; encoded bytes fill whole lines of equal length.
    return _of(ContentType.BLOB, "base64") if mixed and len({len(word) for word in words[:-1]}) <= 1 else None


def table(sample: Sample) -> Detection | None:
    """Markdown and box tables, and fixed-width listings such as `ls -l` or `ps` print."""
    lines = sample.lines
    if len(lines) < 2:
        return None
    if _TABLE_RULE.search("\n".join(lines[:4])) and sample.share(_TABLE_ROW) >= 0.8:
        return _of(ContentType.TABLE, "markdown")
    if sample.share(_BOX) >= 0.9 and lines[0].lstrip()[:1] in "+┌╭┏|":
        return _of(ContentType.TABLE, "box")
    if sample.share(_LS) >= 0.7 or (_PS.match(lines[0]) and _is_columns(lines)):
        return _of(ContentType.TABLE, "listing")
    return None


def _is_columns(lines: list[str]) -> bool:
    """Say whether every line below the header has values where the header has names."""
    starts = [match.end() for match in re.finditer(r"(?:^|\s{2,}|\s+(?=%))", lines[0].rstrip())]
    wide = [
        line
        for line in lines[1:]
        if len(_GAP.split(line.strip())) >= 2 or len(line.split()) >= len(lines[0].split()) - 1
    ]
    return len(starts) >= 2 and len(lines) >= 2 and len(wide) >= 0.9 * (len(lines) - 1)


def delimited(sample: Sample) -> Detection | None:
    """CSV, TSV and their relatives: every row has as many delimiters as the first."""
    lines = [line for line in sample.lines if not line.startswith("#")]
    if len(lines) < 3:
        return None
    plain = [_QUOTED.sub("", line) if '"' in line else line for line in lines]
    for delimiter, language in (("\t", "tsv"), (",", "csv"), (";", "csv"), ("|", "csv")):
        usual, times = Counter(line.count(delimiter) for line in plain).most_common(1)[0]
        if usual < 1 or times < 0.9 * len(lines):
            continue
        if usual >= 2 or delimiter == "\t" or _is_two_columns(lines, delimiter):
            return _of(ContentType.TABLE, language, 0.95) if not _is_code_like(lines, delimiter) else None
    return None


def _is_two_columns(lines: list[str], delimiter: str) -> bool:
    cells = [cell.strip() for line in lines[1:] for cell in line.split(delimiter)]
    return sum(1 for cell in cells if len(cell.split()) <= 2) >= 0.9 * len(cells) and ", " not in lines[0]


def _is_code_like(lines: list[str], delimiter: str) -> bool:
    endings = sum(1 for line in lines if line.rstrip()[-1:] in ("{", "(", "[", ":", ")"))
    indented = sum(1 for line in lines if line.startswith("    "))
    closing = sum(1 for line in lines if line.rstrip().endswith((",", ";"))) if delimiter != ";" else 0
    return endings > 0.3 * len(lines) or indented > 0.5 * len(lines) or closing > 0.5 * len(lines)


def markup(sample: Sample) -> Detection | None:
    """HTML documents and fragments; other XML counts as configuration."""
    if sample.edges != ("<", ">"):
        return None
    tags = len(_TAG.findall(sample.head[:3000]))
    if _HTML.match(sample.head) or (tags >= 3 and len(_HTML.findall(sample.head[:3000])) >= 3):
        return _of(ContentType.MARKUP, "html", 0.95)
    if _XML.match(sample.head) and tags >= 2:
        return _of(ContentType.CONFIG, "xml", 0.95)
    return None


def config(sample: Sample) -> Detection | None:
    """INI, TOML, environment dumps, and YAML with keys on most lines."""
    lines = sample.lines
    comments = sum(1 for line in lines if line.lstrip().startswith(("#", ";")))
    sections, assigned = sample.count(_SECTION), sample.count(_ASSIGNED)
    if len(lines) >= 2 and sections and assigned and sections + assigned + comments >= 0.75 * len(lines):
        return _of(ContentType.CONFIG, "toml" if _is_toml(lines) else "ini", 0.95)
    if len(lines) >= 3 and sample.share(_ENV) >= 0.9 and assigned >= 0.6 * len(lines):
        return _of(ContentType.CONFIG, "env", 0.95)
    keys = sample.count(_YAML_KEY)
    items = sum(1 for line in lines if line.lstrip().startswith("- "))
    opened = lines[:1] == ["---"] or "apiVersion:" in sample.head[:200]
    if (
        len(lines) >= 3
        and keys >= 2
        and sample.share(_YAML) >= 0.95
        and keys + items + comments >= (0.4 if opened else 0.75) * len(lines)
    ):
        return _of(ContentType.CONFIG, "yaml", 0.95)
    return None


def _is_toml(lines: list[str]) -> bool:
    values = [line.partition("=")[2].strip() for line in lines if "=" in line]
    return sum(
        1 for value in values if value[:1] in ('"', "'", "[", "{") or value[:1].isdigit() or value in ("true", "false")
    ) >= 0.8 * len(values)


def _of(content_type: ContentType, language: str, confidence: float = 1.0) -> Detection:
    return Detection(content_type=content_type, language=language, confidence=confidence)
