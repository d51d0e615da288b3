"""How people refer to an earlier conversation, by language: one table of patterns each, joined into one expression.

A pattern names who spoke (`we`, `you`) and a verb of the past, or a thing that only a shared past has. Words that merely order
events (`before the deadline`) or ask for a reminder (`remember to`) are in no pattern.
"""

# ruff: noqa: ISC004 - a pattern may take several lines

from __future__ import annotations

import re
from typing import Final

# Verbs for what a conversation does: in their past form, and as they stand after "did".
_SAID: Final = (
    "discussed|talked|chatted|spoke|spoken|said|mentioned|covered|agreed|decided|settled|concluded|established|debated|went over|"
    "gone over|brainstormed|explored|reviewed|worked|looked at|came up with|left off|left it|landed on|went with|chose|picked|"
    "planned|drafted|outlined|tried|built|fixed|debugged|solved|set up|designed|implemented|configured|named|started|figured out"
)
_SAY: Final = (
    "discuss|talk|chat|speak|say|mention|cover|agree|decide|settle|conclude|establish|debate|go over|brainstorm|explore|review|"
    "work|look at|come up with|leave|land on|go with|choose|pick|plan|draft|outline|try|build|fix|debug|solve|set up|design|"
    "implement|configure|name|figure out"
)
_GAVE: Final = (
    "said|told|suggested|mentioned|recommended|provided|explained|listed|proposed|promised|described|advised|shared|noted|"
    "pointed out|came up with|gave|wrote|showed|shown|given|written|outlined|quoted|cited|referenced|referred to|brought up|"
    "drafted|generated|created|identified|included"
)
_GIVE: Final = (
    "say|tell|suggest|mention|recommend|provide|explain|list|propose|promise|describe|advise|share|note|point out|give|write|"
    "show|outline|bring up|draft|generate|call"
)
_TALK: Final = "conversations?|chats?|discussions?|sessions?|talks?|exchanges?|messages?|threads?|dialogues?"
_ORDINAL: Final = (
    r"\d+(?:st|nd|rd|th)|(?:\w+ty[- ])?(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)|tenth|eleventh|twelfth|"
    r"\w+teenth|\w+tieth"
)
_ADVERB: Final = r"(?:(?:\w+ly|both|all|just|had|have|'ve|'d|once|last|even|also|first)\s+){0,2}"
_AGO: Final = (
    r"yesterday|earlier|before|last (?:time|week|month|year|night|session|mon|tues|wednes|thurs|fri|satur|sun)\w*|"
    r"the other (?:day|week)|this morning|\w+ (?:days?|weeks?|months?|sessions?|hours?) ago"
)

