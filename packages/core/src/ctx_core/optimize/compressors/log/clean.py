"""What a terminal would show: escapes resolved, overstruck text and progress bars at their last state."""

from __future__ import annotations

import re
from typing import Final

from ctx_core.optimize.compressors.log.notes import passed_states

_ESCAPE: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)|[ -/]*[0-~])"
)
# Colours as `cat -v` and some log collectors spell them.
_SPELLED_ESCAPE: Final = re.compile(r"\^\[\[[0-9;?]*[A-Za-z]")
_OVERSTRUCK: Final = re.compile(r"[^\n\x08]\x08")


def plain(text: str) -> tuple[str, int]:
    """Return `text` as a terminal would show it, and how many states of progress bars it passed over."""
    text = text.removeprefix("\ufeff")
    if "\x1b" in text:
        text = _ESCAPE.sub("", text)
    if "^[[" in text:
        text = _SPELLED_ESCAPE.sub("", text)
    if "\x08" in text:
        text = _OVERSTRUCK.sub("", text).replace("\x08", "")
    return _without_returns(text) if "\r" in text else (text, 0)


def _without_returns(text: str) -> tuple[str, int]:
    lines = text.replace("\r\n", "\n").split("\n")
    passed = 0
    for number, line in enumerate(lines):
        if "\r" in line:
            states = [state for state in line.split("\r") if state.strip()] or [""]
            passed += len(states) - 1
            lines[number] = states[-1] if len(states) == 1 else f"{states[-1]} {passed_states(len(states) - 1)}"
    return "\n".join(lines), passed
