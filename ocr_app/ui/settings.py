"""The switches of the page and how they become an AppConfig. Pure: no Gradio.

A wrong combination is explained, never changed in silence.
"""

from dataclasses import dataclass, replace

from ocr_app.config import AppConfig, SparsityConfig
from ocr_app.errors import ConfigError

GIB = 2**30


@dataclass(frozen=True, slots=True)
class Choices:
    """What a person has set, in the order of the controls on the page."""

    model: str
    quality: str
    dpi: int
    text_window: int
    page_window: int
    sparsity_ratio: float
    chunk_pages: int
    overlap_pages: int
    block_budget: int
    kv_dtype: str
    reuse: bool

    @classmethod
    def of(cls, config: AppConfig) -> "Choices":
        sparsity = config.sparsity
        return cls(
            model=config.reader.model,
            quality=config.encoder.quality,
            dpi=config.loader.dpi,
            text_window=sparsity.text_window,
            page_window=sparsity.page_window,
            sparsity_ratio=sparsity.sparsity_ratio,
            chunk_pages=sparsity.chunk_pages,
            overlap_pages=sparsity.overlap_pages,
            block_budget=sparsity.block_budget,
            kv_dtype=config.reader.kv_dtype,
            reuse=config.encoder.reuse,
        )

    def to_config(self, base: AppConfig, mode: str) -> AppConfig:
        """The settings of the server with these choices on top. Raises ConfigError that names the wrong
        one.
        """
        return replace(
            base,
            sparsity=self._sparsity(base.sparsity),
            loader=replace(base.loader, dpi=_whole("dpi", self.dpi)),
            encoder=replace(base.encoder, quality=self.quality, reuse=bool(self.reuse)),
            reader=replace(base.reader, model=self.model, kv_dtype=self.kv_dtype, mode=mode),
        )

    def _sparsity(self, base: SparsityConfig) -> SparsityConfig:
        budget = _whole("block_budget", self.block_budget)
        return replace(
            base,
            text_window=_whole("text_window", self.text_window),
            page_window=_whole("page_window", self.page_window),
            sparsity_ratio=float(self.sparsity_ratio),
            chunk_pages=_whole("chunk_pages", self.chunk_pages),
            overlap_pages=_whole("overlap_pages", self.overlap_pages),
            block_budget=budget,
            # no switch of its own: the budget is always chosen from at least a third more
            candidate_blocks=max(base.candidate_blocks, budget + (budget + 2) // 3),
        )


PRESETS: dict[str, dict[str, int | float | str]] = {
    "lowest": {
        "text_window": 64,
        "page_window": 16,
        "sparsity_ratio": 0.05,
        "chunk_pages": 1,
        "overlap_pages": 0,
        "block_budget": 6,
        "kv_dtype": "float16",
    },
    "balanced": {},  # the settings of the server
    "careful": {
        "text_window": 256,
        "page_window": 256,
        "sparsity_ratio": 0.3,
        "chunk_pages": 3,
        "overlap_pages": 1,
        "block_budget": 32,
        "kv_dtype": "float32",
    },
}


def preset(name: str, base: AppConfig) -> Choices:
    return replace(Choices.of(base), **PRESETS[name])


def complaint(choices: Choices, base: AppConfig) -> str | None:
    """Why these choices cannot run together, None if they can."""
    try:
        choices.to_config(base, "sparse")
    except ConfigError as error:
        return str(error)
    return None


def _whole(name: str, value: object) -> int:
    """A control that was emptied gives None, a slider may give 8.0."""
    if not isinstance(value, (int, float)) or value != int(value):
        raise ConfigError(f"{name} is {value!r}; it must be a whole number.")
    return int(value)
