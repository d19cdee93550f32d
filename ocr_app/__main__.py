"""`python -m ocr_app`."""

import os
import sys

from ocr_app.cli import INTERRUPTED, PIPE_CLOSED, main

code = main()
if code in (INTERRUPTED, PIPE_CLOSED):
    # all is written and closed, but a page may still be in the encoder, which cannot be interrupted: do not
    # wait for it
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
sys.exit(code)
