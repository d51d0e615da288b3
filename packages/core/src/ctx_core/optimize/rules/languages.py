"""How lines of each programming language look."""

from __future__ import annotations

import re
from typing import Final

# Lines that hardly stand anywhere but in source code of that language.
LINES: Final = {
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
        r"\s*(?:(?:pub(?:\(\w+\))? )?(?:async |unsafe |const )*(?:fn \w+|struct \w+|enum \w+|trait \w+|mod \w+|use \w+::|impl\b|static \w+:)|let (?:mut )?\w+.*|#!?\[\w+.*\]|match .* \{|\S+ => .*|//[/!] .*|\w+!\(.*\);?)"
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
ANCHORS: Final = {
    "python": re.compile(
        r"\s*(?:(?:async )?def \w+\(|class \w+(?:\(.*\))?:|from [\w.]+ import |import [\w.]+(?: as \w+)?$)",
    ),
    "typescript": re.compile(
        r"\s*(?:(?:export )?(?:declare )?(?:interface|type|enum) \w+|(?:private|public|protected|readonly) \w+|(?:export )?(?:async )?function \w+.*\): |(?:const|let) \w+: |import type )",
    ),
    "javascript": re.compile(
        r"\s*(?:import .* from ['\"]|export |(?:const|let|var) [\w{\[].* = .*[;({\[>]$|(?:async )?function\*? ?\w*\(|module\.exports)",
    ),
    "go": re.compile(r"(?:package \w+$|func (?:\(\w+ \*?\w+.*\) )?\w+.*\{|type \w+ (?:struct|interface) \{)"),
    "rust": re.compile(
        r"\s*(?:(?:pub(?:\(\w+\))? )?(?:async |unsafe |const )*(?:fn \w+.*[{,(]|struct \w+|enum \w+|trait \w+|mod \w+|use \w+::.*[;{]|impl\b.*\{))",
    ),
    "java": re.compile(
        r"\s*(?:(?:import|package) (?:static )?[\w.*]+;|(?:public |private |protected |final |abstract )+(?:class|interface|enum|record) \w+|(?:public|private|protected)(?: static| final)* [\w<>\[\]]+ \w+\(.*\{)",
    ),
    "c": re.compile(
        r"\s*(?:#\s*include [<\"]|(?:static |extern |const |unsigned |inline )*(?:int|void|char|struct \w+|size_t|double|float|bool) \**\w+\(.*[{;,)]$)",
    ),
    "csharp": re.compile(r"\s*(?:using [\w.]+;|namespace [\w.]+)"),
    "ruby": re.compile(
        r"\s*(?:require(?:_relative)? ['\"]|def (?:self\.)?\w+[?!]?(?:\(.*\))?$|class [A-Z]\w*(?: < .*)?$|module [A-Z]\w*$)",
    ),
    "shell": re.compile(r"\A#!.*\b(?:ba|z|da|k)?sh\b|^\s*(?:if \[.*; then|fi$|done$|\w+\(\) \{|set -[a-z]*e|esac$)"),
    "sql": re.compile(
        r"\s*(?:SELECT\b|INSERT INTO |CREATE (?:OR REPLACE |UNIQUE |TEMP(?:ORARY)? )?(?:TABLE|INDEX|VIEW|FUNCTION) |ALTER TABLE |UPDATE \w+ SET|DELETE FROM |WITH \w+ AS \()",
        re.IGNORECASE,
    ),
}
