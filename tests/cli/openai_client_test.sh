#!/usr/bin/env bash
# The openai Python client against hone serve (label pypi: build/venv from tests/setup_python.sh).
source "$(dirname "$0")/lib.sh" "$1"
python=$root/build/venv/bin/python
[[ -x $python ]] || fail "no build/venv: run tests/setup_python.sh"
start_server "$demo" --served-model-name demo
"$python" "$here/openai_client.py" "$url/v1"
