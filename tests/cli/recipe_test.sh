#!/usr/bin/env bash
# The whole line on a very small budget: every step of the demo recipe, twice, byte-identical; a
# killed run resumes.
source "$(dirname "$0")/lib.sh" "$1"

small=(
  --set calibrate.tokens=2048 --set calibrate.sensitivity-tokens=256
  --set head.epochs=1 --set head.limit=24 --set head.max-new-tokens=32
  --set acceptance.limit=4
  --set eval-fp8.limit=4 --set eval-nvfp4.limit=4
  --set eval-fp8.max-tokens=48 --set eval-nvfp4.max-tokens=48
)
run() { "$hone" run "$root/recipes/library/demo.yaml" --set output="$1" "${small[@]}" "${@:2}"; }

run "$scratch/a" >"$scratch/table" 2>"$scratch/log" || fail "$(cat "$scratch/log")"
expect_contains "$(cat "$scratch/table")" "report.html"
expect_contains "$(cat "$scratch/table")" "hone serve"

# Killed in the middle, then run again: finished steps are skipped, the result is the same.
# (exec: the process that is killed must be the program, not a shell around it.)
(exec "$hone" run "$root/recipes/library/demo.yaml" --set output="$scratch/b" "${small[@]}") \
  >/dev/null 2>"$scratch/log_b" &
victim=$!
for _ in $(seq 600); do
  [[ -f $scratch/b/fp8/hone.json ]] && break
  sleep 0.1
done
kill -KILL "$victim"
wait "$victim" 2>/dev/null || true
run "$scratch/b" >/dev/null 2>"$scratch/log_b2" || fail "$(cat "$scratch/log_b2")"
expect_contains "$(cat "$scratch/log_b2")" "is finished"

for folder in fp8 nvfp4 head eval-fp8 eval-nvfp4; do
  diff -r -x hone.run.json "$scratch/a/$folder" "$scratch/b/$folder" >/dev/null ||
    fail "two runs differ in $folder: $(diff -rq -x hone.run.json "$scratch/a/$folder" "$scratch/b/$folder")"
done
diff "$scratch/a/calib.h5" "$scratch/b/calib.h5" || fail "two runs differ in calib.h5"

# Nothing to do the third time.
run "$scratch/a" >/dev/null 2>"$scratch/log_a2"
[[ $(grep -c "is finished" "$scratch/log_a2") -eq 7 ]] || fail "not all steps were skipped: $(cat "$scratch/log_a2")"
