"""Documents named by URL or path, only where the operator allows it. Addresses of the inside are refused.

The name is resolved once, every address of it is looked at, and that address is connected to, so that a name
cannot mean another machine the second time. Redirects are not followed.
"""

import ipaddress
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from ocr_app.errors import SourceError, TooLargeError

CONNECT_S = 10.0
READ_S = 30.0
PIECE_BYTES = 2**20

Resolve = Callable[[str, int], list[str]]


def resolve(host: str, port: int) -> list[str]:
    """All addresses of a host."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        raise SourceError(f"The host {host!r} is not known; check the URL.") from None
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def url_pieces(
    url: str, allowed_hosts: str | None, max_bytes: int, resolve: Resolve = resolve
) -> Iterator[bytes]:
    """The bytes behind a URL as they come. Raises SourceError or TooLargeError."""
    parts = _checked_url(url, allowed_hosts)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    address = _public_address(parts.hostname, resolve(parts.hostname, port))
    shown = f"[{address}]" if ":" in address else address
    target = parts._replace(netloc=f"{shown}:{port}").geturl()
    headers = {"Host": parts.netloc.rpartition("@")[2]}
    timeout = httpx.Timeout(READ_S, connect=CONNECT_S)
    try:
        with (
            httpx.Client(timeout=timeout, follow_redirects=False, trust_env=False) as client,
            client.stream(
                "GET", target, headers=headers, extensions={"sni_hostname": parts.hostname}
            ) as answer,
        ):
            if answer.status_code != 200:
                raise SourceError(f"The host answered {answer.status_code}; name the document's own URL.")
            yield from _counted(answer.iter_bytes(PIECE_BYTES), max_bytes)
    except httpx.HTTPError as error:
        raise SourceError(f"The document could not be fetched ({type(error).__name__}).") from None


def path_pieces(path: str, allowed_folder: str | None, max_bytes: int) -> Iterator[bytes]:
    """The bytes of a file below the operator's folder. Raises SourceError or TooLargeError."""
    if allowed_folder is None:
        raise SourceError("Documents cannot be named by path here; upload the file.")
    folder = Path(allowed_folder).resolve()
    try:
        file = (folder / path).resolve()
        is_inside = file.is_relative_to(folder) and file.is_file()
    except (OSError, ValueError):
        is_inside = False
    if not is_inside:
        raise SourceError("There is no such file in the folder that documents may be named in.")
    with file.open("rb") as opened:
        yield from _counted(iter(lambda: opened.read(PIECE_BYTES), b""), max_bytes)


def _checked_url(url: str, allowed_hosts: str | None):
    hosts = {host.strip().lower() for host in (allowed_hosts or "").split(",") if host.strip()}
    if not hosts:
        raise SourceError("Documents cannot be fetched by URL here; upload the file.")
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise SourceError("The URL cannot be understood.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
        raise SourceError("The URL must begin with http:// or https:// and hold no password.")
    if parts.hostname.lower() not in hosts:
        raise SourceError(f"The host {parts.hostname!r} is not one that documents may be fetched from.")
    return parts


def _public_address(host: str, addresses: list[str]) -> str:
    if not addresses or not all(_is_public(address) for address in addresses):
        raise SourceError(f"The host {host!r} has an address that is not of the public internet.")
    return addresses[0]


def _is_public(text: str) -> bool:
    address = ipaddress.ip_address(text.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_global and not (mapped or address).is_multicast


def _counted(pieces: Iterator[bytes], max_bytes: int) -> Iterator[bytes]:
    num_bytes = 0
    for piece in pieces:
        num_bytes += len(piece)
        if num_bytes > max_bytes:
            raise TooLargeError(
                f"The document has more than {max_bytes / 2**20:.1f} MiB, which is the limit."
            )
        yield piece
