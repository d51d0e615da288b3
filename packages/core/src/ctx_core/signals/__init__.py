"""What a text reports about itself: how bad it says things are."""

from ctx_core.signals.severity import Severity, find_alarm, find_alarms, is_alarm, is_suspect, severity_of

__all__ = ["Severity", "find_alarm", "find_alarms", "is_alarm", "is_suspect", "severity_of"]
