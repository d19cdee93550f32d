"""`serve`: the HTTP API without the page."""

import argparse
import logging
import os

from ocr_app.config_sources import load_config
from ocr_app.errors import ConfigError


def run(args: argparse.Namespace) -> int:
    """Answer until interrupted."""
    given = {"server.host": args.host, "server.port": args.port, "reader.model": args.model}
    config = load_config(
        {key: value for key, value in given.items() if value is not None}, os.environ, args.config
    )
    if not config.service.enabled:
        raise ConfigError("service.enabled is false; set it to true to serve.")
    logging.basicConfig(
        level=config.server.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    from ocr_app.service.api import build_api
    from ocr_app.service.listening import make_first_key, run_server
    from ocr_app.service.service import Service

    with Service(config) as service:
        make_first_key(config, service.keys)
        run_server(build_api(service), config)
    return 0
