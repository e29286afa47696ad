"""A visit of the page: what it asked the network for, what it complained of, and steps of a conversation."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page

from tests.support.browser.chromium import WITHIN_MS


class Visit:
    """One tab with a profile of its own. `complaints` are errors of scripts and in the console."""

    def __init__(self, browser: Browser, url: str, **options: Any) -> None:
        self.url = url
        self.context: BrowserContext = browser.new_context(**{"viewport": {"width": 1280, "height": 800}} | options)
        self.context.set_default_timeout(WITHIN_MS)
        self.tab: Page = self.context.new_page()
        self.requested: list[str] = []
        self.complaints: list[str] = []
        self.tab.on("request", lambda request: self.requested.append(request.url))
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.on("console", self._on_console)

    def open(self, part: str = "") -> None:
        """Load the page, and wait for the state of the service."""
        self.tab.goto(f"{self.url}/{part and '#'}{part}")
        self.tab.locator("#service-state .dot").wait_for(state="attached")

    @property
    def message(self) -> Locator:
        """The field for a message."""
        return self.tab.get_by_role("textbox", name="Message")

    @property
    def answers(self) -> Locator:
        """The answers that are shown."""
        return self.tab.locator(".turn.assistant")

    def ask(self, text: str) -> Locator:
        """Ask, and return the answer when it has ended."""
        self.message.fill(text)
        self.message.press("Enter")
        return self.answered()

    def answered(self) -> Locator:
        """The last answer, when no answer is under way."""
        self.tab.locator(".turn.assistant:last-child .acts").wait_for()
        return self.answers.last

    def violations(self) -> list[str]:
        """What axe finds, with the elements."""
        found = Axe().run(self.tab).response["violations"]
        return [f"{one['id']}: {node['html'][:120]}" for one in found for node in one["nodes"]]

    @property
    def foreign(self) -> list[str]:
        """Requests that did not go to the service."""
        inside = (f"{self.url}/", "data:", "blob:")
        return [url for url in self.requested if not url.startswith(inside)]

    def _on_console(self, message: ConsoleMessage) -> None:
        # Chromium reports each response with a status of failure, of which the tests ask for some.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.complaints.append(message.text)
