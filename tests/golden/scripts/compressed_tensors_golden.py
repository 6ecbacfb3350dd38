"""Writes tests/golden/compressed_tensors: packed.safetensors, what the packers and readers of
compressed-tensors make of small random and adversarial matrices, and configs.json, how the library
itself writes the config group of each scheme.

Every value comes from the package itself (calculate_qparams and generate_gparam as llm-compressor's
observers call them, then the compressor of the format, then its decompressor), on the CPU. Run from
the repository's root with
    pip install torch compressed-tensors==0.20.1 safetensors numpy
    python tests/golden/scripts/compressed_tensors_golden.py
With a config.json as argument it checks instead that the library's parser takes its
quantization_config, and prints the compressor it would use for each group.
"""

import json
import pathlib
import sys

import numpy as np
import torch
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.compressors.format import infer_module_format
from compressed_tensors.quantization import (
    QuantizationArgs,
    QuantizationConfig,
    QuantizationScheme,
    preset_name_to_scheme,
)
from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam
from safetensors.torch import save_file

E4M3 = {"scale_dtype": "torch.float8_e4m3fn"}
E8M0 = {"scale_dtype": "torch.uint8"}
FLOAT = {"type": "float", "symmetric": True, "dynamic": False}

# format: (compressor, weight arguments, rows and columns of a block; 0: all)
FORMATS = {
    "block": ("naive-quantized", {"num_bits": 8, "strategy": "block", "block_structure": [128, 128]}, (128, 128)),
    "channel": ("naive-quantized", {"num_bits": 8, "strategy": "channel"}, (1, 0)),
    "tensor": ("naive-quantized", {"num_bits": 8, "strategy": "tensor"}, (0, 0)),
    "nvfp4": ("nvfp4-pack-quantized", {"num_bits": 4, "strategy": "tensor_group", "group_size": 16, **E4M3}, (1, 16)),
    "mxfp4": ("mxfp4-pack-quantized", {"num_bits": 4, "strategy": "group", "group_size": 32, **E8M0}, (1, 32)),
    "mxfp8": ("mxfp8-quantized", {"num_bits": 8, "strategy": "group", "group_size": 32, **E8M0}, (1, 32)),
}


def scheme_of(name):
    return QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(**FLOAT, **FORMATS[name][1]))


