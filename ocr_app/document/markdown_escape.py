"""Text made safe for Markdown: what was on the paper comes back as the same text, never as markup, a link or
HTML.

Escapes for CommonMark with GitHub's tables, and only where a renderer would otherwise see markup: `p < 0.05`,
`[12]` and `snake_case` stay as they are. Works on a stream, one character behind its input, and knows nothing
of regions or pages.
"""

import re
import unicodedata

HARD_BREAK = "\\\n"

_ALWAYS = frozenset("\\`~")
_LINE_START = frozenset("#>=|")
_ENTITY_TAIL = re.compile(r"&(#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{0,31})$")
_LOOKBEHIND = 64  # more than the longest entity or list number
_LIST_NUMBER = re.compile(r"[0-9]{1,9}")


class ProseEscaper:
    """Escape running text as it arrives. White space is folded to one space or one line break, and dropped at
    both ends.

    `preceding` is what already stands on the line; an empty one means that the text begins a block, where
    `#`, `-` or `1.` have a meaning. `also` names further characters to escape wherever they stand.
    """

    def __init__(
        self, preceding: str = "", *, line_break: str = HARD_BREAK, also: str = "", is_heading: bool = False
    ) -> None:
        self._line = preceding  # the end of the line so far, unescaped; empty at its beginning
        self._line_break = line_break
        self._always = _ALWAYS | set(also)
        self._is_heading = is_heading
        self._held = ""  # the last character: what follows decides how it is written
        self._gap = ""  # white space seen since: written when a character follows
        self._is_empty = True

    def feed(self, text: str) -> str:
        """Take more text and return what is final now."""
        return "".join(map(self._push, text))

    def finish(self) -> str:
        """Return the last character; white space at the end is dropped."""
        return self._release("")

    def _push(self, char: str) -> str:
        if char.isspace():
            done = self._release(char)
            self._gap = "\n" if char == "\n" or self._gap == "\n" else " "
            return done
        if unicodedata.category(char) == "Cc":
            return ""
        done = self._release(char) + self._cross_gap()
        self._held = char
        self._is_empty = False
        return done

    def _cross_gap(self) -> str:
        gap, self._gap = self._gap, ""
        if not gap or self._is_empty:
            return ""
        if gap == " " or self._line_break == " ":
            self._line += " "
            return " "
        self._line = ""
        return self._line_break

    def _release(self, following: str) -> str:
        char, self._held = self._held, ""
        if not char:
            return ""
        is_markup = self._is_markup(char, following)
        self._line = (self._line + char)[-_LOOKBEHIND:]
        return "\\" + char if is_markup else char

    def _is_markup(self, char: str, following: str) -> bool:
        if char in self._always or (not self._line and _opens_block(char, following)):
            return True
        match char:
            case "*":
                return not (self._line.endswith(" ") and following.isspace())
            case "_":
                return not (self._line[-1:].isalnum() and following.isalnum())
            case "<":
                return following.isalpha() or following in ("/", "!", "?")
            case "]":
                return following in ("(", "[", ":")
            case "." | ")":
                return _LIST_NUMBER.fullmatch(self._line) is not None and _is_end(following)
            case ";":
                return _ENTITY_TAIL.search(self._line) is not None
            case "#":
                return self._is_heading and self._line.endswith(" ")
        return False


def escape(text: str, preceding: str = "", *, line_break: str = HARD_BREAK, also: str = "") -> str:
    """Escape a whole text at once."""
    escaper = ProseEscaper(preceding, line_break=line_break, also=also)
    return escaper.feed(text) + escaper.finish()


def _opens_block(char: str, following: str) -> bool:
    """Whether a line that begins with these two characters could be a heading, quote, list, rule, task box or
    table.
    """
    if char in _LINE_START:
        return True
    if char == "-":
        return _is_end(following) or following in "-|:"
    if char == "+":
        return _is_end(following)
    if char == ":":
        return following == "-"
    return char == "[" and following in (" ", "x", "X")


def _is_end(following: str) -> bool:
    return not following or following.isspace()
