"""`python -m ocr_app`."""

import sys

from ocr_app.cli import main

sys.exit(main())
