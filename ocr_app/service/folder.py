"""The work folder: one service at a time, uploads under names of ours, encrypted when a key is set.

No name that came from outside is ever part of a path.
"""

import fcntl
import os
import secrets
import time
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from cryptography.fernet import Fernet, InvalidToken

from ocr_app.errors import ConfigError, ServiceFolderError

PIECE_BYTES = 2**20
_LENGTH_BYTES = 4  # in front of each encrypted piece


def default_folder() -> Path:
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "longscribe"


def ready_folder(name: str | None) -> Path:
    """The folder, made for its owner alone where it is missing. Raises ServiceFolderError."""
    try:
        folder = Path(name) if name else default_folder()
        (folder / "uploads").mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(0o700)
    except (OSError, RuntimeError) as error:
        raise ServiceFolderError(
            f"The work folder cannot be used ({type(error).__name__}); set service.folder to one that can be "
            "written."
        ) from error
    return folder


class Vault:
    """Encrypts with a Fernet key; without one it hands bytes through."""

    def __init__(self, key: str | None) -> None:
        try:
            self._fernet = Fernet(key) if key else None
        except ValueError:
            raise ConfigError(
                "service.encryption_key is not a Fernet key; make one with `longscribe keys secret`."
            ) from None

    @property
    def is_open(self) -> bool:
        """Whether nothing is encrypted."""
        return self._fernet is None

    def seal(self, data: bytes) -> bytes:
        return self._fernet.encrypt(data) if self._fernet else data

    def unseal(self, data: bytes) -> bytes:
        if self._fernet is None:
            return data
        try:
            return self._fernet.decrypt(data)
        except InvalidToken:
            raise ServiceFolderError(
                "What is stored was encrypted with another key; set service.encryption_key to that one."
            ) from None


class WorkFolder:
    """Uploads, and the lock that says who owns them. Close it to let another service in."""

    def __init__(self, folder: Path, vault: Vault) -> None:
        self.path = folder
        self.vault = vault
        self._lock = _locked(folder / "lock")

    def save(self, pieces: Iterable[bytes]) -> tuple[str, int]:
        """Write a document; returns its name here and its length. Of one that failed nothing stays."""
        name = secrets.token_hex(16)
        path, num_bytes = self.file(name), 0
        try:
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                for piece in pieces:
                    num_bytes += len(piece)
                    self._write(file, piece)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return name, num_bytes

    def document(self, name: str) -> bytes | Path:
        """What `parse_document` takes: the file itself, or its bytes where they must be decrypted first."""
        if self.vault.is_open:
            return self.file(name)
        with self.file(name).open("rb") as file:
            return b"".join(self._pieces(file))

    def file(self, name: str) -> Path:
        assert name.isalnum(), "names are made by save()"
        return self.path / "uploads" / name

    def remove(self, name: str) -> None:
        self.file(name).unlink(missing_ok=True)

    def remove_orphans(self, known: set[str], *, older_s: float = 3600.0) -> int:
        """Remove uploads that no job names: what a killed process was still receiving."""
        now = time.time()
        orphans = [
            path
            for path in (self.path / "uploads").iterdir()
            if path.name not in known and now - path.stat().st_mtime > older_s
        ]
        for path in orphans:
            path.unlink(missing_ok=True)
        return len(orphans)

    def close(self) -> None:
        self._lock.close()

    def _write(self, file: BinaryIO, piece: bytes) -> None:
        if self.vault.is_open:
            file.write(piece)
            return
        sealed = self.vault.seal(piece)
        file.write(len(sealed).to_bytes(_LENGTH_BYTES, "big") + sealed)

    def _pieces(self, file: BinaryIO) -> Iterable[bytes]:
        while head := file.read(_LENGTH_BYTES):
            yield self.vault.unseal(file.read(int.from_bytes(head, "big")))


def _locked(path: Path) -> BinaryIO:
    """An open file that nobody else can lock; the system lets go of it however the process ends."""
    file = path.open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise ServiceFolderError(
            "Another service uses this work folder; stop it, or set service.folder to another one."
        ) from None
    return file
