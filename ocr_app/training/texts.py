"""Free text for training pages: passages of installed Debian packages, and made-up names, numbers and codes.

Nothing is downloaded and nothing is redistributed: the passages are read at run time from `debian-reference`
(en, de, fr, es, zh-cn), `developers-reference`, `fortunes`, `fortunes-zh` and `bible-kjv-text`. Where none is
installed, words are made up from syllables, and a warning says so. A tenth of all passages, chosen by a
checksum, belongs to the held-out split and is never used for training.

Knows nothing of layout.
"""

import html
import re
import subprocess
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random
from zlib import crc32

from ocr_app.training.names import NAMES, Vocabulary

REFERENCE = Path("/usr/share/debian-reference")
DEVELOPERS = Path("/usr/share/developers-reference")
FORTUNES = Path("/usr/share/games/fortunes")
BIBLE = Path("/usr/lib/bible.data")
CHARACTERS = Path(__file__).parents[2] / "assets" / "encoder" / "characters.txt"
REFERENCE_SUFFIX = {"en": "en", "de": "de", "fr": "fr", "es": "es", "zh": "zh-cn"}
# At the start of a paragraph this would look like the number of a heading, caption or item.
NUMBERED = re.compile(r"^(?:[A-Za-z]+ |表 ?|第)?[\dA-Z]{1,3}(?:\.\d+)*\.\s*|^[*•#(-]\s*")
SENTENCE_ENDS = ".!?:;\"'”)。！？：”）』」"
HELD_OUT_SHARE = 10  # one passage in ten
SYLLABLES = (
    "ba",
    "co",
    "di",
    "fu",
    "ga",
    "le",
    "mi",
    "no",
    "pra",
    "qui",
    "re",
    "sta",
    "tre",
    "va",
    "win",
    "ther",
    "ing",
    "ment",
    "ble",
    "ness",
)
HANZI = "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所民得经"


@dataclass(frozen=True, slots=True)
class Corpus:
    """The passages of one language and split."""

    prose: tuple[str, ...]  # paragraphs of one to many sentences
    titles: tuple[str, ...]
    cells: tuple[str, ...]  # short phrases, as in tables and lists
    codes: tuple[tuple[str, ...], ...]  # listings, line by line
    verses: tuple[tuple[str, ...], ...]  # lines that stay lines


@lru_cache(maxsize=1)
def alphabet() -> frozenset[str]:
    """What the recogniser can read, less kana, Cyrillic, and what is not seen (soft hyphens, spaces)."""
    if CHARACTERS.exists():
        characters = set(CHARACTERS.read_text(encoding="utf-8"))
    else:
        characters = set(map(chr, (*range(33, 127), *range(0xC0, 0x180), *range(0x4E00, 0x9FA6))))
    return frozenset(
        c for c in characters if not (c.isspace() or c in "\u00ad\u200b\ufeff" or _is_left_out(c))
    )


def clean(text: str) -> str:
    """Single spaces, and only characters the recogniser can read."""
    known = alphabet()
    kept = "".join([c if c in known else " " if c.isspace() else "" for c in text])
    return re.sub(r"\s+([,.;:!?)\]])(?=\s|$)", r"\1", " ".join(kept.split()))


def _is_left_out(character: str) -> bool:
    return (
        "\u0400" <= character <= "\u04ff"
        or "\u3041" <= character <= "\u30ff"
        or "\uac00" <= character <= "\ud7af"
    )


def _plain(markup: str) -> str:
    return clean(html.unescape(re.sub(r"<[^>]+>", "", markup)))


def _clean_lines(text: str) -> tuple[str, ...]:
    """Lines with their leading spaces kept as far as an indent of 8."""
    lines = [(len(line) - len(line.lstrip()), clean(line)) for line in text.expandtabs(4).splitlines()]
    return tuple(" " * min(indent, 8) + line for indent, line in lines if line)


def _read_html(path: Path, into: dict[str, list]) -> None:
    text = path.read_text(encoding="utf-8", errors="replace")
    for match in re.finditer(r"<(p|h[1-6]|td|pre)\b[^>]*>(.*?)</\1>", text, re.DOTALL):
        tag, body = match.groups()
        if tag == "pre":
            into["codes"].append(_clean_lines(html.unescape(re.sub(r"<[^>]+>", "", body)))[:40])
        elif tag == "td":
            into["cells"].append(_plain(body)[:90])
        elif tag == "p":
            into["prose"].append(_plain(body))
        else:
            into["titles"].append(
                re.sub(r"^\D{0,9}[\d.A-Z]*\d\.\s*|^第 ?\d+ ?章 ?", "", _plain(body)).rstrip("¶ ")
            )


