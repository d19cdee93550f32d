"""Where results go: one file, a folder, or standard output. Files appear whole or not at all."""

import hashlib
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from ocr_app.cli.arguments import FORMATS
from ocr_app.errors import ConfigError, OutputError

MAX_STEM_BYTES = 200  # file systems allow 255 for a name; endings and numbers come on top, some encrypt
MAX_SHOWN_BYTES = 80


def choose_format(wanted: str | None, output: Path | None) -> str:
    """The format asked for, else the one that the output's name ends in, else Markdown."""
    ending = output.suffix.removeprefix(".").lower() if output else ""
    return wanted or (ending if ending in FORMATS else "md")


def output_paths(sources: list[Path], output: Path | None, file_format: str) -> list[Path | None]:
    """One place for each source, checked before the work starts; None is standard output."""
    if output is None:
        if len(sources) > 1:
            raise ConfigError(f"{len(sources)} files cannot share standard output; name a folder with -o.")
        return [None]
    is_folder = len(sources) > 1 or output.is_dir()
    _check_folder(output if is_folder else output.parent, make=is_folder)
    return _names_in(output, sources, file_format) if is_folder else [output]


def write_whole(path: Path, text: str) -> None:
    """Write a file beside its place and move it there, so that no reader ever sees half of it."""
    part = path.with_name(f".{secrets.token_hex(8)}.part")  # never longer than the name itself may be
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        os.replace(part, path)
    except OSError as error:
        raise OutputError(
            f"{shortened(path.name, MAX_SHOWN_BYTES)} cannot be written: {error.strerror}. "
            "Free some room or choose another place with -o."
        ) from None
    finally:
        part.unlink(missing_ok=True)


def shortened(name: str, max_bytes: int) -> str:
    """A name of at most so many bytes: cut between characters, with a mark of the whole name at the end, so
    that two long names stay two.
    """
    data = name.encode("utf-8", "surrogateescape")
    if len(data) <= max_bytes:
        return name
    mark = "-" + hashlib.sha256(data).hexdigest()[:8]
    return data[: max_bytes - len(mark)].decode("utf-8", "ignore") + mark


def _check_folder(folder: Path, *, make: bool) -> None:
    try:
        if make:
            folder.mkdir(parents=True, exist_ok=True)
        is_usable = folder.is_dir() and os.access(folder, os.W_OK)
    except OSError:
        is_usable = False
    if not is_usable:
        raise OutputError(
            f"Nothing can be written to {folder}; make that folder or choose another place with -o."
        )


def _names_in(folder: Path, sources: Iterable[Path], file_format: str) -> list[Path | None]:
    """`name.md` for `name.pdf`; `name-2.md` where two sources share a name; shorter where the file system
    allows no such length.
    """
    taken: set[str] = set()
    paths: list[Path | None] = []
    for source in sources:
        stem = shortened(source.stem, MAX_STEM_BYTES)
        name, number = f"{stem}.{file_format}", 1
        while name.lower() in taken:
            number += 1
            name = f"{stem}-{number}.{file_format}"
        taken.add(name.lower())
        paths.append(folder / name)
    return paths
