"""What is shown of a text when not all of it fits: units, one chooser under a budget, and the notes that count the rest."""

from ctx_core.select.chooser import Unit, fill
from ctx_core.select.notes import omission_note, read_omission_notes

__all__ = ["Unit", "fill", "omission_note", "read_omission_notes"]
