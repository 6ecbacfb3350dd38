# Shared by the command tests: a scratch folder, assertions that say what they saw.
set -euo pipefail
hone=$(readlink -f "$1")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
demo=$root/recipes/demo
scratch=$(mktemp -d)
pids=()
cleanup() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  rm -rf "$scratch"
}
trap cleanup EXIT

fail() {
  echo "FAIL: $*" >&2
  exit 1
}
expect_contains() { # <text> <needle>
  [[ $1 == *"$2"* ]] || fail "expected \"$2\" in: $1"
}
expect_exit() { # <code> <command...>
  local code=$1 got=0
  shift
  output=$("$@" 2>&1) || got=$?
  [[ $got -eq $code ]] || fail "exit code $got instead of $code from: $* -- $output"
}

# Starts a server on a free port; sets $url and $server.
start_server() { # <arguments of hone serve>
  "$hone" serve "$@" --port 0 2>"$scratch/server.log" &
  server=$!
  pids+=("$server")
  for _ in $(seq 200); do
    url=$(sed -n 's/.*\(http:\/\/[0-9.:]*\)\/v1.*/\1/p' "$scratch/server.log" | head -n 1)
    [[ -n $url ]] && return
    kill -0 "$server" 2>/dev/null || fail "the server ended: $(cat "$scratch/server.log")"
    sleep 0.05
  done
  fail "the server did not start: $(cat "$scratch/server.log")"
}
