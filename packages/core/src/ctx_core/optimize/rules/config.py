"""Rules for markup and configuration: HTML, XML, INI, TOML, YAML, environment dumps."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.content import ContentType, Detection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctx_core.optimize.rules.sample import Sample

_HTML: Final = re.compile(
    r"\s*<(?:!doctype html|html|head|body|div|span|p|ul|ol|li|table|section|article|main|nav|header|footer|form|h[1-6]|a|script|style|svg)\b[^<]*>",
    re.IGNORECASE,
)
_XML: Final = re.compile(r"\ufeff?\s*(?:<\?xml\b|<[A-Za-z_][\w.:-]*(?:\s[^<>]*)?/?>)")
_TAG: Final = re.compile(r"</?[A-Za-z][^<>]{0,300}>")
_LOOKED_AT: Final = 3_000

_SECTION: Final = re.compile(r"\s*\[\[?[\w.\-\"' :/*]+\]\]?\s*(?:[#;].*)?$")
_ASSIGNED: Final = re.compile(r"\s*(?:export )?[\w.\-\"/]+\s*=\s*\S?")
_ENV: Final = re.compile(r"(?:export )?[A-Za-z_][A-Za-z0-9_.]*=[^=]|#")
_YAML: Final = re.compile(r"\s*(?:- )*[\w.\-/\"'$*<]+:(?:\s|$)|\s*- \S|\s*#|---\s*$|\.\.\.\s*$|\s+\S")
_YAML_KEY: Final = re.compile(r"\s*(?:- )*(?!\d+:)[\w.\-/\"'$]+:(?:\s+\S.*)?$")
_YAML_SENTENCE: Final = re.compile(r"\s*(?:- )*\w+:\s+\w+ .*[.!?]$")


def markup(sample: Sample) -> Detection | None:
    """HTML documents and fragments; other XML counts as configuration."""
    if sample.edges != ("<", ">"):
        return None
    head = sample.head[:_LOOKED_AT]
    tags = len(_TAG.findall(head))
    if _HTML.match(head) or len(_HTML.findall(head)) >= 3:
        return Detection(content_type=ContentType.MARKUP, language="html", confidence=0.95)
    return _of("xml") if tags >= 2 and _XML.match(head) else None


def config(sample: Sample) -> Detection | None:
    """INI, TOML, environment dumps, and YAML with keys on most lines."""
    lines = sample.lines
    comments = sum(1 for line in lines if line.lstrip().startswith(("#", ";")))
    sections, assigned = sample.count(_SECTION), sample.count(_ASSIGNED)
    if sections and assigned and sections + assigned + comments >= 0.75 * len(lines):
        return _of("toml" if _is_toml(lines) else "ini")
    if len(lines) >= 3 and sample.share(_ENV) >= 0.9 and assigned >= 0.6 * len(lines):
        return _of("env")
    return _of("yaml") if len(lines) >= 3 and _is_yaml(sample, comments) else None


def _is_toml(lines: Sequence[str]) -> bool:
    values = [line.partition("=")[2].strip() for line in lines if "=" in line]
    typed = sum(1 for value in values if value[:1] in {*"\"'[{0123456789"} or value in {"true", "false"})
    return typed >= 0.8 * len(values)


def _is_yaml(sample: Sample, comments: int) -> bool:
    lines = sample.lines
    keys = sample.count(_YAML_KEY)
    items = sum(1 for line in lines if line.lstrip().startswith("- "))
    is_opened = lines[0] == "---" or "apiVersion:" in sample.head[:200]
    enough = 0.4 if is_opened else 0.75
    return (
        keys >= 2
        and keys + items + comments >= enough * len(lines)
        and sample.share(_YAML) >= 0.95
        and sample.share(_YAML_SENTENCE) < 0.5
    )


def _of(language: str) -> Detection:
    return Detection(content_type=ContentType.CONFIG, language=language, confidence=0.95)
