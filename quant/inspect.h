// What is in a checkpoint folder: architecture, sizes, roles, quantization, and what is wrong.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/json/json.h"
#include "runtime/model/schema.h"

namespace hone {

struct InspectOptions {
  bool scan = false;  // read every weight and scale and look for NaN, infinities and zeros
};

struct InspectProblem {
  bool fault = false;  // the folder cannot be used as it is; otherwise worth knowing
  std::string id;      // of the check (quant/check.h) that found it; empty: Hone's own limits
  std::string text;
};

struct RoleSummary {
  Role role = Role::kOther;
  int64_t tensors = 0;
  int64_t parameters = 0;  // elements of the weights, packed codes unpacked, scales not counted
  int64_t bytes = 0;       // scales included
  std::map<std::string, int64_t> formats;  // bytes by dtype or format name
};

struct Inspection {
  std::string name;          // of the folder, as given
  std::string architecture;  // empty: config.json does not say
  std::string model_type;
  bool has_forward_pass = false;  // hone can run it; quantization needs no forward pass
  int64_t layers = 0;
  int64_t files = 0;
  int64_t tensors = 0;  // as stored, scales counted
  int64_t parameters = 0;
  // Those that one token passes: without the routed experts that it is not sent to and without
  // layers for multi-token prediction. 0: not a mixture of experts, or config.json does not say.
  int64_t active_parameters = 0;
  int64_t bytes = 0;
  std::map<std::string, int64_t> dtypes;  // bytes by dtype, as stored
  bool tied_head = false;
  std::string dialect;                     // empty: not quantized
  std::map<std::string, int64_t> modules;  // quantized modules by format name
  std::vector<RoleSummary> roles;          // in the order of Role, empty ones left out
  bool scanned = false;
  std::vector<InspectProblem> problems;

  [[nodiscard]] bool has_faults() const;
};

// Problems are what the checks of quant/check.h find that no single engine minds. Finds as many as
// it can instead of stopping at the first: only a folder that does not exist is a UsageError. What
// could not be read is missing from the counts and named in a fault.
Inspection inspect_checkpoint(const std::filesystem::path& folder, const InspectOptions& options);

std::string inspection_text(const Inspection& inspection);
Json inspection_json(const Inspection& inspection);

}  // namespace hone
