#!/usr/bin/env bash
# A virtual environment in build/venv for the tests labelled `pypi` (openai client) and Chromium for
# those labelled `browser`. The product itself needs no Python.
set -euo pipefail
cd "$(dirname "$0")/.."
sudo=()
[[ $(id -u) -eq 0 ]] || sudo=(sudo)
command -v chromium >/dev/null || "${sudo[@]}" apt-get install -y -qq chromium
python3 -c 'import venv, ensurepip' 2>/dev/null || "${sudo[@]}" apt-get install -y -qq python3-venv
[[ -x build/venv/bin/python ]] || python3 -m venv build/venv
build/venv/bin/pip install --quiet 'openai>=1.50,<3'
