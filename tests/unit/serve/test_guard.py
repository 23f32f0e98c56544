"""Hosts, origins, headers, routes, and names that look like paths."""

import asyncio
import json
from pathlib import Path

import pytest

from hyperfact.predict import Predictor
from hyperfact.serve.app import create_app
from hyperfact.serve.http.messages import Message
from hyperfact.serve.http.refusals import HEADERS
from hyperfact.serve.opened import Models
from hyperfact.serve.start import is_loopback
from tests.support.serving import QUESTION, Reply, get, league_path, post, request, send, shared

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
ROUTES = {
    "GET /",
    "GET /api/health",
    "GET /api/models",
    "GET /api/models/{model}/facts",
    "GET /api/models/{model}/map",
    "GET /api/models/{model}/search",
    "GET /api/models/{model}/slots",
    "GET /api/openapi.json",
    "GET /m/{model}",
    "GET /m/{model}/answers.csv",
    "GET /m/{model}/card",
    "GET /m/{model}/entity",
    "GET /m/{model}/map",
    "GET /m/{model}/query",
    "GET /static/{file}",
    "POST /api/ask",
    "POST /api/facts",
    "POST /api/models/{model}/batch",
    "POST /api/models/{model}/explain",
    "POST /api/models/{model}/complete",
    "POST /api/models/{model}/move",
    "POST /api/models/{model}/predict",
    "POST /api/models/{model}/what-if",
}


@pytest.fixture(scope="module")
def port() -> int:
    return shared().port


def test_there_are_these_routes_and_no_other() -> None:
    service = create_app(Models({"league": Predictor.load(league_path())}))
    found = {
        f"{method} {route.path}"
        for route in service.routes
        for method in (route.methods or set()) - {"HEAD"}
    }
    service.queue.close()
    assert found == ROUTES


def test_the_app_runs_on_any_asgi_server() -> None:
    """A body may come in pieces, and a server may ask whether the app has a lifespan."""
    service = create_app(Models({"league": Predictor.load(league_path())}))
    body = json.dumps({"question": QUESTION}).encode()
    pieces = [(body[:9], True), (body[9:], False)]
    sent: list[Message] = []

    async def receive() -> Message:
        part, more = pieces.pop(0)
        return {"type": "http.request", "body": part, "more_body": more}

    async def send_(message: Message) -> None:
        sent.append(message)

    scope = {
        **{"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST"},
        **{"path": "/api/models/league/predict", "query_string": b"", "root_path": ""},
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
    }
    asyncio.run(service(scope, receive, send_))
    assert sent[0]["status"] == 200
    assert set(HEADERS) <= set(sent[0]["headers"])
    assert json.loads(b"".join(message.get("body", b"") for message in sent[1:]))["answers"]
    with pytest.raises(RuntimeError, match="no lifespan here"):
        asyncio.run(service({"type": "lifespan"}, receive, send_))
    service.queue.close()


@pytest.mark.parametrize(
    ("host", "own"),
    [
        *((host, True) for host in ("127.0.0.1", "127.8.8.8", "::1", "localhost")),
        *((host, False) for host in ("0.0.0.0", "::", "192.168.1.2", "example.org", "")),
    ],
)
def test_what_is_this_machine(host: str, own: bool) -> None:
    assert is_loopback(host) is own


# -- who asks -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_other_hosts_are_refused_for_every_method(port: int, method: str) -> None:
    head = method == "HEAD"
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.", "127.0.0.2", "[::2]"):
        for target in ("/", "/api/health", "/api/models/league/predict", "/nothing"):
            reply = send(port, request(method, target, headers={"Host": host}), head=head)
            assert reply.status == 421, (method, host, target)
    for host in ("a/b", "a?b", "a#b", "localhost:x", "localhost:123456", "a b", "a@b", "[::1", "é"):
        reply = send(port, request(method, "/api/health", headers={"Host": host}), head=head)
        assert reply.status == 400, (method, host)


def test_a_host_stands_once(port: int) -> None:
    assert send(port, b"GET /api/health HTTP/1.1\r\n\r\n").status == 400
    assert send(port, b"GET /api/health HTTP/1.0\r\n\r\n").status == 400
    two = b"GET /api/health HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n"
    assert send(port, two).status == 400
    for host in ("localhost", f"localhost:{port}", "LOCALHOST", "[::1]:80", "127.0.0.1:8000"):
        assert get(port, "/api/health", {"Host": host}).status == 200, host


@pytest.mark.parametrize(
    "target", ["*", "api/health", "http://127.0.0.1/api/health", "127.0.0.1:80", "?x", "#"]
)
def test_an_address_begins_at_the_root(port: int, target: str) -> None:
    for method in ("GET", "OPTIONS", "CONNECT"):
        assert send(port, request(method, target)).status == 400


