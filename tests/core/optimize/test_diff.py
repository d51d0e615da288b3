"""Diffs: changed lines survive, and what a hunk header says stays true."""

import difflib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from ctx_core.optimize.compressors.base import Budget
from ctx_core.optimize.compressors.diff import DiffCompressor
from ctx_core.optimize.content import ContentType
from ctx_core.optimize.router import ContentRouter
from ctx_core.tokens import TokenCounter

NATURAL = Budget()
COUNT = TokenCounter()
HEADER = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")

LINES = st.lists(
    st.sampled_from(["alpha = 1", "beta = compute(alpha)", "", "-- dashes", "++ plus", "end"]), max_size=60
)


def changed(text: str) -> list[str]:
    return [line for line in text.split("\n") if line[:1] in ("+", "-") and not line.startswith(("+++ ", "--- "))]


def unified(old: list[str], new: list[str], *, name: str = "app.py", context: int = 3) -> str:
    return "\n".join(difflib.unified_diff(old, new, f"a/{name}", f"b/{name}", n=context, lineterm=""))


def long_diff(files: int = 12, *, name: str = "src/mod{}.py") -> str:
    parts = []
    for number in range(files):
        old = [f"line {at} of module {number}, which does not change" for at in range(60)]
        new = [f"{line} # touched" if at % 13 == 5 else line for at, line in enumerate(old)]
        parts += [f"diff --git a/{name.format(number)} b/{name.format(number)}", "index 1111111..2222222 100644"]
        parts.append(unified(old, new, name=name.format(number)))
    return "\n".join(parts) + "\n"


def check_headers(diff: str, old: list[str], new: list[str]) -> None:
    """Every row of every hunk stands in the versions where its header says."""
    rows = iter(diff.split("\n"))
    for line in rows:
        match = HEADER.match(line)
        if not match:
            continue
        old_at, old_left, new_at, new_left = (int(group) if group else 1 for group in match.groups())
        old_at, new_at = old_at or 1, new_at or 1
        while old_left or new_left:
            row = next(rows)
            if row[:1] in (" ", "-"):
                assert old[old_at - 1] == row[1:]
                old_at, old_left = old_at + 1, old_left - 1
            if row[:1] in (" ", "+"):
                assert new[new_at - 1] == row[1:]
                new_at, new_left = new_at + 1, new_left - 1
            assert row[:1] in (" ", "-", "+")


@given(LINES, LINES, st.sampled_from([None, 400, 120, 60]), st.integers(0, 5))
def test_headers_stay_true_at_every_level(old, new, max_tokens, context):
    # Distinct lines, so that a wrong number cannot point at an equal line.
    old, new = ([f"{line} {at // 2}" for at, line in enumerate(lines)] for lines in (old, new))
    shown = DiffCompressor().compress(unified(old, new, context=context), Budget(max_tokens=max_tokens)).text
    check_headers(shown, old, new)


@given(LINES, LINES)
def test_natural_level_keeps_every_changed_line_in_order(old, new):
    text = unified(old, new)
    result = DiffCompressor().compress(text, NATURAL)
    assert changed(result.text) == changed(text)
    assert COUNT(result.text) <= COUNT(text)
    assert result.lossless == (result.text == text)


@given(st.text(st.sampled_from("@+-, 123\n\\ ab\r\ud800\x00"), max_size=300), st.sampled_from([None, 40]))
def test_any_text_gives_a_stable_result(text, max_tokens):
    budget = Budget(max_tokens=max_tokens)
    text = f"--- a\n+++ b\n@@ -1,3 +1,2 @@\n{text}"
    once = DiffCompressor().compress(text, budget).text
    assert DiffCompressor().compress(once, budget).text == once
    assert len(once) <= len(text) or max_tokens


@pytest.mark.parametrize("max_tokens", [900, 400, 200, 100, 60, 32])
def test_over_budget_leaves_out_whole_hunks_with_true_counts(max_tokens):
    text = long_diff()
    result = DiffCompressor().compress(text, Budget(max_tokens=max_tokens))
    assert COUNT(result.text) <= max_tokens
    counts = {omission.what: omission.count for omission in result.omissions}
    assert len(changed(text)) - len(changed(result.text)) == counts.get("changed lines", 0)
    assert result.text.count("no longer applies") == 1


