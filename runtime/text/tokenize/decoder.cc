#include "runtime/text/tokenize/decoder.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/base/error.h"
#include "runtime/text/tokenize/byte_level.h"
#include "runtime/text/unicode/utf8.h"

namespace hone {
namespace {

using Kind = DecoderStep::Kind;

// The byte of "<0xHH>".
std::optional<char> fallback_byte(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  uint8_t byte = 0;
  const auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, byte, 16);
  if (error != std::errc() || end != token.data() + 5) return std::nullopt;
  return static_cast<char>(byte);
}

void replace_literal(std::string& text, std::string_view what, std::string_view with) {
  if (what.empty()) return;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
}

// Bytes at the end of `text` that may start an occurrence of `what`.
size_t open_suffix(std::string_view text, std::string_view what) {
  for (size_t size = std::min(text.size(), what.size() - 1); size > 0; --size) {
    if (text.ends_with(what.substr(0, size))) return size;
  }
  return 0;
}

std::string strip_token(const DecoderStep& step, std::string_view token) {
  for (int64_t i = 0; i < step.start && token.starts_with(step.content); ++i) {
    token.remove_prefix(step.content.size());
  }
  for (int64_t i = 0; i < step.stop && token.ends_with(step.content); ++i) {
    token.remove_suffix(step.content.size());
  }
  return std::string(token);
}

void read_steps(const Json& json, const std::string& source, std::vector<DecoderStep>& steps) {
  const std::string type = json_string(json, "type", source + ": decoder");
  const std::string where = source + ": decoder " + type;
  DecoderStep step{};
  if (type == "ByteLevel") {
    step.kind = Kind::kByteLevel;
  } else if (type == "ByteFallback") {
    step.kind = Kind::kByteFallback;
  } else if (type == "Fuse") {
    step.kind = Kind::kFuse;
  } else if (type == "Replace") {
    step.kind = Kind::kReplace;
    require_data(json.contains("pattern"), "{}: field \"pattern\" is missing", where);
    step.pattern = std::make_shared<const Pattern>(Pattern::read(json["pattern"], where));
    step.content = json_string(json, "content", where);
  } else if (type == "Strip") {
    step.kind = Kind::kStrip;
    step.content = json_string(json, "content", where);
    step.start = json_int(json, "start", where);
    step.stop = json_int(json, "stop", where);
    require_data(
        utf8_length(step.content) == 1 && step.start >= 0 && step.stop >= 0,
        "{}: \"content\" must be one character, \"start\" and \"stop\" counts; found {}",
        where,
        dump_json(json)
    );
  } else if (type == "Metaspace") {
    step.kind = Kind::kMetaspace;
    step.content = json_string_or(json, "replacement", "\xE2\x96\x81", where);
    step.prefixed = json_string_or(json, "prepend_scheme", "always", where) != "never" &&
                    json_bool_or(json, "add_prefix_space", true, where);
  } else if (type == "BPEDecoder") {
    step.kind = Kind::kSuffix;
    step.content = json_string_or(json, "suffix", "</w>", where);
  } else {
    require_data(
        type == "Sequence",
        "{} is not supported (ByteLevel, ByteFallback, Fuse, Replace, Strip, Metaspace, "
        "BPEDecoder, Sequence are)",
        where
    );
    require_data(
        json.contains("decoders") && json["decoders"].is_array(),
        "{}: field \"decoders\" must be a list",
        where
    );
    for (const Json& part : json["decoders"]) {
      require_data(part.is_object(), "{}: an element is no object", where);
      read_steps(part, source, steps);
    }
    return;
  }
  const auto fuses = [](const DecoderStep& s) {
    return s.kind == Kind::kByteLevel || s.kind == Kind::kFuse || s.fused;
  };
  step.fused = !steps.empty() && fuses(steps.back());
  steps.push_back(std::move(step));
}

}  // namespace

Decoder Decoder::read(const Json& json, const std::string& source) {
  Decoder decoder;
  if (json.is_null()) {
    DecoderStep spaces{};
    spaces.kind = Kind::kSpaces;
    decoder.steps_.push_back(std::move(spaces));
  } else {
    read_steps(json, source, decoder.steps_);
  }
  return decoder;
}

std::string Decoder::token_bytes(std::string_view token) const {
  std::string text(token);
  RegexScratch regex;
  for (const DecoderStep& step : steps_) {
    switch (step.kind) {
      case Kind::kByteLevel:
        text = byte_level_decode_or_keep(text);
        break;
      case Kind::kByteFallback:
        if (const auto byte = fallback_byte(text)) text = *byte;
        break;
      case Kind::kReplace:
        // A byte of a broken character is left alone: the expression needs whole characters.
        if (utf8_valid(text)) text = step.pattern->replace_all(text, step.content, regex);
        break;
      case Kind::kStrip:
        if (!step.fused) text = strip_token(step, text);
        break;
      case Kind::kMetaspace:
      case Kind::kSuffix:
        replace_literal(text, step.content, " ");
        break;
      case Kind::kFuse:
      case Kind::kSpaces:
        break;
    }
  }
  return text;
}

DecoderRun::DecoderRun(const Decoder& decoder, bool streaming)
    : decoder_(decoder), streaming_(streaming), states_(decoder.steps().size()) {}

