"""The server of the page, over real connections on this machine."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
from contextlib import ExitStack, closing, contextmanager
from urllib.parse import urlencode

import pytest

from edge_agent.consent.policy import Policy
from edge_agent.labels.file import FILE as LABELS
from edge_agent.output.local import LIVE, LocalSocket
from edge_agent.page import look
from edge_agent.page import server as page_server
from edge_agent.page.access import Access
from edge_agent.page.owner import Owner
from edge_agent.page.server import MOST_CLIENTS, PageServer
from edge_agent.state.state import State
from tests.edge_agent.world import DEVICE, data, reports, simulated
from tests.fsir.tasks import task

TOKEN = "a-token-of-enough-signs"


@pytest.fixture
def directory(tmp_path):
    """The state of a device that learns; its path is short enough for a socket."""
    state = State(tmp_path / "s", DEVICE, simulated=True)
    agent = simulated(task(), state=state)
    agent.learn_many(*data(task(), 40))
    agent.checkpoint()
    state.close()
    return tmp_path / "s"


class Browser:
    """Asks the server, and keeps cookies and the secret of the forms."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.cookie = ""
        self.csrf = ""

    def ask(self, method, path, form=None, **headers):
        headers = {"Host": f"127.0.0.1:{self.port}"} | {
            name.replace("_", "-"): value for name, value in headers.items() if value is not None
        }
        if self.cookie:
            headers["Cookie"] = self.cookie
        body = None if form is None else urlencode(form)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        if (cookie := answer.getheader("Set-Cookie")) is not None:
            self.cookie = cookie.partition(";")[0]
        if found := re.search(r'name="csrf" value="([^"]+)"', text):
            self.csrf = found[1]
        return answer, text

    def get(self, path="/", **headers):
        return self.ask("GET", path, **headers)

    def press(self, label, **headers):
        form = {"csrf": self.csrf, "label": label}
        return self.ask("POST", "/label", form, **headers)


@contextmanager
def serving(directory, token=None, local=True):
    owner = Owner(directory, Policy())
    server = PageServer("127.0.0.1", 0, owner, Access(token, local=local))
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        yield Browser(server.port), server
    finally:
        server.close()
        thread.join(30)


def pressed(directory):
    path = directory / LABELS
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line)["label"] for line in lines]


def test_the_page_its_files_and_nothing_else(directory):
    with serving(directory) as (browser, _):
        answer, text = browser.get()
        assert answer.status == 200
        assert "40 of 100 records" in text
        for path, kind in {
            "/page.css": "text/css",
            "/page.js": "text/javascript",
            "/icon.svg": "image/svg+xml",
        }.items():
            answer, _ = browser.get(path)
            assert answer.status == 200
            assert answer.getheader("Content-Type").startswith(kind)
        for path in ("/agent.sqlite", "/../pace.py", "/static/page.js", "/page.js/", "/label"):
            assert browser.get(path)[0].status == 404
        assert browser.ask("PUT", "/")[0].status == 501


def test_every_answer_is_strict_about_what_a_browser_may_do(directory):
    with serving(directory, TOKEN) as (browser, _):
        answers = [browser.get()[0], browser.get(Host="evil.example")[0]]
        answers += [browser.get(f"/?token={TOKEN}")[0], browser.get()[0], browser.get("/x")[0]]
        assert [answer.status for answer in answers] == [401, 421, 303, 200, 404]
    for answer in answers:
        policy = answer.getheader("Content-Security-Policy")
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.getheader("X-Content-Type-Options") == "nosniff"
        assert answer.getheader("X-Frame-Options") == "DENY"
        assert answer.getheader("Referrer-Policy") == "no-referrer"
        assert answer.getheader("Cache-Control") == "no-store"
        assert answer.getheader("Access-Control-Allow-Origin") is None
        assert "Python" not in answer.getheader("Server")


def test_the_page_has_no_inline_script_or_style(directory):
    with serving(directory) as (browser, _):
        _, text = browser.get()
    assert "style=" not in text
    assert "<style" not in text
    assert not re.search(r"<script(?! src=\"/page\.js\" defer></script>)", text)
    assert not re.search(r"\son\w+=", text)
    assert "http://" not in text.replace("http://127.0.0.1", "")


def test_another_name_that_leads_here_sees_nothing(directory):
    with serving(directory) as (browser, _):
        for host in ("evil.example", f"evil.example:{browser.port}", ""):
            answer, text = browser.get(Host=host)
            assert answer.status == 421
            assert "records" not in text


def test_a_press_reaches_the_label_file(directory):
    with serving(directory) as (browser, _):
        browser.get()
        answer, _ = browser.press("b", Origin=f"http://127.0.0.1:{browser.port}")
        assert (answer.status, answer.getheader("Location")) == (303, "/")
        _, text = browser.get()
        assert 'value="b" id="label-1" aria-pressed="true"' in text
        browser.press("")
    assert pressed(directory) == ["b", ""]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "https://127.0.0.1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site", "Origin": "null"},
        {"Host": "evil.example"},
    ],
)
def test_a_press_from_elsewhere_is_refused(directory, headers):
    with serving(directory) as (browser, _):
        browser.get()
        assert browser.press("b", **headers)[0].status in (403, 421)
    assert pressed(directory) == []


