#!/usr/bin/env python3
"""Writes tests/golden/model/weight_names.json and model_configs.json.

Usage: weight_names.py DATA_FOLDER OUTPUT_FOLDER

DATA_FOLDER holds config.json files (configs/, configs_extra/: <org>--<model>_config.json) and
model.safetensors.index.json files (weight_index/) of published checkpoints. What is kept: of an
index the tensor names, folded ("model.layers.{0-39}.mlp.up_proj.weight"), and its totals; of a
config the keys that say sizes. Names and sizes are facts about the checkpoints, no text of theirs.
"""
import json
import lzma
import os
import re
import sys

KEEP = set("""
architectures model_type hidden_size intermediate_size intermediate_size_mlp vocab_size head_dim
num_attention_heads num_key_value_heads num_hidden_layers max_position_embeddings
tie_word_embeddings attention_bias mlp_bias use_qk_norm q_lora_rank kv_lora_rank qk_nope_head_dim
qk_rope_head_dim v_head_dim use_mla mla_use_output_gate linear_num_key_heads
linear_num_value_heads linear_key_head_dim linear_value_head_dim linear_conv_kernel_dim
linear_attn_config attn_res_block_size n_routed_experts num_experts num_local_experts
num_experts_per_tok num_experts_per_token experts_per_token moe_intermediate_size
routed_expert_hidden_size latent_moe_use_norm shared_expert_intermediate_size n_shared_experts
num_shared_experts topk_method use_routing_bias mlp_layer_types first_k_dense_replace
mlp_only_layers interleave_moe_layer_step decoder_sparse_step moe_layer_freq sliding_window
sliding_window_pattern use_sliding_window max_window_layers layer_types full_attention_interval
attention_chunk_size num_nextn_predict_layers mtp_num_hidden_layers index_n_heads index_head_dim
indexer_types block_configs compress_ratios embedding_size enable_moe_block hybrid_layer_pattern
hybrid_override_pattern kv_channels share_expert_dim sparse_attention_config ssm_state_size
text_config language_config vision_config quantization_config quant_method quant_algo format
weight_block_size depth embed_dim mlp_ratio patch_size temporal_patch_size spatial_merge_size
image_size num_position_embeddings deepstack_visual_indexes kda_layers num_heads
short_conv_kernel_size use_full_rank_gate
""".split())

# index file -> config file; None: names only (the config is not at hand or says too little).
INDEXES = {
    "deepseek-ocr-2.index.json.xz": "configs_extra/deepseek-ai--DeepSeek-OCR-2_config.json",
    "falcon3--Triangulum-10B.index.json": "configs_extra/falcon3--Triangulum-10B_config.json",
    "flux1--schnell-t5-encoder-bnb.index.json":
        "configs_extra/flux1--schnell_text_encoder_2_t5_config.json",
    "gemma2--2b-it.index.json": "configs_extra/google--gemma-2-2b-it_config.json",
    "gemma3--medgemma-27b-it.index.json": "configs_extra/google--medgemma-27b-it_config.json",
    "llama3.1--8B-bnb-int8.index.json": "configs_extra/llama3.1--8B-bnb-int8_config.json",
    "logics--Thinking-8B.index.json": "configs_extra/logics--Logics-Thinking-8B_config.json",
    "mistral--Devstral-Small-2507.index.json":
        "configs_extra/mistral--Devstral-Small-2507_config.json",
    "mistral4--Small-4-MLX-4bit.index.json": "configs_extra/mistral4--Small-4-MLX-4bit_config.json",
    "mixtral--8x22B.index.json": "configs_extra/mixtral--WizardLM-2-8x22B_config.json",
    "molmo--7B-D-bnb-nf4.index.json": "configs_extra/molmo--7B-D-bnb-nf4_config.json",
    "phi3--3B.index.json": "configs_extra/phi3--Chocolatine-3B_config.json",
    "qwen1-vl--Int4-GPTQ.index.json": "configs_extra/qwen1-vl--Qwen-VL-Chat-Int4-GPTQ_config.json",
    "qwen2-vl--7B.index.json": "configs_extra/qwen2-vl--olmOCR-7B_config.json",
    "qwen2.5--14B-MLX-3bit.index.json": "configs_extra/qwen2--qwen2.5-14B-MLX-3bit_config.json",
    "qwen2.5--14B.index.json": "configs_extra/qwen2.5--sakura-14b_config.json",
    "qwen2.5-vl--7B.index.json": "configs_extra/Qwen--Qwen2.5-VL-7B-Instruct_config.json",
    "qwen3--1.7B.index.json": "configs_extra/qwen3--1.7B_config.json",
    "qwen3--14B-MLX-4bit.index.json": "configs_extra/qwen3--14B-MLX-4bit_config.json",
    "qwen3-vl--8B.index.json": "configs_extra/qwen3-vl--8B-finetune_config.json",
    "qwen3.5--27B-MLX-mixed-4-8bit.index.json.xz":
        "configs_extra/qwen3.5--27B-MLX-mixed-4-8bit_config.json",
    "qwen3.5-moe--REAP-18B-A3B.index.json.xz":
        "configs_extra/qwen3.5-moe--REAP-18B-A3B_config.json",
}

