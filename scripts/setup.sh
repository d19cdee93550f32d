#!/bin/sh
# Make .venv and install a pinned requirements file into it; skip the install when nothing changed. Usage: setup.sh requirements.txt
set -eu
requirements=$1
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python3.11" >&2; exit 1; }
[ -x .venv/bin/python ] || "$python" -m venv .venv
stamp=.venv/$(basename "$requirements").stamp
wanted=$(cat requirements.txt "$requirements" | cksum)
[ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && exit 0
echo "Installing $requirements (once; a few minutes) ..." >&2
export PIP_DISABLE_PIP_VERSION_CHECK=1
torch=$(grep '^torch==' requirements.txt)
if ! .venv/bin/python -c 'import torch' 2>/dev/null; then
    # The CPU build is a quarter of the CUDA one. A machine with an NVIDIA driver gets the default wheel, any other the CPU build.
    if [ -e /dev/nvidiactl ]; then
        .venv/bin/pip install --quiet "$torch"
    else
        .venv/bin/pip install --quiet "$torch+cpu" 2>/dev/null ||
            .venv/bin/pip install --quiet --index-url https://download.pytorch.org/whl/cpu "$torch" 2>/dev/null ||
            .venv/bin/pip install --quiet "$torch"
    fi
fi
.venv/bin/pip install --quiet -r "$requirements"
echo "$wanted" > "$stamp"
