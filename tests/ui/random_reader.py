"""Weights of a small reader that has learned nothing: real attention, real KV counters and real runs copied,
in a moment.
"""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file

from ocr_app.models.embedded.reader import PointerReader, ReaderShape

SHAPE = ReaderShape(
    width=48, num_layers=2, num_heads=2, head_dim=24, hidden_dim=96, geometry_dim=32, pointer_dim=32
)


def write_random_reader(path: Path) -> Path:
    """The same weights every time."""
    with torch.random.fork_rng():
        torch.manual_seed(7)
        model = PointerReader(SHAPE)
    tensors = {name: value.to(torch.float16).contiguous() for name, value in model.state_dict().items()}
    save_file(tensors, path, metadata={"shape": json.dumps(SHAPE.to_dict())})
    return path
