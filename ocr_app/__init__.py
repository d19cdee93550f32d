"""Longscribe: long documents to Markdown with a KV cache that does not grow."""

__version__ = "0.1.0"
