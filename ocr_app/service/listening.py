"""Listening: a socket, uvicorn on it, and the first key where keys are asked for and there is none."""

import socket
import sys

import uvicorn
from fastapi import FastAPI

from ocr_app.config import AppConfig
from ocr_app.errors import ConfigError
from ocr_app.service.auth import needs_keys
from ocr_app.service.keys import KeyStore, Role

FIRST_PORT, NUM_PORTS = 7860, 100
MAX_CONNECTIONS = 500
MAX_HEADER_BYTES = 64 * 2**10
END_S = 5  # for answers under way when the server is told to end; watchers come back by themselves


def open_socket(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes the first free one from FIRST_PORT on. Raises ConfigError."""
    ports = [port] if port else range(FIRST_PORT, FIRST_PORT + NUM_PORTS)
    for one in ports:
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            return socket.create_server((host, one), family=family, backlog=2048)
        except OSError as error:
            reason = error.strerror
    raise ConfigError(f"server.port is {port} on {host}, which cannot be listened on: {reason}.")


def make_first_key(config: AppConfig, keys: KeyStore) -> None:
    """Print an admin's key once where keys are asked for and there is none: else nobody could come in."""
    if needs_keys(config.service.auth, config.server.host) and not keys.all():
        _key, secret = keys.add("admin", Role.ADMIN)
        print(
            f"Keys are asked for and there was none. The admin's, shown this once: {secret}",
            file=sys.stderr,
            flush=True,
        )


def run_server(app: FastAPI, config: AppConfig) -> None:
    """Answer until interrupted."""
    with open_socket(config.server.host, config.server.port) as listener:
        shown = f"[{config.server.host}]" if ":" in config.server.host else config.server.host
        print(f"Longscribe listens on http://{shown}:{listener.getsockname()[1]}", flush=True)
        server(app, config).run(sockets=[listener])


def server(app: FastAPI, config: AppConfig) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            app,
            log_level="warning" if config.server.log_level == "info" else config.server.log_level,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # the address in the audit log is the one that connected
            limit_concurrency=MAX_CONNECTIONS,
            h11_max_incomplete_event_size=MAX_HEADER_BYTES,
            timeout_graceful_shutdown=END_S,
            http="h11",
        )
    )
