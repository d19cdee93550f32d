"""Shared fixtures: fixed seeds and one torch thread, so that tests are repeatable on a busy machine."""

import pytest


@pytest.fixture(autouse=True)
def fixed_seed():
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
