"""`models`: list what can read."""

import argparse

from ocr_app.config import ReaderConfig
from ocr_app.models.base import READERS


def run(args: argparse.Namespace) -> int:
    default = ReaderConfig().model
    for name in READERS:
        print(f"{name} (default)" if name == default else name)
    return 0
