// Reads tokenizer.json and the tokens that tokenizer_config.json adds.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/json/json.h"
#include "runtime/text/tokenize/added_tokens.h"
#include "runtime/text/tokenize/bpe.h"
#include "runtime/text/tokenize/decoder.h"
#include "runtime/text/tokenize/normalizer.h"
#include "runtime/text/tokenize/post_processor.h"
#include "runtime/text/tokenize/pre_tokenizer.h"

namespace hone {

// A tokenizer.json, taken apart.
struct TokenizerParts {
  AddedTokens added;
  std::unique_ptr<const Normalizer> normalizer;       // may be null
  std::unique_ptr<const PreTokenizer> pre_tokenizer;  // may be null
  std::unique_ptr<const BpeModel> model;
  PostProcessor post_processor;
  Decoder decoder;
};

// `config` is tokenizer_config.json (null: none): tokens of its added_tokens_decoder override
// those of the file, as in transformers. "truncation" and "padding" belong to the caller and are
// not applied. Throws DataError naming the source and the component.
TokenizerParts read_tokenizer_json(
    std::string_view text,
    const std::string& source,
    const Json& config,
    const std::string& config_source
);

}  // namespace hone
