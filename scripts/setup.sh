#!/bin/sh
# Make .venv and install a pinned requirements file into it; skip the install when nothing changed. Usage: setup.sh requirements.txt
set -eu
requirements=$1
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python3.11" >&2
    exit 1
fi

stamp=.venv/$(basename "$requirements").stamp
wanted=$(cat requirements.txt "$requirements" | cksum)
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then exit 0; fi

# python -m pip, not bin/pip: the scripts of a virtual environment break when its folder is moved. No pip: an earlier run was cut short.
if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    if ! "$python" -m venv --clear .venv; then
        echo "The virtual environment could not be made; on Debian and Ubuntu: apt install python3-venv" >&2
        exit 1
    fi
fi
pip() { .venv/bin/python -m pip --disable-pip-version-check "$@"; }

echo "Installing $requirements (once; a few minutes) ..." >&2
torch=$(grep '^torch==' requirements.txt)
if ! .venv/bin/python -c 'import torch' 2>/dev/null; then
    # The CPU build is a quarter of the CUDA one. A machine with an NVIDIA driver gets the default wheel, any other the CPU build:
    # from the configured index, else from PyTorch's own, and only where neither answers the default wheel.
    if [ -e /dev/nvidiactl ]; then
        pip install --quiet "$torch"
    else
        pip install --quiet "$torch+cpu" 2>/dev/null ||
            pip install --quiet --retries 1 --timeout 10 --index-url https://download.pytorch.org/whl/cpu "$torch" 2>/dev/null ||
            pip install --quiet "$torch"
    fi
fi
pip install --quiet -r "$requirements"
echo "$wanted" >"$stamp"
