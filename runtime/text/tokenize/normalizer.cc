#include "runtime/text/tokenize/normalizer.h"

#include <utf8proc.h>

#include "core/base/error.h"
#include "runtime/text/tokenize/byte_level.h"
#include "runtime/text/tokenize/pattern.h"
#include "runtime/text/unicode/utf8.h"

namespace hone {
namespace {

// Characters that are their own NFC and never combine with what precedes them: the common ones, so
// that most text is recognised as normalized without a look-up.
bool stable_composed(char32_t c) {
  return c < 0x300 || (c >= 0x3400 && c <= 0x9FFF && (c <= 0x4DBF || c >= 0x4E00)) ||
         (c >= 0x400 && c <= 0x482) || (c >= 0x2010 && c <= 0x205E) ||
         (c >= 0x3000 && c <= 0x3029) || (c >= 0x3041 && c <= 0x3096) ||
         (c >= 0x30A0 && c <= 0x30FF) || (c >= 0xAC00 && c <= 0xD7A3) ||
         (c >= 0xFF00 && c <= 0xFFEF) || (c >= 0x1F300 && c <= 0x1FAFF) ||
         (c >= 0x2500 && c <= 0x27BF);
}

// Characters that none of the four forms changes.
bool stable_everywhere(char32_t c) {
  return c < 0x80 || (c >= 0x4E00 && c <= 0x9FFF);
}

// NFC, NFD, NFKC, NFKD. Runs between stable characters are independent of each other.
class UnicodeForm : public Normalizer {
 public:
  UnicodeForm(bool compose, bool compatibility) {
    options_ = UTF8PROC_STABLE | (compose ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE);
    if (compatibility) options_ |= UTF8PROC_COMPAT;
    stable_ = compose && !compatibility ? stable_composed : stable_everywhere;
  }

  bool apply(std::string_view text, RegexScratch&, RewrittenText& out) const override {
    if (is_ascii(text)) return false;
    size_t at = 0;
    while (at < text.size()) {
      const CodePoint c = utf8_decode(text, at);
      if (!stable_(c.value)) break;
      at += c.size;
    }
    if (at == text.size()) return false;
    out.clear();
    std::vector<utf8proc_int32_t> buffer;
    for (size_t begin = 0; begin < text.size();) {
      // A run: one stable character and the unstable ones after it.
      size_t end = begin + utf8_size(text[begin]);
      bool stable = stable_(utf8_decode(text, begin).value);
      while (end < text.size()) {
        const CodePoint c = utf8_decode(text, end);
        if (stable_(c.value)) break;
        stable = false;
        end += c.size;
      }
      const std::string_view run = text.substr(begin, end - begin);
      if (stable) {
        out.copy(run, begin);
      } else {
        out.append(normalize(run, buffer), begin);
      }
      begin = end;
    }
    return true;
  }

 private:
  std::string_view normalize(std::string_view run, std::vector<utf8proc_int32_t>& buffer) const {
    const auto options = static_cast<utf8proc_option_t>(options_);
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(run.data());
    const auto size = static_cast<utf8proc_ssize_t>(run.size());
    if (buffer.size() < run.size() + 1) buffer.resize(run.size() + 1);
    auto count = utf8proc_decompose(
        bytes, size, buffer.data(), static_cast<utf8proc_ssize_t>(buffer.size() - 1), options
    );
    if (count > static_cast<utf8proc_ssize_t>(buffer.size() - 1)) {
      buffer.resize(count + 1);
      count = utf8proc_decompose(bytes, size, buffer.data(), count, options);
    }
    check(count >= 0, "utf8proc: {}", utf8proc_errmsg(count));
    const auto written = utf8proc_reencode(buffer.data(), count, options);
    return {reinterpret_cast<const char*>(buffer.data()), static_cast<size_t>(written)};
  }

  int options_;
  bool (*stable_)(char32_t);
};

class Lowercase : public Normalizer {
  bool apply(std::string_view text, RegexScratch&, RewrittenText& out) const override {
    out.clear();
    std::string lower;
    for (size_t at = 0; at < text.size();) {
      const CodePoint c = utf8_decode(text, at);
      lower.clear();
      utf8_append_lower(lower, c.value);
      out.append(lower, at);
      at += c.size;
    }
    return out.text != text;
  }
};

class StripAccents : public Normalizer {
  bool apply(std::string_view text, RegexScratch&, RewrittenText& out) const override {
    if (is_ascii(text)) return false;
    out.clear();
    for (size_t at = 0; at < text.size();) {
      const CodePoint c = utf8_decode(text, at);
      if (!is_mark(c.value)) out.copy(text.substr(at, c.size), at);
      at += c.size;
    }
    return out.text.size() != text.size();
  }
};

class Strip : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}

