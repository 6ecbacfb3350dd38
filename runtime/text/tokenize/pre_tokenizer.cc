#include "runtime/text/tokenize/pre_tokenizer.h"

#include <cstring>

#include "core/base/error.h"
#include "runtime/text/tokenize/byte_level.h"
#include "runtime/text/tokenize/normalizer.h"
#include "runtime/text/tokenize/pattern.h"
#include "runtime/text/tokenize/split_behavior.h"
#include "runtime/text/unicode/utf8.h"

namespace hone {
namespace {

// GPT-2's pattern, ByteLevel's "use_regex".
constexpr std::string_view kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// Copies rewritten text into the list's arena; offsets are composed with the piece's own.
Piece keep(PieceList& list, const Piece& piece, const RewrittenText& rewritten) {
  Piece out = piece;
  if (rewritten.text.empty()) {
    out.text = {};
    return out;
  }
  auto* text = static_cast<char*>(list.arena.allocate(rewritten.text.size(), 1));
  std::memcpy(text, rewritten.text.data(), rewritten.text.size());
  out.text = {text, rewritten.text.size()};
  if (list.track) {
    auto* source = static_cast<uint32_t*>(
        list.arena.allocate(rewritten.source.size() * sizeof(uint32_t), alignof(uint32_t))
    );
    for (size_t i = 0; i < rewritten.source.size(); ++i) {
      const uint32_t at = rewritten.source[i];
      source[i] = piece.source == nullptr ? piece.origin + at : piece.source[at];
    }
    out.source = source;
  }
  return out;
}

void finish_step(PieceList& list) {
  std::swap(list.pieces, list.next);
  list.next.clear();
}

// Matches of a pattern cut out of each piece.
void split_pattern(PieceList& list, const Pattern& pattern, SplitBehavior behavior, bool invert) {
  for (const Piece& piece : list.pieces) {
    PatternMatches matches(pattern, piece.text, list.regex);
    size_t done = 0;
    if (behavior == SplitBehavior::kIsolated) {  // the usual case needs no list of runs
      for (Regex::Match match; matches.next(match);) {
        if (done < match.begin) list.next.push_back(piece.slice(done, match.begin));
        if (match.begin < match.end) list.next.push_back(piece.slice(match.begin, match.end));
        done = match.end;
      }
      if (done < piece.text.size()) list.next.push_back(piece.slice(done, piece.text.size()));
      continue;
    }
    list.runs.clear();
    for (Regex::Match match; matches.next(match);) {
      if (done < match.begin) list.runs.push_back({done, match.begin, invert});
      list.runs.push_back({match.begin, match.end, !invert});
      done = match.end;
    }
    if (done < piece.text.size()) list.runs.push_back({done, piece.text.size(), invert});
    split_runs(list, piece, behavior);
  }
  finish_step(list);
}

// Every character for which `matches` holds is a match of its own.
template <typename Predicate>
void split_characters(PieceList& list, SplitBehavior behavior, Predicate matches) {
  for (const Piece& piece : list.pieces) {
    list.runs.clear();
    size_t done = 0;
    for (size_t at = 0; at < piece.text.size();) {
      const CodePoint c = utf8_decode(piece.text, at);
      if (matches(c.value)) {
        if (done < at) list.runs.push_back({done, at, false});
        list.runs.push_back({at, at + c.size, true});
        done = at + c.size;
      }
      at += c.size;
    }
    if (done < piece.text.size()) list.runs.push_back({done, piece.text.size(), false});
    split_runs(list, piece, behavior);
  }
  finish_step(list);
}

class Split : public PreTokenizer {
 public:
  Split(Pattern pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}
  void apply(PieceList& list) const override { split_pattern(list, pattern_, behavior_, invert_); }

 private:
  Pattern pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

class ByteLevel : public PreTokenizer {
 public:
  struct Options {
    bool add_prefix_space = true;
    bool use_regex = true;
    bool raw_bytes = false;
  };
  ByteLevel(Options options, const std::string& where)
      : options_(options), pattern_(Pattern::regex(kByteLevelPattern, where)) {}

