"""The seam every model stands behind, and the registry of names.

A reader is opened once per document. `prepare` may run ahead of `read` in another thread, by a bounded number
of pages.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Protocol

from ocr_app.config import AppConfig
from ocr_app.errors import ConfigError, ModelMissingError
from ocr_app.types import Box, KVSample, PageImage, PageReading, Run, TextDelta


class PreparedPage(Protocol):
    """A page ready to be read: encoded, or merely resized. `image` is upright; `runs` and `figures` lie in
    its pixels, and are empty for a reader that finds none. Reuse counts the line crops that were looked up.
    """

    @property
    def image(self) -> PageImage: ...

    @property
    def runs(self) -> tuple[Run, ...]: ...

    @property
    def figures(self) -> tuple[Box, ...]: ...

    @property
    def num_reuse_hits(self) -> int: ...

    @property
    def num_reuse_lookups(self) -> int: ...


class ReaderSession(Protocol):
    """Reads the pages of one document in order. Closing it frees its KV blocks."""

    def prepare(self, image: PageImage) -> PreparedPage:
        """Encode one page image. Called from one thread at a time, ahead of `read`."""
        ...

    def read(
        self, page: PreparedPage, should_stop: Callable[[], bool]
    ) -> Iterator[TextDelta | KVSample | PageReading]:
        """Yield text as it is written, KV readings in between, and one PageReading last.

        `should_stop` is asked every decode step. Once it is true the reader ends the page at once, with what
        is written and the verdict `incomplete`; why it was stopped, and so the page's verdict, is the
        caller's to say.
        """
        ...

    def close(self) -> None: ...


OpenReader = Callable[[AppConfig], ReaderSession]

# name → "module:function"; the module is imported when the name is asked for
READERS: dict[str, str] = {
    "embedded": "ocr_app.models.embedded.session:open_embedded",
    "plain": "ocr_app.models.embedded.plain:open_plain",
}


# checkpoints that people name, and that nothing here can load
NOT_HERE = ("unlimited_ocr", "unlimited_ocr2", "deepseek_ocr", "deepseek_ocr2")

# readers that compute nothing with PyTorch: a device is nothing to them
WITHOUT_DEVICE = {"plain"}


def uses_gpu(config: AppConfig) -> bool:
    """Whether the reader will compute on a GPU of this machine."""
    return config.reader.device.startswith("cuda") and config.reader.model not in WITHOUT_DEVICE


def open_reader(config: AppConfig) -> ReaderSession:
    """Open the reader that `config.reader.model` names. Raises ConfigError for an unknown name, and
    ModelMissingError for a known one that cannot be had here.
    """
    target = READERS.get(config.reader.model)
    if target is None and config.reader.model in NOT_HERE:
        raise ModelMissingError(
            f"The model {config.reader.model} is not available here. Set reader.model to one of "
            f"{', '.join(sorted(READERS))}."
        )
    if target is None:
        raise ConfigError(
            f"model is {config.reader.model!r}; it must be one of {', '.join(sorted(READERS))}."
        )
    module_name, function_name = target.split(":")
    return getattr(import_module(module_name), function_name)(config)
