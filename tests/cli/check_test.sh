#!/usr/bin/env bash
# hone check: sound folders, planted faults, engines, JSON, wrong use.
source "$(dirname "$0")/lib.sh" "$1"

expect_exit 0 "$hone" check "$demo" --deep
expect_contains "$output" "0 faults"
expect_contains "$output" "for vllm, sglang, trtllm"

"$hone" quantize "$demo" -o "$scratch/fp8" --scheme fp8-block -q >/dev/null
expect_exit 0 "$hone" check "$scratch/fp8" --deep
"$hone" quantize "$demo" -o "$scratch/fp4" --scheme nvfp4a16 -q >/dev/null
expect_exit 0 "$hone" check "$scratch/fp4" --for vllm --scales
expect_exit 3 "$hone" check "$scratch/fp4" --for sglang # weights only is unknown there
expect_contains "$output" "HQ506"
expect_contains "$output" "fix: "

# Block FP8 of 128 rows of keys on two devices.
expect_exit 3 "$hone" check "$scratch/fp8" --for vllm --tp 2
expect_contains "$output" "HQ611"
expect_contains "$output" "k_proj"

# Two faults at once, for people and for machines.
cp -r "$scratch/fp8" "$scratch/broken"
sed -i 's/"activation_scheme": "dynamic"/"activation_scheme": "guessed"/' "$scratch/broken/config.json"
truncate -s -1000 "$scratch/broken/model.safetensors"
expect_exit 3 "$hone" check "$scratch/broken"
expect_contains "$output" "HQ109"
expect_contains "$output" "HQ220"
expect_exit 3 "$hone" check "$scratch/broken" --json
expect_contains "$output" '"faults": 2'
expect_contains "$output" '"id": "HQ220"'

# Warnings do not count.
cp -r "$demo" "$scratch/mute"
rm -f "$scratch/mute/tokenizer.json" "$scratch/mute/generation_config.json"
expect_exit 0 "$hone" check "$scratch/mute"
expect_contains "$output" "HQ117"

expect_contains "$("$hone" check --list)" "| HQ101 | fault | all |"
expect_exit 2 "$hone" check
expect_exit 2 "$hone" check "$demo" --for triton
expect_contains "$output" "trtllm"
expect_exit 2 "$hone" check "$demo" --tp 0
expect_exit 2 "$hone" check no/such-model
mkdir "$scratch/empty"
expect_exit 3 "$hone" check "$scratch/empty"
expect_contains "$output" "HQ101"