  void apply(PieceList& list) const override {
    RewrittenText rewritten;
    rewritten.track = list.track;
    if (options_.add_prefix_space) {
      for (Piece& piece : list.pieces) {
        if (piece.text.starts_with(' ')) continue;
        rewritten.clear();
        rewritten.append(" ", 0);
        rewritten.copy(piece.text, 0);
        piece = keep(list, piece, rewritten);
      }
    }
    if (options_.use_regex) split_pattern(list, pattern_, SplitBehavior::kIsolated, false);
    if (options_.raw_bytes) return;
    std::string mapped;
    for (Piece& piece : list.pieces) {
      rewritten.clear();
      for (size_t at = 0; at < piece.text.size(); ++at) {
        mapped.clear();
        byte_level_encode(piece.text.substr(at, 1), mapped);
        rewritten.append(mapped, at);
      }
      piece = keep(list, piece, rewritten);
    }
  }

 private:
  Options options_;
  Pattern pattern_;
};

class Digits : public PreTokenizer {
 public:
  explicit Digits(bool individual)
      : behavior_(individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous) {}
  void apply(PieceList& list) const override { split_characters(list, behavior_, is_numeric); }

 private:
  SplitBehavior behavior_;
};

class Punctuation : public PreTokenizer {
 public:
  explicit Punctuation(SplitBehavior behavior) : behavior_(behavior) {}
  void apply(PieceList& list) const override { split_characters(list, behavior_, is_punctuation); }

 private:
  SplitBehavior behavior_;
};

class WhitespaceSplit : public PreTokenizer {
  void apply(PieceList& list) const override {
    split_characters(list, SplitBehavior::kRemoved, is_white_space);
  }
};

class CharDelimiterSplit : public PreTokenizer {
 public:
  explicit CharDelimiterSplit(char32_t delimiter) : delimiter_(delimiter) {}
  void apply(PieceList& list) const override {
    split_characters(list, SplitBehavior::kRemoved, [this](char32_t c) { return c == delimiter_; });
  }

 private:
  char32_t delimiter_;
};

class BertPreTokenizer : public PreTokenizer {
  void apply(PieceList& list) const override {
    split_characters(list, SplitBehavior::kRemoved, is_white_space);
    split_characters(list, SplitBehavior::kIsolated, is_punctuation);
  }
};

// \w+|[^\w\s]+
class Whitespace : public PreTokenizer {
  void apply(PieceList& list) const override {
    const auto kind = [](char32_t c) { return is_word(c) ? 1 : is_white_space(c) ? 0 : 2; };
    for (const Piece& piece : list.pieces) {
      size_t begin = 0;
      int current = 0;
      for (size_t at = 0; at < piece.text.size();) {
        const CodePoint c = utf8_decode(piece.text, at);
        const int next = kind(c.value);
        if (next != current) {
          if (current != 0) list.next.push_back(piece.slice(begin, at));
          begin = at;
          current = next;
        }
        at += c.size;
      }
      if (current != 0) list.next.push_back(piece.slice(begin, piece.text.size()));
    }
    finish_step(list);
  }
};

class Metaspace : public PreTokenizer {
 public:
  enum class Prepend : uint8_t { kAlways, kFirst, kNever };
  Metaspace(std::string replacement, Prepend prepend, bool split)
      : replacement_(replacement),
        pattern_(Pattern::literal(std::move(replacement))),
        prepend_(prepend),
        split_(split) {}

  void apply(PieceList& list) const override {
    RewrittenText rewritten;
    rewritten.track = list.track;
    for (Piece& piece : list.pieces) {
      rewritten.clear();
      const bool starts = piece.text.starts_with(' ') || piece.text.starts_with(replacement_);
      if (!starts &&
          (prepend_ == Prepend::kAlways || (prepend_ == Prepend::kFirst && piece.first))) {
        rewritten.append(replacement_, 0);
      }
      for (size_t at = 0; at < piece.text.size(); ++at) {
        if (piece.text[at] == ' ') {
          rewritten.append(replacement_, at);
        } else {
          rewritten.copy(piece.text.substr(at, 1), at);
        }
      }
      piece = keep(list, piece, rewritten);
    }
    if (split_) split_pattern(list, pattern_, SplitBehavior::kMergedWithNext, false);
  }

 private:
  std::string replacement_;
  Pattern pattern_;
  Prepend prepend_;
  bool split_;
};

class PreTokenizerSequence : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(std::vector<std::unique_ptr<const PreTokenizer>> steps)
      : steps_(std::move(steps)) {}
  void apply(PieceList& list) const override {
    for (const auto& step : steps_) step->apply(list);
  }

