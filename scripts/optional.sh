#!/bin/sh
# Install from Debian what some tests need and skip without: a browser and what drives it, Tesseract with its
# languages, Chinese fonts. Needs root.
set -eu
missing=""
command -v chromium >/dev/null || missing="$missing chromium"
ldconfig -p | grep -q libatomic.so.1 || missing="$missing libatomic1"
tesseract --list-langs 2>/dev/null | grep -q chi_sim || missing="$missing tesseract-ocr tesseract-ocr-eng tesseract-ocr-chi-sim"
[ -d /usr/share/fonts/opentype/noto ] || missing="$missing fonts-noto-cjk"
[ -n "$missing" ] || exit 0
apt-get -o DPkg::Lock::Timeout=300 update -qq
# shellcheck disable=SC2086
apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends $missing
