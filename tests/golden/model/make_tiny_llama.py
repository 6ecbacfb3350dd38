"""Makes the tiny random Llama checkpoints of this folder and their logits by transformers.

    pip install torch transformers safetensors    (CPU is enough)
    python tests/golden/model/make_tiny_llama.py

Made with transformers 5.24 and torch 2.15: float32 arithmetic on the bfloat16 weights. The weights
are random, made here, and free of any licence.
"""
import json
import pathlib

import torch
from transformers import LlamaConfig, LlamaForCausalLM

HERE = pathlib.Path(__file__).parent

COMMON = dict(
    vocab_size=61, hidden_size=24, intermediate_size=36, num_hidden_layers=2,
    num_attention_heads=3, num_key_value_heads=1, head_dim=10, max_position_embeddings=256,
    rms_norm_eps=1e-5, bos_token_id=1, eos_token_id=2, pad_token_id=None,
    attn_implementation="eager",
)
VARIANTS = {
    "untied": dict(tie_word_embeddings=False, rope_theta=10000.0),
    "biased": dict(
        tie_word_embeddings=True, attention_bias=True, mlp_bias=True,
        rope_parameters=dict(
            rope_theta=10000.0, rope_type="llama3", factor=4.0, low_freq_factor=1.0,
            high_freq_factor=4.0, original_max_position_embeddings=64)),
}

for number, (name, options) in enumerate(VARIANTS.items()):
    torch.manual_seed(number)
    model = LlamaForCausalLM(LlamaConfig(**COMMON, **options))
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if "norm" in key:
                parameter.normal_(1.0, 0.2)
            elif key.endswith("bias"):
                parameter.normal_(0.0, 0.3)
            elif "embed" in key:
                parameter.normal_(0.0, 0.7)
            else:
                parameter.normal_(0.0, 1.5 / parameter.shape[1] ** 0.5)
    model = model.to(torch.bfloat16)
    model.save_pretrained(HERE / name)
    for extra in ("generation_config.json",):
        (HERE / name / extra).unlink(missing_ok=True)
    # Read back rather than model.float(): bfloat16 also rounded the rotary frequencies.
    model = LlamaForCausalLM.from_pretrained(
        HERE / name, dtype=torch.float32, attn_implementation="eager").eval()
    items = []
    for length in (1, 7, 100):
        ids = torch.randint(0, 61, (1, length), generator=torch.Generator().manual_seed(length))
        with torch.no_grad():
            logits = model(ids).logits[0]
        rows = sorted({0, length // 2, length - 1})
        items.append({
            "ids": ids[0].tolist(),
            "rows": rows,
            "logits": [[float(f"{x:.8g}") for x in logits[row].tolist()] for row in rows],
        })
    with open(HERE / f"{name}.json", "w") as file:
        json.dump({"items": items}, file, indent=None, separators=(",", ":"))
        file.write("\n")
