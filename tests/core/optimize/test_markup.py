"""What stays of a page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from ctx_core.optimize.compressors import markup
from ctx_core.optimize.compressors.base import Budget, Compressed
from ctx_core.optimize.compressors.markup import MarkupCompressor, page_text
from ctx_core.tokens import TokenCounter

PAGE = """<!DOCTYPE html>
<html><head><title>Pump 7</title><style>p { color: red }</style>
<script>if (1 < 2) { document.write("<p>unseen</p>") }</script></head>
<body><nav><a href="/">Home</a> <a href="/all">All pumps</a></nav>
<h1>Pump 7 &amp; its valve</h1><!-- <p>also unseen</p> -->
<p>The pump  runs at
<b>40 bar</b>.</p><ul><li>Keep it dry.<li>Call 112 if it stops.</ul>
<table><tr><th>day<th>bar</tr><tr><td>Monday</td><td>41</td></tr></table>
<pre>valve --open
  --slowly</pre><img src="x.png" alt="a pump">
</body></html>"""


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markup, "installed", lambda _: False)


def compress(text: str, max_tokens: int | None = None) -> Compressed:
    return MarkupCompressor().compress(text, Budget(max_tokens=max_tokens))


@pytest.mark.usefixtures("plain")
def test_a_page_becomes_its_text():
    assert compress(PAGE).text == snapshot("""\
[html: text only, 350 characters of markup left out]
Pump 7
Home All pumps

# Pump 7 & its valve

The pump runs at 40 bar.
- Keep it dry.
- Call 112 if it stops.
day | bar
Monday | 41
```
valve --open
  --slowly
```
[a pump]\
""")


@pytest.mark.usefixtures("plain")
def test_a_page_over_budget_keeps_what_is_worth_most():
    result = compress(PAGE.replace("</ul>", "<li>It is a nice pump to look at.</ul>"), 60)
    assert TokenCounter().count(result.text) <= 60
    assert "[html: text only, " in result.text
    assert "# Pump 7" in result.text


def test_the_main_text_is_taken_only_with_every_error():
    article = "".join(
        f"<p>Paragraph {i} of a long article about pumps and the many valves they have.</p>" for i in range(30)
    )
    page = f"<html><body><nav>{'<a>menu</a> ' * 60}</nav><article>{article}</article></body></html>"
    assert "Paragraph 29" in compress(page).text
    broken = page.replace("</nav>", "</nav><div class=footer><span>Build failed: valve 9</span></div>")
    assert "Build failed: valve 9" in compress(broken).text


@pytest.mark.usefixtures("plain")
def test_what_is_no_page_stays():
    assert compress("a < b and c > d").text == "a < b and c > d"


@pytest.mark.usefixtures("plain")
@given(st.text(alphabet="<>/!-pabr&;= \n\"'", max_size=200))
def test_any_text_gives_a_result(text: str):
    assert len(compress(text).text) <= len(text)
    assert compress(text) == compress(text)


def test_malformed_pages_take_a_moment_only():
    for text in ("<" * 2**18, "<a " * 2**17, "<!--" * 2**17, "<p>" * 2**17, "<script>" * 2**16, "&" * 2**18):
        assert isinstance(page_text(text), str)
