"""HTML to the text that a reader of the page would see."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ctx_core.extras import installed
from ctx_core.optimize.compressors.base import Budget, Compressed, Omission
from ctx_core.optimize.compressors.text import TextCompressor
from ctx_core.signals.severity import is_alarm

if TYPE_CHECKING:
    from collections.abc import Iterator

# Finding the main text takes about 1 ms a kilobyte.
_MAX_CHARS: Final = 300_000

# Bounded, and stopped by the next bracket: malformed pages must not cost more than well-formed ones.
_TAG: Final = re.compile(r"<(/?)([A-Za-z][\w:-]{0,40})([^<>]{0,4000})>|<[!?][^<>]{0,4000}>")
_SPACE: Final = re.compile(r"\s+")
_ALT: Final = re.compile(r"\balt\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_UNSEEN: Final = frozenset(["script", "style", "noscript", "template", "svg", "iframe", "object"])
_BLOCKS: Final = frozenset(
    re.findall(
        r"\w+",
        "address article aside blockquote body br dd details div dl dt figcaption figure footer form header hr html main nav ol option p"
        " section summary table tbody thead tfoot title tr ul li h1 h2 h3 h4 h5 h6 pre",
    )
)
_STARTS: Final = {**{f"h{n}": f"\n{'#' * n} " for n in range(1, 7)}, "li": "- ", "p": "\n"}
_CELLS: Final = frozenset(["td", "th"])


class MarkupCompressor:
    """Turns a page into its text; over budget, into the sentences that are worth most."""

    def compress(self, text: str, budget: Budget, *, query: str | None = None) -> Compressed:
        """Return the text of a page, with a line that says how much markup went; `text` itself where that is no shorter."""
        if budget.max_tokens is not None and budget.fits(text):
            return Compressed(text=text)
        page = page_text(text)
        main = _main_text(text) if len(text) <= _MAX_CHARS and installed("trafilatura") else ""
        body = main if main and _has_all_alarms(main, page) else page
        lost = len(text) - len(body)
        note = f"[html: text only, {lost} characters of markup left out]\n"
        if lost <= len(note):
            return TextCompressor().compress(text, budget, query=query)
        if budget.max_tokens is not None:
            budget = replace(budget, max_tokens=max(1, budget.max_tokens - budget.cost(note)))
        shorter = TextCompressor().compress(body, budget, query=query)
        omissions = (Omission(what="characters", count=lost), *shorter.omissions)
        return Compressed(text=note + shorter.text, omissions=omissions)


def page_text(page: str) -> str:
    """Return all visible text of a page: headings, lists and table rows on lines of their own, code as it stands."""
    out = ["\n"]
    pre = 0
    for name, is_end, piece in _pieces(page):
        at_start = out[-1].endswith("\n")
        if not name:
            seen = html.unescape(piece)
            seen = seen if pre else _SPACE.sub(" ", seen)
            out += [text] if (text := seen.lstrip(" ") if at_start and not pre else seen) else []
        elif name == "pre":
            pre = max(0, pre + (-1 if is_end else 1))
            out.append("```\n" if at_start else "\n```\n")
        elif name == "img" and (alt := _ALT.search(piece)):
            out.append(f"[{html.unescape(alt[1] or alt[2] or '')}]")
        elif name in _CELLS:
            out += [] if is_end or at_start else [" | "]
        elif name in _BLOCKS:
            out += [] if at_start else ["\n"]
            out += [] if is_end or name not in _STARTS else [_STARTS[name]]
    lines = re.sub(r"(?<=[^ \t]) {1,2}\n", "\n", "".join(out))
    return re.sub(r"\n{3,}", "\n\n", lines).strip()


def _pieces(page: str) -> Iterator[tuple[str, bool, str]]:
    """Yield texts, with an empty name, and tags: their name, whether they end, and their attributes."""
    position, lowered = 0, page.lower()
    while (start := page.find("<", position)) >= 0:
        yield "", False, page[position:start]
        if page.startswith("<!--", start):
            end = page.find("-->", start + 4)
            position = end + 3 if end >= 0 else len(page)
            continue
        tag = _TAG.match(page, start)
        if tag is None:
            yield "", False, "<"
            position = start + 1
            continue
        position = tag.end()
        name = (tag[2] or "").lower()
        if name in _UNSEEN and not tag[1] and not tag[3].endswith("/"):
            end = lowered.find(f"</{name}", position)
            position = end if end >= 0 else len(page)
        elif name:
            yield name, bool(tag[1]), tag[3]
    yield "", False, page[position:]


def _main_text(page: str) -> str:
    """Return the main text of a page as trafilatura finds it; empty where it finds none."""
    import trafilatura  # noqa: PLC0415 - an extra, and slow to import

    try:
        found = trafilatura.extract(
            page, output_format="markdown", include_comments=True, include_tables=True, favor_recall=True
        )
    except Exception:  # noqa: BLE001 - whatever a page does to the library, its plain text is there
        return ""
    return found or ""


def _has_all_alarms(main: str, page: str) -> bool:
    """Say whether the main text still holds every line of the page that speaks of an error."""
    words = " ".join(main.split())
    return all(" ".join(line.split()) in words for line in page.split("\n") if is_alarm(line))