def _read_fortunes(path: Path, into: dict[str, list]) -> None:
    text = re.sub(r"\x1b\[[\d;]*m", "", path.read_text(encoding="utf-8", errors="replace"))
    glue = "" if path.name in ("chinese", "song100", "tang300") else " "
    for entry in re.split(r"^%\s*$", text, flags=re.MULTILINE):
        lines = [
            line
            for line in entry.splitlines()
            if line.strip() and not line.strip().startswith(("--", "题目", "作者", "《"))
        ]
        if path.name in ("song100", "tang300", "songs-poems"):
            into["verses"].append(_clean_lines("\n".join(lines))[:24])
        else:
            into["prose"].append(clean(glue.join(line.strip() for line in lines)))


def _read_bible(path: Path, into: dict[str, list]) -> None:
    """The file is a table of offsets followed by LZW streams; gzip unpacks each."""
    for piece in path.read_bytes().split(b"\x1f\x9d\x90")[1:13]:
        done = subprocess.run(
            ["gzip", "-dc"], input=b"\x1f\x9d\x90" + piece, capture_output=True, check=False
        )
        verses = [
            re.sub(r"^\w+?\d+:\d+ ", "", clean(line)) for line in done.stdout.decode("latin-1").splitlines()
        ]
        into["prose"] += [
            " ".join(verses[start : start + 4]) for start in range(0, len(verses), 24)
        ]  # a sixth: it is one tone of many


@lru_cache(maxsize=8)
def _passages(language: str) -> dict[str, list]:
    found: dict[str, list] = {"prose": [], "titles": [], "cells": [], "codes": [], "verses": []}
    for path in sorted(REFERENCE.glob(f"*.{REFERENCE_SUFFIX[language]}.html")):
        _read_html(path, found)
    fortunes = ("chinese", "song100", "tang300") if language == "zh" else ()
    if language == "en":
        fortunes = (
            "people",
            "science",
            "computers",
            "wisdom",
            "literature",
            "songs-poems",
            "definitions",
            "politics",
            "work",
            "law",
        )
        for path in sorted(DEVELOPERS.glob("*.html")):
            _read_html(path, found)
        if BIBLE.exists():
            _read_bible(BIBLE, found)
    for name in fortunes:
        if (FORTUNES / name).exists():
            _read_fortunes(FORTUNES / name, found)
    return found


def _invented(language: str) -> dict[str, list]:
    """Made-up words, for machines without the packages: enough to lay out pages, not to train well."""
    warnings.warn(
        f"No text package for {language!r} is installed; words are made up.", RuntimeWarning, stacklevel=4
    )
    rng = Random(language)

    def phrase(num_words: int) -> str:
        if language == "zh":
            return "".join(rng.choice(HANZI) for _ in range(num_words * 2))
        return " ".join(
            "".join(rng.choice(SYLLABLES) for _ in range(rng.randint(1, 4))) for _ in range(num_words)
        ).capitalize()

    def passage() -> str:
        stop = "。" if language == "zh" else ". "
        return stop.join(phrase(rng.randint(5, 18)) for _ in range(rng.randint(2, 6))) + stop.strip()

    lines = [tuple(phrase(4) for _ in range(6)) for _ in range(60)]
    return {
        "prose": [passage() for _ in range(400)],
        "titles": [phrase(rng.randint(1, 6)) for _ in range(120)],
        "cells": [phrase(rng.randint(1, 5)) for _ in range(300)],
        "codes": lines,
        "verses": lines,
    }


def _is_held_out(passage: object) -> bool:
    return crc32(repr(passage).encode()) % HELD_OUT_SHARE == 0


@lru_cache(maxsize=16)
def load_corpus(language: str, split: str) -> Corpus:
    """The passages of a language; those of the two splits have nothing in common."""
    found = _passages(language)
    if len(found["prose"]) < 50:
        found = _invented(language)
    shortest = 24 if language == "zh" else 60
    wanted = split == "held_out"
    found = found | {
        "prose": [
            re.sub(NUMBERED, "", p) for p in found["prose"] if len(p) >= shortest and p[-1] in SENTENCE_ENDS
        ]
    }
    kept = {
        name: [p for p in dict.fromkeys(entries) if p and _is_held_out(p) == wanted]
        for name, entries in found.items()
    }
    kept["titles"] = [p for p in kept["titles"] if 2 <= len(p) <= 70]
    kept["cells"] = [p for p in kept["cells"] if 1 <= len(p) <= 90]
    return Corpus(**{name: tuple(entries) for name, entries in kept.items()})


