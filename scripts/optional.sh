#!/bin/sh
# Install from Debian what some tests need and skip without: a browser, Tesseract and Chinese fonts. Needs root.
set -eu
missing=""
command -v chromium >/dev/null || missing="$missing chromium"
command -v tesseract >/dev/null || missing="$missing tesseract-ocr"
[ -d /usr/share/fonts/opentype/noto ] || missing="$missing fonts-noto-cjk"
[ -n "$missing" ] || exit 0
apt-get -o DPkg::Lock::Timeout=300 update -qq
# shellcheck disable=SC2086
apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends $missing