def extremes(w, block):
    """Smallest and largest value of each block, as the observers reduce them."""
    rows, cols = (size or whole for size, whole in zip(block, w.shape))
    padded = torch.nn.functional.pad(w, (0, -w.shape[1] % cols, 0, -w.shape[0] % rows))
    split = padded.reshape(padded.shape[0] // rows, rows, padded.shape[1] // cols, cols)
    return split.amin(dim=(1, 3)), split.amax(dim=(1, 3))


def compress(name, w):
    compressor, _, block = FORMATS[name]
    scheme = scheme_of(name)
    low, high = extremes(w, block)
    state = {"weight": w}
    if name == "nvfp4":
        amax = torch.max(high.max(), -low.min()).reshape(1)
        state["weight_global_scale"] = generate_gparam(-amax, amax)
    scale, _ = calculate_qparams(low, high, scheme.weights, state.get("weight_global_scale"))
    state["weight_scale"] = scale.reshape(1) if name == "tensor" else scale
    return BaseCompressor.get_value_from_registry(compressor).compress(state, scheme)


def decompress(name, state):
    compressor = BaseCompressor.get_value_from_registry(FORMATS[name][0])
    return compressor.decompress(dict(state), scheme_of(name))["weight"]


def matrices():
    rng = np.random.default_rng(11)

    def normal(rows, cols, scale):
        return torch.from_numpy((rng.standard_normal((rows, cols)) * scale).astype(np.float32))

    yield "normal", normal(6, 64, 0.02)
    yield "ragged", normal(129, 132, 0.5)
    # Magnitudes spread over 40 binades, so that block scales reach both ends.
    yield "wide", normal(6, 64, 1.0) * torch.exp2(torch.from_numpy(rng.integers(-30, 10, (6, 64)).astype(np.float32)))
    # Multiples of 1/8: many of them fall on the middle between two codes.
    yield "ties", torch.from_numpy((rng.integers(-48, 49, (6, 64)) / 8).astype(np.float32))
    zeros = normal(6, 64, 1.0)
    zeros[0, :32] = 0.0
    zeros[1, :] = 0.0
    zeros[2, 3] = -0.0
    zeros[3, :32] = -0.0
    zeros[4, 5] = -1e-9  # rounds to a zero with a sign
    yield "zeros", zeros
    yield "all_zero", torch.zeros(3, 64)
    yield "huge", normal(3, 64, 1e37)
    yield "tiny", normal(3, 64, 1e-36)
    mixed = normal(3, 64, 1.0)
    mixed[0, :32] *= 1e-9  # a block whose NVFP4 scale would round to zero
    mixed[1, :16] = 1e-30
    yield "mixed", mixed


def bits(t):
    t = t.contiguous()
    return t.view(torch.uint8) if t.dtype == torch.float8_e4m3fn else t


def write_vectors(path):
    tensors = {}
    for case, w32 in matrices():
        for dtype in (torch.float32, torch.bfloat16):
            if case == "ragged" and dtype == torch.float32:
                continue  # one dtype of the large matrix will do
            w = w32.to(dtype)
            prefix = f"{case}.{'f32' if dtype == torch.float32 else 'bf16'}"
            tensors[f"{prefix}.weight"] = w
            for name in FORMATS if case != "ragged" else ["block"]:
                # The library's CPU code changes its input in places.
                state = compress(name, w.clone())
                tensors.update({f"{prefix}.{name}.{key}": bits(value) for key, value in state.items()})
                tensors[f"{prefix}.{name}.decompressed"] = decompress(name, state).contiguous()
    save_file(tensors, path)
    print(path, len(tensors), "tensors,", path.stat().st_size, "bytes")


def write_configs(path):
    groups = {}

    def add(name, scheme):
        scheme.format = infer_module_format(torch.nn.Linear, scheme)
        groups[name] = scheme.model_dump(mode="json", exclude={"targets"})

    def preset(name):
        return preset_name_to_scheme(name, ["Linear"])

    def without_inputs(name):
        scheme = preset(name)
        scheme.input_activations = None
        return scheme

    # Hone's names of the format and of the activation rule.
    add("fp8-tensor fp8-tensor", preset("FP8"))
    add("fp8-channel fp8-token", preset("FP8_DYNAMIC"))
    add("fp8-block fp8-group128", preset("FP8_BLOCK"))
    add("fp8-tensor none", without_inputs("FP8"))
    add("fp8-channel none", without_inputs("FP8_DYNAMIC"))
    add("fp8-block none", without_inputs("FP8_BLOCK"))
    add("nvfp4 nvfp4", preset("NVFP4"))
    add("nvfp4 none", preset("NVFP4A16"))
    add("mxfp4 mxfp4", preset("MXFP4"))
    add("mxfp4 none", preset("MXFP4A16"))
    add("mxfp8 mxfp8", preset("MXFP8"))
    add("mxfp8 none", preset("MXFP8A16"))
    path.write_text(json.dumps(groups, indent=1, default=str) + "\n")
    print(path, len(groups), "groups")


def check_config(path):
    section = json.loads(path.read_text())["quantization_config"]
    config = QuantizationConfig.model_validate(section)
    for name, scheme in config.config_groups.items():
        inferred = infer_module_format(torch.nn.Linear, scheme).value
        stated = section["config_groups"][name]["format"]
        assert inferred == stated, (name, inferred, stated)
        print(path, name, inferred, len(scheme.targets), "targets,", len(config.ignore), "ignored")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        for argument in sys.argv[1:]:
            check_config(pathlib.Path(argument))
    else:
        folder = pathlib.Path("tests/golden/compressed_tensors")
        folder.mkdir(parents=True, exist_ok=True)
        write_vectors(folder / "packed.safetensors")
        write_configs(folder / "configs.json")
