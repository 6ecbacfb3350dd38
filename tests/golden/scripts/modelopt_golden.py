"""Writes tests/golden/modelopt/packed.safetensors: what ModelOpt's packers and readers make of the
matrices of compressed_tensors_golden.py.

Every value comes from the package itself (the classes that its unified export calls), on the CPU.
Run from the repository's root with
    pip install torch nvidia-modelopt==0.47.0 compressed-tensors==0.20.1 safetensors numpy
    python tests/golden/scripts/modelopt_golden.py
"""

import pathlib

import torch
from compressed_tensors_golden import matrices
from modelopt.torch.export.quant_utils import to_quantized_weight
from modelopt.torch.quantization.qtensor.fp8_tensor import FP8QTensor
from modelopt.torch.quantization.qtensor.mxfp8_tensor import MXFP8QTensor
from modelopt.torch.quantization.qtensor.nvfp4_tensor import NVFP4QTensor
from safetensors.torch import save_file


def nvfp4(w):
    packed, scale, scale_2 = NVFP4QTensor.quantize(w, 16)
    values = packed.dequantize(dtype=torch.float32, scale=scale, double_scale=scale_2, block_sizes={-1: 16})
    return {"weight": packed._quantized_data, "weight_scale": scale, "weight_scale_2": scale_2, "dequantized": values}


def fp8(w, scale, algo):
    codes = to_quantized_weight(w, scale, algo, block_size=128)
    return {"weight": codes, "weight_scale": scale}


def tensor(w):
    return fp8(w, w.abs().max().float() / 448.0, "fp8")


def channel(w):
    return fp8(w, w.abs().amax(dim=1).float() / 448.0, "fp8_pc_pt")


def block(w):
    packed, scale = FP8QTensor.quantize(w, block_sizes={-1: 128, -2: 128})
    return {"weight": packed._quantized_data, "weight_scale": scale}


def mxfp8(w):
    packed, scale = MXFP8QTensor.quantize(w)
    values = packed.dequantize(dtype=torch.float32, scale=scale)
    return {"weight": packed._quantized_data, "weight_scale": scale, "dequantized": values}


FORMATS = {"nvfp4": nvfp4, "tensor": tensor, "channel": channel, "block": block, "mxfp8": mxfp8}


def bits(t):
    t = t.contiguous()
    return t.view(torch.uint8) if t.dtype == torch.float8_e4m3fn else t


tensors = {}
for case, w32 in matrices():
    for dtype in (torch.float32, torch.bfloat16):
        if case == "ragged" and dtype == torch.float32:
            continue
        w = w32.to(dtype)
        prefix = f"{case}.{'f32' if dtype == torch.float32 else 'bf16'}"
        tensors[f"{prefix}.weight"] = w
        for name in FORMATS if case != "ragged" else ["block"]:
            # The library's code changes its input in places.
            for key, value in FORMATS[name](w.clone()).items():
                tensors[f"{prefix}.{name}.{key}"] = bits(value)
path = pathlib.Path("tests/golden/modelopt/packed.safetensors")
path.parent.mkdir(parents=True, exist_ok=True)
save_file(tensors, path)
print(path, len(tensors), "tensors,", path.stat().st_size, "bytes")
