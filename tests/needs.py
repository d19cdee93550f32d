"""What some tests need beside Python, and the marks that skip them without it. scripts/optional.sh brings it.

With REQUIRE_BROWSER=1 a missing browser fails the tests instead.
"""

import ctypes
import os
import shutil
import subprocess

import pytest

TESSERACT_LANGUAGES = {"eng", "chi_sim"}
BROWSER = "chromium"  # said where it is missing
IS_BROWSER_REQUIRED = os.environ.get("REQUIRE_BROWSER") == "1"


def has_browser() -> bool:
    """Chromium, and the library that Playwright's own program is linked with."""
    return shutil.which("chromium") is not None and _loads("libatomic.so.1")


def has_tesseract() -> bool:
    """Tesseract with the languages of the test documents."""
    if shutil.which("tesseract") is None:
        return False
    listing = subprocess.run(["tesseract", "--list-langs"], capture_output=True, text=True)
    return set(listing.stdout.split()) >= TESSERACT_LANGUAGES


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


needs_browser = pytest.mark.skipif(not has_browser() and not IS_BROWSER_REQUIRED, reason=f"needs {BROWSER}")
needs_tesseract = pytest.mark.skipif(
    not has_tesseract(), reason=f"needs tesseract ({', '.join(sorted(TESSERACT_LANGUAGES))})"
)
