import pickle

import pytest

from ctx_core.errors import InvalidInput
from ctx_core.rehydrate.triggers import CLASSIC_PHRASES, TriggerDetector, TriggerMode

LOOKS_BACK = [
    # English
    "remember when we chose the blue seal?",
    "What did we say about the retry budget?",
    "Like you suggested, I moved the cache.",
    "Can you open the file from yesterday again?",
    "Let's go back to the naming question.",
    "What did we discuss on March 22nd?",
    "Tell me what we talked about 16 days ago.",
    "what were we talking about before lunch",
    "In our third session we drafted a plan, show it.",
    "as I mentioned earlier, it must run offline",
    "Do you remember the port I gave you?",
    "Could you remind me what the second option was?",
    "why did we pick Postgres again?",
    "You told me there was a faster way",
    "pick up where we left off",
    "Where were we?",
    "Remember what crate 3 holds?",
    "I wanted to follow up on our previous conversation about tiles",
    "the approach we discussed, please write it down",
    "Same as last time, please.",
    "What was the name of that library again?",
    # Spanish
    "¿Te acuerdas de cuando elegimos el sello azul?",
    "Como dijiste, moví la caché.",
    "¿Qué acordamos ayer sobre el plazo?",
    "Abre el archivo de ayer",
    "recuérdame qué opción elegimos",
    # German
    "Weißt du noch, welche Dichtung wir genommen haben?",
    "Was haben wir gestern über die Fristen gesagt?",
    "Wie besprochen habe ich den Cache verschoben.",
    "Öffne die Datei von gestern",
    "Du hast mir doch einen Port genannt",
    # French
    "Tu te souviens du joint bleu ?",
    "Comme tu l'as suggéré, j'ai déplacé le cache.",
    "Qu'est-ce qu'on a décidé hier ?",
    "Ouvre le fichier d'hier",
    "Revenons à la question du nom",
    # Chinese
    "你还记得我们选的蓝色密封圈吗？",
    "上次我们讨论的方案是什么？",
    "你之前说的那个端口是多少",
    "打开昨天的文件",
    # Japanese
    "青いシールを選んだ時のこと、覚えていますか？",
    "さっき言った方法で進めてください",
    "前回の話の続きをしましょう",
    "昨日のファイルを開いて",
]

LOOKS_AHEAD = [
    # English
    "I need this before the deadline.",
    "Remember to run the linter.",
    "remind me to call Ann at five",
    "git log --before=2024-01-01 --oneline",
    "Please finish it earlier than planned.",
    "Run the tests before you commit.",
    "How do I go back to the previous page in vim?",
    "What is the previous commit's hash?",
    "Have you heard of Rust?",
    "Book a flight from Paris on May 22nd, returning on May 27th.",
    "Sort by last modified time.",
    "We were founded in 1998; write an about page.",
    "def remember(key): cache[key] = earlier(key)",
    "Beforehand, install the compiler.",
    "What happened in Germany in 1989?",
    "Explain how hash maps remember the insertion order.",
    "The session token expired, how do I refresh it?",
    "You are a helpful pirate. Say hello.",
    "We talk to the API over HTTP, add a retry.",
    "Delete the file from the index.",
    "I don't remember my user id, can you look it up?",
    "`what did we say` is the title of the page",
    "> as you suggested\nWho wrote this quote?",
    # Others
    "Termínalo antes de la fecha límite.",
    "Recuerda comprar leche.",
    "Bitte vor dem Abgabetermin fertig machen.",
    "Erinnere mich daran, Milch zu kaufen.",
    "Termine-le avant la date limite.",
    "N'oublie pas de lancer les tests.",
    "请在截止日期之前完成。",
    "记得要运行测试。",
    "締め切りの前に終わらせてください。",
    "テストを忘れずに実行して。",
    "",
    "   \n",
    "😀",
]


@pytest.mark.parametrize("text", LOOKS_BACK)
def test_it_fires_on_what_looks_back(text):
    fired = TriggerDetector().detect(text)
    assert fired
    assert fired.lower() in text.lower().replace("’", "'")


@pytest.mark.parametrize("text", LOOKS_AHEAD)
def test_it_stays_quiet_on_what_does_not(text):
    assert TriggerDetector().detect(text) is None


def test_phrases_fire_as_whole_words_only():
    detector = TriggerDetector(mode="phrases")
    assert detector.phrases == CLASSIC_PHRASES
    assert detector.detect("Earlier we spoke") == "Earlier"
    assert detector.detect("beforehand, remembering") is None
    assert (
        TriggerDetector(mode="phrases", phrases=["c++ part", "先日"]).detect("the C++ part and 先日の話") == "C++ part"
    )


def test_phrases_add_to_look_back():
    detector = TriggerDetector(phrases=["the saga"])
    assert detector.detect("tell me the saga") == "the saga"
    assert detector.detect("what did we decide?") is not None


def test_always_and_a_function_decide_for_themselves():
    assert TriggerDetector(mode="always").detect("hi") == "always"
    assert TriggerDetector(mode=TriggerMode.ALWAYS).detect("  ") is None
    assert TriggerDetector(mode=lambda text: "yes" if "x" in text else "").detect("axb") == "yes"
    assert TriggerDetector(mode=lambda _: "").detect("axb") is None


def test_an_unknown_mode_is_refused():
    with pytest.raises(InvalidInput, match="look_back"):
        TriggerDetector(mode="sometimes")


def test_what_was_pasted_does_not_fire_and_does_not_cost():
    pasted = "```\nas you suggested, remember when we spoke\n```\nwhat does this code do?"
    assert TriggerDetector().detect(pasted) is None
    assert TriggerDetector().detect("x" * 5_000_000 + " what did we decide?") == "did we decide"


def test_it_pickles():
    assert pickle.loads(pickle.dumps(TriggerDetector(phrases=["a b"]))).detect("a b") == "a b"
