"""Whether late pages of a document go worse than its early ones: slower, or read with less confidence."""

from collections import deque

from ocr_app.types import PageResult

NUM_PAGES = 16  # at each end; below twice as many nothing is said
SLOWER = 2.0  # times
LESS_CONFIDENT = 0.1  # of 1


class Drift:
    """Keeps a few numbers of the first and of the last pages, whatever the length of the document."""

    def __init__(self) -> None:
        self._first: list[tuple[float, float | None]] = []
        self._last: deque[tuple[float, float | None]] = deque(maxlen=NUM_PAGES)

    def add(self, result: PageResult) -> None:
        """Count a finished page that has text; blank ones say nothing of the pace."""
        if not result.markdown:
            return
        kept = self._first if len(self._first) < NUM_PAGES else self._last
        kept.append((result.encode_s + result.decode_s, result.confidence))

    def notes(self) -> tuple[str, ...]:
        """What to tell the person; nothing when all is as it was."""
        if len(self._last) < NUM_PAGES:
            return ()
        return tuple(filter(None, (self._pace_note(), self._confidence_note())))

    def _pace_note(self) -> str | None:
        early_s = sum(page[0] for page in self._first) / NUM_PAGES
        late_s = sum(page[0] for page in self._last) / NUM_PAGES
        if late_s <= SLOWER * early_s:
            return None
        return (
            f"The last {NUM_PAGES} pages took {late_s:.2f} s each, the first {early_s:.2f} s. If their text "
            "is no denser, lower sparsity.page_window, or read the document in parts."
        )

    def _confidence_note(self) -> str | None:
        early, late = ([page[1] for page in pages] for pages in (self._first, self._last))
        if None in early or None in late:
            return None
        early_mean, late_mean = sum(early) / NUM_PAGES, sum(late) / NUM_PAGES
        if early_mean - late_mean <= LESS_CONFIDENT:
            return None
        return (
            f"The last {NUM_PAGES} pages were read with confidence {late_mean:.2f}, the first with "
            f"{early_mean:.2f}. Compare some of them with the original."
        )
