"""Draws a training log as a picture: loss on a log scale and the share of wrong tokens, over minutes."""

import json
import math
from pathlib import Path

from PIL import Image, ImageDraw

SIZE = (900, 420)
MARGIN = 60
SERIES = (("loss", (31, 119, 180)), ("wrong tokens", (214, 39, 40)), ("wrong structure", (44, 160, 44)))


def draw_curve(log: Path, out: Path) -> None:
    """Write a PNG from the JSON lines of a run."""
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    points = [(row["minutes"], (row["loss"], 1 - row["token"], 1 - row["structure"])) for row in rows]
    image = Image.new("RGB", SIZE, "white")
    draw = ImageDraw.Draw(image)
    last_minute = max((minute for minute, _ in points), default=1.0) or 1.0
    for power in range(-4, 2):
        y = _y(10.0**power)
        draw.line([(MARGIN, y), (SIZE[0] - 20, y)], fill=(225, 225, 225))
        draw.text((8, y - 6), f"1e{power}", fill="black")
    for index, (name, colour) in enumerate(SERIES):
        path = [
            (MARGIN + minute / last_minute * (SIZE[0] - MARGIN - 20), _y(values[index]))
            for minute, values in points
        ]
        if len(path) > 1:
            draw.line(path, fill=colour, width=2)
        draw.text((MARGIN + 10 + 150 * index, 8), name, fill=colour)
    draw.text((SIZE[0] - 150, SIZE[1] - 20), f"{last_minute:.0f} minutes", fill="black")
    image.save(out)


def _y(value: float) -> float:
    share = (math.log10(max(value, 1e-4)) + 4) / 5
    return SIZE[1] - 40 - share * (SIZE[1] - 80)
