// HQ3xx: the tensors of quantized modules: all there, none too many, of the right dtype and shape.
#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "quant/check/check_table.h"

namespace hone {
namespace {

constexpr int64_t kNvfp4Block = 16;
constexpr int64_t kMxBlock = 32;
constexpr int64_t kGridBlock = 128;

int64_t blocks(int64_t n, int64_t size) {
  return size > 0 ? (n + size - 1) / size : 0;
}

// Which tensor holds the block, channel or tensor scales.
Part scale_part(const CheckContext& c, const CheckedModule& module) {
  if (module.part(Part::kBlocks) != nullptr) return Part::kBlockExponents;
  if (c.declared.dialect() == QuantDialect::kFp8 && module.declared->form == StoredForm::kFp8Block)
    return Part::kScaleInv;
  return Part::kScale;
}

bool compressed(const CheckContext& c) {
  return c.declared.dialect() == QuantDialect::kCompressedTensors;
}

Part global_part(const CheckContext& c) {
  return compressed(c) ? Part::kGlobalDivisor : Part::kGlobalMultiplier;
}

Part input_part(const CheckContext& c, const CheckedModule& module) {
  return compressed(c) && module.declared->form == StoredForm::kNvfp4 ? Part::kInputDivisor
                                                                      : Part::kInputMultiplier;
}

void need(const CheckContext& c, const CheckedModule& module, Part part, Findings& found) {
  const std::string name = module.tensor(part);
  if (module.part(part) == nullptr && !c.files.knows(name))
    found.add(
        name, fmt::format("it is missing beside the {} codes", form_name(module.declared->form))
    );
}

template <typename Judge>
void each_consistent(const CheckContext& c, Judge judge) {
  for (const CheckedModule& module : c.modules.modules()) {
    if (module.consistent()) judge(module);
  }
}

void scales_are_there(const CheckContext& c, Findings& found) {
  each_consistent(c, [&](const CheckedModule& module) {
    need(c, module, scale_part(c, module), found);
  });
}

void globals_are_there(const CheckContext& c, Findings& found) {
  each_consistent(c, [&](const CheckedModule& module) {
    if (module.declared->form == StoredForm::kNvfp4) need(c, module, global_part(c), found);
  });
}

void input_scales_are_there(const CheckContext& c, Findings& found) {
  each_consistent(c, [&](const CheckedModule& module) {
    if (module.declared->input_scale) need(c, module, input_part(c, module), found);
  });
}

void scales_have_codes(const CheckContext& c, Findings& found) {
  if (c.declared.dialect() == QuantDialect::kForeign) return;
  for (const CheckedModule& module : c.modules.modules()) {
    const bool promised = module.declared.has_value();
    if (module.quantized() || (promised && module.codes == Codes::kDense)) continue;
    const bool hidden = c.files.knows(module.tensor(Part::kWeight)) ||
                        c.files.knows(module.tensor(Part::kPackedWeight)) ||
                        c.files.knows(module.tensor(Part::kBlocks));
    if (module.codes == Codes::kAbsent && hidden) continue;
    for (const auto& [part, tensor] : module.parts) {
      if (!needs_codes(part)) continue;
      found.add(
          module.tensor(part),
          module.codes == Codes::kAbsent ? "there are no weights of that name"
                                         : "the weight beside it is not quantized"
      );
    }
  }
}

void codes_have_their_type(const CheckContext& c, Findings& found) {
  for (const CheckedModule& module : c.modules.modules()) {
    if (!module.declared || module.declared->form == StoredForm::kForeign) continue;
    const bool scaled =
        std::ranges::any_of(module.parts, [](const auto& part) { return needs_codes(part.first); });
    if (module.codes == Codes::kDense && scaled)
      found.add(
          module.name,
          fmt::format(
              "the weight is {}, although there are scales and {} says {}",
              dtype_name(module.weight()->entry->type),
              module.declared->source,
              form_name(module.declared->form)
          )
      );
    if (module.consistent() && module.weight()->entry->type == DType::kF8E5M2)
      found.add(module.name, "the codes are F8_E5M2, engines read F8_E4M3");
    if (module.consistent() && compressed(c) && packed_form(module.declared->form) &&
        module.part(Part::kPackedWeight) == nullptr)
      found.add(
          module.tensor(Part::kWeight),
          fmt::format("packed codes are expected under {}", part_suffix(Part::kPackedWeight))
      );
  }
}

void codes_are_matrices(const CheckContext& c, Findings& found) {
  each_consistent(c, [&](const CheckedModule& module) {
    const Shape& shape = module.weight()->entry->shape;
    if (shape.rank() == 2 || module.part(Part::kBlocks) != nullptr) return;
    found.add(module.name, fmt::format("the codes have shape {}, expected rank 2", shape.str()));
  });
}

bool power_of_two_type(DType type) {
  return type == DType::kU8 || type == DType::kF8E8M0;
}

bool float_scale_type(DType type) {
  return type == DType::kF32 || type == DType::kBF16 || type == DType::kF16;
}

// What the scales may be stored as, and how that is said.
bool scale_type_fits(StoredForm form, DType type) {
  switch (form) {
    case StoredForm::kNvfp4:
      return type == DType::kF8E4M3;
    case StoredForm::kMxfp4:
    case StoredForm::kMxfp8:
      return power_of_two_type(type);
    case StoredForm::kFp8Block:
      return float_scale_type(type) || type == DType::kF8E8M0;
    default:
      return float_scale_type(type);
  }
}

std::string_view scale_type_text(StoredForm form) {
  switch (form) {
    case StoredForm::kNvfp4:
      return "F8 E4M3";
    case StoredForm::kMxfp4:
    case StoredForm::kMxfp8:
      return "U8 exponents";
    default:
      return "F32";
  }
}

void scales_have_their_type(const CheckContext& c, Findings& found) {
  each_consistent(c, [&](const CheckedModule& module) {
    const Part part = scale_part(c, module);
    const SnapshotTensor* scale = module.part(part);
    const StoredForm form = module.declared->form;
    if (scale == nullptr || scale_type_fits(form, scale->entry->type)) return;
    found.add(
        module.tensor(part),
        fmt::format(
            "it is {}, {} has scales of {}",
            dtype_name(scale->entry->type),
            form_name(form),
            scale_type_text(form)
        )
    );
  });
}

// The shapes that engines accept, the usual one first.
std::vector<Shape> scale_shapes(const CheckContext& c, const CheckedModule& module) {
  const int64_t rows = module.rows;
  const int64_t cols = module.cols;
  switch (module.declared->form) {
    case StoredForm::kFp8Block: {
      const bool own = c.declared.block_rows() > 0;
      return {Shape{
          blocks(rows, own ? c.declared.block_rows() : kGridBlock),
          blocks(cols, own ? c.declared.block_cols() : kGridBlock)}};
    }
    case StoredForm::kFp8Grid:
      return {Shape{blocks(rows, kGridBlock), 1, blocks(cols, kGridBlock), 1}};
    case StoredForm::kFp8Channel:
      return {Shape{rows, 1}, Shape{rows}};
    case StoredForm::kFp8Tensor:
      return {Shape{}, Shape{1}};
    case StoredForm::kNvfp4:
      return {Shape{rows, cols / kNvfp4Block}};
    case StoredForm::kMxfp4:
    case StoredForm::kMxfp8:
      return {Shape{rows, cols / kMxBlock}};
    case StoredForm::kForeign:
      break;
  }
  return {};
}

int64_t block_of(StoredForm form) {
  switch (form) {
    case StoredForm::kNvfp4:
      return kNvfp4Block;
    case StoredForm::kMxfp4:
    case StoredForm::kMxfp8:
      return kMxBlock;
    default:
      return 1;
  }
}

// GPT-OSS: codes [.., blocks, 16], one exponent for each block of 32 codes.
void exponents_fit_their_blocks(
    const CheckedModule& module, const SnapshotTensor& scale, Findings& found
) {
  std::vector<int64_t> expected = module.weight()->entry->shape.dims();
  const bool whole = !expected.empty() && expected.back() == kMxBlock / 2;
  if (!expected.empty()) expected.pop_back();
  if (whole && scale.entry->shape.dims() == expected) return;
  found.add(
      module.tensor(Part::kBlockExponents),
      fmt::format(
          "it has shape {}, the codes have {} (16 bytes in a block)",
          scale.entry->shape.str(),
          module.weight()->entry->shape.str()
      )
  );
}

void scales_have_their_shape(const CheckContext& c, Findings& found) {
  each_consistent(c, [&](const CheckedModule& module) {
    const Part part = scale_part(c, module);
    const SnapshotTensor* scale = module.part(part);
    if (scale == nullptr) return;
    if (part == Part::kBlockExponents) return exponents_fit_their_blocks(module, *scale, found);
    if (module.rows == 0) return;
    if (module.cols % block_of(module.declared->form) != 0) return;  // HQ309
    const std::vector<Shape> shapes = scale_shapes(c, module);
    if (shapes.empty() || std::ranges::find(shapes, scale->entry->shape) != shapes.end()) return;
    found.add(
        module.tensor(part),
        fmt::format(
            "it has shape {}, expected {} for codes of [{}, {}]",
            scale->entry->shape.str(),
            shapes.front().str(),
            module.rows,
            module.cols
        )
    );
  });
}

void inputs_fill_their_blocks(const CheckContext& c, Findings& found) {
  each_consistent(c, [&](const CheckedModule& module) {
    const int64_t block = block_of(module.declared->form);
    if (module.rows == 0 || module.cols % block == 0) return;
    found.add(
        module.name,
        fmt::format(
            "it has {} input features, {} needs a multiple of {}",
            module.cols,
            form_name(module.declared->form),
            block
        )
    );
  });
}

void scalars_are_one_f32(const CheckContext& c, Findings& found) {
  each_consistent(c, [&](const CheckedModule& module) {
    for (const Part part :
         {Part::kGlobalMultiplier,
          Part::kGlobalDivisor,
          Part::kInputMultiplier,
          Part::kInputDivisor}) {
      const SnapshotTensor* tensor = module.part(part);
      if (tensor == nullptr) continue;
      const Shape& shape = tensor->entry->shape;
      // compressed-tensors stores its scalars in the model's own dtype at times.
      const bool type_fits = tensor->entry->type == DType::kF32 ||
                             (compressed(c) && tensor->entry->type == DType::kBF16);
      if (type_fits && (shape == Shape{} || shape == Shape{1})) continue;
      found.add(
          module.tensor(part),
          fmt::format("it is {} {}, expected one F32", dtype_name(tensor->entry->type), shape.str())
      );
    }
  });
}

void no_foreign_parts(const CheckContext& c, Findings& found) {
  each_consistent(c, [&](const CheckedModule& module) {
    std::set<Part> expected{
        scale_part(c, module),
        input_part(c, module),  // unused ones are common and harmless
        Part::kWeight,
        Part::kPackedWeight,
        Part::kBlocks,
        Part::kBias,
        Part::kPreQuantScale,
        Part::kKScale,
        Part::kVScale,
        Part::kQScale};
    if (module.declared->form == StoredForm::kNvfp4) expected.insert(global_part(c));
    for (const auto& [part, tensor] : module.parts) {
      if (!expected.contains(part))
        found.add(
            module.tensor(part),
            fmt::format("{} in this dialect has no such part", form_name(module.declared->form))
        );
    }
  });
}

void no_leaked_state(const CheckContext& c, Findings& found) {
  for (const std::string& name : c.files.names) {
    if (parse_part(name)) continue;
    for (size_t end = name.rfind('.'); end != std::string::npos && end > 0;
         end = name.rfind('.', end - 1)) {
      const CheckedModule* module = c.modules.find(name.substr(0, end));
      if (module == nullptr || !module->quantized()) continue;
      found.add(name, fmt::format("no engine knows it as a part of {}", module->name));
      break;
    }
  }
}

void only_matrices_are_quantized(const CheckContext& c, Findings& found) {
  for (const CheckedModule& module : c.modules.modules()) {
    if (module.codes != Codes::kFp8 && !(module.codes == Codes::kPacked && module.rows > 0))
      continue;
    if (module.role == Role::kEmbedding || module.role == Role::kNorm)
      found.add(module.name, "engines look embeddings and norms up in plain dtypes");
  }
}

constexpr CheckLevel kFault = CheckLevel::kFault;
constexpr CheckLevel kWarning = CheckLevel::kWarning;
constexpr CheckNeeds kNothing = CheckNeeds::kNothing;

constexpr Check kChecks[] = {
    {"HQ301",
     kFault,
     kNoEngine,
     kNothing,
     "Codes without scales",
     "write the scales, or convert the checkpoint again",
     scales_are_there},
    {"HQ302",
     kFault,
     kNoEngine,
     kNothing,
     "A scale without codes",
     "remove the tensor: loaders have no place for it",
     scales_have_codes},
    {"HQ303",
     kFault,
     kNoEngine,
     kNothing,
     "NVFP4 codes without a global scale",
     "write the global scale, or convert the checkpoint again",
     globals_are_there},
    {"HQ304",
     kFault,
     kNoEngine,
     kNothing,
     "A module with static activations has no input scale",
     "calibrate it; for experts that no token reached take the largest of their peers",
     input_scales_are_there},
    {"HQ305",
     kFault,
     kNoEngine,
     kNothing,
     "Codes have the wrong type or name",
     "store FP8 codes as E4M3 and packed codes as U8 under the dialect's name",
     codes_have_their_type},
    {"HQ306",
     kFault,
     kNoEngine,
     kNothing,
     "Scales have the wrong type",
     "store the scales in the type of the format",
     scales_have_their_type},
    {"HQ307",
     kFault,
     kNoEngine,
     kNothing,
     "Scales have the wrong shape",
     "convert the module again; scales are stored row by row, neither swizzled nor padded",
     scales_have_their_shape},
    {"HQ308",
     kFault,
     kNoEngine,
     kNothing,
     "A global or input scale is not one F32",
     "store it as F32 with one element",
     scalars_are_one_f32},
    {"HQ309",
     kFault,
     kNoEngine,
     kNothing,
     "The input features do not fill the blocks",
     "leave the module unquantized and exclude it",
     inputs_fill_their_blocks},
    {"HQ310",
     kFault,
     kNoEngine,
     kNothing,
     "Codes are no matrix",
     "split fused experts into one matrix for each expert and projection",
     codes_are_matrices},
    {"HQ311",
     kFault,
     kNoEngine,
     kNothing,
     "A quantized module has a part that its dialect does not know",
     "remove the tensor, or rename it as the dialect calls it",
     no_foreign_parts},
    {"HQ312",
     kFault,
     kNoEngine,
     kNothing,
     "State of a quantizer was left under a quantized module",
     "remove the tensor: loaders fail on names that they do not know",
     no_leaked_state},
    {"HQ313",
     kFault,
     kNoEngine,
     kNothing,
     "An embedding or a norm is stored quantized",
     "write it in BF16",
     only_matrices_are_quantized},
};

}  // namespace

std::span<const Check> part_checks() {
  return kChecks;
}

}  // namespace hone