_ENGLISH: Final = (
    # What we said, what you gave me, what I told you.
    r"\bwhat (?:we|you and i) (?:talk|chat|spoke|discuss)\w*",
    rf"\b(?:did|had|have) (?:we|you and i) (?:\w+ly )?(?:{_SAY}|{_SAID})\b",
    rf"\b(?:when|what|which|where|how|why|that|as|like|than|since|the \w+(?:[ -]\w+)?|earlier|before|everything|anything|something|"
    rf"things|one|ones|topics?)\s+(?:we|you and i)(?:'d|'ve| had| have)?\s+{_ADVERB}(?:{_SAID})\b",
    rf"\bwe(?:'d|'ve| had| have)? (?:previously|already|earlier|just|originally|initially) (?:{_SAID})\b",
    r"\bwe (?:discussed|talked about|chatted about|spoke about|went over|agreed (?:on|that|to)|decided (?:on|that|to)|settled on)\b",
    r"\bwe(?:'ve| have) been (?:discuss|talk|work|chat|look)ing\b",
    r"\b(?:were|was) (?:we|you|i) (?:just )?(?:discuss|talk|say|work|tell|suggest|mention|ask|chat)ing\b",
    r"\bwe were (?:just )?(?:discuss|talk|say|work|chat|look|try|debat)ing\b",
    r"\bwhere (?:were we\b|did we (?:leave|stop|get|end)\b)",
    r"\bwas (?:talked about|chatted about|discussed|decided|agreed)\b.{0,40}\b(?:on|in|from|between|over|during|last|ago|yesterday|"
    r"january|february|march|april|may|june|july|august|september|october|november|december|we|our|us)\b",
    rf"\byou(?:'d|'ve| had)?\s+{_ADVERB}(?:{_GAVE})\b(?! (?:by|up)\b)",
    rf"\bdid you (?:\w+ly )?(?:{_GIVE})\b",
    r"\byour (?:earlier|previous|last|first|original|prior|initial|second|third) (?:\w+ )?(?:suggestion|recommendation|answer|response|"
    r"reply|idea|proposal|message|advice|explanation|example|version|draft|point|list|plan|estimate)s?\b",
    r"\bi(?:'d|'ve| had| have)? (?:\w+ )?(?:told|asked|showed|sent|gave) you\b",
    r"\bi(?:'d|'ve| had| have)? (?:previously|already|earlier) (?:said|mentioned|told|asked|shared|explained|described)\b",
    r"\bi (?:said|mentioned|asked|shared|explained|described|brought up)\b.{0,60}\b(?:earlier|before|previously|last time|yesterday)\b",
    r"\bas i (?:said|mentioned|told you|explained)\b",
    r"\b(?:did|have) i (?:\w+ )?(?:mention(?:ed)?|tell|told|say|said|ask(?:ed)?|give|given|share[d]?|show(?:n|ed)?)\b",
    # Remember, recall, remind: of something, never to do something.
    r"\bremember when\b",
    r"\bremember(?:ing)? (?:when|what|which|where|who|why|how|that|we|you|i|me|us) (?:we|you|i|the|my|our|your|said|saying|telling|told|"
    r"talking|discussing|it|he|she|they|was|were|is|time|to do)\b",
    r"(?:^|[.!?;\n]\s*|\b(?:i|we|you|you'll|still|as i) )remember (?:the|that|those|this|our|my|your|last|earlier|it|we|you|i|what|which|where|who|why|how(?! to))\b",
    r"\bdo you (?:still )?(?:remember|recall)\b(?! to\b)",
    r"\b(?:recall|recollect) (?:when|how|that|what|which|where|who|why|the|those|our|your|we|you|i|me|us)\b",
    r"\b(?:if|as) (?:i|you|we) (?:\w+ )?(?:recall|remember)\b",
    r"\bremind me (?:again )?(?:what|which|who|whom|whose|where|when|how|why|if we|whether we|of (?:the|what|that|our|your|a|those|some|"
    r"how|where|who|which|any|its|his|her|their))\b",
    r"\b(?:refresh|jog) my memory\b",
    # The conversation itself.
    rf"\b(?:our|the|that|this|your|my|an?)\s+(?:\w+\s+)?(?:previous|last|earlier|prior|past|recent|former|initial|"
    rf"other|{_ORDINAL})\s+(?:\w+\s+)?(?:{_TALK})\b(?! (?:id|key|token|cookie)\b)",
    r"\b(?:looking|thinking|going) back (?:at|on|over|to|through) (?:our|what we|your|that|the (?:conversation|chat|discussion|thing))\b",
    r"\bour (?:previous|last|earlier|prior) (?:\w+ )?(?:game|story|role-?play|exercise|recipe|brainstorm\w*|planning|exploration|lesson)\b",
    rf"\b(?:previous|earlier|last) (?:{_TALK}) (?:about|on|with you|we|where|regarding)\b",
    rf"\b(?:\d+|a|one|two|three|four|five|few|several|couple of|some) (?:{_TALK}) ago\b",
    rf"\bour (?:{_TALK})\b.{{0,20}}\b(?:about|on|from|last|yesterday|regarding|ago)\b",
    rf"\bearlier in (?:this|our|the) (?:{_TALK})\b",
    r"\b(?:last|first) time (?:we|you|i) (?:\w+ )?(?:discuss|talk|spoke|speak|chat|met|said|mention|asked|told|did|used|tried|worked|ran)\w*",
    r"\b(?:like|as|from|than|since|same as|did|do|used) (?:the )?last time\b",
    r"\b(?:as|like) (?:discussed|mentioned|agreed|before|you said|we said|we agreed)\b",
    r"\b(?:previously|earlier) (?:discussed|mentioned|agreed|suggested|said|shared|provided|covered|recommended)\b",
    r"\b(?:you|we|i) .{0,60}\b(?:said|mentioned|discussed|shared|provided|suggested|recommended|told me|talked about|gave me|listed)\b"
    r".{0,30}\b(?:earlier|previously|before|last time|yesterday)\b",
    r"\bearlier,? (?:you|we|i)\b",
    r"\b(?:picking|pick|continue|continuing|resume|start) (?:it |things )?(?:up )?(?:from )?where (?:we|i|you) (?:left|stopped|were)\b",
    # Going back to it.
    r"(?:^|[.!?;:\n]\s*|\b(?:let'?s|let us|can we|could we|shall we|can you|please|i(?:'d like| want| need) to|we (?:should|need to)|now|ok(?:ay)?,?)\s+)"
    r"(?:go|going|circl(?:e|ing)|com(?:e|ing)|get|getting|jump|switch|return|returning)(?: back)? (?<=back )to "
    r"(?:the (?!(?:\w+ )?(?:page|screen|menu|app|site|website|store|shop|office|hotel|airport|commit|branch|folder|directory|tab|step|start|top)\b)|"
    r"that|your|our|what|where we|my (?:\w+ )?(?:question|point|idea|plan|problem))\w*",
    r"\b(?:revisit|returning to) (?:the|that|our|your|what|my) .{0,30}\b(?:idea|question|plan|topic|discussion|point|decision|issue|we|you|earlier)\b",
    # A thing from back then.
    rf"\b(?:the|that|those|these|this)\s+(?:[\w'-]+\s+){{1,4}}(?:from|of) (?:{_AGO})(?! (?:to|until|through)\b)",
    r"\bwhat (?:was|were) (?:the name|that|those|it|the one)\b.{0,80}\bagain\b",
    r"\bwhich (?:one )?was (?:it|that)(?: again)?\b.{0,40}\bagain\b",
    rf"\bwhat (?:else )?(?:did|have) (?:i|we) .{{0,60}}\b(?:{_AGO})\b",
    r"\b(?:following|follow) up on (?:our|your|the|what|that) .{0,30}\b(?:conversation|chat|discussion|session|suggestion|earlier|previous|you|we)\b",
)

