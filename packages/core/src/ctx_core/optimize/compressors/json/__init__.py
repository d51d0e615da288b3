"""JSON without loss in fewer tokens, and over budget its rows by importance."""

from ctx_core.optimize.compressors.json.crusher import JsonCrusher
from ctx_core.optimize.content import COMPACT_JSON as MARK

__all__ = ["MARK", "JsonCrusher"]
