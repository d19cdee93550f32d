"""API keys: random, shown once, stored as a digest, with a name and a role."""

import hashlib
import secrets
import time
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Engine, insert, select, update

from ocr_app.errors import BadRequestError, NoSuchJobError
from ocr_app.service.tables import audit, keys

PREFIX = "lsk_"
MAX_NAME_CHARS = 80


class Role(StrEnum):
    ADMIN = "admin"  # everybody's jobs, metrics
    USER = "user"  # own jobs
    READER = "reader"  # own jobs, looking only
    MONITOR = "monitor"  # metrics only


@dataclass(frozen=True, slots=True)
class Key:
    """Who a request comes from."""

    id: str
    name: str
    role: Role
    created_s: float = 0.0
    revoked_s: float | None = None

    @property
    def sees_all(self) -> bool:
        return self.role is Role.ADMIN


LOCAL = Key("local", "local", Role.ADMIN)  # the person at this machine, where no keys are asked for


class KeyStore:
    """Keys in the database, and the audit log of what was done with them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, name: str, role: Role) -> tuple[Key, str]:
        """Make a key; returns it and its secret, which is not kept. Raises BadRequestError."""
        name = name.strip()
        if not name or len(name) > MAX_NAME_CHARS or not name.isprintable():
            raise BadRequestError(f"A key's name has 1 to {MAX_NAME_CHARS} printable characters.")
        if any(key.name == name and key.revoked_s is None for key in self.all()):
            raise BadRequestError(f"There is a key named {name!r}; revoke it first or take another name.")
        secret = PREFIX + secrets.token_urlsafe(32)
        key = Key(secrets.token_hex(8), name, role, time.time())
        with self._engine.begin() as connection:
            connection.execute(
                insert(keys).values(
                    id=key.id, name=name, role=role, digest=_digest(secret), created_s=key.created_s
                )
            )
        return key, secret

    def all(self) -> list[Key]:
        with self._engine.connect() as connection:
            rows = connection.execute(select(keys).order_by(keys.c.created_s)).all()
        return [Key(row.id, row.name, Role(row.role), row.created_s, row.revoked_s) for row in rows]

    def revoke(self, name: str) -> None:
        query = update(keys).where(keys.c.name == name, keys.c.revoked_s.is_(None))
        with self._engine.begin() as connection:
            if not connection.execute(query.values(revoked_s=time.time())).rowcount:
                raise NoSuchJobError(f"There is no key named {name!r} in use.")

    def owner_of(self, secret: str) -> Key | None:
        """The key a secret belongs to. The digest is looked up, so no time tells how much of it was right."""
        query = select(keys).where(keys.c.digest == _digest(secret), keys.c.revoked_s.is_(None))
        with self._engine.connect() as connection:
            row = connection.execute(query).first()
        return Key(row.id, row.name, Role(row.role), row.created_s) if row else None

    def note(self, who: str, address: str, action: str, status: int) -> None:
        """Write a line of the audit log: who did what, and how it ended; no text of a document."""
        with self._engine.begin() as connection:
            connection.execute(
                insert(audit).values(
                    at_s=time.time(), who=who, address=address[:64], action=action[:160], status=status
                )
            )

    def notes(self, limit: int = 100) -> list[tuple[float, str, str, str, int]]:
        """The latest lines of the audit log, newest first."""
        query = select(audit).order_by(audit.c.id.desc()).limit(limit)
        with self._engine.connect() as connection:
            rows = connection.execute(query).all()
        return [(row.at_s, row.who, row.address, row.action, row.status) for row in rows]


def _digest(secret: str) -> str:
    # a secret has 256 random bits: a slow hash would add nothing that guessing has to pay for
    return hashlib.sha256(secret.encode()).hexdigest()
