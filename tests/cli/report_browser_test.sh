#!/usr/bin/env bash
# report.html opens in a real browser, offline, without script errors (label browser).
source "$(dirname "$0")/lib.sh" "$1"
command -v chromium >/dev/null || fail "chromium is not installed: run tests/setup_python.sh"
"$hone" eval "$demo" --reference "$demo" --limit 8 --max-tokens 64 -o "$scratch/report" -q || true
[[ -f $scratch/report/report.html ]] || fail "no report.html"
chromium --headless --no-sandbox --disable-gpu --enable-logging=stderr --screenshot="$scratch/report.png" \
  --window-size=1280,2400 "file://$scratch/report/report.html" 2>"$scratch/chromium.log"
[[ $(stat -c %s "$scratch/report.png") -gt 20000 ]] || fail "the screenshot is empty"
! grep -E 'CONSOLE.*(Error|error)' "$scratch/chromium.log" || fail "script errors"
