"""Counts as they are printed: 1, a, iv, ①, 三, with their dress. Knows nothing of documents."""

ROMAN = ((100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))
CHINESE_DIGITS = "〇一二三四五六七八九"


def roman(number: int) -> str:
    """Lower-case Roman numerals of a number up to a few hundred."""
    text = ""
    for value, letters in ROMAN:
        text += letters * (number // value)
        number %= value
    return text


def chinese(number: int) -> str:
    tens, ones = divmod(number, 10)
    head = "" if tens == 0 else ("" if tens == 1 else CHINESE_DIGITS[tens]) + "十"
    return head + (CHINESE_DIGITS[ones] if ones or not tens else "")


def format_count(pattern: str, number: int) -> str:
    """Put `number` in the place of the counting sign of a pattern such as "(1)", "a)", "iv." or "一、"."""
    signs = {
        "1": str(number),
        "a": chr(97 + (number - 1) % 26),
        "A": chr(65 + (number - 1) % 26),
        "i": roman(number),
        "I": roman(number).upper(),
        "①": chr(0x2460 + (number - 1) % 20),
        "一": chinese(number),
    }
    for sign, text in signs.items():
        if sign in pattern:
            return pattern.replace(sign, text)
    return pattern
