"""Does a line report that something went wrong? Quick and rough, for what no compressor read closely."""

from __future__ import annotations

import re
from typing import Final

# Nearly every line that reports trouble holds one of these; looking for them costs a tenth of the pattern.
_SIGNS: Final = re.findall(
    r"\S+",
    """
    error fail fatal panic exception traceback critical severe abort segfault segmentation sig core killed memory oom timeout timed denied refused
    unreachable cannot not exit invalid undefined unable assert crash conflict corrupt ✗ × ✘ ❌ 错误 失败 异常 エラー 失敗 오류 ошибк сбой fehler erreur
    """,
)
_TROUBLE: Final = re.compile(
    r"""(?ix)
    error | \bfail(?:s|ed|ing|ures?)?\b | fatal | panic | exception | traceback | critical | severe | abort(?:ed|ing)? | segfault | segmentation | sig(?:segv|abrt|kill|term)
    | core\ dumped | killed | out\ of\ memory | \boom | time-?d?\ ?out | denied | refused | unreachable | cannot | not\ found | no\ such
    | exit(?:ed)?\ (?:with\ )?(?:code|status):?\ [1-9] | invalid | undefined | unable\ to | assert | crash | conflict | corrupt
    | [✗×✘❌] | 错误 | 失败 | 异常 | エラー | 失敗 | 오류 | ошибк | сбой | fehler | erreur
    """
)
_DENIED: Final = re.compile(
    r"\b(?:0|no|zero|without) (?:\w+ )?(?:errors?|fail(?:ed|ures?|ing)?|exceptions?|conflicts?)\b|\b(?:errors?|fail(?:ed|ures?))\s*[:=]\s*(?:0|no|none|null|false)\b",
    re.IGNORECASE,
)


def is_trouble(line: str) -> bool:
    """Say whether `line` reports trouble; `0 errors` does not."""
    lowered = line.lower()
    if not any(sign in lowered for sign in _SIGNS):
        return False
    return _TROUBLE.search(_DENIED.sub("", line)) is not None