_SPANISH: Final = (
    r"\b(?:te acuerdas|se acuerda|os acordáis|recuerdas|recuerda usted|acuérdate de (?:lo|cuando|la|el)|recuerda (?:cuando|que (?:hab|dij|me|te|"
    r"acord|qued|hic)|lo que))",
    r"\brecu[eé]rdame (?:qué|cuál|cómo|quién|dónde|cuándo|lo que|el nombre|de qué|por qué)\b",
    r"\b(?:hablamos|dijimos|discutimos|acordamos|comentamos|decidimos|quedamos|conversamos|charlamos|vimos|mencionamos) (?:sobre|de|que|en|"
    r"ayer|antes|la|el|hace|anteriormente)\b|\b(?:qué|que|como|lo que|cuando|donde|cuándo) (?:hablamos|dijimos|discutimos|acordamos|comentamos|"
    r"decidimos|quedamos|conversamos|charlamos|habíamos \w+|hemos \w+)\b",
    r"\b(?:como|lo que|que|qué|cuando|antes) (?:me |te |nos |ya )?(?:dijiste|mencionaste|sugeriste|recomendaste|comentaste|explicaste|contaste|"
    r"propusiste|diste|dije|mencioné|comenté|pedí|había dicho|habías dicho)\b",
    r"\bme (?:dijiste|recomendaste|sugeriste|comentaste|contaste|explicaste|diste|mencionaste)\b",
    r"\b(?:como|desde|que) la (?:última|otra) vez\b|\bla última vez que (?:habl|charl|convers|vimos|nos)\w*",
    r"\b(?:volvamos|volviendo|volver|regresemos|retomemos|retomando|retomar) (?:a|al|el|la|lo)\b(?= (?:\w+ ){0,3}(?:que|tema|plan|idea|asunto|punto|"
    r"anterior|conversación|pregunta|de))",
    r"\b(?:nuestra|la|nuestro|el) (?:última |anterior )?(?:conversación|charla|sesión|chat|discusión)(?: (?:anterior|pasada|previa|de ayer|"
    r"pasado|previo))\b|\bnuestra (?:última|anterior) (?:conversación|charla|sesión|discusión)\b",
    r"\b(?:el|la|los|las|ese|esa|aquel|aquella) \w+ (?:\w+ )?(?:de|del) (?:ayer|antes|la semana pasada|el otro día|otro día|mes pasado|esta mañana)\b",
)