 private:
  std::vector<std::unique_ptr<const PreTokenizer>> steps_;
};

std::unique_ptr<const PreTokenizer> read_metaspace(const Json& json, const std::string& where) {
  const std::string replacement = json_string_or(json, "replacement", "\xE2\x96\x81", where);
  require_data(
      utf8_valid(replacement) && utf8_length(replacement) == 1,
      "{}: \"replacement\" must be one character, found {:?}",
      where,
      replacement
  );
  const std::string scheme = json_string_or(json, "prepend_scheme", "always", where);
  auto prepend = Metaspace::Prepend::kAlways;
  if (scheme == "first") {
    prepend = Metaspace::Prepend::kFirst;
  } else if (scheme == "never") {
    prepend = Metaspace::Prepend::kNever;
  } else {
    require_data(
        scheme == "always",
        "{}: prepend_scheme \"{}\" is not known (always, first, never)",
        where,
        scheme
    );
  }
  // Files older than prepend_scheme have add_prefix_space instead.
  if (!json_bool_or(json, "add_prefix_space", true, where)) prepend = Metaspace::Prepend::kNever;
  return std::make_unique<Metaspace>(
      replacement, prepend, json_bool_or(json, "split", true, where)
  );
}

std::unique_ptr<const PreTokenizer> read_split(const Json& json, const std::string& where) {
  require_data(json.contains("pattern"), "{}: field \"pattern\" is missing", where);
  return std::make_unique<Split>(
      Pattern::read(json["pattern"], where),
      split_behavior(json_string(json, "behavior", where), where),
      json_bool_or(json, "invert", false, where)
  );
}

}  // namespace

PreTokenizer::Loaded PreTokenizer::read(
    const Json& json, const std::string& source, bool allow_raw_bytes
) {
  if (json.is_null()) return {};
  const std::string type = json_string(json, "type", source + ": pre_tokenizer");
  const std::string where = source + ": pre_tokenizer " + type;
  if (type == "Split") return {read_split(json, where)};
  if (type == "Metaspace") return {read_metaspace(json, where)};
  if (type == "Whitespace") return {std::make_unique<Whitespace>()};
  if (type == "WhitespaceSplit") return {std::make_unique<WhitespaceSplit>()};
  if (type == "BertPreTokenizer") return {std::make_unique<BertPreTokenizer>()};
  if (type == "Digits") {
    return {std::make_unique<Digits>(json_bool_or(json, "individual_digits", false, where))};
  }
  if (type == "Punctuation") {
    return {std::make_unique<Punctuation>(
        split_behavior(json_string_or(json, "behavior", "Isolated", where), where)
    )};
  }
  if (type == "CharDelimiterSplit") {
    const std::string delimiter = json_string(json, "delimiter", where);
    require_data(
        utf8_valid(delimiter) && utf8_length(delimiter) == 1,
        "{}: \"delimiter\" must be one character, found {:?}",
        where,
        delimiter
    );
    return {std::make_unique<CharDelimiterSplit>(utf8_decode(delimiter, 0).value)};
  }
  if (type == "ByteLevel") {
    ByteLevel::Options options;
    options.add_prefix_space = json_bool_or(json, "add_prefix_space", true, where);
    options.use_regex = json_bool_or(json, "use_regex", true, where);
    options.raw_bytes = allow_raw_bytes;
    return {std::make_unique<ByteLevel>(options, where), allow_raw_bytes};
  }
  require_data(
      type == "Sequence",
      "{} is not supported (Split, ByteLevel, Digits, Metaspace, Punctuation, Whitespace, "
      "WhitespaceSplit, BertPreTokenizer, CharDelimiterSplit, Sequence are)",
      where
  );
  require_data(
      json.contains("pretokenizers") && json["pretokenizers"].is_array(),
      "{}: field \"pretokenizers\" must be a list",
      where
  );
  std::vector<std::unique_ptr<const PreTokenizer>> steps;
  bool raw_bytes = false;
  const Json& list = json["pretokenizers"];
  for (size_t i = 0; i < list.size(); ++i) {
    require_data(list[i].is_object(), "{}: an element is no object", where);
    Loaded step = read(list[i], source, allow_raw_bytes && i + 1 == list.size());
    raw_bytes = step.raw_bytes;
    steps.push_back(std::move(step.steps));
  }
  return {std::make_unique<PreTokenizerSequence>(std::move(steps)), raw_bytes};
}

}  // namespace hone
