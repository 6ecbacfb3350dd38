"""Writes the seed corpora of tests/fuzz/corpus. Run from the repository's root; needs only Python."""

import json
import os
import struct

ROOT = "tests/fuzz/corpus"


def put(target, name, data):
    os.makedirs(f"{ROOT}/{target}", exist_ok=True)
    with open(f"{ROOT}/{target}/{name}", "wb") as file:
        file.write(data)


def header(tensors, **metadata):
    entries, offset = {}, 0
    if metadata:
        entries["__metadata__"] = metadata
    for name, (dtype, shape, size) in tensors.items():
        entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    return json.dumps(entries).encode(), offset


def safetensors(tensors, **metadata):
    head, size = header(tensors, **metadata)
    return struct.pack("<Q", len(head)) + head + bytes(size)


two = {"a": ("F32", [2, 3], 24), "b": ("BF16", [5], 10)}
whole = safetensors(two, format="pt")
put("safetensors", "ok_two", whole)
put("safetensors", "ok_empty", safetensors({}))
put("safetensors", "ok_scalar_and_none", safetensors({"s": ("F32", [], 4), "n": ("F8_E4M3", [0, 7], 0)}))
put("safetensors", "bad_truncated", whole[:-3])
put("safetensors", "bad_length", struct.pack("<Q", 2**63) + whole[8:])
put("safetensors", "bad_overlap", whole.replace(b"[24, 34]", b"[20, 30]"))
put("safetensors", "bad_json", whole.replace(b"{", b"[", 1))
put("safetensors", "bad_overflow", safetensors({"a": ("F32", [2**62, 4], 0)}))
put("safetensors", "bad_lfs", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n")

index = {"metadata": {"total_size": 2}, "weight_map": {"a": "a.safetensors", "b": "b.safetensors"}}
put("index", "ok_both", json.dumps(index).encode())
put("index", "ok_one", json.dumps({"weight_map": {"a": "a.safetensors"}}).encode())
put("index", "bad_escape", json.dumps({"weight_map": {"a": "../a.safetensors"}}).encode())
put("index", "bad_missing", json.dumps({"weight_map": {"a": "c.safetensors"}}).encode())
put("index", "bad_wrong_shard", json.dumps({"weight_map": {"a": "b.safetensors"}}).encode())
put("index", "bad_twice", b'{"weight_map":{"a":"a.safetensors","a":"a.safetensors"}}')
put("index", "bad_number", b'{"weight_map":{"a":1}}')


def dialect(name, config, tensors, quant=b"", data=None):
    head, size = header(tensors)
    parts = [json.dumps(config).encode(), quant, head, bytes(size) if data is None else data]
    put("dialect", name, b"\0".join(parts))


one = struct.pack("<f", 1.0)
fp8 = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
pair = {"x.weight_scale_inv": ("F32", [1, 1], 4), "x.weight": ("F8_E4M3", [2, 3], 6)}
dialect("ok_fp8", fp8, pair, data=one + bytes(range(6)))
dialect("ok_none", {}, {"w": ("F32", [1], 4)})
dialect("bad_fp8_shape", fp8, {"x.weight_scale_inv": ("F32", [2, 1], 8), "x.weight": ("F8_E4M3", [2, 3], 6)})
dialect("bad_fp8_alone", fp8, {"x.weight": ("F8_E4M3", [2, 3], 6)})
modelopt = {"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}}
parts = {
    "x.input_scale": ("F32", [], 4),
    "x.weight_scale_2": ("F32", [1], 4),
    "x.weight_scale": ("F8_E4M3", [2, 2], 4),
    "x.weight": ("U8", [2, 16], 32),
}
dialect("ok_nvfp4", modelopt, parts, data=one + one + bytes([0x38] * 4) + bytes(range(32)))
dialect("ok_nvfp4_old", {}, parts, b'{"quantization":{"quant_algo":"NVFP4"}}', one + one + bytes(36))
dialect("bad_nvfp4_zero", modelopt, parts)
dialect("bad_contradiction", modelopt, parts, b'{"quantization":{"quant_algo":"FP8"}}', one + one + bytes(36))
dialect("bad_method", {"quantization_config": {"quant_method": ["awq"]}}, {"w": ("F32", [1], 4)})
