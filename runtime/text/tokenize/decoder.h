// Decoders of tokenizer.json: tokens joined back into text, whole or while they arrive.
//
// Supported: ByteLevel, ByteFallback, Fuse, Replace, Strip, Metaspace, BPEDecoder, Sequence. Others
// are refused by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json.h"
#include "runtime/text/tokenize/pattern.h"

namespace hone {

// One step of a decoder.
struct DecoderStep {
  enum class Kind : uint8_t {
    kByteLevel,     // characters of the byte alphabet -> bytes, as one text
    kByteFallback,  // runs of <0xHH> -> their text, or one U+FFFD a byte
    kFuse,          // what follows sees one text instead of tokens
    kReplace,       // pattern -> content
    kStrip,         // up to `start` and `stop` times `content` off both ends
    kMetaspace,     // replacement -> space; dropped in the first token if `prefixed`
    kSuffix,        // suffix -> space; dropped in the last token
    kSpaces,        // no decoder: tokens are joined by spaces
  };
  Kind kind;
  std::shared_ptr<const Pattern> pattern;
  std::string content;
  int64_t start = 0;
  int64_t stop = 0;
  bool prefixed = false;
  bool fused = false;  // the step before hands over one text in parts
};

// Immutable.
class Decoder {
 public:
  // Throws DataError naming an unknown type. Null json: tokens are joined by spaces.
  static Decoder read(const Json& json, const std::string& source);
  [[nodiscard]] const std::vector<DecoderStep>& steps() const { return steps_; }
  // The bytes one token adds in the middle of a text.
  [[nodiscard]] std::string token_bytes(std::string_view token) const;

 private:
  std::vector<DecoderStep> steps_;
};

// One pass over a sequence of tokens. Text comes out as soon as no later token can change it.
class DecoderRun {
 public:
  // `streaming`: complete characters of a run of <0xHH> come out at once, and if the run turns out
  // to be broken only the rest of it becomes U+FFFD; without it the whole run does, as in
  // Hugging Face's decode. `decoder` must outlive this.
  DecoderRun(const Decoder& decoder, bool streaming);
  void push(std::string_view token) { feed(0, token); }
  void finish();
  // The text that came out since the last call.
  std::string take() { return std::exchange(out_, {}); }

 private:
  struct State {
    std::string held;
    int64_t stripped = 0;
    bool stripping = true;
    bool started = false;
  };
  void feed(size_t step, std::string_view token);
  void flush(size_t step);
  void emit_complete_bytes(size_t step);
  void resolve_bytes(size_t step);
  void replace(size_t step, std::string_view token);
  void strip(size_t step, std::string_view token);
  std::string metaspace(size_t step, std::string_view token);

  const Decoder& decoder_;
  bool streaming_;
  std::vector<State> states_;
  RegexScratch regex_;
  std::string out_;
};

}  // namespace hone
