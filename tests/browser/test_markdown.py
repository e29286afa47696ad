"""Text of a model becomes elements, and never markup."""

from __future__ import annotations

import re

import pytest

from tests.support.browser.visit import Visit

RENDER = """async ([text, marks]) => {
  const { markdown } = await import('/page/chat/markdown.js');
  const { tokenLeaf } = await import('/page/chat/tokens.js');
  const root = document.createElement('div');
  const tokens = marks && marks.map((t) => ({ t, p: 0.5, alternatives: [] }));
  root.append(...markdown(text, tokens ? tokenLeaf(text, tokens) : undefined));
  return [root.innerHTML, root.textContent, [...root.querySelectorAll('[data-token]')].map((one) => one.textContent)];
}"""


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a **b** *c* `d<e>` ~~f~~", "<p>a <strong>b</strong> <em>c</em> <code>d&lt;e&gt;</code> <del>f</del></p>"),
        ("snake_case_name and 2 * 3 * 4", "<p>snake_case_name and 2 * 3 * 4</p>"),
        ("# One\ntwo  \nthree", "<h3>One</h3><p>two<br>three</p>"),
        ("- a\n- b\n  - c\n\n1. d\n2. e", "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>"),
        ("> a\n> b\n\n---", "<blockquote><p>a\nb</p></blockquote><hr>"),
        ("\\*a\\* **open", "<p>*a* **open</p>"),
        ("**a *b* c**", "<p><strong>a <em>b</em> c</strong></p>"),
    ],
)
def test_markdown_becomes_elements(visit: Visit, text: str, html: str) -> None:
    rendered, _, _ = visit.tab.evaluate(RENDER, [text, None])
    assert rendered.startswith(html)


def test_code_and_tables_can_be_scrolled_by_keyboard(visit: Visit) -> None:
    rendered, shown, _ = visit.tab.evaluate(RENDER, ["```py\nx = '<b>'\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |", None])
    assert rendered.count('tabindex="0"') == 2
    assert "x = '<b>'" in shown
    assert rendered.count("<td>") == rendered.count("<th>") == 2


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script><img src=x onerror=alert(1)>",
        "[a](javascript:alert(1)) [b](data:text/html,x) ![c](https://evil.example/x.png)",
        "<iframe srcdoc='x'></iframe>\n\n<style>*{}</style>",
        '[a](https://evil.example/" onmouseover=alert(1))',
    ],
)
def test_nothing_of_a_text_is_markup(visit: Visit, text: str) -> None:
    rendered, _, _ = visit.tab.evaluate(RENDER, [text, None])
    assert not any(f"<{tag}" in rendered for tag in ("script", "img", "iframe", "style"))
    assert 'href="javascript' not in rendered
    assert 'href="data' not in rendered
    names = {name for tag in re.findall(r"<[^>]+>", rendered) for name in re.findall(r" ([\w-]+)=", tag)}
    assert names <= {"href", "target", "rel"}


def test_tokens_are_marked_inside_of_formatted_text(visit: Visit) -> None:
    tokens = ["Say ", "**", "bo", "ld", "** a", "nd\n\n- it", "em `x", "`"]
    _, shown, marked = visit.tab.evaluate(RENDER, ["".join(tokens), tokens])
    assert marked == ["Say ", "bo", "ld", " a", "nd", "it", "em ", "x"]
    assert shown == "Say bold anditem x"


def test_long_texts_take_little_time(visit: Visit) -> None:
    for text in ("*a " * 4000, "[" * 8000, "`" * 8000, "> " * 3000, "| a " * 2000, "_" * 8000, "~~a" * 3000):
        seconds = visit.tab.evaluate(
            """async (text) => {
              const { markdown } = await import('/page/chat/markdown.js');
              const begun = performance.now();
              markdown(text);
              return (performance.now() - begun) / 1000;
            }""",
            text,
        )
        assert seconds < 10, text[:10]
