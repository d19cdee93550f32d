"""Models: what turns page images into Markdown. See `base` for the protocols and the registry."""