def test_counts_stand_where_lines_were_left_out():
    result = DiffCompressor().compress(long_diff(3), Budget(max_tokens=190))
    assert result.text == snapshot("""\
diff --git a/src/mod0.py b/src/mod0.py
@@ -6 +6 @@
-line 5 of module 0, which does not change
+line 5 of module 0, which does not change # touched
[… 8 changed lines left out]
diff --git a/src/mod1.py b/src/mod1.py
@@ -6 +6 @@
-line 5 of module 1, which does not change
+line 5 of module 1, which does not change # touched
[… 8 changed lines left out]
diff --git a/src/mod2.py b/src/mod2.py
[… 10 changed lines left out]
[shortened diff, no longer applies: 3 index lines, 87 context lines, 26 changed lines left out]
""")


def test_little_context_is_left_around_a_change():
    old = [f"step {at} of the long and winding road" for at in range(1, 30)]
    new = [line.replace("step 15", "leap 15") for line in old]
    text = "diff --git a/road.txt b/road.txt\nindex 1..2 100644\n" + unified(old, new, name="road.txt") + "\n"
    assert DiffCompressor().compress(text, NATURAL).text == snapshot("""\
diff --git a/road.txt b/road.txt
--- a/road.txt
+++ b/road.txt
@@ -14,3 +14,3 @@
 step 14 of the long and winding road
-step 15 of the long and winding road
+leap 15 of the long and winding road
 step 16 of the long and winding road
[shortened diff, no longer applies: 1 index line, 4 context lines left out]
""")


def test_marker_for_a_missing_newline_follows_the_line_it_describes():
    text = (
        "--- a/notes\n+++ b/notes\n@@ -1,17 +1,17 @@\n-first thing of all\n+First thing of all\n"
        + "".join(f" unchanged line number {at}\n" for at in range(15))
        + "-last thing\n\\ No newline at end of file\n+last thing of all\n\\ No newline at end of file"
    )
    shown = DiffCompressor().compress(text, NATURAL).text
    assert shown == snapshot("""\
--- a/notes
+++ b/notes
@@ -1,2 +1,2 @@
-first thing of all
+First thing of all
 unchanged line number 0
@@ -16,2 +16,2 @@
 unchanged line number 14
-last thing
\\ No newline at end of file
+last thing of all
\\ No newline at end of file
[shortened diff, no longer applies: 13 context lines left out]\
""")


def test_marker_goes_with_the_context_line_it_describes():
    text = (
        "--- a/f\n+++ b/f\n@@ -1,6 +1,6 @@\n-a\n+A\n"
        + " context that nobody needs to see\n" * 5
        + "\\ No newline at end of file"
    )
    shown = DiffCompressor().compress(text, NATURAL)
    assert "\\ No newline" not in shown.text
    assert [(o.what, o.count) for o in shown.omissions] == [("context lines", 4)]


def test_lock_file_folds_to_a_count_and_source_stays():
    lock = unified(
        [f'version = "1.{at}"' for at in range(40)], [f'version = "2.{at}"' for at in range(40)], name="uv.lock"
    )
    code = unified(["x = 1"], ["x = 2"], name="app.py")
    text = f"diff --git a/uv.lock b/uv.lock\n{lock}\ndiff --git a/app.py b/app.py\n{code}\n"
    result = DiffCompressor().compress(text, NATURAL)
    assert result.text == snapshot("""\
diff --git a/uv.lock b/uv.lock
--- a/uv.lock
+++ b/uv.lock
[… 80 changed lines left out]
diff --git a/app.py b/app.py
--- a/app.py
+++ b/app.py
@@ -1 +1 @@
-x = 1
+x = 2
[shortened diff, no longer applies: 80 changed lines left out]
""")


def test_what_a_folded_file_had_is_counted_whole():
    old = [f'version = "1.{at}"' for at in range(60)]
    lock = unified(old, [line.replace("1.", "2.") if at % 6 == 0 else line for at, line in enumerate(old)])
    text = f"diff --git a/uv.lock b/uv.lock\nindex 1..2 100644\n{lock}\n"
    rows = lock.split("\n")[2:]
    counts = {o.what: o.count for o in DiffCompressor().compress(text, NATURAL).omissions}
    assert counts == {
        "index lines": 1,
        "context lines": sum(row.startswith(" ") for row in rows),
        "changed lines": sum(row.startswith(("+", "-")) for row in rows),
    }


