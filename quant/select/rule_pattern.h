// What a selection rule matches: conditions joined by '&', all of which must hold.
//
//   attn.*  lm_head  *.layers.{0..3}.*   glob over role, module and tensor names (select/glob.h)
//   layer:0..3  layer:-1                 layers; negative numbers count from the last
//   size<1m  size>100k                   elements of the tensor; k, m, g are powers of 1000
//   re:\.mlp\.(gate|up)_proj$            regular expression anywhere in a module or tensor name;
//                                        takes the rest of the pattern, so it stands last
//
// "moe.*&layer:1..-2", "layer:0&re:^model\."
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/ecma_regex.h"
#include "quant/select/glob.h"
#include "runtime/model/schema.h"

namespace hone {

// A tensor as rules see it.
struct RuleSubject {
  Role role = Role::kOther;
  std::string_view module;  // empty: no linear module
  std::string_view tensor;
  int64_t layer = -1;  // -1: outside of the layers
  int64_t layers = 0;  // of the checkpoint, prediction layers included
  int64_t elements = 0;
};

class RulePattern {
 public:
  // Throws UsageError naming the pattern: empty, broken glob or expression, a range that ends
  // before it begins, a size that is no number.
  explicit RulePattern(std::string_view text);

  [[nodiscard]] bool matches(const RuleSubject& subject) const;
  // One glob without wildcards: it can only mean the names that it spells out.
  [[nodiscard]] bool literal() const;

 private:
  void add(std::string_view condition);
  void add_layers(std::string_view condition);
  void add_size(std::string_view condition);
  void add_regex(std::string_view expression);

  struct LayerRange {
    int64_t first = 0;
    int64_t last = 0;
  };
  std::string text_;
  std::vector<Glob> globs_;
  std::vector<LayerRange> layers_;
  int64_t more_than_ = -1;
  int64_t less_than_ = std::numeric_limits<int64_t>::max();
  bool sized_ = false;
  std::shared_ptr<const EcmaRegex> regex_;
};

}  // namespace hone
