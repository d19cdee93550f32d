"""Where results go: one file, a folder, or standard output. Files appear whole or not at all."""

import os
from collections.abc import Iterable
from pathlib import Path

from ocr_app.cli.arguments import FORMATS
from ocr_app.errors import ConfigError, OutputError


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
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        os.replace(part, path)
    except OSError as error:
        raise OutputError(
            f"{path.name} cannot be written: {error.strerror}. Free some room or choose another place with -o."
        ) from None
    finally:
        part.unlink(missing_ok=True)


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
    """`name.md` for `name.pdf`; `name-2.md` where two sources share a name."""
    taken: set[str] = set()
    paths: list[Path | None] = []
    for source in sources:
        name, number = f"{source.stem}.{file_format}", 1
        while name.lower() in taken:
            number += 1
            name = f"{source.stem}-{number}.{file_format}"
        taken.add(name.lower())
        paths.append(folder / name)
    return paths