void DecoderRun::feed(size_t step, std::string_view token) {
  if (step == states_.size()) {
    out_ += token;
    return;
  }
  const DecoderStep& config = decoder_.steps()[step];
  State& state = states_[step];
  switch (config.kind) {
    case Kind::kByteLevel:
      state.held += byte_level_decode_or_keep(token);
      emit_complete_bytes(step);
      break;
    case Kind::kByteFallback:
      if (config.fused) {
        state.held += token;
      } else if (const auto byte = fallback_byte(token)) {
        state.held += *byte;
        if (streaming_ &&
            utf8_valid(std::string_view(state.held)
                           .substr(0, state.held.size() - utf8_incomplete_suffix(state.held)))) {
          emit_complete_bytes(step);
        }
      } else {
        resolve_bytes(step);
        feed(step + 1, token);
      }
      break;
    case Kind::kFuse:
      feed(step + 1, token);
      break;
    case Kind::kReplace:
      replace(step, token);
      break;
    case Kind::kStrip:
      if (config.fused) {
        strip(step, token);
      } else {
        feed(step + 1, strip_token(config, token));
      }
      break;
    case Kind::kMetaspace:
      feed(step + 1, metaspace(step, token));
      break;
    case Kind::kSuffix: {  // the last token ends without a space: one token is held back
      if (state.started) {
        replace_literal(state.held, config.content, " ");
        feed(step + 1, state.held);
      }
      state.started = true;
      state.held = token;
      break;
    }
    case Kind::kSpaces:
      if (state.started) feed(step + 1, " ");
      state.started = true;
      feed(step + 1, token);
      break;
  }
}

// Hands over all but an incomplete last character.
void DecoderRun::emit_complete_bytes(size_t step) {
  std::string& held = states_[step].held;
  const size_t complete = held.size() - utf8_incomplete_suffix(held);
  if (complete == 0) return;
  const std::string_view text = std::string_view(held).substr(0, complete);
  if (utf8_valid(text)) {
    feed(step + 1, text);
  } else {
    feed(step + 1, utf8_replace_invalid(text));
  }
  held.erase(0, complete);
}

// The end of a run of <0xHH>.
void DecoderRun::resolve_bytes(size_t step) {
  std::string held = std::exchange(states_[step].held, {});
  if (held.empty()) return;
  if (!utf8_valid(held)) {
    std::string broken;
    for (size_t i = 0; i < held.size(); ++i) broken += kReplacementCharacter;
    held = broken;
  }
  feed(step + 1, held);
}

void DecoderRun::replace(size_t step, std::string_view token) {
  const DecoderStep& config = decoder_.steps()[step];
  std::string& held = states_[step].held;
  if (!config.fused) {
    feed(step + 1, config.pattern->replace_all(token, config.content, regex_));
    return;
  }
  held += token;
  const std::string* literal = config.pattern->text();
  if (literal == nullptr) return;  // an expression may match anything later: wait for the end
  std::string done;
  if (literal->empty()) {
    done = std::exchange(held, {});
  } else {
    size_t from = 0;
    for (size_t at = 0; (at = held.find(*literal, from)) != std::string::npos;) {
      done.append(held, from, at - from);
      done += config.content;
      from = at + literal->size();
    }
    held.erase(0, from);
    const size_t open = open_suffix(held, *literal);
    done.append(held, 0, held.size() - open);
    held.erase(0, held.size() - open);
  }
  if (!done.empty()) feed(step + 1, done);
}

void DecoderRun::strip(size_t step, std::string_view token) {
  const DecoderStep& config = decoder_.steps()[step];
  State& state = states_[step];
  while (state.stripping && state.stripped < config.start && token.starts_with(config.content)) {
    token.remove_prefix(config.content.size());
    ++state.stripped;
  }
  if (!token.empty()) state.stripping = false;
  state.held += token;
  // What the end may still take stays behind.
  size_t keep = state.held.size();
  for (int64_t i = 0; i < config.stop; ++i) {
    if (!std::string_view(state.held).substr(0, keep).ends_with(config.content)) break;
    keep -= config.content.size();
  }
  if (keep == 0) return;
  const std::string done = state.held.substr(0, keep);
  state.held.erase(0, keep);
  feed(step + 1, done);
}

std::string DecoderRun::metaspace(size_t step, std::string_view token) {
  const DecoderStep& config = decoder_.steps()[step];
  State& state = states_[step];
  std::string text(token);
  const bool first = !state.started || config.fused;
  state.started = true;
  replace_literal(text, config.content, first && config.prefixed ? "" : " ");
  return text;
}

void DecoderRun::flush(size_t step) {
  const DecoderStep& config = decoder_.steps()[step];
  State& state = states_[step];
  switch (config.kind) {
    case Kind::kByteLevel:
      if (!state.held.empty()) {
        feed(step + 1, utf8_replace_invalid(std::exchange(state.held, {})));
      }
      break;
    case Kind::kByteFallback:
      if (config.fused) {
        const auto byte = fallback_byte(state.held);
        if (byte) state.held = *byte;
        if (byte && static_cast<uint8_t>(*byte) < 0x80) {
          feed(step + 1, state.held);
        } else {
          feed(step + 1, byte ? kReplacementCharacter : std::string_view(state.held));
        }
        state.held.clear();
      } else {
        resolve_bytes(step);
      }
      break;
    case Kind::kReplace:
      if (!state.held.empty()) {
        const std::string held = std::exchange(state.held, {});
        feed(step + 1, config.pattern->replace_all(held, config.content, regex_));
      }
      break;
    case Kind::kSuffix:
      if (state.started) {
        replace_literal(state.held, config.content, "");
        feed(step + 1, std::exchange(state.held, {}));
        state.started = false;
      }
      break;
    case Kind::kStrip:  // what is held is what the end takes
      state.held.clear();
      break;
    case Kind::kFuse:
    case Kind::kMetaspace:
    case Kind::kSpaces:
      break;
  }
}

void DecoderRun::finish() {
  for (size_t step = 0; step < states_.size(); ++step) flush(step);
}

}  // namespace hone
