// Methods of str that answer questions: startswith, find, isdigit ...
#include <algorithm>
#include <array>

#include "runtime/text/jinja/arguments.h"
#include "runtime/text/jinja/builtins.h"
#include "runtime/text/jinja/operators.h"
#include "runtime/text/jinja/python_text.h"
#include "runtime/text/unicode/utf8.h"

namespace hone::jinja {
namespace {

// Bytes [begin, end) that the arguments start and end (in characters) leave of the string.
struct Window {
  size_t begin;
  size_t end;
  bool empty_range;  // start lies behind the end: not even "" is found
};

Window window(const std::string& bytes, const Bound& args, size_t first) {
  const Value none(None{});
  const auto length = static_cast<Int>(utf8_length(bytes));
  const auto place = [&](size_t i, Int otherwise) {
    const Int at = args.integer(i, otherwise);
    return at < 0 ? std::max<Int>(0, at + length) : at;
  };
  const Int start = place(first, 0);
  const Int stop = std::min(place(first + 1, length), length);
  if (start > stop) return {0, 0, true};
  return {
      character_offset(bytes, static_cast<size_t>(start)),
      character_offset(bytes, static_cast<size_t>(stop)),
      false};
}

Value affix(const Value& self, const Arguments& arguments, bool prefix) {
  const Bound args(arguments, prefix ? "startswith" : "endswith", {"affix", "start", "end"}, 1);
  const std::string& bytes = self.text()->bytes;
  const Window where = window(bytes, args, 1);
  if (where.empty_range) return Value(false);
  const auto text = std::string_view(bytes).substr(where.begin, where.end - where.begin);
  const auto matches = [&](const Value& value) {
    if (value.text() == nullptr) {
      fail(
          "{} first arg must be str or a tuple of str, not {}",
          prefix ? "startswith" : "endswith",
          type_name(value)
      );
    }
    const std::string& part = value.text()->bytes;
    return prefix ? text.starts_with(part) : text.ends_with(part);
  };
  const List* list = args[0].list();
  if (list != nullptr && list->kind == ListKind::kTuple) {
    return Value(std::ranges::any_of(list->items, matches));
  }
  return Value(matches(args[0]));
}

Value startswith(Interpreter&, const Value& self, Arguments& arguments) {
  return affix(self, arguments, true);
}
Value endswith(Interpreter&, const Value& self, Arguments& arguments) {
  return affix(self, arguments, false);
}

// Index in characters, -1 when it is not there.
Int find_index(const Value& self, const Arguments& arguments, bool from_right) {
  const Bound args(arguments, "find", {"sub", "start", "end"}, 1);
  const std::string& bytes = self.text()->bytes;
  const std::string& part = args.text(0).bytes;
  const Window where = window(bytes, args, 1);
  if (where.empty_range) return -1;
  const auto text = std::string_view(bytes).substr(where.begin, where.end - where.begin);
  const size_t at = from_right ? text.rfind(part) : text.find(part);
  if (at == std::string_view::npos) return -1;
  return static_cast<Int>(utf8_length(std::string_view(bytes).substr(0, where.begin + at)));
}

Value find(Interpreter&, const Value& self, Arguments& arguments) {
  return Value(find_index(self, arguments, false));
}
Value rfind(Interpreter&, const Value& self, Arguments& arguments) {
  return Value(find_index(self, arguments, true));
}
Value index(Interpreter&, const Value& self, Arguments& arguments) {
  const Int at = find_index(self, arguments, false);
  if (at < 0) fail("substring not found");
  return Value(at);
}
Value rindex(Interpreter&, const Value& self, Arguments& arguments) {
  const Int at = find_index(self, arguments, true);
  if (at < 0) fail("substring not found");
  return Value(at);
}

Value count(Interpreter&, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "count", {"sub", "start", "end"}, 1);
  const std::string& bytes = self.text()->bytes;
  const std::string& part = args.text(0).bytes;
  const Window where = window(bytes, args, 1);
  if (where.empty_range) return Value(0);
  const auto text = std::string_view(bytes).substr(where.begin, where.end - where.begin);
  if (part.empty()) return Value(utf8_length(text) + 1);
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; at += part.size()) {
    ++found;
  }
  return Value(found);
}

// True for a string that is not empty and all of whose characters satisfy the predicate.
template <bool (*kPredicate)(char32_t)>
Value every(Interpreter&, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "is..", {});
  const std::string& bytes = self.text()->bytes;
  for (size_t at = 0; at < bytes.size();) {
    const CodePoint c = utf8_decode(bytes, at);
    if (!kPredicate(c.value)) return Value(false);
    at += c.size;
  }
  return Value(!bytes.empty());
}

bool is_alnum(char32_t c) {
  return is_letter(c) || is_numeric(c);
}

// Decimal digits, and superscripts and circled digits, which have a digit value too.
bool is_digit(char32_t c) {
  return is_decimal(c) || c == 0xB2 || c == 0xB3 || c == 0xB9 || c == 0x2070 ||
         (c >= 0x2074 && c <= 0x2079) || (c >= 0x2080 && c <= 0x2089) ||
         (c >= 0x2460 && c <= 0x2468);
}

Value isascii(Interpreter&, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "isascii", {});
  return Value(is_ascii(self.text()->bytes));
}

Value isprintable(Interpreter&, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "isprintable", {});
  const std::string& bytes = self.text()->bytes;
  for (size_t at = 0; at < bytes.size(); at += utf8_size(bytes[at])) {
    if (!is_printable(utf8_decode(bytes, at).value)) return Value(false);
  }
  return Value(true);
}

Value all_case(
    Interpreter& interpreter, const Value& self, const Arguments& arguments, bool lower
) {
  const Bound args(arguments, "is..", {});
  Arguments none;
  return Value(interpreter.apply_test(lower ? "lower" : "upper", self, none));
}

Value islower(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  return all_case(interpreter, self, arguments, true);
}
Value isupper(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  return all_case(interpreter, self, arguments, false);
}

Value istitle(Interpreter&, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "istitle", {});
  const std::string& bytes = self.text()->bytes;
  bool previous = false;
  bool any = false;
  for (size_t at = 0; at < bytes.size();) {
    const CodePoint c = utf8_decode(bytes, at);
    at += c.size;
    if (is_upper(c.value) ? previous : is_lower(c.value) && !previous) return Value(false);
    previous = is_upper(c.value) || is_lower(c.value);
    any = any || previous;
  }
  return Value(any);
}

constexpr auto kMethods = std::to_array<MethodEntry>({
    {"count", count},
    {"endswith", endswith},
    {"find", find},
    {"index", index},
    {"isalnum", every<is_alnum>},
    {"isalpha", every<is_letter>},
    {"isascii", isascii},
    {"isdecimal", every<is_decimal>},
    {"isdigit", every<is_digit>},
    {"islower", islower},
    {"isnumeric", every<is_numeric>},
    {"isprintable", isprintable},
    {"isspace", every<is_python_space>},
    {"istitle", istitle},
    {"isupper", isupper},
    {"rfind", rfind},
    {"rindex", rindex},
    {"startswith", startswith},
});

}  // namespace

std::span<const MethodEntry> string_tests() {
  return kMethods;
}

}  // namespace hone::jinja