def test_renames_modes_and_binary_markers_stay():
    head = (
        "diff --git a/old.sh b/new.sh\nold mode 100644\nnew mode 100755\nsimilarity index 90%\n"
        "rename from old.sh\nrename to new.sh\n"
        "diff --git a/logo.png b/logo.png\nindex 123..456 100644\nBinary files a/logo.png and b/logo.png differ\n"
    )
    shown = DiffCompressor().compress(head + long_diff(2), NATURAL).text
    assert shown.startswith(head)


@pytest.mark.parametrize(
    "head",
    [
        "Index: trunk/app.c\n" + "=" * 67 + "\n--- trunk/app.c\t(revision 4)\n+++ trunk/app.c\t(working copy)\n",
        "diff -r 0a1b2c3d4e5f app.c\n--- a/app.c\tMon Jan 05 10:00:00 2026 +0000\n+++ b/app.c\tMon Jan 05 10:01:00 2026 +0000\n",
        "=== modified file 'app.c'\n--- app.c\t2026-01-05 10:00:00 +0000\n+++ app.c\t2026-01-05 10:01:00 +0000\n",
    ],
    ids=["svn", "hg", "bzr"],
)
def test_heads_of_other_systems_stay(head):
    body = unified(
        [f"int unchanged_{at} = compute_something_with_a_long_name({at});" for at in range(40)],
        [f"int unchanged_{at} = compute_something_with_a_long_name({at});" for at in range(40) if at != 20],
    )
    text = head + body.split("\n", 2)[2] + "\n"
    shown = DiffCompressor().compress(text, NATURAL).text
    assert shown.startswith(head)
    assert "-int unchanged_20 =" in shown
    assert "unchanged_17" not in shown


def test_merge_diff_keeps_both_columns():
    rows = [" " * 2 + f"line {at} that both parents share" for at in range(20)]
    rows[9:10] = ["- from the first parent", " -from the second parent", "++resolved by hand"]
    text = (
        "diff --cc app.py\nindex 1,2..3\n--- a/app.py\n+++ b/app.py\n@@@ -1,20 -1,20 +1,20 @@@ def merge():\n"
        + "\n".join(rows)
        + "\n"
    )
    shown = DiffCompressor().compress(text, NATURAL).text
    assert shown == snapshot("""\
diff --cc app.py
--- a/app.py
+++ b/app.py
@@@ -9,3 -9,3 +9,3 @@@ def merge():
  line 8 that both parents share
- from the first parent
 -from the second parent
++resolved by hand
  line 10 that both parents share
[shortened diff, no longer applies: 1 index line, 17 context lines left out]
""")


def test_hunk_ends_where_its_counts_are_used_up():
    files = [unified(["north"], ["south"], name=name) for name in ("a.txt", "b.txt", "uv.lock")]
    text = "\n".join(files) + "\n-- \n2.50.1\n\n"
    shown = DiffCompressor().compress(text + long_diff(2), NATURAL)
    assert shown.text.startswith(text)
    small = DiffCompressor().compress(text + long_diff(9), Budget(max_tokens=200))
    counts = {omission.what: omission.count for omission in small.omissions}
    assert counts["files"] + small.text.count("+++ ") + small.text.count("diff --git") == 12


def test_rows_far_beyond_the_counts_are_no_rows():
    text = "--- a/x\n+++ b/x\n@@ -1,700 +1,700 @@\n" + " same\n" * 699 + "-b\n+c\n" + "- item of a list\n" * 2000
    shown = DiffCompressor().compress(text, NATURAL)
    assert "@@ -699,2 +699,2 @@\n same\n-b\n+c\n- item of a list\n" in shown.text
    assert [(o.what, o.count) for o in shown.omissions] == [("context lines", 698)]


def test_removed_line_of_dashes_is_no_file_header():
    text = "--- a/x.sql\n+++ b/x.sql\n@@ -1,3 +1,2 @@\n select 1;\n--- a comment in SQL\n select 2;\n"
    result = DiffCompressor().compress(text + long_diff(1), NATURAL)
    assert "--- a comment in SQL" in result.text


