"""Rules for what people write: source code, Markdown and prose."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.content import ContentType, Detection

if TYPE_CHECKING:
    from ctx_core.optimize.rules.sample import Sample

# Lines that hardly stand anywhere but in source code of that language.
_LANGUAGES: Final = {
    "python": re.compile(
        r"\s*(?:(?:async )?def \w+\(.*|class \w+(?:\(.*\))?:|from [\w.]+ import [\w(*].*|import [\w.]+(?: as \w+)?(?:, [\w.]+)*|if __name__ ==.*|@\w[\w.]*(?:\(.*)?|(?:elif|except|with|for|while|if|try|finally|else)\b.*:|return\b.*|self\.\w+.*|raise \w+.*|\w+ = .*[\w)\]}\"'])\s*(?:#.*)?$"
    ),
    "typescript": re.compile(
        r"\s*(?:(?:export )?(?:declare )?(?:interface|type|enum|namespace|abstract class) \w+|(?:private|public|protected|readonly) (?:readonly |static |async )?#?\w+[(:?<]|(?:export )?(?:async )?function \w+[<(].*\)\s*: [\w<>\[\]| ]+ \{|(?:const|let) \w+: [\w<>\[\]| {}:;,]+ =|import type )"
    ),
    "javascript": re.compile(
        r"\s*(?:import .* from ['\"].*|import ['\"].*|export (?:default |const |function |class |async |\{|\*).*|(?:const|let|var) [\w{\[].* = .*|(?:async )?function\*? ?\w*\(.*|module\.exports.*|.*=> [{(]?$|\}\)?[;,]?$|return .*;|if \(.*\) \{|\} else \{|class \w+(?: extends \w+)? \{|await .*)"
    ),
    "go": re.compile(
        r"\s*(?:package \w+$|import (?:\(|\"[^\"]+\"$)|func (?:\(\w+ \*?\w+(?:\[\w+\])?\) )?\w+(?:\[.*\])?\(.*|type \w+ (?:struct|interface|func|map|\[\]).*|\w+(?:, \w+)* := .*|if err != nil \{|defer .*|return .*, (?:nil|err).*|\"[\w./-]+\"$|for .* := range .*\{)"
    ),
    "rust": re.compile(
        r"\s*(?:(?:pub(?:\(\w+\))? )?(?:async |unsafe |const )*(?:fn \w+|struct \w+|enum \w+|trait \w+|mod \w+|use [\w:]+|impl\b|static \w+:)|let (?:mut )?\w+.*|#!?\[\w+.*\]|match .* \{|\S+ => .*|///? .*|\w+!\(.*\);?)"
    ),
    "java": re.compile(
        r"\s*(?:(?:import|package) (?:static )?[\w.*]+;|(?:public|private|protected)(?: static| final| abstract| synchronized)* [\w<>\[\], ?]+.*[{;(]|@(?:Override|Test|Autowired|Nullable|Deprecated|Inject|Bean)\b.*|(?:final )?[A-Z]\w*(?:<.*>)? \w+ = .*;|return .*;|(?:if|for|while|switch) \(.*\) \{|\} (?:else|catch|finally)\b.*|throw new \w+.*)"
    ),
    "c": re.compile(
        r"\s*(?:#\s*(?:include [<\"]|define \w+|ifn?def \w+|endif|pragma )|(?:static |extern |const |unsigned |inline )*(?:int|void|char|struct \w+|size_t|double|float|long|bool|uint\w+_t) \**\w+.*[;{(,)]|typedef .*|return .*;|(?:if|for|while|switch) \(.*|\w+->\w+.*|std::.*|namespace \w+.*|template ?<.*|using \w+.*;)"
    ),
    "csharp": re.compile(
        r"\s*(?:using [\w.]+;|namespace [\w.]+.*|(?:public|private|internal|protected)(?: static| async| override| sealed| readonly| virtual| partial)* [\w<>\[\]?]+ \w+.*|\[\w+(?:\(.*\))?\]$|var \w+ = .*;|await .*;|get; set;)"
    ),
    "ruby": re.compile(
        r"\s*(?:require(?:_relative)? ['\"].*|def (?:self\.)?\w+[?!]?.*|class [A-Z]\w*(?: < .*)?$|module [A-Z]\w*$|end$|attr_(?:reader|accessor|writer) .*|.*\bdo(?: \|.*\|)?$|puts .*|@\w+ = .*|raise .*|unless .*|elsif .*)"
    ),
    "shell": re.compile(
        r"\s*(?:#!.*\b(?:ba|z|da|k)?sh\b|(?:if|elif|while|until) (?:\[|!|\w).*(?:;|then|do)$|then$|fi$|done(?: .*)?$|esac$|for \w+ in .*|do$|(?:export|local|readonly) \w+=.*|set -[a-z]+.*|echo .*|[A-Za-z_]+=(?:[\"'$].*|\w*)$|\w+\(\) \{|exit \d|case .* in|trap .*|cd \S+.*|(?:sudo|mkdir|rm|cp|mv|curl|tar|grep|sed|docker|git|apt-get|source) .*)"
    ),
    "sql": re.compile(
        r"\s*(?:SELECT\b.*|INSERT INTO .*|CREATE (?:OR REPLACE |UNIQUE |TEMP(?:ORARY)? )?(?:TABLE|INDEX|VIEW|FUNCTION) .*|ALTER TABLE .*|UPDATE \w+.*|DELETE FROM .*|FROM \w+.*|(?:LEFT |INNER |RIGHT |OUTER )*JOIN .*|WHERE .*|GROUP BY .*|ORDER BY .*|HAVING .*|VALUES\b.*|DROP TABLE .*|WITH \w+ AS \(.*|\w+ (?:INT|INTEGER|BIGINT|TEXT|VARCHAR|TIMESTAMP|TIMESTAMPTZ|BOOLEAN|SERIAL|NUMERIC|DATE|UUID)\b.*|LIMIT \d+.*|AND .*|ON .*)",
        re.IGNORECASE,
    ),
}
# What a language shows at least once in any file worth the name.
_ANCHORS: Final = {
    "python": re.compile(
        r"^\s*(?:(?:async )?def \w+\(|class \w+(?:\(.*\))?:|from [\w.]+ import |import [\w.]+(?: as \w+)?$)",
        re.MULTILINE,
    ),
    "typescript": re.compile(
        r"^\s*(?:(?:export )?(?:declare )?(?:interface|type|enum) \w+|(?:private|public|protected|readonly) \w+|(?:export )?(?:async )?function \w+.*\): |(?:const|let) \w+: |import type )|^(?:import|export) .*[;{]$",
        re.MULTILINE,
    ),
    "javascript": re.compile(
        r"^\s*(?:import .* from ['\"]|export |(?:const|let|var) [\w{\[].* = |(?:async )?function\*? ?\w*\(|module\.exports)",
        re.MULTILINE,
    ),
    "go": re.compile(
        r"^(?:package \w+$|func (?:\(\w+ \*?\w+.*\) )?\w+.*\{|type \w+ (?:struct|interface) \{)", re.MULTILINE
    ),
    "rust": re.compile(
        r"^\s*(?:(?:pub(?:\(\w+\))? )?(?:async |unsafe |const )*(?:fn \w+.*[{,(]|struct \w+|enum \w+|trait \w+|mod \w+|use [\w:]+.*;|impl\b.*\{))",
        re.MULTILINE,
    ),
    "java": re.compile(
        r"^\s*(?:(?:import|package) (?:static )?[\w.*]+;|(?:public |private |protected |final |abstract )+(?:class|interface|enum|record) \w+|(?:public|private|protected)(?: static| final)* [\w<>\[\]]+ \w+\(.*\{)",
        re.MULTILINE,
    ),
    "c": re.compile(
        r"^\s*(?:#\s*include [<\"]|(?:static |extern |const |unsigned |inline )*(?:int|void|char|struct \w+|size_t|double|float|bool) \**\w+\(.*[{;,)]$)",
        re.MULTILINE,
    ),
    "csharp": re.compile(r"^\s*(?:using [\w.]+;|namespace [\w.]+)", re.MULTILINE),
    "ruby": re.compile(
        r"^\s*(?:require(?:_relative)? ['\"]|def (?:self\.)?\w+[?!]?(?:\(.*\))?$|class [A-Z]\w*(?: < .*)?$|module [A-Z]\w*$)",
        re.MULTILINE,
    ),
    "shell": re.compile(
        r"\A#!.*\b(?:ba|z|da|k)?sh\b|^\s*(?:if \[.*; then|fi$|done$|\w+\(\) \{|set -[a-z]*e|esac$)", re.MULTILINE
    ),
    "sql": re.compile(
        r"^\s*(?:SELECT\b|INSERT INTO |CREATE (?:OR REPLACE |UNIQUE |TEMP(?:ORARY)? )?(?:TABLE|INDEX|VIEW|FUNCTION) |ALTER TABLE |UPDATE \w+ SET|DELETE FROM |WITH \w+ AS \()",
        re.MULTILINE | re.IGNORECASE,
    ),
}
_NUMBERED: Final = re.compile(r"\s*\d+(?:\t|→|\s\|\s|: | {2})")
_CODE_LINE: Final = re.compile(
    r".*(?:[{};(,\[]|\)|\):|:|\"\"\")\s*$|\s{2,}\S|\s*(?://|/\*|\*|#|--)|@\w|[\w.]+ = \S|[\w.]+\(.*\)\s*$"
)

_MARKDOWN: Final = re.compile(r"#{1,6} \S|\s*[-*+] \S|\s*\d+[.)] \S|```|~~~|> \S|\[.+\]: |={3,}$|-{3,}$|\.\. \w|!\[")
_HEADING: Final = re.compile(r"^#{1,6} \S|^\[[^\]]+\]: \S|^```|\[[^\]\n]+\]\([^)\n]+\)", re.MULTILINE)
_RST: Final = re.compile(r"^\.\. (?:[\w-]+::|_)|^[=~^\"-]{4,}$|::$", re.MULTILINE)
# Vowel signs and full stops of scripts whose letters are counted already.
_MARKS: Final = re.compile(r"[\u0900-\u0dff\u0e31-\u0e4e\u3000-\u303f\uff00-\uffef\u060c\u061b\u061f\u06d4](?<![^\W])")
_SENTENCE: Final = re.compile(r"[.!?…:;,)\"'»”][\s\"')»”]|[.!?…]$|[。！？、，।؟။]")


def code(sample: Sample) -> Detection | None:
    """Source code, by lines that hardly stand anywhere else; a listing with line numbers is code too."""
    lines = [*sample.lines[:48], *sample.lines[48:][-16:]]
    if sum(1 for line in lines if _NUMBERED.match(line)) >= 0.8 * len(lines) > 1:
        lines = [_NUMBERED.sub("", line, count=1) for line in lines]
    looks = sum(1 for line in lines if _CODE_LINE.match(line)) / max(1, len(lines))
    if looks < 0.4:
        return None
    scores = {
        language: sum(1 for line in lines if _LANGUAGES[language].match(line))
        for language, anchor in _ANCHORS.items()
        if any(map(anchor.match, lines))
    }
    # TypeScript is JavaScript with more: its own lines decide for it, and those of JavaScript count for it.
    if scores.get("typescript"):
        scores["typescript"] += scores.pop("javascript", 0)
    if not scores:
        return None
    language = max(scores, key=lambda name: scores[name])
    own = scores[language] / len(lines)
    confidence = 0.95 if own >= 0.2 and looks >= 0.5 else 0.5
    return Detection(content_type=ContentType.CODE, language=language, confidence=confidence) if own >= 0.1 else None


def prose(sample: Sample) -> Detection | None:
    """Sentences in any script, plain or with the marks of Markdown or reStructuredText."""
    head = sample.head[:3000]
    if not sample.lines:
        return Detection(content_type=ContentType.TEXT)
    letters = sum(map(str.isalpha, head)) + sum(map(str.isspace, head)) + len(_MARKS.findall(head))
    marked = sample.share(_MARKDOWN)
    sentences = len(_SENTENCE.findall(head))
    spoken = letters / len(head)
    if _RST.search(sample.head) and ("\n.. " in sample.head or sample.head.startswith(".. ") or "::\n" in sample.head):
        return Detection(content_type=ContentType.TEXT, language="rst", confidence=0.8)
    if _HEADING.search(sample.head) and marked + 0.0 >= 0.05 and spoken >= 0.6:
        return Detection(content_type=ContentType.TEXT, language="markdown", confidence=0.9)
    if spoken >= 0.85 and sentences:
        return Detection(content_type=ContentType.TEXT, confidence=0.9)
    return Detection(content_type=ContentType.TEXT, confidence=0.5) if spoken >= 0.7 else None