_GERMAN: Final = (
    r"\b(?:erinnerst du dich|erinnern sie sich|erinnert ihr euch|weißt du noch|wissen sie noch|du erinnerst dich)\b",
    r"\b(?:wir|du|sie|ich)(?: \w+){0,8} (?:besprochen|gesagt|vereinbart|erwähnt|geredet|gesprochen|vorgeschlagen|beschlossen|diskutiert|"
    r"empfohlen|ausgemacht|erzählt|festgelegt|entschieden|gezeigt|geschickt|erklärt|genannt)(?: (?:hatten|haben|hattest|hast|hatte|habe|hat))?\b",
    r"\bwie (?:besprochen|vereinbart|vorhin|erwähnt|abgemacht|ausgemacht|letztes mal|beim letzten mal|gestern)\b",
    r"\b(?:wovon|worüber|von was|über was) (?:sprachen|redeten|haben|hatten) wir\b",
    r"\b(?:beim|vom|das|wie) (?:letzten|letzte) mal\b",
    r"\bvorhin\b",
    r"\b(?:zurück|zurückkommen|zurückkommend) (?:zu|zum|zur|auf) (?:unser\w*|dein\w*|dem|der|die|das|deinem|was|meiner frage)\b(?! (?:seite|start\w*|menü))",
    r"\b(?:unser\w*|dem|das|im|vom) (?:letzt|vorig|früher|vorherig|gestrig)\w* (?:gespräch|unterhaltung|chat|diskussion|sitzung|austausch)\w*",
    r"\b(?:der|die|das|den|dem|diese[mnrs]?) [\w-]+ (?:von|aus) (?:gestern|vorhin|letzter woche|neulich|letztem mal|heute morgen)\b",
    r"\b(?:schlugst|sagtest|erwähntest|meintest|empfahlst) du\b|\bdu (?:sagtest|erwähntest|meintest|empfahlst)\b",
)

_FRENCH: Final = (
    r"\b(?:tu te (?:souviens|rappelles)|vous vous (?:souvenez|rappelez)|te (?:souviens|rappelles)[- ]tu|souvenez[- ]vous|souviens[- ]toi|"
    r"vous rappelez[- ]vous)\b",
    r"\brappelle[sz]?[- ]moi (?:ce que|ce qu'|quel\w*|le nom|qui|comment|où|quand|pourquoi)",
    r"\b(?:comme|ce que|que|ce dont|dont|quand)? ?(?:tu|vous) (?:m'|me |l'|nous )?(?:as|avez|avais|aviez) (?:\w+ )?(?:dit|suggéré|proposé|mentionné|"
    r"conseillé|recommandé|expliqué|donné|parlé|montré|indiqué|écrit)e?s?\b",
    r"\b(?:on|nous) (?:en )?(?:a|avons|avait|avions) (?:\w+ )?(?:dit|parlé|discuté|décidé|convenu|choisi|évoqué|abordé|vu ensemble)e?s?\b",
    r"\b(?:avons|avions)[- ]nous (?:\w+ )?(?:dit|parlé|discuté|décidé|convenu|choisi|évoqué)e?s?\b|\ba[- ]t[- ]on (?:dit|parlé|discuté|décidé)\b",
    r"\bje (?:t'|vous |te l'|vous l')(?:ai|avais) (?:\w+ )?(?:dit|envoyé|donné|parlé|montré|demandé)e?s?\b",
    r"\b(?:comme|depuis|que) la dernière fois\b|\bla dernière fois (?:que|qu')",
    r"\b(?:revenons|revenir|revenant|retournons) (?:à|au|aux|sur) (?:la|le|l'|ce|cette|notre|votre|ta|ton|ma|mon)\b|\brevenons (?:au|aux|à|sur)\b",
    r"\bnotre (?:dernière|précédente|conversation|discussion|échange|dernier|précédent)(?: \w+)?\b(?<!notre dernière version)",
    r"\b(?:le|la|les|l'|ce|cette|cet)\s?\w+ (?:d'hier|de (?:la semaine dernière|ce matin|l'autre jour|tout à l'heure|la dernière fois))\b",
    r"\bcomme (?:convenu|discuté|mentionné|évoqué)\b",
)

