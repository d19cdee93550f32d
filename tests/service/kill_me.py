"""A service in a process of its own that goes on with what is in its folder, to be killed: FOLDER."""

import sys
import time
from pathlib import Path

from tests.service.support import running

if __name__ == "__main__":
    with running(Path(sys.argv[1]), quick_workers=0) as service:
        print("ready", flush=True)
        while any(not job.state.is_over for job in service.store.jobs()):
            time.sleep(0.01)
