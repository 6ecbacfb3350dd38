"""Writes tests/golden/format/codecs.safetensors: known vectors for core/format.

The values come from PyTorch's and ml_dtypes' own casts. Run from the repository's root with
    pip install torch ml_dtypes numpy safetensors
    python tests/golden/scripts/format_golden.py
"""

import ml_dtypes
import numpy as np
import torch
from safetensors.torch import save_file

rng = np.random.default_rng(7)


def values_of(dtype, count):
    codes = np.arange(count, dtype=np.uint8)
    return codes.view(dtype).astype(np.float32)


def boundaries(values):
    """Each midpoint of neighbouring magnitudes with its two float32 neighbours, both signs."""
    finite = np.unique(np.abs(values[np.isfinite(values)])).astype(np.float32)
    middle = ((finite[1:].astype(np.float64) + finite[:-1]) / 2).astype(np.float32)
    near = [finite, middle, np.nextafter(middle, np.float32(0)), np.nextafter(middle, np.inf, dtype=np.float32)]
    all_of = np.concatenate(near).astype(np.float32)
    return np.concatenate([all_of, -all_of])


e4m3 = values_of(ml_dtypes.float8_e4m3fn, 256)
e5m2 = values_of(ml_dtypes.float8_e5m2, 256)
e8m0 = values_of(ml_dtypes.float8_e8m0fnu, 256)
e2m1 = values_of(ml_dtypes.float4_e2m1fn, 16)
assert np.array_equal(e4m3, torch.arange(256, dtype=torch.uint8).view(torch.float8_e4m3fn).float().numpy(), equal_nan=True)

special = np.array([0.0, -0.0, np.inf, -np.inf, 448, 464, 480, 65504, 65519.996, 65520, 61440, 61439.996, 3.4028235e38, 1e-45, 6, 7, 1e30], dtype=np.float32)
random_bits = rng.integers(0, 2**32, 3000, dtype=np.uint32).view(np.float32)
normal = rng.standard_normal(1000).astype(np.float32) * np.exp2(rng.integers(-12, 12, 1000)).astype(np.float32)
inputs = np.concatenate([special, -special, boundaries(e4m3), boundaries(e5m2), boundaries(e2m1), random_bits, normal])
inputs = inputs[~np.isnan(inputs)].astype(np.float32)
x = torch.from_numpy(inputs)


def bits(t):
    return t.view(torch.uint8)


def nvfp4(w, g):
    """The encoder's definition, step by step in float32."""
    w = w.astype(np.float32)
    blocks = w.reshape(w.shape[0], -1, 16)
    amax = np.abs(blocks).max(axis=2)
    ratio = (amax / np.float32(6)) / np.float32(g)
    scale = np.clip(ratio, np.float32(2.0**-9), np.float32(448)).astype(ml_dtypes.float8_e4m3fn)
    scale = np.where(amax == 0, np.float32(1), scale.astype(np.float32)).astype(ml_dtypes.float8_e4m3fn)
    step = scale.astype(np.float32) * np.float32(g)
    code = np.clip(blocks / step[:, :, None], -6, 6).astype(ml_dtypes.float4_e2m1fn)
    code = code.view(np.uint8).reshape(w.shape) & 15
    return scale.view(np.uint8), code[:, 0::2] | (code[:, 1::2] << 4)


# A ragged block FP8 weight: 2 x 3 blocks, the last row of blocks two rows high.
w = torch.from_numpy(rng.standard_normal((130, 272)).astype(np.float32) * 0.02).bfloat16()
w[:128, 128:256] = 0
w[0, 0] = -0.0
w[129, 271] = 300.0
padded = torch.zeros(256, 384)
padded[:130, :272] = w.float()
amax = padded.view(2, 128, 3, 128).abs().amax(dim=(1, 3))
scale = torch.where(amax == 0, torch.ones(()), amax / 448.0)
spread = scale.repeat_interleave(128, 0).repeat_interleave(128, 1)[:130, :272]
codes = (w.float() / spread).clamp(-448, 448).to(torch.float8_e4m3fn)
scale2 = torch.where(amax == 0, torch.ones(()), torch.exp2(torch.ceil(torch.log2(amax / 448.0))))
spread2 = scale2.repeat_interleave(128, 0).repeat_interleave(128, 1)[:130, :272]
codes2 = (w.float() / spread2).clamp(-448, 448).to(torch.float8_e4m3fn)

# A small NVFP4 weight: an all-zero block, a block whose scale would round to zero, a -0.
n = rng.standard_normal((3, 48)).astype(np.float32)
n[0, 16:32] = 0
n[1, 0:16] *= np.float32(1e-9)
n[2, 5] = -0.0
g = np.float32(np.abs(n).max()) / np.float32(2688)
while np.float32(1) / (np.float32(1) / g) != g:
    g = np.nextafter(g, np.float32(np.inf))
n_scale, n_code = nvfp4(n, g)

save_file(
    {
        "e4m3_values": torch.from_numpy(e4m3),
        "e5m2_values": torch.from_numpy(e5m2),
        "e8m0_values": torch.from_numpy(e8m0),
        "e2m1_values": torch.from_numpy(e2m1),
        "inputs": x,
        "bf16": x.bfloat16(),
        "f16": x.half(),
        "e4m3": bits(x.clamp(-448, 448).to(torch.float8_e4m3fn)),
        "e5m2": bits(x.to(torch.float8_e5m2)),
        "e2m1": torch.from_numpy(np.clip(inputs, -6, 6).astype(ml_dtypes.float4_e2m1fn).view(np.uint8) & 15),
        "fp8.weight": w,
        "fp8.scales": scale,
        "fp8.codes": bits(codes),
        "fp8.scales_power_of_two": scale2,
        "fp8.codes_power_of_two": bits(codes2),
        "nvfp4.weight": torch.from_numpy(n),
        "nvfp4.global": torch.tensor([g]),
        "nvfp4.scales": torch.from_numpy(n_scale.copy()),
        "nvfp4.codes": torch.from_numpy(n_code.copy()),
    },
    "tests/golden/format/codecs.safetensors",
)