def test_source_outlives_tests_and_docs():
    parts = [long_diff(1, name=name) for name in ("docs/guide{}.md", "tests/test_mod{}.py", "src/core{}.py")]
    shown = DiffCompressor().compress("".join(parts), Budget(max_tokens=260)).text
    assert "+line 5 of module 0, which does not change # touched" in shown[shown.index("src/core0.py") :]


def test_query_decides_which_hunk_stays():
    shown = DiffCompressor().compress(long_diff(), Budget(max_tokens=300), query="what happened in mod9?").text
    assert "+line 5 of module 9, which does not change # touched" in shown


def test_a_very_long_line_is_cut_and_counted():
    text = (
        "--- a/logo.svg\n+++ b/logo.svg\n@@ -1 +1 @@\n-<svg/>\n+<svg>"
        + "M 1 2 " * 2000
        + "\n\\ No newline at end of file\n"
    )
    result = DiffCompressor().compress(text, Budget(max_tokens=300))
    assert "characters]\n\\ No newline" in result.text
    assert [(o.what, o.count) for o in result.omissions] == [("characters", 5 + 12_000 + 1 - 300)]


COMMIT = "commit 1f0c9d8a7b6e5f4d3c2b1a09f8e7d6c5b4a39281\nAuthor: Ada Nyström <ada@dock.test>\nDate:   Mon Jan 5 10:00:00 2026\n\n"


def test_commit_with_a_long_message_is_a_diff():
    message = "    Tie the second rope\n\n    ```\n" + "    The first one wears out at the bollard.\n" * 200
    router = ContentRouter(magika=False)
    assert router.detect(COMMIT + message + "\n" + long_diff(1)).content_type is ContentType.DIFF
    assert router.detect(COMMIT + message).content_type is not ContentType.DIFF


def test_prose_that_quotes_a_diff_stays_text():
    text = (
        "Here is how we tie the second rope, as asked.\n" * 20
        + f"\n```\n{COMMIT}{long_diff(1)}```\nThat is all of it.\n"
    )
    assert ContentRouter(magika=False).detect(text).content_type is ContentType.TEXT


def test_long_message_is_shown_from_its_start():
    message = "".join(f"    Reason number {at} why the rope has to be tied once more\n" for at in range(100))
    shown = DiffCompressor().compress(f"{COMMIT}{message}\n{long_diff(3)}", Budget(max_tokens=600)).text
    assert shown.startswith(f"{COMMIT}    Reason number 0 why")
    assert "+line 5 of module 0, which does not change # touched" in shown
    assert re.search(r"\[… \d+ other lines left out\]\ndiff --git", shown)


def test_prose_is_left_alone():
    text = "Dear all,\n--- and then\nwe met @@ noon.\n" * 20
    assert DiffCompressor().compress(text, NATURAL).text == text


TINY_HUNKS = "--- a/x\n+++ b/x\n" + "".join(f"@@ -{at} +{at} @@\n-b\n+c\n" for at in range(1, 8000))


@pytest.mark.parametrize(
    "text",
    [
        TINY_HUNKS,
        long_diff(100),
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-b\n+c\n" + "\\ no newline\n" * 8000,
        "diff --git a/x b/x\n" + "--- a/x\n" * 8000 + "+++ b/x\n@@ -1 +1 @@\n-b\n+c\n",
        f"--- a/x\n+++ b/x\n@@ -1 +1 @@ {'section ' * 8000}\n-b\n+c\n",
    ],
    ids=["tiny hunks", "files", "markers", "head", "section"],
)
def test_a_search_for_what_fits_counts_no_more_than_what_it_shows(text, counter):
    result = DiffCompressor().compress(text, Budget(max_tokens=500, counter=counter))
    assert COUNT(result.text) <= 500
    assert counter.characters < 10 * 8 * 500  # rounds, and characters of a token at most


def test_a_second_marker_in_a_row_describes_nothing_and_stays():
    text = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-b\n+c\n\\ No newline at end of file\n\\ Nor here\n"
    assert DiffCompressor().compress(text, NATURAL).text == text
