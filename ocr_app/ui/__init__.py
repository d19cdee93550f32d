"""The Gradio page. Gradio is imported nowhere else but here and in app.py."""
