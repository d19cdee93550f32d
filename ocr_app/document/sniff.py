"""What kind of file some bytes are, by their first bytes and never by a name. Parses nothing."""

from enum import StrEnum

from ocr_app.errors import EmptyFileError, UnsupportedFileError

HEAD_BYTES = 1024  # a PDF header may stand anywhere within


class FileKind(StrEnum):
    PDF = "PDF"
    PNG = "PNG"
    JPEG = "JPEG"
    WEBP = "WEBP"
    BMP = "BMP"
    GIF = "GIF"
    TIFF = "TIFF"


_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", FileKind.PNG),
    (b"\xff\xd8\xff", FileKind.JPEG),
    (b"GIF87a", FileKind.GIF),
    (b"GIF89a", FileKind.GIF),
    (b"BM", FileKind.BMP),
    (b"II*\x00", FileKind.TIFF),
    (b"MM\x00*", FileKind.TIFF),
    (b"II+\x00", FileKind.TIFF),
    (b"MM\x00+", FileKind.TIFF),
)

# common mistakes, to say what the file seems to be
_LOOKALIKES = (
    (b"PK\x03\x04", "an Office document or a ZIP archive; save it as PDF first"),
    (b"\xd0\xcf\x11\xe0", "an old Office document; save it as PDF first"),
    (b"%!PS", "PostScript; convert it to PDF first"),
    (b"{\\rtf", "rich text; save it as PDF first"),
)


def sniff(head: bytes) -> FileKind:
    """Tell the kind from the first HEAD_BYTES. Raises EmptyFileError or UnsupportedFileError."""
    if not head:
        raise EmptyFileError(
            "The file is empty (0 bytes). Upload it again, or check the program that made it."
        )
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return FileKind.WEBP
    if b"%PDF-" in head[:HEAD_BYTES]:
        return FileKind.PDF
    raise UnsupportedFileError(
        "The file is neither a PDF nor an image (PNG, JPEG, WebP, BMP, GIF, TIFF); it looks like "
        f"{_lookalike(head)}."
    )


def _lookalike(head: bytes) -> str:
    for magic, name in _LOOKALIKES:
        if head.startswith(magic):
            return name
    if head[4:8] == b"ftyp":
        return "a HEIC/AVIF photo or a video; save it as JPEG or PNG first"
    if head.lstrip()[:1] == b"<":
        return "a web page (HTML) or XML; the download may have failed"
    return f"something else (first bytes {head[:4].hex(' ')})"
