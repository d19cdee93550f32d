"""The embedded reader: a pretrained visual encoder and a small pointer decoder that we train ourselves."""
