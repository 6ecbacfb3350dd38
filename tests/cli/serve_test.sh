#!/usr/bin/env bash
# hone serve with curl: answers, errors, streaming, SIGTERM.
source "$(dirname "$0")/lib.sh" "$1"

post() { # <path> <body> [curl options]
  local path=$1 body=$2
  shift 2
  curl -sS --max-time 60 -H 'Content-Type: application/json' "$@" -d "$body" "$url$path"
}
status() { post "$@" -o /dev/null -w '%{http_code}'; }

question='{"role":"user","content":"Walter has 11 hens and each hen lays 2 eggs a day. How many eggs are there after 4 days?"}'
start_server "$demo" --served-model-name demo

expect_contains "$(curl -sS "$url/health")" ok
expect_contains "$(curl -sS "$url/v1/models")" '"demo"'
answer=$(post /v1/chat/completions "{\"messages\":[$question],\"temperature\":0,\"max_tokens\":100}")
expect_contains "$answer" '#### 88'
stream=$(post /v1/chat/completions "{\"messages\":[$question],\"temperature\":0,\"max_tokens\":100,\"stream\":true}" -N)
expect_contains "$stream" 'data: [DONE]'
expect_contains "$(post /v1/completions '{"prompt":"Hello","max_tokens":4}')" text_completion

[[ $(status /v1/chat/completions '{"messages":') == 400 ]] || fail "bad JSON"
[[ $(status /v1/chat/completions "{\"messages\":[$question],\"max_tokens\":\"many\"}") == 400 ]] || fail "wrong type"
[[ $(status /nowhere '{}') == 404 ]] || fail "unknown path"
head -c 9000000 /dev/zero | tr '\0' x >"$scratch/large"
[[ $(curl -sS --max-time 60 -o /dev/null -w '%{http_code}' --data-binary @"$scratch/large" "$url/v1/completions") == 413 ]] || fail "large body"
expect_contains "$(curl -sS "$url/metrics")" 'hone_requests_total{endpoint="/v1/chat/completions",status="200"} 2'

# SIGTERM: the open request is finished, then the server ends with 0.
post /v1/chat/completions "{\"messages\":[$question],\"ignore_eos\":true,\"max_tokens\":300}" >"$scratch/last" &
last=$!
for _ in $(seq 100); do
  curl -sS "$url/metrics" | grep -q '^hone_requests_running 1' && break
  sleep 0.02
done
kill -TERM "$server"
code=0
wait "$server" || code=$?
[[ $code -eq 0 ]] || fail "exit code $code after SIGTERM: $(cat "$scratch/server.log")"
wait "$last"
expect_contains "$(cat "$scratch/last")" '"finish_reason":"length"'

# A port that is taken.
start_server "$demo"
expect_exit 2 "$hone" serve "$demo" --port "${url##*:}"
expect_contains "$output" "cannot listen"
