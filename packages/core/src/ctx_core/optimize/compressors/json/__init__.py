"""JSON without loss in fewer tokens, and over budget its rows by importance."""

from ctx_core.optimize.compressors.json.crusher import JsonCrusher

__all__ = ["JsonCrusher"]
