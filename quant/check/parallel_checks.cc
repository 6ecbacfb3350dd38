// HQ6xx: what tensor parallelism divides must stay whole: heads, rows, columns, blocks.
//
// Engines cut q, k, v, gate and up along their rows and o and down along their columns, and they
// merge q, k, v (gate, up) into one matrix whose parts must begin on block borders, also on one
// device. The small matrices of latent attention (q_a, kv_a) are copied to every device.
#include <algorithm>

#include "core/base/error.h"
#include "quant/check/check_table.h"
#include "runtime/model/schema/parallel.h"

namespace hone {
namespace {

constexpr int64_t kFp8Block = 128;
constexpr int64_t kNvfp4Block = 16;
constexpr int64_t kMxBlock = 32;

// Pieces that the rows are cut into: heads of keys and values are copied, not cut, when there are
// fewer than devices.
int64_t row_pieces(const CheckContext& c, const CheckedModule& module) {
  const int64_t devices = c.options.tensor_parallel;
  const bool kv = module.role == Role::kAttnK || module.role == Role::kAttnV;
  const int64_t heads = c.identity.kv_heads;
  return kv && heads > 0 && heads < devices && devices % heads == 0 ? heads : devices;
}

bool is_form(const CheckedModule& module, StoredForm form) {
  return module.consistent() && module.declared->form == form && module.rows > 0;
}

void heads_divide(const CheckContext& c, Findings& found) {
  if (c.identity.heads % c.options.tensor_parallel != 0)
    found.add(
        "num_attention_heads",
        fmt::format("{} heads on {} devices", c.identity.heads, c.options.tensor_parallel)
    );
}

void kv_heads_divide(const CheckContext& c, Findings& found) {
  const int64_t heads = c.identity.kv_heads;
  const int64_t devices = c.options.tensor_parallel;
  if (heads <= 0 || heads % devices == 0 || devices % heads == 0) return;
  found.add("key and value heads", fmt::format("{} heads on {} devices", heads, devices));
}

void rows_divide(const CheckContext& c, Findings& found) {
  for (const CheckedModule& module : c.modules.modules()) {
    const int64_t pieces = row_pieces(c, module);
    if (is_column_parallel(module.role) && module.rows % pieces != 0)
      found.add(module.name, fmt::format("{} rows in {} pieces", module.rows, pieces));
  }
}

void columns_divide(const CheckContext& c, Findings& found) {
  const int64_t devices = c.options.tensor_parallel;
  for (const CheckedModule& module : c.modules.modules()) {
    if (is_row_parallel(module.role) && module.cols % devices != 0)
      found.add(module.name, fmt::format("{} columns on {} devices", module.cols, devices));
  }
}

// Is `rows` or `columns` on one device no whole number of blocks, though it divides?
bool cuts_a_block(int64_t size, int64_t pieces, int64_t block) {
  return size % pieces == 0 && size / pieces % block != 0;
}

void fp8_rows_keep_blocks(const CheckContext& c, Findings& found) {
  const auto judge = [&](const CheckedModule& module) {
    const int64_t pieces = row_pieces(c, module);
    if (is_form(module, StoredForm::kFp8Block) && cuts_a_block(module.rows, pieces, kFp8Block))
      found.add(
          module.name,
          fmt::format(
              "{} rows in {} give {} for each, no multiple of {}",
              module.rows,
              pieces == 1 ? "one piece" : fmt::format("{} pieces", pieces),
              module.rows / pieces,
              kFp8Block
          )
      );
  };
  if (c.options.tensor_parallel > 1) {
    for (const CheckedModule& module : c.modules.modules()) {
      if (is_column_parallel(module.role)) judge(module);
    }
    return;
  }
  for (const auto& [group, members] : c.modules.groups()) {
    for (const CheckedModule* member : members) {
      if (member != members.back() && is_column_parallel(member->role)) judge(*member);
    }
  }
}

void last_fp8_part_is_whole(const CheckContext& c, Findings& found) {
  if (c.options.tensor_parallel > 1) return;
  for (const auto& [group, members] : c.modules.groups()) {
    const CheckedModule& last = *members.back();
    const bool merged = is_column_parallel(last.role) && is_form(last, StoredForm::kFp8Block);
    if (merged && last.rows % kFp8Block != 0)
      found.add(last.name, fmt::format("{} rows", last.rows));
  }
}

void fp8_columns_keep_blocks(const CheckContext& c, Findings& found) {
  const int64_t devices = c.options.tensor_parallel;
  if (devices == 1) return;
  for (const CheckedModule& module : c.modules.modules()) {
    if (is_row_parallel(module.role) && is_form(module, StoredForm::kFp8Block) &&
        cuts_a_block(module.cols, devices, kFp8Block))
      found.add(
          module.name,
          fmt::format(
              "{} columns on {} devices give {} for each",
              module.cols,
              devices,
              module.cols / devices
          )
      );
  }
}

void small_blocks_stay_whole(const CheckContext& c, Findings& found) {
  const int64_t devices = c.options.tensor_parallel;
  if (devices == 1) return;
  for (const CheckedModule& module : c.modules.modules()) {
    if (!is_row_parallel(module.role) || !module.consistent()) continue;
    const StoredForm form = module.declared->form;
    const bool mx = form == StoredForm::kMxfp4 || form == StoredForm::kMxfp8;
    if (!mx && form != StoredForm::kNvfp4) continue;
    const int64_t block = mx ? kMxBlock : kNvfp4Block;
    if (cuts_a_block(module.cols, devices, block))
      found.add(
          module.name,
          fmt::format(
              "{} columns on {} devices give {} for each, no multiple of {}",
              module.cols,
              devices,
              module.cols / devices,
              block
          )
      );
  }
}

void ragged_columns_are_new(const CheckContext& c, Findings& found) {
  for (const CheckedModule& module : c.modules.modules()) {
    if (is_form(module, StoredForm::kFp8Block) && module.cols % kFp8Block != 0)
      found.add(module.name, fmt::format("{} columns", module.cols));
  }
}

constexpr CheckLevel kFault = CheckLevel::kFault;
constexpr CheckLevel kWarning = CheckLevel::kWarning;
constexpr CheckNeeds kNothing = CheckNeeds::kNothing;
// The two share the code that cuts block FP8.
constexpr auto kVllmAndSglang = static_cast<Engines>(kVllm | kSglang);

constexpr Check kChecks[] = {
    {"HQ601",
     kFault,
     kNoEngine,
     kNothing,
     "The tensor parallel size does not divide the attention heads",
     "serve with a tensor parallel size that divides them",
     heads_divide},
    {"HQ602",
     kFault,
     kNoEngine,
     kNothing,
     "The tensor parallel size does not fit the key and value heads",
     "serve with a size that divides them, or that they divide",
     kv_heads_divide},
    {"HQ603",
     kFault,
     kNoEngine,
     kNothing,
     "The tensor parallel size does not divide the rows of a module",
     "serve with a smaller size, or with expert parallelism for experts",
     rows_divide},
    {"HQ604",
     kFault,
     kNoEngine,
     kNothing,
     "The tensor parallel size does not divide the columns of a module",
     "serve with a smaller size, or with expert parallelism for experts",
     columns_divide},
    {"HQ611",
     kFault,
     kVllmAndSglang,
     kNothing,
     "A part of a merged block FP8 matrix ends inside a block of rows",
     "serve with a smaller size, keep the module in BF16, or use FP8 with channel scales",
     fp8_rows_keep_blocks},
    {"HQ612",
     kWarning,
     kVllmAndSglang,
     kNothing,
     "The last part of a merged block FP8 matrix ends inside a block of rows",
     "older versions refuse it: keep the group in BF16 for them",
     last_fp8_part_is_whole},
    {"HQ613",
     kFault,
     kVllmAndSglang,
     kNothing,
     "Tensor parallelism cuts block FP8 columns inside a block",
     "serve with a smaller size, keep the module in BF16, or use FP8 with channel scales",
     fp8_columns_keep_blocks},
    {"HQ614",
     kFault,
     kNoEngine,
     kNothing,
     "Tensor parallelism cuts NVFP4 or MX columns inside a block",
     "serve with a smaller tensor parallel size",
     small_blocks_stay_whole},
    {"HQ615",
     kWarning,
     kVllm,
     kNothing,
     "Block FP8 with columns that 128 does not divide",
     "older vLLM versions refuse it: keep the module in BF16 for them",
     ragged_columns_are_new},
};

}  // namespace

std::span<const Check> parallel_checks() {
  return kChecks;
}

}  // namespace hone
