"""What stands before every route: keys, roles, sizes, pace, origins, headers, sources."""

import base64
import socket
import stat
import time
from contextlib import suppress
from urllib.parse import urlsplit

import httpx
import pytest

from ocr_app.config import LoaderConfig
from ocr_app.errors import SourceError, TooLargeError
from ocr_app.service.auth import OPEN_PATHS
from ocr_app.service.keys import Role
from ocr_app.service.sources import path_pieces, url_pieces
from tests.service import scripted
from tests.service.support import over, submit, wait_until
from tests.service.test_api import ended, send

FORM_HEAD = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n'
SMALL = LoaderConfig(max_file_bytes=100_000)


def test_without_a_key_every_route_but_two_is_closed(serve):
    running = serve(auth="on")
    client = running.client()
    paths = client_paths(running)
    assert len(paths) > 10
    for method, path in paths:
        answer = client.request(method, path.format(job_id="x", page_number=1))
        assert answer.status_code == (200 if path in OPEN_PATHS else 401), path
    for path in ("/", "/gradio_api/upload", "/nothing"):  # the page is mounted behind the same check
        assert client.get(path).status_code == 401
    assert "Basic" in client.get("/").headers["www-authenticate"]


def client_paths(running) -> list[tuple[str, str]]:
    spec = running.client(Role.ADMIN, "walker").get("/v1/openapi.json").json()
    found = [(method, path) for path, methods in spec["paths"].items() for method in methods]
    return [*found, ("get", "/v1/openapi.json")]


def test_three_ways_to_send_a_key_and_none_after_it_is_revoked(serve):
    running = serve(auth="on")
    _key, secret = running.service.keys.add("jo", Role.USER)
    basic = base64.b64encode(f"whoever:{secret}".encode()).decode()
    client = running.client()
    for headers in (
        {"Authorization": f"Bearer {secret}"},
        {"X-API-Key": secret},
        {"Authorization": f"Basic {basic}"},
    ):
        assert client.get("/v1/jobs", headers=headers).status_code == 200
    assert client.get("/v1/jobs", headers={"X-API-Key": secret + "x"}).status_code == 401
    running.service.keys.revoke("jo")
    assert client.get("/v1/jobs", headers={"X-API-Key": secret}).status_code == 401


def test_secrets_are_stored_as_digests_only(serve, tmp_path):
    running = serve(auth="on")
    _key, secret = running.service.keys.add("jo", Role.USER)
    stored = b"".join(path.read_bytes() for path in (tmp_path / "work").glob("jobs.sqlite*"))
    assert b"jo" in stored
    assert secret.encode() not in stored


def test_jobs_of_another_key_do_not_exist(serve):
    running = serve(auth="on")
    mine, yours = running.client(Role.USER, "me"), running.client(Role.USER, "you")
    admin = running.client(Role.ADMIN, "admin")
    job = send(mine, "private", 2).json()
    at = f"/v1/jobs/{job['id']}"
    ended(mine, job)
    for path in (at, f"{at}/pages", f"{at}/pages/1", f"{at}/events", f"{at}/result"):
        assert yours.get(path).status_code == 404, path
    assert yours.post(f"{at}/cancel").status_code == 404
    assert yours.delete(at).status_code == 404
    assert yours.get("/v1/jobs").json()["jobs"] == []
    assert len(admin.get("/v1/jobs").json()["jobs"]) == 1
    assert mine.delete(at).status_code == 204


def test_roles(serve):
    running = serve(auth="on")
    reader, monitor = running.client(Role.READER, "r"), running.client(Role.MONITOR, "m")
    user = running.client(Role.USER, "u")
    assert reader.get("/v1/jobs").status_code == 200
    assert send(reader, "a", 1).status_code == 403
    assert monitor.get("/metrics").status_code == 200
    assert monitor.get("/v1/jobs").status_code == 403
    assert user.get("/metrics").status_code == 403


def test_a_key_that_asks_too_often_waits_and_guessing_is_slowed(serve):
    running = serve(auth="on", rate_limit="5/minute")
    client = running.client(Role.USER, "busy")
    assert [client.get("/v1/jobs").status_code for _ in range(7)] == [200] * 5 + [429] * 2
    guesses = [
        running.client(headers={"X-API-Key": f"lsk_{number}"}).get("/v1/jobs").status_code
        for number in range(22)
    ]
    assert guesses == [401] * 20 + [429] * 2