  bool apply(std::string_view text, RegexScratch&, RewrittenText& out) const override {
    size_t begin = 0;
    size_t end = text.size();
    while (left_ && begin < end) {
      const CodePoint c = utf8_decode(text, begin);
      if (!is_white_space(c.value)) break;
      begin += c.size;
    }
    while (right_ && begin < end) {
      const size_t previous = utf8_previous(text, end);
      if (!is_white_space(utf8_decode(text, previous).value)) break;
      end = previous;
    }
    if (end - begin == text.size()) return false;
    out.clear();
    out.copy(text.substr(begin, end - begin), begin);
    return true;
  }

 private:
  bool left_;
  bool right_;
};

class Prepend : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}

  bool apply(std::string_view text, RegexScratch&, RewrittenText& out) const override {
    if (text.empty()) return false;
    out.clear();
    out.append(prefix_, 0);
    out.copy(text, 0);
    return true;
  }

 private:
  std::string prefix_;
};

class Replace : public Normalizer {
 public:
  Replace(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

  bool apply(std::string_view text, RegexScratch& scratch, RewrittenText& out) const override {
    out.clear();
    size_t done = 0;
    PatternMatches matches(pattern_, text, scratch);
    for (Regex::Match match; matches.next(match);) {
      out.copy(text.substr(done, match.begin - done), done);
      out.append(content_, match.begin);
      done = match.end;
    }
    if (done == 0 && out.text.empty()) return false;
    out.copy(text.substr(done), done);
    return true;
  }

 private:
  Pattern pattern_;
  std::string content_;
};

class ByteLevelNormalizer : public Normalizer {
  bool apply(std::string_view text, RegexScratch&, RewrittenText& out) const override {
    out.clear();
    std::string mapped;
    for (size_t at = 0; at < text.size(); ++at) {
      mapped.clear();
      byte_level_encode(text.substr(at, 1), mapped);
      out.append(mapped, at);
    }
    return !text.empty();
  }
};

class NormalizerSequence : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<std::unique_ptr<const Normalizer>> steps)
      : steps_(std::move(steps)) {}

  bool apply(std::string_view text, RegexScratch& scratch, RewrittenText& out) const override {
    bool changed = false;
    RewrittenText current;
    RewrittenText next;
    current.track = next.track = out.track;
    for (const auto& step : steps_) {
      if (!step->apply(changed ? std::string_view(current.text) : text, scratch, next)) continue;
      if (changed && out.track) {
        const auto last = static_cast<uint32_t>(text.size());
        for (uint32_t& at : next.source) {
          at = at < current.source.size() ? current.source[at] : last;
        }
      }
      std::swap(current, next);
      changed = true;
    }
    if (changed) std::swap(out, current);
    return changed;
  }

 private:
  std::vector<std::unique_ptr<const Normalizer>> steps_;
};

}  // namespace

std::unique_ptr<const Normalizer> Normalizer::read(const Json& json, const std::string& source) {
  if (json.is_null()) return nullptr;
  const std::string type = json_string(json, "type", source + ": normalizer");
  const std::string where = source + ": normalizer " + type;
  if (type == "NFC") return std::make_unique<UnicodeForm>(true, false);
  if (type == "NFD") return std::make_unique<UnicodeForm>(false, false);
  if (type == "NFKC") return std::make_unique<UnicodeForm>(true, true);
  if (type == "NFKD") return std::make_unique<UnicodeForm>(false, true);
  if (type == "Lowercase") return std::make_unique<Lowercase>();
  if (type == "StripAccents") return std::make_unique<StripAccents>();
  if (type == "ByteLevel") return std::make_unique<ByteLevelNormalizer>();
  if (type == "Strip") {
    return std::make_unique<Strip>(
        json_bool(json, "strip_left", where), json_bool(json, "strip_right", where)
    );
  }
  if (type == "Prepend") return std::make_unique<Prepend>(json_string(json, "prepend", where));
  if (type == "Replace") {
    require_data(json.contains("pattern"), "{}: field \"pattern\" is missing", where);
    return std::make_unique<Replace>(
        Pattern::read(json["pattern"], where), json_string(json, "content", where)
    );
  }
  require_data(
      type == "Sequence",
      "{} is not supported (NFC, NFD, NFKC, NFKD, Lowercase, Prepend, Replace, Strip, "
      "StripAccents, ByteLevel, Sequence are)",
      where
  );
  require_data(
      json.contains("normalizers") && json["normalizers"].is_array(),
      "{}: field \"normalizers\" must be a list",
      where
  );
  std::vector<std::unique_ptr<const Normalizer>> steps;
  for (const Json& step : json["normalizers"]) {
    require_data(step.is_object(), "{}: an element is no object", where);
    steps.push_back(read(step, source));
  }
  return std::make_unique<NormalizerSequence>(std::move(steps));
}

}  // namespace hone
