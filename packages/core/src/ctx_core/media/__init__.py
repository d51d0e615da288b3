"""What is not text in a prompt: images, documents, sound and film, in every provider's form.

`rules` says what providers charge, `sizes` reads pixels, pages and seconds out of bytes, `bill` adds a block up.
"""

from ctx_core.media.bill import Bill, bill_of
from ctx_core.media.rules import MEDIA_RULES, MediaRule

__all__ = ["MEDIA_RULES", "Bill", "MediaRule", "bill_of"]
