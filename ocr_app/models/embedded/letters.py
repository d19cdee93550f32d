"""What letters say at a glance: which are wide, which open list items, which end sentences."""

import re
import unicodedata

BULLETS = "•·‧∙●○◦▪▫■□◆◇►▸–—-*§✓➢"
SENTENCE_ENDS = ".!?。！？…"
HYPHENS = "-‐‑–­"
CAPTION_WORD = re.compile(r"^(fig|tab|abb|cuadro|图|表|exhibit|plate|chart)", re.IGNORECASE)
SECTION_NUMBER = re.compile(r"^(§|\d{1,2}(\.\d{1,2})+|第|chapter|section|part)", re.IGNORECASE)
NUMBER = r"(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,4}|[一二三四五六七八九十]{1,3})"
WIDE = "⺀-鿿豈-﫿＀-｠"
# a number with its dress, and nothing, white space or a wide letter behind it: Chinese is set without a space
# there
ITEM_NUMBER = re.compile(rf"^(?:[(（\[]?{NUMBER}(?:[.)\]:]+(?=$|\s|[{WIDE}])|[）、：])|[①-⑳⑴-⒇])")
BULLET_MARK = re.compile(r"^[•·▪■●○◦‣*–—-]\s")


def is_wide(character: str) -> bool:
    """Chinese, Japanese, Korean and full-width characters: written without spaces."""
    return unicodedata.east_asian_width(character) in "WF"


def opens_item(text: str) -> bool:
    """Whether a line begins with a bullet or an item number and goes on behind it."""
    if BULLET_MARK.match(text):
        return True
    number = ITEM_NUMBER.match(text)
    return number is not None and len(text) > number.end()
