"""Which headers before the lines of a log are cut, and that nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctx_core.optimize.compressors.log.clean import plain
from ctx_core.optimize.compressors.log.header import without_header

_HEADERS = [
    ("2026-05-04T10:00:00.1234567Z ", ""),
    ("2026-05-04 10:00:00,123 ", ""),
    ("[2026-05-04T10:00:00Z] ", ""),
    ("[Sun Dec 04 04:47:44 2005] ", ""),
    ("Jul  1 09:00:55 ", ""),
    ("17/06/09 20:10:40 ", ""),
    ("03-17 16:13:38.811 ", ""),
    ("081109 203615 ", ""),
    ("20261223-22:15:29:606|", ""),
    ("[10.30 16:49:06] ", ""),
    ("5/7/2026 12:17:00 PM ", ""),
    ("- 1117838570 2005.06.03 ", ""),
    ("api.log.1.2026-05-16_13:53:08 2026-05-16 00:00:00.008 ", ""),
    ("ERROR 2026-05-04 10:00:00 ", "ERROR "),
    ("web_1  | 2026-05-04 10:00:00 ", "web_1  | "),
    ('time="2026-05-04T10:00:00Z" ', ""),
]


@pytest.mark.parametrize(("header", "kept"), _HEADERS)
@pytest.mark.parametrize("message", ["disk full", "    indented by four", "- a list item", "a=1 b=2"])
def test_the_time_is_cut_and_the_message_is_whole(header: str, kept: str, message: str) -> None:
    lines, cut = without_header([f"{header}{message}", f"{header}one", f"{header}two", f"{header}three"])
    assert lines[0] == kept + message
    assert cut.stamped == 4


def test_the_same_host_behind_every_time_is_cut_too() -> None:
    lines, cut = without_header([f"May  4 10:00:0{n} web-1 cron[{n}]: run" for n in range(9)])
    assert lines[0] == "cron[0]: run"
    assert cut.host == "web-1"


def test_a_separator_is_cut_only_where_every_line_has_it() -> None:
    assert without_header([f"10:00:0{n} - INFO up" for n in range(9)])[0][0] == "INFO up"
    assert without_header(["10:00:00 - item", "10:00:01 head", "10:00:02 foot"])[0][0] == "- item"


def test_a_time_in_few_lines_is_part_of_the_message() -> None:
    lines = ["10:00:00 backup", "begin", "walk", "end"]
    assert without_header(lines)[0] == lines


@settings(deadline=None)
@given(st.lists(st.text(max_size=30), min_size=1, max_size=20))
def test_only_what_stands_first_is_cut(lines: list[str]) -> None:
    assert all(whole.endswith(rest) for whole, rest in zip(lines, without_header(lines)[0], strict=True))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07prompt", "prompt"),
        ("^[[33mspelled^[[0m", "spelled"),
        ("\ufeffmark", "mark"),
        ("10%\r20%\r\n", "20% [… 1 states before]\n"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("ab\b\bxy", "axy"),
    ],
)
def test_a_line_is_what_a_terminal_shows(text: str, shown: str) -> None:
    assert plain(text)[0] == shown


def test_a_job_and_its_step_are_named_where_they_begin() -> None:
    """As `gh run view --log` prints them: job, step and time before every line."""
    stamp = "\ufeff2026-05-04T10:00:00.1234567Z "
    lines, cut = without_header(
        [
            f"build (3.12)\tInstall\t{stamp}Collecting rope",
            f"build (3.12)\tInstall\t{stamp}  Downloading rope-1.0.whl",
            f"build (3.12)\tTest\t{stamp}E   AssertionError: adrift",
            f"build (3.12)\tTest\t{stamp}##[error]Process completed with exit code 1.",
        ]
    )
    assert lines == [
        "build (3.12)\tInstall\tCollecting rope",
        "  Downloading rope-1.0.whl",
        "build (3.12)\tTest\tE   AssertionError: adrift",
        "##[error]Process completed with exit code 1.",
    ]
    assert cut.steps == (0, 2)
