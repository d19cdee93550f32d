"""How a group of lines that the layout network put together is parted: columns, side headings, items, large
type.

Each function returns lists of lines, all lines in one of them, or nothing where it has nothing to part.
"""

from statistics import median

from ocr_app.models.embedded.geometry.marks import is_in_turn, read_mark
from ocr_app.models.embedded.geometry.seen import SeenLine, SeenPage, rows_of

LARGE = 1.25  # times the size of the running text: type of a heading
THICK = 1.1  # times the usual stroke: large type has thicker strokes
FAR = 1.5  # sizes of type of empty paper: lines of one block stand nearer
NEAR = 0.6  # sizes of type: lines of one heading stand nearer
BOLD = 1.12  # times the usual stroke
SAME_SIZE = 0.15  # sizes of large type that differ by more are not of one heading
BOLD_ROW = 1.3  # times the strokes of the other rows of a block
MAX_HEADING_LINES = 4
MAX_PIECES = 2  # a number and its heading
MARGIN_WIDTH = 0.35  # of the text's width: the widest margin for side headings
TABLE_ROW = 0.3  # mean probability from which a row may be one of a table inside a larger group
MIN_ZONE_ROWS = 3
WRAP = 0.6  # sizes of type between the lines of a cell
MIN_COLUMN_LINES = 3
PROSE = 7.0  # sizes of type: the width of lines of running text
ALIGNED = 0.6  # sizes of type: tops nearer than this are beside each other

Lines = list[SeenLine]


def columns_of(page: SeenPage, lines: Lines) -> list[Lines]:
    """Lines of running text parted at a gutter that none of them crosses."""
    for left, right in _gutters(lines):
        if _is_prose(page, left) and _is_prose(page, right):
            return [left, right]
    return []


def side_headed(page: SeenPage, lines: Lines) -> list[tuple[Lines, Lines]]:
    """Headings in a margin, each with the running text beside it, in turn."""
    for heads, texts in _gutters(lines):
        if _are_sections(page, heads, texts):
            stacks = _stacks(heads)
            tops = [stack[0].box[1] - ALIGNED * page.body_size for stack in stacks]
            return [
                (stack, [text for text in texts if start <= text.box[1] < end])
                for stack, start, end in zip(stacks, tops, [*tops[1:], float("inf")], strict=True)
            ]
    return []


def margin_stacks(page: SeenPage, lines: Lines) -> tuple[list[Lines], Lines]:
    """Side headings in the left margin of a whole page, and what stands beside them; no headings where there
    are none.
    """
    for heads, texts in _gutters(lines):
        stacks, slack = _stacks(heads), ALIGNED * page.body_size
        tops = [line.box[1] for line in texts]
        is_narrow = _width(heads) < MARGIN_WIDTH * (max(line.box[2] for line in texts) - heads[0].box[0])
        are_beside = all(any(abs(stack[0].box[1] - top) < slack for top in tops) for stack in stacks)
        are_heads = all(
            any(line.stroke > BOLD and _says_something(line) for line in stack) for stack in stacks
        )
        if len(stacks) > 1 and len(texts) > len(heads) and is_narrow and are_beside and are_heads:
            return stacks, texts
    return [], lines


def _says_something(line: SeenLine) -> bool:
    return sum(map(str.isalpha, line.text)) > 2


def table_zones(lines: Lines) -> list[tuple[bool, Lines]]:
    """Rows that the network takes for a table (True), and rows that it does not, where both are several in
    turn.
    """
    zones: list[tuple[bool, list[Lines]]] = []
    for row in rows_of(lines):
        is_table = sum(line.score("table") for line in row) > TABLE_ROW * len(row)
        if zones and (zones[-1][0] == is_table or (zones[-1][0] and _wraps(zones[-1][1][-1], row))):
            zones[-1][1].append(row)
        else:
            zones.append((is_table, [row]))
    kept: list[tuple[bool, list[Lines]]] = []
    for is_table, rows in zones:
        if kept and (len(rows) < MIN_ZONE_ROWS or kept[-1][0] == is_table):
            kept[-1][1].extend(rows)
        else:
            kept.append((is_table, rows))
    if len(kept) > 1 and len(kept[0][1]) < MIN_ZONE_ROWS:
        ahead = kept.pop(0)[1]
        kept[0][1][:0] = ahead
    return [(is_table, [line for row in rows for line in row]) for is_table, rows in kept]


def _wraps(above: Lines, row: Lines) -> bool:
    """Whether a row is the next line of a cell above it."""
    gap = min(line.box[1] for line in row) - max(line.box[3] for line in above)
    return (
        len(row) == 1
        and gap < WRAP * row[0].size
        and any(abs(line.box[0] - row[0].box[0]) < 2 for line in above)
    )