def test_a_press_without_the_secret_is_refused(directory):
    with serving(directory) as (browser, _):
        assert browser.press("b")[0].status == 403
        browser.csrf = "guessed"
        assert browser.press("b")[0].status == 403
        browser.get()
        many = {"csrf": browser.csrf, "label": "b"} | {f"x{k}": "" for k in range(20)}
        assert browser.ask("POST", "/label", many)[0].status == 403
        large = {"csrf": browser.csrf, "label": "b" * 10_000}
        assert browser.ask("POST", "/label", large)[0].status == 403
        assert browser.ask("POST", "/label")[0].status == 403
        assert browser.ask("GET", f"/label?label=b&csrf={browser.csrf}")[0].status == 404
    assert pressed(directory) == []


def test_a_label_that_no_task_knows_is_refused_with_the_reason(directory):
    with serving(directory) as (browser, _):
        browser.get()
        for label in ("flying", "b\n", " ", "b" * 300):
            answer, text = browser.press(label)
            assert answer.status == 422
            assert "no task of this device knows it; known are a, b, c" in text
        answer, _ = browser.ask("POST", "/labels", {"csrf": browser.csrf, "label": "a"})
        assert answer.status == 404
    assert pressed(directory) == []


def test_in_a_network_the_token_is_asked_for_once(directory):
    with serving(directory, TOKEN, local=False) as (browser, _):
        for path in ("/", "/page.js", "/?token=wrong", f"/page.js?token={TOKEN}", "/?token="):
            answer, text = browser.get(path)
            assert answer.status == 401
            assert "records" not in text
        assert browser.press("b")[0].status == 401
        answer, _ = browser.get(f"/?token={TOKEN}")
        assert (answer.status, answer.getheader("Location")) == (303, "/")
        assert TOKEN not in browser.cookie
        assert browser.get()[0].status == 200
        assert browser.get("/page.js")[0].status == 200
        assert browser.press("b")[0].status == 303
    assert pressed(directory) == ["b"]


def test_a_held_report_is_let_go_by_its_owner(tmp_path):
    of = task(4, report={"records": 300})
    X, y = data(of, 300)
    with closing(State(tmp_path, DEVICE, simulated=True)) as state:
        agent = simulated(of, state=state, seed=1)
        agent.learn_many(X * 1e6, y)
        assert reports(agent.outgoing(1.0)) == []
        with serving(tmp_path) as (browser, _):
            assert "Held back" in browser.get()[1]
            assert browser.ask("POST", "/release", {"task": "test"})[0].status == 403
            assert agent.held
            for name, status in {"other": 422, "test": 303}.items():
                form = {"csrf": browser.csrf, "task": name}
                assert browser.ask("POST", "/release", form)[0].status == status
            assert "Held back" not in browser.get()[1]
        (report,) = reports(agent.outgoing(2.0))
        assert report.n == 300


def test_a_state_that_is_gone_is_said(directory):
    with serving(directory) as (browser, _):
        assert browser.get()[0].status == 200
        (directory / "agent.sqlite").unlink()
        answer, text = browser.get()
        assert answer.status == 200
        assert "there is no state file" in text


def test_the_state_is_read_again_only_when_it_has_changed(directory, monkeypatch):
    with serving(directory) as (browser, _):
        browser.get()
        reads = []
        honest = look.read
        monkeypatch.setattr(look, "read", lambda *words: reads.append(1) or honest(*words))
        for _ in range(3):
            browser.get()
        assert reads == []
        state = State(directory, DEVICE, simulated=True)
        agent = simulated(task(), state=state)
        agent.learn_many(*data(task(), 20))
        agent.checkpoint()
        state.close()
        assert "60 of 100 records" in browser.get()[1]
        assert reads == [1]


def test_idle_clients_do_not_lock_the_owner_out(directory):
    """A browser opens connections that it may need later; and somebody may do so on purpose."""
    with serving(directory) as (browser, _), ExitStack() as leaving:
        for _ in range(MOST_CLIENTS - 1):
            leaving.enter_context(socket.create_connection(("127.0.0.1", browser.port)))
        assert browser.get()[0].status == 200


def test_the_agent_is_left_alone_when_nobody_looks(directory, monkeypatch):
    monkeypatch.setattr(page_server, "IDLE_SECONDS", 0.2)
    monkeypatch.chdir(directory)
    live = LocalSocket(LIVE)
    try:
        with serving(directory) as (browser, _):
            assert "The agent runs" in browser.get()[1]
            live.welcome()
            assert live._readers
            while live._readers:
                live.welcome()
            assert "The agent runs" in browser.get()[1]
    finally:
        live.close()