def test_without_keys_only_this_machine_by_its_own_name(serve):
    client = serve().client()
    assert client.get("/v1/jobs").status_code == 200
    assert client.get("/v1/jobs", headers={"Host": "evil.example"}).status_code == 403
    assert client.get("/v1/jobs", headers={"X-Forwarded-For": "203.0.113.5"}).status_code == 403


def test_another_web_page_cannot_use_a_persons_browser(serve):
    running = serve(auth="on")
    _key, secret = running.service.keys.add("jo", Role.USER)
    basic = {"Authorization": "Basic " + base64.b64encode(f"x:{secret}".encode()).decode()}
    client = running.client(headers=basic)
    assert send(client, "a", 1).status_code == 202
    client.headers["Origin"] = "http://evil.example"
    assert send(client, "a", 1).status_code == 403
    client.headers["Origin"] = running.url
    assert send(client, "a", 1).status_code == 202


def test_cors_is_closed_until_an_origin_is_allowed(serve):
    asked = {"Origin": "http://app.example", "Access-Control-Request-Method": "GET"}
    assert "access-control-allow-origin" not in serve().client().options("/v1/jobs", headers=asked).headers


def test_an_allowed_origin_is_told_so(serve):
    asked = {"Origin": "http://app.example", "Access-Control-Request-Method": "GET"}
    answer = serve(cors_origins="http://app.example", auth="on").client().options("/v1/jobs", headers=asked)
    assert answer.headers["access-control-allow-origin"] == "http://app.example"


def test_every_answer_has_the_security_headers(serve):
    client = serve().client()
    for path in ("/v1/jobs", "/v1/jobs/nothing", "/livez", "/nothing"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "SAMEORIGIN"
    assert client.get("/v1/jobs").headers["cache-control"] == "no-store"


def test_a_body_over_the_limit_is_refused_while_it_streams(serve, tmp_path):
    running = serve(loader=SMALL)
    client = running.client()
    sent = [0]

    def endless():
        yield FORM_HEAD
        for _ in range(1000):
            sent[0] += 1
            yield b"x" * 65536

    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    with suppress(httpx.TransportError):  # the connection may be cut before the answer is read
        answer = client.post("/v1/jobs", content=endless(), headers=headers)
        assert answer.status_code == 413
        assert answer.json()["error"]["type"] == "TooLargeError"
    assert sent[0] < 500, "it was read to its end"
    assert client.get("/livez").status_code == 200
    assert list((tmp_path / "work" / "uploads").iterdir()) == []


def test_a_length_over_the_limit_is_refused_before_the_body(serve):
    running = serve(loader=SMALL)
    head = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n"
    assert raw(running, head).startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize("length", [b"-1", b"abc", b"5\r\nContent-Length: 6"])
def test_a_length_that_is_none_is_refused(serve, length):
    running = serve()
    head = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + length + b"\r\n\r\nhello"
    assert raw(running, head).startswith(b"HTTP/1.1 400")
    assert running.client().get("/livez").status_code == 200


def test_a_body_that_stops_coming_is_given_up(serve):
    running = serve(idle_timeout_s=0.3)
    started_s = time.monotonic()
    head = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n"
    form = b"Content-Type: multipart/form-data; boundary=b\r\n\r\n--b\r\n"
    assert raw(running, head + form).startswith(b"HTTP/1.1 408")
    assert time.monotonic() - started_s < 5


def test_a_body_that_trickles_is_given_up(serve):
    running = serve(idle_timeout_s=5.0, upload_timeout_s=0.5)
    head = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n"
    form = b"Content-Type: multipart/form-data; boundary=b\r\n\r\n"
    with connected(running) as connection:
        connection.sendall(head + form + FORM_HEAD)
        for _ in range(12):
            time.sleep(0.08)
            try:
                connection.sendall(b"-")
            except OSError:
                break
        assert connection.recv(100).startswith(b"HTTP/1.1 408")


def test_a_client_that_hangs_up_in_the_middle_leaves_nothing(serve, tmp_path):
    running = serve()
    for _ in range(5):
        with connected(running) as connection:
            connection.sendall(
                b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n--b"
            )
            connection.shutdown(socket.SHUT_WR)
    assert running.client().get("/readyz").status_code == 200
    assert over(running.service, submit(running.service, "after", 1)).num_done == 1
    assert list((tmp_path / "work" / "uploads").iterdir()) == []


def test_the_scanner_has_the_last_word(serve, tmp_path):
    scanner = tmp_path / "scan.sh"
    scanner.write_text('#!/bin/sh\n! grep -q EICAR "$1"\n')
    scanner.chmod(scanner.stat().st_mode | stat.S_IXUSR)
    client = serve(scan_command=str(scanner)).client()
    assert send(client, "clean", 1).status_code == 202
    answer = send(client, "EICAR", 1)
    assert (answer.status_code, answer.json()["error"]["type"]) == (422, "InfectedFileError")


def test_the_audit_log_says_who_did_what_and_holds_no_text(serve):
    running = serve(auth="on")
    client = running.client(Role.USER, "jo")
    job = send(client, "swordfish", 1).json()
    ended(client, job)
    client.delete(f"/v1/jobs/{job['id']}")
    wait_until(lambda: len(running.service.keys.notes()) == 2)  # written once the answer is out
    lines = running.service.keys.notes()
    assert [(line[1], line[3], line[4]) for line in lines] == [
        ("jo", f"DELETE /v1/jobs/{job['id']}", 204),
        ("jo", "POST /v1/jobs", 202),
    ]
    assert "swordfish" not in str(lines)


def test_no_answer_holds_a_path_of_the_server(serve, tmp_path):
    client = serve().client()
    job = send(client, "a", 2).json()
    ended(client, job)
    at = f"/v1/jobs/{job['id']}"
    answers = [
        client.get(path)
        for path in (at, f"{at}/pages", f"{at}/events", f"{at}/result?format=json", "/readyz", "/metrics")
    ]
    answers += [send(client, "b", 2, path="/etc/passwd"), send(client, "c", 2, pages="7")]
    for answer in answers:
        assert str(tmp_path) not in answer.text
        assert "/uploads" not in answer.text


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "::1",
        "fd00::1",
        "::ffff:10.0.0.1",
        "0.0.0.0",
    ],
)
def test_addresses_of_the_inside_are_refused(address):
    with pytest.raises(SourceError, match="not of the public internet"):
        list(url_pieces("http://docs.example/a.pdf", "docs.example", 100, lambda host, port: [address]))
    with pytest.raises(SourceError, match="not of the public internet"):  # one bad one among good ones
        list(url_pieces("http://docs.example/", "docs.example", 100, lambda *_: ["93.184.216.34", address]))


