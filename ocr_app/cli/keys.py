"""`keys`: make, list and revoke the keys of the service; read its audit log; make a secret for encryption."""

import argparse
import os
from datetime import UTC, datetime

from ocr_app.config_sources import load_config
from ocr_app.errors import ConfigError


def run(args: argparse.Namespace) -> int:
    if args.action == "secret":
        from cryptography.fernet import Fernet

        print(Fernet.generate_key().decode())
        return 0
    if args.action in ("add", "revoke") and not args.name:
        raise ConfigError(f"keys {args.action} needs a name, like `keys {args.action} ana`.")
    from ocr_app.service.folder import ready_folder
    from ocr_app.service.keys import KeyStore, Role
    from ocr_app.service.tables import open_database

    service = load_config({}, os.environ, args.config).service
    engine = open_database(service.database_url, ready_folder(service.folder))
    try:
        store = KeyStore(engine)
        if args.action == "add":
            print(store.add(args.name, Role(args.role))[1])
        elif args.action == "revoke":
            store.revoke(args.name)
        elif args.action == "log":
            _print_log(store)
        else:
            _print_keys(store)
    finally:
        engine.dispose()
    return 0


def _print_keys(store) -> None:
    for key in store.all():
        end = f"  revoked {_time(key.revoked_s)}" if key.revoked_s else ""
        print(f"{key.name}  {key.role}  made {_time(key.created_s)}{end}")


def _print_log(store) -> None:
    for at_s, who, address, action, status in reversed(store.notes()):
        print(f"{_time(at_s)}  {who}  {address}  {action}  {status}")


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