def test_other_sites_are_refused(port: int) -> None:
    body = json.dumps({"question": QUESTION}).encode()
    own = f"http://127.0.0.1:{port}"
    for headers, status in (
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": f"http://127.0.0.1:{port + 1}"}, 403),
        ({"Origin": f"{own}.evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate"}, 403),
        ({"Origin": own, "Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
    ):
        host = {"Host": f"127.0.0.1:{port}", **headers}
        reply = send(port, request("POST", "/api/models/league/predict", body, host))
        assert reply.status == status, headers
        assert not any(name.startswith("access-control") for name in reply.headers)
    followed = {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate"}
    assert get(port, "/api/health", followed).status == 200
    preflight = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    reply = send(port, request("OPTIONS", "/api/models/league/predict", headers=preflight))
    assert reply.status == 403
    assert not any(name.startswith("access-control") for name in reply.headers)


# -- headers --------------------------------------------------------------------------------------


def replies(port: int) -> dict[str, Reply]:
    """A response of every kind."""
    people = {"Accept": "text/html"}
    return {
        "json": get(port, "/api/health"),
        "page": get(port, "/m/league"),
        "redirect": get(port, "/"),
        "csv": get(port, "/m/league/answers.csv?q=player+1+%7C+lives+in+%7C+%3F"),
        "not found": get(port, "/nothing"),
        "no page": get(port, "/nothing", people),
        "no static file": get(port, "/static/nothing"),
        "method": send(port, request("DELETE", "/api/health")),
        "bad question": post(port, "predict", {"question": "x"}),
        "bad host": get(port, "/api/health", {"Host": "evil.example"}),
        "no http": send(port, b"what?\r\n\r\n"),
        "long": get(port, "/" + "x" * 9000),
        "large": send(port, request("POST", "/", headers={"Content-Length": "9999999"})),
        "many": get(port, "/", {f"x-{i}": "y" for i in range(200)}),
    }


def test_every_response_has_the_headers(port: int) -> None:
    for case, reply in replies(port).items():
        for name, value in HEADERS:
            assert reply.headers[name.decode()] == value.decode(), case
        assert "unsafe" not in reply.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]
        assert "server" not in reply.headers
        assert "x-powered-by" not in reply.headers
        kind = "text/html; charset=utf-8" if case in ("page", "no page") else "application/json"
        if case == "csv":
            kind = "text/csv; charset=utf-8"
        if case != "redirect":
            assert reply.headers["content-type"] == kind, case


# -- names are not paths --------------------------------------------------------------------------

_STEPS = ("../", "..%2f", "%2e%2e/", "%2e%2e%2f", "%252e%252e%252f", "%25252e%25252e%25252f")
_MORE = ("..;/", "..%5c", "..\\", "%c0%ae%c0%ae/", "%e0%80%ae/", "..%00/", "....//", ".%2e/", "%2f")
PAYLOADS = [
    *(f"{step * 6}etc/passwd" for step in (*_STEPS, *_MORE)),
    *(f"league/{step * 6}etc/passwd" for step in (*_STEPS, *_MORE)),
    *(f"{step}manifest.json" for step in (*_STEPS, *_MORE)),
    *("/etc/passwd", "//etc/passwd", "%2fetc%2fpasswd", "file:///etc/passwd", "file:%2f%2f/etc"),
    *("league%00", "league%00.json", "%00", "league%0a", "league%23", "league%3f", "C:%5cwindows"),
    *("league/../league", "league/./search", ".", "..", "~", "~root", "league%20", "LEAGUE"),
    *(
        "config.toml",
        "weights.safetensors",
        "link",
        "\\\\host\\share",
        "league;a=b",
        "*",
        "l%65ague2",
    ),
]


def test_names_open_no_files(port: int) -> None:
    assert len(PAYLOADS) >= 60
    link = Path(league_path()).parent / "link"
    if not link.exists():
        link.symlink_to("/etc")
    before = len(shared().events())
    for payload in PAYLOADS:
        for target in (
            f"/api/models/{payload}/search?q=a",
            f"/m/{payload}",
            f"/static/{payload}",
            f"/{payload}",
        ):
            reply = get(port, target)
            assert reply.status in (400, 404), (target, reply.status)
            assert b"root:" not in reply.body
    found = shared().events()[before:]
    assert not [event for event in found if event[0] == "open"], found


def test_the_audit_sees_files(port: int) -> None:
    text = shared().audit_file.read_text()
    assert str(league_path()) in text  # the run was opened before the service was ready
    assert get(port, "/api/health").status == 200
