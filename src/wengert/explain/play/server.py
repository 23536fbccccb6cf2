"""The local server of `wengert play`: on this machine only, with a token, and for formulas only.

It answers two requests: the frame in which a formula is edited, and the page of a formula. Both need the token that
stands in the address. A request whose Host is another name is refused, so that no other site can reach it by a name
that leads here.
"""

from __future__ import annotations

import hmac
import json
import secrets
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from wengert.core.json_text import write_json
from wengert.explain.page.document import embed_json
from wengert.explain.play.formulas import answer
from wengert.explain.templates import fill_template, read_asset

LOOPBACK = "127.0.0.1"
MOST_BYTES = 200_000
"""Of a request."""
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'"
)


class PlayServer(ThreadingHTTPServer):
    """Listens on the loopback address. `start` is the first formula, with its values and mode."""

    daemon_threads = True

    def __init__(self, start: dict[str, Any], port: int = 0):
        super().__init__((LOOPBACK, port), PlayHandler)
        self.start, self.token = start, secrets.token_urlsafe(16)

    @property
    def address(self) -> str:
        """What a browser opens."""
        return f"http://{LOOPBACK}:{self.server_port}/?token={self.token}"

    def hosts(self) -> tuple[str, str]:
        """The names under which it may be asked."""
        return f"{LOOPBACK}:{self.server_port}", f"localhost:{self.server_port}"


class PlayHandler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: PlayServer

    def do_GET(self) -> None:
        """The frame, for the address with the token."""
        url = urlsplit(self.path)
        if self.is_allowed(parse_qs(url.query).get("token", [""])[0]):
            if url.path == "/":
                self.reply(200, "text/html; charset=utf-8", frame_page(self.server.start))
            else:
                self.reply(404, "text/plain", "There is nothing here.")

    def do_POST(self) -> None:
        """The page of a formula, as JSON."""
        if not self.is_allowed(self.headers.get("X-Wengert-Token", "")):
            return
        length = self.headers.get("Content-Length", "")
        if self.path != "/page" or not length.isdigit() or int(length) > MOST_BYTES:
            self.reply(400, "text/plain", "Not a request that this server knows.")
            return
        try:
            request = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            self.reply(400, "text/plain", "Not JSON.")
            return
        self.reply(200, "application/json", write_json(answer(request)))

    def is_allowed(self, token: str) -> bool:
        """Whether a request has the token and was meant for this machine; if not, it is refused."""
        allowed = self.headers.get("Host") in self.server.hosts() and hmac.compare_digest(
            token.encode(), self.server.token.encode()
        )
        if not allowed:
            self.reply(403, "text/plain", "This address needs the token that `wengert play` printed.")
        return allowed

    def reply(self, status: int, kind: str, text: str) -> None:
        """Send a response that nothing else may keep or embed."""
        body = text.encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            "Content-Security-Policy": POLICY,
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "no-referrer",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not printed."""


def frame_page(start: dict[str, Any]) -> str:
    """The frame with the field for the formula."""
    page, style, script = [read_asset(__package__, f"frame.{kind}") for kind in ("html", "css", "js")]
    return fill_template(page, {"STYLE": style, "SCRIPT": script, "START": embed_json(start)})
