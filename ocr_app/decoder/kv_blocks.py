"""Which KV block belongs to whom: the pool of block ids, the blocks of a page, the blocks of the output text.

Integers only: nothing here knows of tensors, bytes or models, so every rule can be tested in microseconds.

    pool      physical ids 1 .. num_blocks - 1; id 0 is the null block, which pads tables and is nobody's
    page      the blocks of one page's reference tokens, in place order; after eviction a subset of them
    text      blocks over output tokens [first_token, num_tokens); slides forward, rolls back at its end
    sequence  all of these for one document, with the limit they may not pass together
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ocr_app.errors import OutOfMemoryError
from ocr_app.types import ResidentState

NULL_BLOCK = 0


class BlockPool:
    """All block ids, free and used, with a reference count for each: blocks of an identical page may be
    shared.
    """

    def __init__(self, num_blocks: int) -> None:
        self._free: list[int] = []
        self._num_users: list[int] = [1]  # the null block is always in use
        self.grow(max(num_blocks, 1))

    @property
    def num_blocks(self) -> int:
        return len(self._num_users)

    @property
    def num_free_blocks(self) -> int:
        return len(self._free)

    @property
    def num_used_blocks(self) -> int:
        return self.num_blocks - 1 - self.num_free_blocks

    def grow(self, num_blocks: int) -> None:
        """Add ids up to `num_blocks`, the null block included."""
        added = range(self.num_blocks, num_blocks)
        self._num_users.extend([0] * len(added))
        self._free = [*reversed(added), *self._free]  # old ids are handed out first, each run in rising order

    def allocate(self, count: int) -> list[int]:
        """Take `count` free ids. Raises OutOfMemoryError and takes none when there are fewer."""
        self.require(count)
        taken = [self._free.pop() for _ in range(count)]
        for block_id in taken:
            self._num_users[block_id] = 1
        return taken

    def require(self, count: int) -> None:
        """Raise OutOfMemoryError unless `count` blocks are free."""
        if count > self.num_free_blocks:
            raise OutOfMemoryError(
                f"The KV cache has {self.num_free_blocks} of {self.num_blocks - 1} blocks free and {count} "
                "are needed. Run fewer documents at once, or lower the page window or the resolution."
            )

    def share(self, block_ids: Iterable[int]) -> None:
        """Count one more user for blocks that are in use."""
        for block_id in block_ids:
            self._assert_in_use(block_id)
            self._num_users[block_id] += 1

    def free(self, block_ids: Iterable[int]) -> None:
        """Count one user fewer; a block without users returns to the pool."""
        for block_id in block_ids:
            self._assert_in_use(block_id)
            self._num_users[block_id] -= 1
            if self._num_users[block_id] == 0:
                self._free.append(block_id)

    def check_integrity(self, sequences: "Iterable[SequenceBlocks]") -> None:
        """Assert that free + used = total, and that every block has as many users as tables that hold it."""
        held = Counter(block_id for blocks in sequences for block_id in blocks.block_ids)
        users = {
            block_id: count
            for block_id, count in enumerate(self._num_users)
            if count and block_id != NULL_BLOCK
        }
        assert users == dict(held), f"users {users} but tables hold {dict(held)}"
        assert len(set(self._free)) == len(self._free), "a block is free twice"
        assert not set(self._free) & set(users), "a block is free and in use"
        assert self.num_free_blocks + len(users) + 1 == self.num_blocks, "free + used is not the total"

    def _assert_in_use(self, block_id: int) -> None:
        assert block_id != NULL_BLOCK, "the null block belongs to nobody"
        assert self._num_users[block_id] > 0, f"block {block_id} is not in use"


@dataclass(slots=True)
class BlockRecord:
    """One reference block of a page, with what decides whether it is kept."""

    block_id: int
    place: int  # of the block within its page, counted before any eviction
    num_tokens: int  # filled slots; only the last block of a page is not full
    relevance: float = 0.0  # 0 to 1, see retention.py
    last_read: int = 0  # index of the output token that last read it


@dataclass(slots=True)
class PageBlocks:
    """The resident blocks of one page, in place order."""

    page_index: int
    records: list[BlockRecord]
    state: ResidentState = ResidentState.ACTIVE

    @property
    def block_ids(self) -> list[int]:
        return [record.block_id for record in self.records]

    @property
    def num_blocks(self) -> int:
        return len(self.records)

    @property
    def num_tokens(self) -> int:
        return sum(record.num_tokens for record in self.records)

    def drop(self, block_ids: set[int]) -> None:
        self.records = [record for record in self.records if record.block_id not in block_ids]


@dataclass(slots=True)
class TextBlocks:
    """Blocks over output tokens. Output token i lies in block (i - first_token) // block_size of the list."""

    block_size: int
    block_ids: list[int] = field(default_factory=list)
    first_token: int = 0  # of the first block; a multiple of block_size
    num_tokens: int = 0  # written so far, those whose blocks are gone included

    @property
    def num_live_tokens(self) -> int:
        return self.num_tokens - self.first_token

    def num_missing_blocks(self, num_new_tokens: int) -> int:
        """Blocks to allocate before `num_new_tokens` more can be written."""
        return ceil_div(self.num_live_tokens + num_new_tokens, self.block_size) - len(self.block_ids)

    def append(self, num_new_tokens: int) -> list[int]:
        """Slots of the next tokens: block_id * block_size + offset."""
        positions = range(self.num_live_tokens, self.num_live_tokens + num_new_tokens)
        slots = [
            self.block_ids[place // self.block_size] * self.block_size + place % self.block_size
            for place in positions
        ]
        self.num_tokens += num_new_tokens
        return slots

    def slide(self, window: int) -> list[int]:
        """Let go of the blocks that neither the next token nor any later one can see; returns their ids."""
        first_visible = max(self.num_tokens + 1 - window, 0)
        num_gone = min((first_visible - self.first_token) // self.block_size, len(self.block_ids))
        if num_gone <= 0:
            return []
        gone, self.block_ids = self.block_ids[:num_gone], self.block_ids[num_gone:]
        self.first_token += num_gone * self.block_size
        return gone

    def rollback(self, num_tokens: int) -> list[int]:
        """Forget the last tokens; returns the ids of blocks left empty."""
        assert 0 <= num_tokens <= self.num_live_tokens, (
            f"cannot roll back {num_tokens} of {self.num_live_tokens} tokens"
        )
        self.num_tokens -= num_tokens
        num_left = ceil_div(self.num_live_tokens, self.block_size)
        gone, self.block_ids = self.block_ids[num_left:], self.block_ids[:num_left]
        return gone


class SequenceBlocks:
    """Every block of one sequence. All taking and freeing goes through here, so the limit holds at every
    moment.
    """

    def __init__(self, pool: BlockPool, block_size: int) -> None:
        self._pool = pool
        self.pages: dict[int, PageBlocks] = {}  # in page order
        self.text = TextBlocks(block_size)
        self.limit: int | None = None  # blocks this sequence may hold; None: as many as the pool has
        self.peak_blocks = 0
        self.reference_version = 0  # counts changes of the pages' blocks
        self.text_version = 0  # counts changes of the text's blocks

    @property
    def block_ids(self) -> list[int]:
        return [*self.reference_ids, *self.text.block_ids]

    @property
    def reference_ids(self) -> list[int]:
        return [block_id for page in self.pages.values() for block_id in page.block_ids]

    @property
    def num_blocks(self) -> int:
        return sum(page.num_blocks for page in self.pages.values()) + len(self.text.block_ids)

    @property
    def num_live_tokens(self) -> int:
        return sum(page.num_tokens for page in self.pages.values()) + self.text.num_live_tokens

    def add_page(self, page_index: int, num_tokens: int) -> PageBlocks:
        """Take the blocks of a new page."""
        fills = split_tokens(num_tokens, self.text.block_size)
        self._check_limit(len(fills))
        return self._enter(page_index, self._pool.allocate(len(fills)), fills)

    def share_page(self, page_index: int, source: PageBlocks) -> PageBlocks:
        """Enter a page whose blocks another sequence has written; they count against this one's limit too."""
        self._check_limit(source.num_blocks)
        self._pool.share(source.block_ids)
        return self._enter(page_index, source.block_ids, [record.num_tokens for record in source.records])

    def drop_blocks(self, page_index: int, block_ids: set[int]) -> None:
        """Evict blocks of one page; a page without blocks is no longer resident."""
        page = self.pages[page_index]
        page.drop(block_ids)
        self._pool.free(block_ids)
        if not page.records:
            del self.pages[page_index]
        self.reference_version += 1

    def reserve_text(self, num_new_tokens: int) -> int:
        """Take the blocks the next output tokens need; returns how many."""
        count = self.text.num_missing_blocks(num_new_tokens)
        if count > 0:
            self._check_limit(count)
            self.text.block_ids += self._pool.allocate(count)
            self._note_growth()
            self.text_version += 1
        return max(count, 0)

    def slide_text(self, window: int) -> None:
        self._free_text(self.text.slide(window))

    def rollback_text(self, num_tokens: int) -> None:
        self._free_text(self.text.rollback(num_tokens))

    def release(self) -> None:
        """Give every block back."""
        self._pool.free(self.block_ids)
        self.pages.clear()
        self.text = TextBlocks(self.text.block_size)
        self.reference_version += 1
        self.text_version += 1

    def _enter(self, page_index: int, block_ids: list[int], fills: list[int]) -> PageBlocks:
        places = range(len(fills))
        page = PageBlocks(
            page_index, [BlockRecord(*block) for block in zip(block_ids, places, fills, strict=True)]
        )
        self.pages[page_index] = page
        self.reference_version += 1
        self._note_growth()
        return page

    def _free_text(self, block_ids: list[int]) -> None:
        if block_ids:
            self._pool.free(block_ids)
            self.text_version += 1

    def _check_limit(self, count: int) -> None:
        assert self.limit is None or self.num_blocks + count <= self.limit, (
            f"{self.num_blocks} + {count} blocks would pass the limit of {self.limit}"
        )

    def _note_growth(self) -> None:
        self.peak_blocks = max(self.peak_blocks, self.num_blocks)


def ceil_div(count: int, size: int) -> int:
    return -(-count // size)


def split_tokens(num_tokens: int, block_size: int) -> list[int]:
    """Filled slots of each block of a page."""
    return [min(block_size, num_tokens - start) for start in range(0, num_tokens, block_size)]
