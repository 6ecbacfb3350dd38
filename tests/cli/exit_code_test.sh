#!/usr/bin/env bash
# Exit codes and messages of wrong use: 2 for usage, 1 for broken input.
source "$(dirname "$0")/lib.sh" "$1"

expect_exit 2 "$hone"
expect_exit 2 "$hone" frobnicate
expect_exit 2 "$hone" quantize
expect_exit 2 "$hone" quantize "$demo" -o "$scratch/out" --scheme int3
expect_contains "$output" "fp8-block"
expect_exit 2 "$hone" quantize "$demo" --preset no-such-preset --dry-run
expect_contains "$output" "moe-experts"
expect_exit 0 "$hone" quantize "$demo" --preset dense-llm --rule 'layer:-1=keep' --dry-run
expect_contains "$output" "preset dense-llm"
expect_exit 2 "$hone" run no-such-recipe
expect_contains "$output" "no-such-recipe"
expect_exit 2 "$hone" inspect no/such-model
expect_contains "$output" "no/such-model"

# A folder that is no checkpoint.
mkdir "$scratch/empty"
expect_exit 3 "$hone" inspect "$scratch/empty" # a check that found faults
expect_contains "$output" "config.json"

# An architecture that nobody knows.
cp -r "$demo" "$scratch/alien"
sed -i 's/LlamaForCausalLM/AlienForCausalLM/' "$scratch/alien/config.json"
expect_exit 1 "$hone" generate "$scratch/alien" --prompt hello
expect_contains "$output" "AlienForCausalLM"
expect_contains "$output" "LlamaForCausalLM"

# No tokenizer.
cp -r "$demo" "$scratch/mute"
rm "$scratch/mute/tokenizer.json"
expect_exit 1 "$hone" generate "$scratch/mute" --prompt hello
expect_contains "$output" "tokenizer.json"

# Truncated weights.
cp -r "$demo" "$scratch/short"
truncate -s 5000000 "$scratch/short/model.safetensors"
expect_exit 1 "$hone" generate "$scratch/short" --prompt hello
expect_contains "$output" "model.safetensors"

# An output folder that is not ours is never replaced.
mkdir "$scratch/precious"
echo data >"$scratch/precious/file"
expect_exit 2 "$hone" quantize "$demo" -o "$scratch/precious" --scheme fp8-block
[[ $(cat "$scratch/precious/file") == data ]] || fail "the folder was touched"
