"""Reading the files and options that a person names; every mistake is one clear line."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, cast

from ctx_core.errors import InvalidInput
from ctx_core.messages import Message, as_message

_LEAST_BUDGET = 32


def read_text(path: str) -> str:
    """Return the text of a file, or of standard input for `-`."""
    try:
        text = sys.stdin.buffer.read().decode() if path == "-" else Path(path).read_bytes().decode()
    except IsADirectoryError:
        raise InvalidInput(f"{path!r} is a directory, not a file") from None
    except OSError as error:
        raise InvalidInput(f"cannot read {path!r}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path!r} is not UTF-8 (byte {error.start})") from None
    if not text.strip():
        raise InvalidInput(f"{path!r} is empty")
    return text


def read_messages(path: str) -> list[Message]:
    """Return the chat messages of a JSON-lines file in OpenAI's form."""
    messages: list[Message] = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if line.strip():
            messages.append(_message(path, number, line))
    return messages


def _message(path: str, number: int, line: str) -> Message:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise InvalidInput(f"{path!r} line {number} is not JSON: {error}") from None
    if not isinstance(row, dict) or "role" not in row:
        raise InvalidInput(f"{path!r} line {number} is no chat message: it has no role")
    row = cast("dict[str, Any]", row)
    from datetime import datetime  # noqa: PLC0415

    stamp = row.get("created_at")
    try:
        row["created_at"] = datetime.fromisoformat(stamp) if stamp else None
    except (TypeError, ValueError):
        raise InvalidInput(f"{path!r} line {number}: {stamp!r} is no ISO 8601 time") from None
    return as_message(row)


def budget(text: str) -> int:
    """Read a token budget from the command line."""
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of tokens") from None
    if value < _LEAST_BUDGET:
        raise argparse.ArgumentTypeError(f"a budget of {value} tokens is below the least, {_LEAST_BUDGET}")
    return value


def one_line(text: str, width: int) -> str:
    """Return the start of `text` as one line of at most `width` characters."""
    flat = " ".join(text[: width * 4].split())
    return flat if len(flat) <= width else flat[: width - 1] + "…"