class TextSource:
    """Draws text of one language and split; the same seed gives the same text."""

    def __init__(self, language: str, split: str, rng: Random) -> None:
        self.language = language
        self.corpus = load_corpus(language, split)
        self.vocabulary: Vocabulary = NAMES[language]
        self.rng = rng

    @property
    def is_chinese(self) -> bool:
        return self.language == "zh"

    def passage(self, max_chars: int) -> str:
        """Consecutive sentences of one source, at most about `max_chars` long (a third of that for Chinese),
        never empty.
        """
        limit = max_chars // 3 if self.is_chinese else max_chars
        text = self.rng.choice(self.corpus.prose)
        while len(text) < limit * 0.6:
            text += ("" if self.is_chinese else " ") + self.rng.choice(self.corpus.prose)
        sentences = re.findall(
            r"[^。！？]+[。！？]?" if self.is_chinese else r".+?(?:[.!?](?=\s)|$)\s*", text
        )
        taken = sentences[0]
        for sentence in sentences[1:]:
            if len(taken) + len(sentence) > limit:
                break
            taken += sentence
        return self.shorten(taken.strip(), limit * 2)

    def shorten(self, text: str, max_chars: int) -> str:
        if len(text) <= max_chars:
            return text
        cut = text[:max_chars]
        return (cut if self.is_chinese or " " not in cut else cut.rsplit(" ", 1)[0]).strip() or text[
            :max_chars
        ]

    def title(self, max_chars: int = 60) -> str:
        if self.rng.random() < 0.6 and self.corpus.titles:
            return self.shorten(self.rng.choice(self.corpus.titles), max_chars)
        return self.phrase(self.rng.randint(2, 7))

    def phrase(self, num_words: int) -> str:
        """A few words in a row out of running text, without the stop at their end."""
        text = self.rng.choice(self.corpus.prose)
        if self.is_chinese:
            parts = [part for part in re.split(r"[，。；：、！？“”（） ]", text) if len(part) >= 2]
            return (self.rng.choice(parts) if parts else text)[: num_words * 3]
        words = text.split()
        start = self.rng.randrange(max(len(words) - num_words, 1))
        phrase = " ".join(words[start : start + num_words]).strip(".,;:()[]\"'")
        return phrase[:1].upper() + phrase[1:] if phrase else words[0]

    def cell(self, max_chars: int = 40) -> str:
        if self.rng.random() < 0.5 and self.corpus.cells:
            return self.shorten(self.rng.choice(self.corpus.cells), max_chars)
        return self.shorten(self.phrase(self.rng.randint(1, 6)), max_chars)

    def code_lines(self, num_lines: int) -> tuple[str, ...]:
        lines = self.rng.choice(self.corpus.codes) if self.corpus.codes else ("make all",)
        return tuple(line[:72] for line in lines[:num_lines])

    def verse_lines(self, num_lines: int) -> tuple[str, ...]:
        if self.corpus.verses:
            return tuple(line.strip()[:60] for line in self.rng.choice(self.corpus.verses)[:num_lines])
        return tuple(self.phrase(6) for _ in range(num_lines))

    def name(self) -> str:
        glue = "" if self.is_chinese else " "
        first, last = (
            self.rng.choice(self.vocabulary.first_names),
            self.rng.choice(self.vocabulary.last_names),
        )
        return (
            last + first
            if self.is_chinese
            else first + glue + (f"{chr(65 + self.rng.randrange(26))}. " * (self.rng.random() < 0.2)) + last
        )

    def place(self) -> str:
        return self.rng.choice(self.vocabulary.places)

    def company(self) -> str:
        glue = "" if self.is_chinese else " "
        return glue.join(
            (
                self.rng.choice(self.vocabulary.last_names + self.vocabulary.places),
                self.rng.choice(self.vocabulary.companies),
            )
        )

    def date(self) -> str:
        year, month, day = self.rng.randint(1898, 2031), self.rng.randint(1, 12), self.rng.randint(1, 28)
        if self.is_chinese and self.rng.random() < 0.6:
            return f"{year}年{month}月{day}日"
        word = self.vocabulary.months[month - 1]
        written = f"{word} {day}, {year}" if self.language == "en" else f"{day} {word} {year}"
        return self.rng.choice(
            (
                f"{month:02}/{day:02}/{year}",
                f"{month:02}-{day:02}-{year}",
                f"{year}-{month:02}-{day:02}",
                written,
            )
        )

    def number(self) -> str:
        value = self.rng.choice(
            (self.rng.randint(0, 99), self.rng.randint(0, 9999), self.rng.randint(0, 4_000_000))
        )
        shape = self.rng.choice(("{:,}", "{:,.2f}", "{}", "({:,})", "-{}", "{}%", "${:,.2f}", "{:.1f}"))
        return shape.format(value)

    def identifier(self) -> str:
        """File names, reference numbers, command codes: the kind of text no language model guesses."""
        rng = self.rng
        letters = "".join(rng.choice("ABCDEFGHIKLMNOPRSTUVWX") for _ in range(rng.randint(2, 6)))
        return rng.choice(
            (
                f"{letters}-{rng.randint(1, 9999)}",
                f"{letters} {rng.randint(10, 999)}",
                f"{rng.randint(1, 9)}.{rng.randint(1, 30)}.{rng.randint(1, 99)}",
                f"{letters.lower()}_{rng.randint(1, 99)}.conf",
                f"{rng.randint(1, 99):02}-{rng.randint(1, 99):02}",
                f"{letters}{rng.randint(1, 9)}",
                f"/usr/{letters.lower()}/lib{letters[:3].lower()}.so",
                f"{rng.randint(100, 999)}-{rng.randint(1000, 9999)}",
            )
        )