CONFIGS = """
meta-llama--Meta-Llama-3.1-8B meta-llama--Meta-Llama-3.1-70B meta-llama--Meta-Llama-3.1-405B
mistralai--Mixtral-8x7B-v0.1 Qwen--Qwen3-0.6B Qwen--Qwen3-8B Qwen--Qwen3-30B-A3B
Qwen--Qwen3-235B-A22B Qwen--Qwen3-Coder-480B-A35B-Instruct Qwen--Qwen3-VL-30B-A3B-Instruct
Qwen--Qwen3.5-35B-A3B deepseek-ai--DeepSeek-V3 deepseek-ai--DeepSeek-V3.2
deepseek-ai--DeepSeek-V4-Pro moonshotai--Kimi-K2-Instruct moonshotai--Kimi-K2.5
moonshotai--Kimi-K3 zai-org--GLM-5 zai-org--GLM-5.2 openai--gpt-oss-20b openai--gpt-oss-120b
meta-llama--Llama-4-Scout-17B-16E-Instruct meta-llama--Llama-4-Maverick-17B-128E-Instruct
MiniMaxAI--MiniMax-M2.5 nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16
nvidia--Llama-3_3-Nemotron-Super-49B-v1 nvidia--Qwen3-235B-A22B-NVFP4
deepseek-ai--DeepSeek-V2-Lite google--gemma-4-26B-A4B qwen3-next--80B-A3B
granitemoe--granite-3.1-1b-a400m-instruct Qwen--Qwen2.5-0.5B-Instruct
""".split()


def trim(value):
    if isinstance(value, dict):
        return {k: trim(v) for k, v in value.items() if k in KEEP and v is not None}
    # Shapes of blocks are refused anyway; one is enough.
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return value[:1]
    return value


def ranges(numbers):
    numbers = sorted(set(numbers))
    runs = []
    for n in numbers:
        if runs and runs[-1][1] == n - 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def spans(values):
    """Tuples of numbers as tuples of ranges that stand for their products."""
    if values == {()}:
        return [()]
    rests = {}
    for value in values:
        rests.setdefault(value[0], set()).add(value[1:])
    firsts = {}
    for first, rest in rests.items():
        firsts.setdefault(frozenset(rest), []).append(first)
    return [(ranges(first),) + tail for rest, first in firsts.items() for tail in spans(set(rest))]


def fold(names):
    """Names that differ in numbers only become patterns with ranges in braces."""
    groups = {}
    for name in names:
        parts = re.split(r"(?<=\.)(\d+)(?=\.|$)", name)
        groups.setdefault(tuple(parts[0::2]), set()).add(tuple(int(x) for x in parts[1::2]))
    patterns = []
    for texts, values in groups.items():
        for span in spans(values):
            text = texts[0]
            for column, tail in zip(span, texts[1:]):
                text += "{" + column + "}" + tail
            patterns.append(text)
    return patterns


def load(path):
    opened = lzma.open(path, "rt") if path.endswith(".xz") else open(path)
    with opened as file:
        return json.load(file)


def main():
    data, output = sys.argv[1:]
    sources = {}
    with open(os.path.join(data, "INDEX.tsv")) as file:
        for line in list(file)[1:]:
            cells = line.rstrip("\n").split("\t")
            sources[cells[0]] = cells[5]
    checkpoints = []
    for index, config in INDEXES.items():
        document = load(os.path.join(data, "weight_index", index))
        totals = document.get("metadata") or {}
        checkpoints.append({
            "name": index.split(".index.json")[0],
            "source": sources["weight_index/" + index],
            "config": trim(load(os.path.join(data, config))),
            "bytes": totals.get("total_size", 0),
            "parameters": totals.get("total_parameters", 0),
            "tensors": len(document["weight_map"]),
            "names": fold(document["weight_map"]),
        })
    configs = []
    for name in CONFIGS:
        for folder in ("configs", "configs_extra"):
            relative = f"{folder}/{name}_config.json"
            if os.path.exists(os.path.join(data, relative)):
                configs.append({
                    "name": name.replace("--", "/"),
                    "source": sources[relative],
                    "config": trim(load(os.path.join(data, relative))),
                })
    for name, document in (("weight_names.json", checkpoints), ("model_configs.json", configs)):
        with open(os.path.join(output, name), "w") as file:
            file.write("[\n")
            file.write(",\n".join(json.dumps(item, separators=(",", ":")) for item in document))
            file.write("\n]\n")


main()
