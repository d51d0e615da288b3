import pickle
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx_core.errors import InvalidInput, StoreCorrupt
from ctx_core.rehydrate.reference_frames import read_frame
from ctx_core.rehydrate.reference_patterns import find_reference, load_patterns
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
    assert TriggerDetector().detect("x" * 5_000_000 + " what did we decide?") == "what did we decide"


def test_it_pickles():
    assert pickle.loads(pickle.dumps(TriggerDetector(phrases=["a b"]))).detect("a b") == "a b"


CORPUS = Path(__file__).with_name("look_back")
MAIN_LANGUAGES = ("de", "en", "es", "fr", "it", "pt")
OTHER_LANGUAGES = ("ar", "hi", "ja", "ko", "nl", "pl", "ru", "tr", "zh")


def read_corpus(*languages):
    """Return sentences that look back and sentences that do not, as `language: sentence`."""
    lines = [(name, line) for name in languages for line in (CORPUS / f"{name}.txt").read_text("utf-8").splitlines()]
    return [[f"{name}: {line[2:]}" for name, line in lines if line[0] == sign] for sign in "+-"]


@pytest.mark.parametrize("language", MAIN_LANGUAGES)
def test_a_main_language_recalls_95_of_100_and_raises_3_false_alarms_of_100(language):
    looks_back, looks_ahead = read_corpus(language)
    missed, alarms = find_errors(looks_back, looks_ahead)
    assert len(missed) <= 0.05 * len(looks_back), missed
    assert len(alarms) <= 0.03 * len(looks_ahead), alarms


def test_nine_more_languages_recall_95_of_100_and_raise_5_false_alarms_of_100():
    looks_back, looks_ahead = read_corpus(*OTHER_LANGUAGES)
    missed, alarms = find_errors(looks_back, looks_ahead)
    assert len(missed) <= 0.05 * len(looks_back), missed
    assert len(alarms) <= 0.05 * len(looks_ahead), alarms


def find_errors(looks_back, looks_ahead):
    fires = TriggerDetector().detect
    return (
        [text for text in looks_back if not fires(text.split(": ", 1)[1])],
        [text for text in looks_ahead if fires(text.split(": ", 1)[1])],
    )


@pytest.mark.parametrize(
    "text",
    [
        "Fwd: Hi Ann, as discussed, the price is final.\nWhat should I answer?",
        "Translate: do you remember me?",
        'The song "What did we decide" is stuck in my head.',
        "「前に言ったよね」は英語でどう言う？",
        "As I said to my boss, the numbers are wrong.",
    ],
)
def test_what_is_quoted_or_said_to_others_does_not_fire(text):
    assert TriggerDetector().detect(text) is None


@pytest.mark.parametrize(
    "text", ["do you remeber what i said", "waht was that book you recomended", "wat did we discus yesterday"]
)
def test_slips_of_typing_still_fire(text):
    assert TriggerDetector().detect(text) is not None


@given(st.text(max_size=200), st.sampled_from(LOOKS_BACK))
def test_any_text_is_read_and_what_fired_stands_in_it(noise, text):
    for one in (noise, f"{noise} {text}", f"{text} {noise}"):
        fired = TriggerDetector().detect(one)
        assert fired is None or fired in one


def test_work_grows_no_faster_than_a_message():
    def count_steps(text):
        steps = 0

        def count(*_):
            nonlocal steps
            steps += 1

        load_patterns()
        sys.setprofile(count)
        try:
            find_reference(text)
        finally:
            sys.setprofile(None)
        return steps

    short, long = (count_steps("what did you see when we went where the " * times) for times in (30, 60))
    assert long < 3 * short


def test_a_frame_says_what_is_wrong_with_it():
    for line, message in (("..3 we", "begin with"), ("what SAID", "no word list SAID"), ("what |", "no word")):
        with pytest.raises(StoreCorrupt, match=message):
            read_frame(line, {})
