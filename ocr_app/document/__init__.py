"""Files in, page images out; results out as Markdown, HTML, JSON and ZIP."""