@pytest.mark.parametrize(
    "url",
    [
        *("http://other.example/a", "file:///etc/passwd", "ftp://docs.example/a", "http://docs.example:x/"),
        *("http://user:pw@docs.example/a", "http://docs.example.evil.example/", "http://"),
    ],
)
def test_urls_that_are_not_allowed_are_refused(url):
    with pytest.raises(SourceError):
        list(url_pieces(url, "docs.example", 100, lambda host, port: ["93.184.216.34"]))


def test_paths_stay_inside_the_operators_folder(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.pdf").write_bytes(b"%PDF-")
    (tmp_path / "secret").write_bytes(b"x")
    (folder / "link").symlink_to(tmp_path / "secret")
    assert b"".join(path_pieces("a.pdf", str(folder), 100)) == b"%PDF-"
    for path in ("../secret", str(tmp_path / "secret"), "link", "a\0b", ".", "missing.pdf"):
        with pytest.raises(SourceError):
            list(path_pieces(path, str(folder), 100))
    with pytest.raises(TooLargeError):
        list(path_pieces("a.pdf", str(folder), 4))


def connected(running) -> socket.socket:
    parts = urlsplit(running.url)
    return socket.create_connection((parts.hostname, parts.port), timeout=10)


def raw(running, data: bytes) -> bytes:
    with connected(running) as connection:
        connection.sendall(data)
        return connection.recv(4096)


def test_a_file_that_is_no_document_is_told_by_its_first_bytes(serve):
    client = serve().client()
    answer = client.post("/v1/jobs", files={"file": ("a.pdf", b"PK\x03\x04 and more")})
    assert (answer.status_code, answer.json()["error"]["type"]) == (415, "UnsupportedFileError")
    assert client.post("/v1/jobs", files={"file": ("a.pdf", b"")}).status_code == 415
    assert client.post("/v1/jobs").status_code == 422
    assert scripted.document("x", 1).startswith(b"%PDF-")
