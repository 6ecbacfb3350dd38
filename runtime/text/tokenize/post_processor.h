// Post-processors of tokenizer.json: the special tokens put around a single text.
//
// Supported: TemplateProcessing, ByteLevel, BertProcessing, RobertaProcessing, Sequence. Others are
// refused by name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/json/json.h"

namespace hone {

struct PostProcessor {
  std::vector<int32_t> before;
  std::vector<int32_t> after;

  // Throws DataError naming an unknown type or a template that is not supported.
  static PostProcessor read(const Json& json, const std::string& source);
};

}  // namespace hone
