// Final answers of grade-school math problems.
//
// Two extractors reproduce lm-evaluation-harness (task gsm8k, version 3) bit by bit, so that its
// users can compare; `final_answer` is what our verdict uses, since the other two call some right
// answers wrong ("#### $18", "18.00", "\boxed{1{,}800}").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hone {

// First match of "#### (\-?[0-9\.\,]+)".
std::optional<std::string> extract_strict(std::string_view text);
// Last match of "(-?[$0-9.,]{2,})|(-?[0-9]+)".
std::optional<std::string> extract_flexible(std::string_view text);
// Removes commas, dollar signs, all up to the last "#### ", one trailing period; lower case.
std::string normalize_answer(std::string_view answer);

// A number in canonical form: no thousands separators, currency signs, leading or trailing zeros;
// "-" or U+2212 as sign. "1,800.50" -> "1800.5", "-0" -> "0". Nothing when `text` is no number.
std::optional<std::string> canonical_number(std::string_view text);

// The number after the first "####", otherwise in the last "\boxed{...}", otherwise the last number
// of the text, canonical. `cut` (the output was truncated) leaves only the first: the last number
// of an unfinished solution is no answer.
std::optional<std::string> final_answer(std::string_view text, bool cut);

// How one output counts.
enum class AnswerCause : uint8_t { kRight, kWrong, kNoAnswer, kTruncated, kEmpty, kFailed };
std::string_view answer_cause_name(AnswerCause cause);

// Score of one output against the target solution (whose answer stands after "####").
struct AnswerScore {
  AnswerCause cause = AnswerCause::kNoAnswer;
  std::optional<std::string> answer;  // final_answer()
  bool right = false;                 // answer equals the target's
  bool strict_right = false;          // lm-eval, strict-match
  bool flexible_right = false;        // lm-eval, flexible-extract
};

// How an output ended.
struct OutputState {
  bool cut = false;     // stopped by the token limit
  bool failed = false;  // the engine ended it (NaN, collapse into repetition)
};
// Throws DataError when `target` has no number after "####".
AnswerScore score_answer(
    std::string_view output, OutputState state, std::string_view target, const std::string& source
);

}  // namespace hone
