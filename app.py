"""Start the web page and the HTTP API: read the settings, build both, listen.

python app.py --port 7860 --config settings.yaml
"""

import argparse
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

# before Gradio is imported: it asks nobody outside
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from ocr_app.config import AppConfig
from ocr_app.config_sources import load_config
from ocr_app.errors import OCRError, ServiceFolderError

if TYPE_CHECKING:
    from ocr_app.service.service import Service

EXAMPLE = Path(__file__).parent / "assets" / "sample.pdf"


def settings(argv: list[str]) -> AppConfig:
    parser = argparse.ArgumentParser(description="Longscribe: long documents to Markdown in the browser.")
    parser.add_argument("--host", help="address to listen on (default 127.0.0.1; 0.0.0.0 lets others in)")
    parser.add_argument(
        "--port", type=int, help="port to listen on (default 7860; 0 takes the first free one from there on)"
    )
    parser.add_argument("--model", help="reader to use (default embedded)")
    parser.add_argument("--config", type=Path, help="YAML file with settings")
    args = parser.parse_args(argv)
    given = {"server.host": args.host, "server.port": args.port, "reader.model": args.model}
    if os.environ.get("SPACE_ID"):  # a Space is reached from outside its container
        given["server.host"] = given["server.host"] or "0.0.0.0"
    return load_config(
        {key: value for key, value in given.items() if value is not None}, os.environ, args.config
    )


def serve(config: AppConfig) -> None:
    """Run until interrupted: the page at /, the HTTP API beside it at /v1."""
    if not config.service.enabled or os.environ.get(
        "SPACE_ID"
    ):  # a Space has its own way in, and no lasting disk
        serve_page(config)
        return
    from ocr_app.service.service import Service

    try:
        service = Service(config)
    except ServiceFolderError as error:  # a page for one person needs no lasting jobs
        if needs_keys(config):
            raise
        print(f"The page starts without the HTTP API. {error}", file=sys.stderr)
        serve_page(config)
        return
    with service:
        serve_page_and_api(config, service)


def needs_keys(config: AppConfig) -> bool:
    from ocr_app.service import auth

    return auth.needs_keys(config.service.auth, config.server.host)


def serve_page(config: AppConfig) -> None:
    """The page alone, as Gradio serves it."""
    from ocr_app.ui import page

    page_blocks(config).launch(
        server_name=config.server.host, server_port=config.server.port or None, **page.launch_options(config)
    )


def serve_page_and_api(config: AppConfig, service: "Service") -> None:
    """Both in one application, so that the page is behind the same guards as the API."""
    import gradio

    from ocr_app.service.api import build_api
    from ocr_app.service.listening import make_first_key, run_server
    from ocr_app.ui import page

    make_first_key(config, service.keys)
    app = build_api(service)
    app = gradio.mount_gradio_app(app, page_blocks(config), path="/", **page.launch_options(config))
    run_server(app, config)


def page_blocks(config: AppConfig) -> Any:
    from ocr_app.pipeline import parse_document
    from ocr_app.ui import page
    from ocr_app.ui.zero_gpu import with_lent_gpu

    return page.build_blocks(config, with_lent_gpu(parse_document), EXAMPLE)


def main(argv: list[str]) -> int:
    try:
        config = settings(argv)
    except OCRError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    logging.basicConfig(
        level=config.server.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    try:
        serve(config)
    except OCRError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
