#define PCRE2_CODE_UNIT_WIDTH 8
#include "runtime/text/regex/regex.h"

#include <pcre2.h>

#include "core/base/error.h"
#include "runtime/text/regex/oniguruma.h"

namespace hone {
namespace {

constexpr size_t kJitStackStart = 32 << 10;
constexpr size_t kJitStackLimit = 64 << 20;
constexpr uint32_t kMatchLimit = 50'000'000;   // backtracking steps of one match
constexpr uint32_t kHeapLimitKib = 256 << 10;  // interpreter only

std::string message_of(int code) {
  PCRE2_UCHAR buffer[256];
  pcre2_get_error_message(code, buffer, sizeof buffer);
  return reinterpret_cast<const char*>(buffer);
}

}  // namespace

struct RegexScratch::State {
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(kJitStackStart, kJitStackLimit, nullptr);

  State() {
    check(data != nullptr && context != nullptr && stack != nullptr, "PCRE2: out of memory");
    pcre2_jit_stack_assign(context, nullptr, stack);
    pcre2_set_match_limit(context, kMatchLimit);
    pcre2_set_heap_limit(context, kHeapLimitKib);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
};

RegexScratch::RegexScratch() : state_(std::make_unique<State>()) {}
RegexScratch::RegexScratch(RegexScratch&&) noexcept = default;
RegexScratch& RegexScratch::operator=(RegexScratch&&) noexcept = default;
RegexScratch::~RegexScratch() = default;

struct Regex::State {
  pcre2_code* code = nullptr;
  bool jit = false;
  std::string pattern;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { pcre2_code_free(code); }
};

Regex::Regex(std::unique_ptr<State> state) : state_(std::move(state)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

Regex Regex::compile(std::string_view oniguruma, const std::string& source) {
  const std::string pattern = translate_oniguruma(oniguruma, source);
  pcre2_compile_context* context = pcre2_compile_context_create(nullptr);
  check(context != nullptr, "PCRE2: out of memory");
  pcre2_set_newline(context, PCRE2_NEWLINE_LF);
  int code = 0;
  PCRE2_SIZE offset = 0;
  auto state = std::make_unique<State>();
  state->pattern = oniguruma;
  state->code = pcre2_compile(
      reinterpret_cast<PCRE2_SPTR>(pattern.data()),
      pattern.size(),
      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
      &code,
      &offset,
      context
  );
  pcre2_compile_context_free(context);
  require_data(
      state->code != nullptr,
      "{}: regular expression {:?}: {} (offset {} of its PCRE2 form {:?})",
      source,
      oniguruma,
      message_of(code),
      offset,
      pattern
  );
  state->jit = pcre2_jit_compile(state->code, PCRE2_JIT_COMPLETE) == 0;
  return Regex(std::move(state));
}

bool Regex::find(std::string_view subject, size_t from, RegexScratch& scratch, Match& match) const {
  const auto* text = reinterpret_cast<PCRE2_SPTR>(subject.data());
  RegexScratch::State& s = *scratch.state_;
  int code = PCRE2_ERROR_JIT_STACKLIMIT;
  if (state_->jit) {
    code = pcre2_jit_match(
        state_->code, text, subject.size(), from, PCRE2_NO_UTF_CHECK, s.data, s.context
    );
  }
  if (code == PCRE2_ERROR_JIT_STACKLIMIT) {  // the interpreter keeps its stack on the heap
    code = pcre2_match(
        state_->code,
        text,
        subject.size(),
        from,
        PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
        s.data,
        s.context
    );
  }
  if (code == PCRE2_ERROR_NOMATCH) return false;
  require_data(
      code >= 0,
      "regular expression {:?} gave up on a text of {} bytes at byte {}: {}",
      state_->pattern,
      subject.size(),
      from,
      message_of(code)
  );
  const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(s.data);
  match = {bounds[0], bounds[1]};
  return true;
}

}  // namespace hone
