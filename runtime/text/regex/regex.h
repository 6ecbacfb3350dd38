// Regular expressions of tokenizer.json: Oniguruma's dialect, run by PCRE2's JIT.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace hone {

// Match buffers and the JIT's stack. One per thread; may be shared by all expressions.
class RegexScratch {
 public:
  RegexScratch();
  RegexScratch(RegexScratch&&) noexcept;
  RegexScratch& operator=(RegexScratch&&) noexcept;
  ~RegexScratch();

 private:
  friend class Regex;
  struct State;
  std::unique_ptr<State> state_;
};

// Immutable; find() may be called from several threads with different scratches.
class Regex {
 public:
  // Throws DataError "<source>: regular expression ..." on what cannot be compiled.
  static Regex compile(std::string_view oniguruma, const std::string& source);
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  struct Match {
    size_t begin;
    size_t end;
  };
  // The first match in `subject` at or after `from`, lookbehind sees what stands before it; false
  // when there is none. `subject` must be valid UTF-8 and `from` a character boundary. Throws
  // DataError when the match needs more than the limits allow.
  bool find(std::string_view subject, size_t from, RegexScratch& scratch, Match& match) const;

 private:
  struct State;
  explicit Regex(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hone