def marked_pieces(page: SeenPage, lines: Lines) -> list[Lines]:
    """Lines that open with numbers, letters or boxes to tick, each with what stands below it."""
    marked = [
        line
        for line in lines
        if (mark := read_mark(line.text))
        and (mark.value or line.text[0] == "[")
        and is_in_turn(mark, page.marks)
    ]
    if len(marked) < 2:
        return []
    pieces = [[line] for line in sorted(marked, key=lambda line: line.middle)]
    ahead: Lines = []  # of the first item
    for line in lines:
        if line not in marked:
            (_piece_of(line, pieces, page.body_size) or ahead).append(line)
    return [ahead, *pieces] if ahead else pieces


def _piece_of(line: SeenLine, pieces: list[Lines], em: float) -> Lines | None:
    """The item that a line belongs to: the last one that begins beside or above it and not right of it."""
    before = [
        piece
        for piece in pieces
        if piece[0].box[1] < line.middle and piece[0].box[0] < line.box[0] + ALIGNED * em
    ]
    return max(before, key=lambda piece: (round(piece[0].middle / em), piece[0].box[0]), default=None)


def by_type(page: SeenPage, lines: Lines, *, bold: bool) -> list[tuple[Lines, bool]]:
    """Rows put together as long as they are near each other and alike: headings by their type, or not.

    `bold` says whether bold rows are headings too: in lists they are words that stand out.
    """
    parts: list[Lines] = []
    styles: list[bool] = []
    for row in rows_of(lines):
        is_head = is_large(page, row) or (bold and _is_bolder(row, lines))
        is_alike = not is_head or not parts or _are_alike(parts[-1], row)
        if parts and is_head == styles[-1] and is_alike and _is_near(page, parts[-1], row):
            parts[-1] += row
        else:
            parts.append([*row])
            styles.append(is_head)
    return [(part, head and len(part) <= MAX_HEADING_LINES) for part, head in zip(parts, styles, strict=True)]


def is_bold_number(lines: Lines) -> bool:
    """Whether a single bold row opens with a number: a heading, though the network calls it an item."""
    mark = read_mark(" ".join(line.text for line in lines[:2]))
    is_numbered = mark is not None and mark.kind in ("number", "roman") and len(lines) <= MAX_PIECES
    return is_numbered and len(rows_of(lines)) == 1 and min(line.stroke for line in lines) > BOLD_ROW


def is_large(page: SeenPage, lines: Lines) -> bool:
    """Whether all lines are set much larger than the running text, and not only wider, as code is."""
    is_thick = median(line.stroke for line in lines) > THICK
    return is_thick and min(line.size for line in lines) > LARGE * page.body_size


def _are_alike(part: Lines, row: Lines) -> bool:
    """Whether large type is of one size: a title and the names below it are not."""
    return abs(part[-1].size - row[0].size) < SAME_SIZE * max(part[-1].size, row[0].size)


def _is_bolder(row: Lines, lines: Lines) -> bool:
    """Whether a row is set bold in a block that is not."""
    others = [line.stroke for line in lines if line not in row]
    return bool(others) and min(line.stroke for line in row) > BOLD_ROW * median(others)


def _is_near(page: SeenPage, part: Lines, row: Lines) -> bool:
    """Whether a row is as near to the rows above as lines of one block are."""
    gap = min(line.box[1] for line in row) - max(line.box[3] for line in part)
    return gap < FAR * max(page.body_size, row[0].size)


def _gutters(lines: Lines):
    """(lines at the left, lines at the right) of each upright gap that no line crosses."""
    ordered = sorted(lines, key=lambda line: line.box[0])
    right = ordered[0].box[2]
    for place, line in enumerate(ordered):
        if line.box[0] > right:
            yield ordered[:place], ordered[place:]
        right = max(right, line.box[2])


def _is_prose(page: SeenPage, lines: Lines) -> bool:
    """Whether lines are a column of running text: several, and wide."""
    width = median(line.box[2] - line.box[0] for line in lines)
    return len(lines) >= MIN_COLUMN_LINES and width > PROSE * page.body_size


def _are_sections(page: SeenPage, heads: Lines, texts: Lines) -> bool:
    """Whether lines at the left are bold headings, each beginning beside a line of running text."""
    if not _is_prose(page, texts) or median(line.stroke for line in heads) < BOLD:
        return False
    stacks, slack = _stacks(heads), ALIGNED * page.body_size
    tops = [line.box[1] for line in texts]
    are_beside = all(any(abs(stack[0].box[1] - top) < slack for top in tops) for stack in stacks)
    is_narrow = _width(heads) < 0.5 * _width(texts)
    begins = min(tops) >= stacks[0][0].box[1] - slack
    return len(stacks) > 1 and len(texts) > 2 * len(stacks) and is_narrow and are_beside and begins


def _width(lines: Lines) -> float:
    return max(line.box[2] for line in lines) - min(line.box[0] for line in lines)


def _stacks(lines: Lines) -> list[Lines]:
    """Lines one below the other at the distance of lines, as groups from top to bottom."""
    stacks: list[Lines] = []
    for line in sorted(lines, key=lambda line: line.middle):
        if stacks and line.box[1] - stacks[-1][-1].box[3] < NEAR * line.size:
            stacks[-1].append(line)
        else:
            stacks.append([line])
    return stacks
