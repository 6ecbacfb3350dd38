#include "eval/metric/gsm8k.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/base/error.h"

namespace hone {
namespace {

constexpr std::string_view kMark = "####";
constexpr std::string_view kUnicodeMinus = "\xE2\x88\x92";  // U+2212

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_number_char(char c) {
  return is_digit(c) || c == '.' || c == ',';
}
bool is_money_char(char c) {
  return is_number_char(c) || c == '$';
}

template <typename Predicate>
size_t run_length(std::string_view text, size_t from, Predicate wanted) {
  size_t end = from;
  while (end < text.size() && wanted(text[end])) ++end;
  return end - from;
}

// Length of lm-eval's flexible pattern at `at`; 0: no match there.
size_t flexible_match(std::string_view text, size_t at) {
  const size_t sign = text[at] == '-' ? 1 : 0;
  const size_t money = run_length(text, at + sign, is_money_char);
  if (money >= 2) return sign + money;
  const size_t digits = run_length(text, at + sign, is_digit);
  return digits >= 1 ? sign + digits : 0;
}

std::string without(std::string_view text, std::string_view what) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (text.substr(i, what.size()) == what) {
      i += what.size();
    } else {
      out += text[i++];
    }
  }
  return out;
}

// The number that begins in `text` after blanks, currency and emphasis marks; empty: none. A
// trailing separator belongs to the sentence, not to the number.
std::string leading_number(std::string_view text) {
  constexpr std::string_view kSkipped = " \t$*\\({";
  size_t at = std::min(text.find_first_not_of(kSkipped), text.size());
  std::string sign;
  if (text.substr(at, 1) == "-") {
    sign = "-";
    ++at;
  } else if (text.substr(at, kUnicodeMinus.size()) == kUnicodeMinus) {
    sign = "-";
    at += kUnicodeMinus.size();
  }
  at = std::min(text.find_first_not_of(kSkipped, at), text.size());
  size_t length = run_length(text, at, is_number_char);
  while (length > 0 && !is_digit(text[at + length - 1])) --length;
  return length == 0 ? "" : sign + std::string(text.substr(at, length));
}

// Contents of the last \boxed{...}, braces matched; nothing when there is none.
std::optional<std::string> last_boxed(std::string_view text) {
  constexpr std::string_view kBoxed = "\\boxed{";
  const size_t found = text.rfind(kBoxed);
  if (found == std::string_view::npos) return std::nullopt;
  const size_t begin = found + kBoxed.size();
  int depth = 1;
  for (size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) {
      const std::string inner(text.substr(begin, i - begin));
      return without(without(inner, "{,}"), "\\,");
    }
  }
  return std::nullopt;
}

// The last number of a text. Unlike the harness's pattern it does not take "10-18" for a negative
// number, and reads the Unicode minus.
std::optional<std::string> last_number(std::string_view text) {
  size_t end = text.size();
  while (end > 0 && !is_digit(text[end - 1])) --end;
  if (end == 0) return std::nullopt;
  size_t begin = end;
  while (begin > 0 && is_number_char(text[begin - 1])) --begin;
  while (!is_digit(text[begin]) && text[begin] != '.') ++begin;
  std::string number(text.substr(begin, end - begin));
  size_t before = begin;
  while (before > 0 && text[before - 1] == '$') --before;
  const std::string_view head = text.substr(0, before);
  const bool minus = head.ends_with('-') || head.ends_with(kUnicodeMinus);
  const size_t width = head.ends_with('-') ? 1 : kUnicodeMinus.size();
  if (minus && (head.size() == width ||
                !std::isalnum(static_cast<unsigned char>(head[head.size() - width - 1]))))
    number.insert(0, "-");
  return number;
}

}  // namespace

std::optional<std::string> extract_strict(std::string_view text) {
  constexpr std::string_view kPrefix = "#### ";
  for (size_t at = text.find(kPrefix); at != std::string_view::npos;
       at = text.find(kPrefix, at + 1)) {
    const size_t begin = at + kPrefix.size();
    const size_t sign = text.substr(begin, 1) == "-" ? 1 : 0;
    const size_t length = run_length(text, begin + sign, is_number_char);
    if (length > 0) return std::string(text.substr(begin, sign + length));
  }
  return std::nullopt;
}

