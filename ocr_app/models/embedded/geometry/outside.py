"""What stands outside the text of a page: running heads and feet, which are not written."""

from ocr_app.models.embedded.geometry.blocks import Block, make_block

OUTSIDE = ("page-header", "page-footer")
MIN_LETTERS = 3  # what has fewer is a page number


def with_body(blocks: list[Block]) -> list[Block]:
    """Blocks as they are; where all are running heads and feet, those with words are text, or nothing would
    be written.
    """
    if any(block.kind not in OUTSIDE for block in blocks):
        return blocks
    return [
        make_block(block.lines, "text") if sum(map(str.isalpha, block.text)) >= MIN_LETTERS else block
        for block in blocks
    ]