_CHINESE: Final = (
    r"还记得|還記得|记不记得|(?:你|您)记得|记得(?:我们|你|我|上次|之前|当时|昨天|那)|記得(?:我們|你|我|上次|之前)",
    r"(?:^|[，。？！、,\s]|你|我|们|們|您|咱)(?:之前|先前|以前|早前|刚才|剛才|刚刚|方才|前面)(?:你|我|咱|说|說|提|聊|讨论|討論|谈|談|讲|講|的|给|給|建议|推荐|问|約|约|定)",
    r"上(?:次|一次|回)(?:的|我|你|咱|说|說|聊|提|谈|談|讨论|討論|讲|那)|(?:跟|和|像|按)上次",
    r"(?:你|您)(?:说过|說過|提到的|提到过|提过|建议的|推荐的|告诉过|給過|给过|讲过|给我的|说的)",
    r"(?:我们|我們|咱们|我|咱)(?:之前|上次|昨天|前天|上周|那天|刚才|曾经|曾)?(?:都)?(?:讨论|討論|聊|谈|談|说|說|提|商量|约定|决定)(?:过|過|了|的|到)",
    r"(?:昨天|前天|上周|上週|上个月|那天)(?:的那|我们|我們|你|说|說|聊|谈|那个|那個|的(?:文件|方案|对话|對話|问题|問題|讨论|计划|代码|内容))",
    r"回到(?:刚才|剛才|之前|上次|我们|我們|那个|那個|前面|你)",
)

_JAPANESE: Final = (
    r"覚えて(?:い)?(?:る|ます|ない)|覚えてる",
    r"(?:さっき|先ほど|先程|この前|この間|こないだ|前回|先日|以前)(?:の|、|は|も|に)?(?:話|言|教|説明|提案|相談|お|ファイル|件|やつ|質問|内容|コード|続き|決|勧|紹介|送|見せ|聞|何|どこ|私|会話|案|計画)",
    r"(?:^|[、。\s]|たち|が|は|も)前に(?:も)?(?:話|言|教え|聞|相談|説明|提案|お話|見せ|送|紹介|決め|勧め)\S{0,6}(?:た|て)",
    r"(?:昨日|おととい|一昨日|先週|先月)(?:の(?:ファイル|話|件|会話|続き|やつ|質問|案|コード|内容|計画)|、?(?:私たち|我々|あなた|君)?(?:は|が|に|と)?\S{0,8}(?:話し|言っ|教え|相談し|提案し|決め|送っ)\S{0,4}た)",
    r"(?:話|言|教|提案|相談|説明|紹介|おすすめ)(?:し|っ|え|い)?(?:た|てくれた|ていた|てた|ました)(?:よね|っけ|件|あの|やつ|とおり|通り|ように)",
    r"何(?:を|について)(?:話し?|議論し|相談し|決め)(?:合|い|まし|た)+|(?:話|件|質問|議題|テーマ|計画)に戻(?:り|ろ|っ|る|し)",
    r"(?:あなた|君|きみ)が(?:言|提案|勧め|教え|おすすめ|紹介)\S{0,6}た",
)

_FLAGS: Final = re.IGNORECASE | re.DOTALL

# No pattern of a language can match without one of its words here. Looking for them costs a tenth of trying the patterns.
_GATES: Final = {
    _ENGLISH: "we you i your our me remember remembering recall recollect memory remind last earlier previous previously before ago "
    "yesterday again talked chatted discussed decided agreed mentioned first other go going return returning get jump switch come "
    "coming circl circling continue continuing start sessions session conversation conversations discussion discussions chat revisit "
    "back following follow time morning",
    _SPANISH: "te se os acuerdas acuerda recuerdas recuerda recuérdame recuerdame acuérdate hablamos dijimos discutimos acordamos "
    "comentamos decidimos quedamos conversamos charlamos vimos mencionamos habíamos hemos me nos ya como que qué lo cuando antes vez "
    "volvamos volviendo volver regresemos retomemos retomando retomar nuestra nuestro ayer pasada pasado mañana día",
    _GERMAN: "erinnerst erinnern erinnert weißt wissen wir du sie ich wie wovon worüber was mal vorhin zurück zurückkommen "
    "zurückkommend gespräch unterhaltung chat diskussion sitzung austausch gestern neulich woche morgen",
    _FRENCH: "tu te vous souviens souvenez rappelles rappelle rappelez on nous a avons avions je fois revenons revenir revenant "
    "retournons notre hier dernière matin jour convenu discuté mentionné évoqué heure comme",
}

LATIN: Final = tuple((frozenset(words.split()), re.compile("|".join(table), _FLAGS)) for table, words in _GATES.items())
"""For each language written in Latin letters, words without which nothing matches, and one expression."""

CJK: Final = tuple(re.compile("|".join(table), _FLAGS) for table in (_CHINESE, _JAPANESE))
"""One expression for each language written without spaces."""