std::optional<std::string> extract_flexible(std::string_view text) {
  std::optional<std::string> last;
  for (size_t at = 0; at < text.size();) {
    const size_t length = flexible_match(text, at);
    if (length > 0) last = std::string(text.substr(at, length));
    at += std::max<size_t>(length, 1);
  }
  return last;
}

std::string normalize_answer(std::string_view answer) {
  std::string text = without(without(answer, ","), "$");
  const size_t mark = text.rfind("#### ");
  if (mark != std::string::npos) text.erase(0, mark + 5);
  if (text.ends_with('.')) text.pop_back();
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return text;
}

std::optional<std::string> canonical_number(std::string_view text) {
  std::string plain = without(without(text, ","), "$");
  while (!plain.empty() && std::isspace(static_cast<unsigned char>(plain.back()))) plain.pop_back();
  size_t at = std::min(plain.find_first_not_of(" \t\n"), plain.size());
  bool negative = false;
  if (plain.compare(at, 1, "-") == 0) {
    negative = true;
    ++at;
  } else if (plain.compare(at, kUnicodeMinus.size(), kUnicodeMinus) == 0) {
    negative = true;
    at += kUnicodeMinus.size();
  } else if (plain.compare(at, 1, "+") == 0) {
    ++at;
  }
  const size_t whole = run_length(plain, at, is_digit);
  std::string digits = plain.substr(at, whole);
  at += whole;
  std::string fraction;
  if (at < plain.size() && plain[at] == '.') {
    const size_t length = run_length(plain, at + 1, is_digit);
    fraction = plain.substr(at + 1, length);
    at += 1 + length;
  }
  if (at != plain.size() || (digits.empty() && fraction.empty())) return std::nullopt;
  digits.erase(0, digits.find_first_not_of('0'));
  fraction.erase(fraction.find_last_not_of('0') + 1);
  std::string out = digits.empty() ? "0" : digits;
  if (!fraction.empty()) out += "." + fraction;
  return negative && out != "0" ? "-" + out : out;
}

std::optional<std::string> final_answer(std::string_view text, bool cut) {
  const size_t mark = text.find(kMark);
  if (mark != std::string_view::npos) {
    const auto number = canonical_number(leading_number(text.substr(mark + kMark.size())));
    if (number) return number;
  }
  if (cut) return std::nullopt;
  if (const auto boxed = last_boxed(text)) {
    if (const auto inner = last_number(*boxed)) return canonical_number(*inner);
  }
  const auto last = last_number(text);
  return last ? canonical_number(*last) : std::nullopt;
}

std::string_view answer_cause_name(AnswerCause cause) {
  static constexpr std::array<std::string_view, 6> kNames = {
      "right", "wrong", "no-answer", "truncated", "empty", "failed"};
  return kNames.at(static_cast<size_t>(cause));
}

AnswerScore score_answer(
    std::string_view output, OutputState state, std::string_view target, const std::string& source
) {
  const auto expected = extract_strict(target);
  const auto expected_number =
      expected ? canonical_number(leading_number(*expected)) : std::nullopt;
  require_data(
      expected_number.has_value(), "{}: field \"answer\" has no number after \"#### \"", source
  );
  AnswerScore score;
  score.answer = final_answer(output, state.cut);
  score.right = score.answer == expected_number;
  const std::string goal = normalize_answer(target);
  const auto strict = extract_strict(output);
  const auto flexible = extract_flexible(output);
  score.strict_right = strict && normalize_answer(*strict) == goal;
  score.flexible_right = flexible && normalize_answer(*flexible) == goal;
  if (score.right) {
    score.cause = AnswerCause::kRight;
  } else if (state.failed) {
    score.cause = AnswerCause::kFailed;
  } else if (output.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    score.cause = AnswerCause::kEmpty;
  } else if (score.answer) {
    score.cause = AnswerCause::kWrong;
  } else {
    score.cause = state.cut ? AnswerCause::kTruncated : AnswerCause::kNoAnswer;
  }
  return score;
}

}  // namespace hone
