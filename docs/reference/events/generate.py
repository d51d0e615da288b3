"""Writes the JSON Schema and the AsyncAPI document of the kernel's events; `--check` refuses stale files and breaking changes.

A change breaks when a reader of the published schema could no longer read what is written: a field is gone, its type
changed, or what was always there may be missing.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ctx_core.kernel.events import SCHEMA_VERSION, ContextUpdated

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE: Final = Path(__file__).parent
SCHEMA: Final = HERE / "context-updated.schema.json"
ASYNCAPI: Final = HERE / "asyncapi.json"


def schema() -> dict[str, Any]:
    """Return the JSON Schema of `context.updated`."""
    body = ContextUpdated.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **body}


def asyncapi() -> dict[str, Any]:
    """Return what flows over NATS, in AsyncAPI 3."""
    reference = {"$ref": f"./{SCHEMA.name}"}
    dead_headers = {name: {"type": "string"} for name in ("Ctx-Reason", "Ctx-Position", "Ctx-Attempts")}
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "ctx kernel events",
            "version": SCHEMA_VERSION,
            "description": "Accepted commands, one message each, in the order they were accepted.",
        },
        "defaultContentType": "application/json",
        "channels": {
            "events": {
                "address": "{prefix}.evt.{root}.{role}.{key}",
                "description": (
                    "Ids are percent-encoded, a dot as %2E; ids above 500 characters are # and their SHA-256. The key is"
                    " the first 40 hex digits of the idempotency key's SHA-256, or - without one."
                ),
                "parameters": {name: {} for name in ("prefix", "root", "role", "key")},
                "messages": {"contextUpdated": {"$ref": "#/components/messages/contextUpdated"}},
            },
            "dead": {
                "address": "{prefix}.dead.{consumer}",
                "description": "Events that no worker of a consumer could project, as they were, and why.",
                "parameters": {"prefix": {}, "consumer": {}},
                "messages": {"buried": {"$ref": "#/components/messages/buried"}},
            },
        },
        "operations": {
            "append": {"action": "send", "channel": {"$ref": "#/channels/events"}},
            "project": {"action": "receive", "channel": {"$ref": "#/channels/events"}},
            "bury": {"action": "send", "channel": {"$ref": "#/channels/dead"}},
        },
        "components": {
            "messages": {
                "contextUpdated": {"name": "context.updated", "payload": reference},
                "buried": {"payload": {}, "headers": {"type": "object", "properties": dead_headers}},
            }
        },
    }


def breaks(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    """Yield every way in which what `new` describes could not be read by a reader of `old`."""
    old_types, new_types = {"": old, **old.get("$defs", {})}, {"": new, **new.get("$defs", {})}
    for name, before in old_types.items():
        after = new_types.get(name)
        if after is None:
            yield f"{name} is gone"
            continue
        for field, shape in before.get("properties", {}).items():
            where = f"{name or new['title']}.{field}"
            if field not in after.get("properties", {}):
                yield f"{where} is gone"
            elif _shape(shape) != _shape(after["properties"][field]):
                yield f"{where} changed its shape"
        for field in sorted(set(before.get("required", ())) - set(after.get("required", ()))):
            yield f"{name or new['title']}.{field} may be missing"


def _shape(field: dict[str, Any]) -> str:
    return json.dumps(
        {key: value for key, value in field.items() if key not in ("title", "description")}, sort_keys=True
    )


def _text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2) + "\n"


def main(arguments: list[str]) -> int:
    """Write both files, or check them; return 1 when the check fails."""
    documents = {SCHEMA: schema(), ASYNCAPI: asyncapi()}
    if "--check" not in arguments:
        if SCHEMA.exists() and (broken := list(breaks(json.loads(SCHEMA.read_text()), schema()))):
            sys.stdout.write("".join(f"breaking: {line}\n" for line in broken))
            sys.stdout.write("raise the major part of SCHEMA_VERSION, and remove the old schema by hand\n")
            return 1
        for path, document in documents.items():
            path.write_text(_text(document))
        return 0
    broken = list(breaks(json.loads(SCHEMA.read_text()), schema()))
    stale = [path.name for path, document in documents.items() if path.read_text() != _text(document)]
    sys.stdout.write("".join(f"breaking: {line}\n" for line in broken))
    sys.stdout.write("".join(f"stale: {name}; run docs/reference/events/generate.py\n" for name in stale))
    return 1 if broken or stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
