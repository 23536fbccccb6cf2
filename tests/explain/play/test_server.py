"""The local server of `wengert play`: who may ask, what it answers, and what happens to a formula that is wrong."""

import http.client
import json
import threading

import pytest

from wengert.explain.play import formulas
from wengert.explain.play.server import LOOPBACK, PlayServer

START = {"formula": "ln(x1) + x1*x2 - sin(x2)", "values": {"x1": 2.0, "x2": 5.0}, "mode": "reverse"}


@pytest.fixture
def server():
    with PlayServer(START) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def ask(server, method="GET", path=None, body=None, headers=None):
    connection = http.client.HTTPConnection(LOOPBACK, server.server_port, timeout=120)
    path = path if path is not None else f"/?token={server.token}"
    connection.request(method, path, body, headers or {})
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response, text


def post(server, request, **headers):
    body = request if isinstance(request, str) else json.dumps(request)
    return ask(server, "POST", "/page", body, {"X-Wengert-Token": server.token, **headers})


def test_it_listens_on_the_loopback_address_only(server):
    assert server.server_address[0] == "127.0.0.1"
    assert server.address == f"http://127.0.0.1:{server.server_port}/?token={server.token}"
    assert len(server.token) >= 20


def test_the_frame_needs_the_token(server):
    response, text = ask(server)
    assert response.status == 200
    assert json.dumps(START["formula"])[1:-1] in text
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]
    assert response.headers["X-Frame-Options"] == "DENY"
    for path in ("/", "/?token=", "/?token=x", f"/?token={server.token}x"):
        assert ask(server, path=path)[0].status == 403
    assert ask(server, path=f"/etc/passwd?token={server.token}")[0].status == 404


def test_other_sites_are_refused(server):
    assert ask(server, headers={"Host": "evil.example"})[0].status == 403
    assert post(server, START, Host=f"evil.example:{server.server_port}")[0].status == 403
    assert post(server, START, **{"X-Wengert-Token": "wrong"})[0].status == 403
    assert ask(server, headers={"Host": f"localhost:{server.server_port}"})[0].status == 200


def test_a_formula_becomes_a_page(server):
    response, text = post(server, START)
    assert response.status == 200
    found = json.loads(text)
    assert "</html>" in found["page"]
    assert found["values"] == START["values"]


@pytest.mark.parametrize("body", ["", "no JSON", "[" * 100_000, "x" * 300_000])
def test_requests_that_make_no_sense_are_refused(server, body):
    assert post(server, body)[0].status == 400


def test_other_paths_are_refused(server):
    assert ask(server, "POST", "/other", "{}", {"X-Wengert-Token": server.token})[0].status == 400


@pytest.mark.parametrize(
    ("formula", "at"),
    [("sin(x", 3), ("x + sinn(y)", 4), ("x +", 3), ("x..real", 1), ("__import__('os')", 11), ("", 0), ("2 + 2", 0)],
)
def test_a_formula_that_is_wrong_names_the_character(formula, at):
    found = formulas.answer({"formula": formula, "values": {}})
    assert "page" not in found
    assert found["message"]
    assert found["at"] == at


@pytest.mark.parametrize(
    "request_",
    [
        None,
        [],
        {"formula": 3},
        {"formula": "x", "mode": "sideways"},
        {"formula": "x", "values": {"x": "@/etc/passwd"}},
        {"formula": "x", "values": {"x": [[1], [1, 2]]}},
        {"formula": "x", "values": {"x": [0.0] * 5000}},
        {"formula": "x", "values": [1]},
        {"formula": "x @ y", "values": {"x": [1, 2], "y": [1, 2, 3]}},
        {"formula": "x" * 3000},
    ],
)
def test_requests_for_more_than_formulas_are_messages(request_):
    found = formulas.answer(request_)
    assert "page" not in found
    assert found["message"]


def test_values_are_kept_and_new_variables_start_at_one():
    found = formulas.answer({"formula": "x * y + sum(w)", "values": {"x": 2.0, "w": [1.0, 2.0], "old": 3.0}})
    assert found["values"] == {"x": 2.0, "y": 1.0, "w": [1.0, 2.0]}


def test_numbers_that_are_not_finite_are_valid_json_in_both_directions(server):
    given = {"x": "NaN", "y": [1.0, "-Infinity"], "z": "Infinity"}
    response, text = post(server, {"formula": "x + sum(y) + z + log(0*x)", "values": given})
    found = json.loads(text, parse_constant=pytest.fail)  # which a browser would refuse
    assert found["values"] == given
    assert "page" in found
    server.start = START | {"values": {"x1": float("nan"), "x2": [float("inf")]}}
    _, frame = ask(server)
    assert '"values":{"x1":"NaN","x2":["Infinity"]}' in frame
