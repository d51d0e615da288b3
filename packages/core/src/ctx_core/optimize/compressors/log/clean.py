"""What a terminal would show: escapes resolved, overstruck text and progress bars at their last state."""

from __future__ import annotations

import re
from typing import Final

_ESCAPE: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)|[ -/]*[0-~])"
)
# Colours as `cat -v` and some log collectors spell them.
_SPELLED_ESCAPE: Final = re.compile(r"\^\[\[[0-9;?]*[A-Za-z]")
_OVERSTRUCK: Final = re.compile(r"[^\n\x08]\x08")


def plain(text: str) -> str:
    """Return `text` without terminal escapes, each carriage-returned line at the last state it showed."""
    text = text.removeprefix("\ufeff")
    if "\x1b" in text:
        text = _ESCAPE.sub("", text)
    if "^[[" in text:
        text = _SPELLED_ESCAPE.sub("", text)
    if "\x08" in text:
        text = _OVERSTRUCK.sub("", text).replace("\x08", "")
    if "\r" in text:
        text = "\n".join(_last_state(line) if "\r" in line else line for line in text.split("\n"))
    return text


def _last_state(line: str) -> str:
    states = [state for state in line.split("\r") if state.strip()]
    if len(states) <= 1:
        return states[0] if states else ""
    return f"{states[-1]} [… {len(states) - 1:,} states before]"
