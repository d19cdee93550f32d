#!/bin/sh
# Make .venv and install a pinned requirements file into it, a line a step; say and do nothing when nothing changed.
# Usage: setup.sh requirements.txt
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

say() { echo "set-up: $*" >&2; }
# python -m pip, not bin/pip: the scripts of a virtual environment break when its folder is moved. -qq: errors are shown, and not
# the warnings about index locations that this machine's configuration may name and not have.
install() { .venv/bin/python -m pip install --disable-pip-version-check -qq "$@"; }

# No pip: an earlier run was cut short.
if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    say "making a virtual environment in .venv"
    if ! "$python" -m venv --clear .venv; then
        echo "The virtual environment could not be made; on Debian and Ubuntu: apt install python3-venv" >&2
        exit 1
    fi
fi

torch=$(grep '^torch==' requirements.txt)
if ! .venv/bin/python -c 'import torch' 2>/dev/null; then
    # The CPU build is a quarter of the CUDA one. A machine with an NVIDIA driver gets the default wheel, any other the CPU build:
    # from the configured index, else from PyTorch's own, and only where neither answers the default wheel.
    if [ -e /dev/nvidiactl ]; then
        say "installing $torch for CUDA (gigabytes; several minutes)"
        install "$torch"
    else
        say "installing $torch for the CPU (200 MB; a minute or two)"
        install "$torch+cpu" 2>/dev/null ||
            install --retries 1 --timeout 10 --index-url https://download.pytorch.org/whl/cpu "$torch" 2>/dev/null || {
            say "no CPU build was found; installing the default one (gigabytes; several minutes)"
            install "$torch"
        }
    fi
fi
say "installing the packages of $requirements (a minute or two)"
install -r "$requirements"
echo "$wanted" >"$stamp"
say "done"
