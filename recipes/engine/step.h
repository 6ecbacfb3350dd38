// A step: inputs, options and outputs of one command, filled by CLI flags or by a recipe's YAML.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json.h"

namespace hone {

// Visits the fields of a step. One description (Step::visit) yields the CLI flags (cli/bind.h), the
// recipe keys, the canonical options in hone.json and the cache key. Names are lower-case with
// dashes ("max-tokens"); `help` is one line.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  // Files or folders that the step reads (hashed) and the one that it writes. In recipes a value
  // may be "${other-step}", the output of an earlier step.
  virtual void input(std::string_view name, std::string& path, std::string_view help) = 0;
  virtual void output(std::string_view name, std::string& path, std::string_view help) = 0;
  // Options; all of them influence the result.
  virtual void option(std::string_view name, std::string& value, std::string_view help) = 0;
  virtual void option(std::string_view name, int64_t& value, std::string_view help) = 0;
  virtual void option(std::string_view name, double& value, std::string_view help) = 0;
  virtual void option(std::string_view name, bool& value, std::string_view help) = 0;
  virtual void option(
      std::string_view name, std::vector<std::string>& value, std::string_view help
  ) = 0;
};

// What a step reports when it has run (or was found finished).
struct StepOutcome {
  Json summary = Json::object();  // for --json and the recipe's closing table
  int exit_code = 0;              // design.md section 7: 0, 3 worse, 4 inconclusive, 5 invalid
};

// Base of recipes/step/*. A step object holds its fields as public members with defaults.
class Step {
 public:
  virtual ~Step() = default;
  // "quantize", "train-eagle3", ...
  [[nodiscard]] virtual std::string_view kind() const = 0;
  virtual void visit(FieldVisitor& fields) = 0;
  // Runs to the end and leaves the complete output under its name, hone.json included
  // (write_manifest). Throws Error; nothing half-written stays under the output's name.
  virtual StepOutcome run() = 0;
};

// Fills a step from a recipe's mapping. Throws UsageError naming `source` and the key for unknown
// keys (with the nearest known one) and wrong types.
void set_fields(Step& step, const Json& values, const std::string& source);
// Options (not inputs and outputs) as an object in the order of visit().
Json option_values(Step& step);
struct NamedPath {
  std::string name;
  std::string path;
};
// Non-empty inputs, in the order of visit().
std::vector<NamedPath> input_paths(Step& step);
// Replaces every non-empty input path by map(name, path): hub names become folders.
void map_inputs(
    Step& step, const std::function<std::string(std::string_view, const std::string&)>& map
);
// The output path; empty when the step has none.
std::string output_path(Step& step);

}  // namespace hone
