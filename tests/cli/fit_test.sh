#!/usr/bin/env bash
# hone fit on a config.json without weights: exit codes, GPUs of all kinds, JSON.
source "$(dirname "$0")/lib.sh" "$1"

config() { # <name> <file>: the config of a published model
  grep "\"name\":\"$1\"" "$root/tests/golden/model/model_configs.json" |
    sed 's/.*"config"://; s/},*$//' >"$2"
}
mkdir "$scratch/v3"
config deepseek-ai/DeepSeek-V3 "$scratch/v3/config.json"

expect_exit 3 "$hone" fit "$scratch/v3" --gpu h100x8 --context 32k --batch 16
expect_contains "$output" "671,026,419,200"
expect_contains "$output" "no room to serve"
expect_exit 0 "$hone" fit "$scratch/v3/config.json" --gpu 8xH200 --context 32k --batch 16
expect_contains "$output" "fits:"
expect_contains "$output" "fp8-block"
expect_exit 0 "$hone" fit "$scratch/v3" --gpu-memory 140 --gpus 8 --cache fp8
expect_exit 0 "$hone" fit "$scratch/v3" --json
expect_contains "$output" '"verdict": null'
expect_exit 3 "$hone" fit "$scratch/v3" --gpu h200x8 --reserve-workspace 60 --json
expect_contains "$output" '"fits": false'

# What a folder says beside config.json.
config nvidia/Qwen3-235B-A22B-NVFP4 "$scratch/config.json"
echo '{"quantization": {"quant_algo": "NVFP4"}}' >"$scratch/hf_quant_config.json"
expect_exit 0 "$hone" fit "$scratch" --json
expect_contains "$output" '"scheme": "nvfp4"'
expect_exit 0 "$hone" fit "$demo" --gpu t4 # whose limit is below the default context

# Wrong use and broken input.
expect_exit 2 "$hone" fit
expect_exit 2 "$hone" fit "$scratch/v3" --gpu k80
expect_contains "$output" "h100-nvl"
expect_exit 2 "$hone" fit "$scratch/v3" --gpu h100 --gpu-memory 80
expect_exit 2 "$hone" fit "$scratch/v3" --context 32q
expect_contains "$output" "--context"
expect_exit 2 "$hone" fit "$scratch/v3" --scheme int3
expect_contains "$output" "nvfp4"
expect_exit 2 "$hone" fit no/such-model
mkdir "$scratch/none"
expect_exit 2 "$hone" fit "$scratch/none"
expect_contains "$output" "config.json"
config nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16 "$scratch/mamba.json"
expect_exit 1 "$hone" fit "$scratch/mamba.json"
expect_contains "$output" "hybrid_override_pattern"
echo '{"hidden_size": ' >"$scratch/cut.json"
expect_exit 1 "$hone" fit "$scratch/cut.json"
