"""The command shows what it did; bad input is one clear line and exit code 2."""

import json
import subprocess
import sys

import pytest

from ctx_core.cli.main import main

LOG = "\n".join([*(f"INFO step {n} ok" for n in range(400)), "ERROR disk full on /data"])


@pytest.fixture
def log_file(tmp_path):
    path = tmp_path / "run.log"
    path.write_text(LOG, encoding="utf-8")
    return str(path)


def run(*argv):
    """The exit code of the command, whether it returns or argparse ends it."""
    try:
        return main(list(argv))
    except SystemExit as ended:
        return ended.code


def test_the_demo_shows_every_message_what_came_back_and_the_sum(capsys):
    assert run("demo") == 0
    out = capsys.readouterr().out
    for expected in (
        "Every message of the session",
        "compressed, original",
        "archived",
        "Came back",
        "Graph",
        "tokens of history became a prompt of",
    ):
        assert expected in out


def test_the_demo_writes_a_page_that_loads_nothing_from_elsewhere(tmp_path, capsys):
    page = tmp_path / "demo.html"
    assert run("demo", "--html", str(page), "--max-tokens", "5000") == 0
    html = page.read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>")
    assert "The next prompt of a recorded session" in html
    assert "<script" not in html.split("<body>")[0]
    assert 'src="http' not in html
    assert capsys.readouterr().out


def test_a_session_of_ones_own_can_be_shown(tmp_path, capsys):
    path = tmp_path / "chat.jsonl"
    rows = [{"role": "user", "content": "Run it."}, {"role": "tool", "tool_call_id": "c1", "content": LOG}]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert run("demo", str(path), "--prompt") == 0
    assert "ERROR disk full on /data" in capsys.readouterr().out


def test_optimize_prints_a_shorter_text_and_figures_beside_it(log_file, capsys):
    assert run("optimize", log_file, "--max-tokens", "200", "--query", "what failed?") == 0
    shown = capsys.readouterr()
    assert "ERROR disk full on /data" in shown.out
    assert shown.err.startswith("log: ")


def test_detect_names_the_kind(log_file, capsys):
    assert run("detect", log_file) == 0
    assert ": log" in capsys.readouterr().out


def bad(tmp_path):
    files = {
        "empty.txt": b"",
        "blank.txt": b" \n",
        "latin.txt": b"caf\xe9",
        "typo.yaml": b"ccr_ulr: memory://\n",
        "broken.yaml": b"a: [\n",
        "chat.jsonl": b'{"role": "user"}\n{oops\n',
        "rows.jsonl": b"[1]\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["optimize", "none.txt"], "cannot read 'none.txt'"),
        (["optimize", "."], "is a directory, not a file"),
        (["optimize", "empty.txt"], "'empty.txt' is empty"),
        (["optimize", "blank.txt"], "'blank.txt' is empty"),
        (["optimize", "latin.txt"], "is not UTF-8 (byte 3)"),
        (["optimize", "good.txt", "--max-tokens", "0"], "a budget of 0 tokens is below the least"),
        (["optimize", "good.txt", "--max-tokens", "many"], "'many' is no number of tokens"),
        (["optimize", "good.txt", "--type", "poem"], "invalid choice: 'poem'"),
        (["optimize", "good.txt", "--settings", "typo.yaml"], "did you mean 'ccr_url'?"),
        (["optimize", "good.txt", "--settings", "broken.yaml"], "is not YAML"),
        (["demo", "chat.jsonl"], "line 2 is not JSON"),
        (["demo", "rows.jsonl"], "is no chat message"),
        (["demo", "--html", "none/page.html"], "cannot write"),
        (["demo", "--max-tokens", "0"], "below the least"),
        ([], "required"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(argv, says, tmp_path, monkeypatch, capsys):
    bad(tmp_path)
    (tmp_path / "good.txt").write_text("some text", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert run(*argv) == 2
    error = capsys.readouterr().err
    assert says in error
    assert "Traceback" not in error


def test_text_can_come_through_a_pipe():
    command = [sys.executable, "-m", "ctx_core.cli.main", "optimize", "-", "--max-tokens", "100"]
    done = subprocess.run(command, input=LOG.encode(), capture_output=True, check=True)
    assert b"ERROR disk full on /data" in done.stdout
