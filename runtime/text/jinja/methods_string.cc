// Methods of str that make new values.
#include <algorithm>
#include <array>

#include "runtime/text/jinja/arguments.h"
#include "runtime/text/jinja/builtins.h"
#include "runtime/text/jinja/format.h"
#include "runtime/text/jinja/python_text.h"
#include "runtime/text/jinja/string_case.h"
#include "runtime/text/unicode/utf8.h"

namespace hone::jinja {
namespace {

constexpr Int kMaxWidth = 1 << 16;

const Text& self_text(const Value& self) {
  return *self.text();
}

// Characters to strip; nullopt: white space.
std::optional<std::u32string> strip_set(const Bound& args) {
  if (!args.has(0) || args[0].is_none()) return std::nullopt;
  std::u32string set;
  const std::string& bytes = args.text(0).bytes;
  for (size_t at = 0; at < bytes.size();) {
    const CodePoint c = utf8_decode(bytes, at);
    set += c.value;
    at += c.size;
  }
  return set;
}

Value strip_sides(
    Interpreter& interpreter, const Text& text, const Arguments& arguments, bool left, bool right
) {
  const Bound args(arguments, "strip", {"chars"});
  const auto set = strip_set(args);
  const auto strips = [&](char32_t c) {
    return set ? set->find(c) != std::u32string::npos : is_python_space(c);
  };
  size_t begin = 0;
  size_t end = text.bytes.size();
  while (left && begin < end) {
    const CodePoint c = utf8_decode(text.bytes, begin);
    if (!strips(c.value)) break;
    begin += c.size;
  }
  while (right && begin < end) {
    const size_t previous = utf8_previous(text.bytes, end);
    if (!strips(utf8_decode(text.bytes, previous).value)) break;
    end = previous;
  }
  return interpreter.string(text.slice(begin, end));
}

Value strip(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  return strip_sides(interpreter, self_text(self), arguments, true, true);
}
Value lstrip(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  return strip_sides(interpreter, self_text(self), arguments, true, false);
}
Value rstrip(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  return strip_sides(interpreter, self_text(self), arguments, false, true);
}

using Bounds = std::vector<std::pair<size_t, size_t>>;

Value pieces(Interpreter& interpreter, const Text& text, const Bounds& bounds) {
  std::vector<Value> out;
  for (const auto& [begin, end] : bounds) out.push_back(interpreter.string(text.slice(begin, end)));
  return interpreter.list(std::move(out));
}

// Words between white space; from the right when `from_right` limits the number of splits.
Bounds split_words(std::string_view text, Int limit, bool from_right) {
  Bounds words;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = utf8_decode(text, at);
    if (is_python_space(c.value)) {
      at += c.size;
      continue;
    }
    const size_t begin = at;
    while (at < text.size()) {
      const CodePoint inside = utf8_decode(text, at);
      if (is_python_space(inside.value)) break;
      at += inside.size;
    }
    words.emplace_back(begin, at);
  }
  const auto count = static_cast<Int>(words.size());
  if (limit < 0 || count <= limit + 1) {
    return words;
  }
  if (!from_right) {  // the last piece keeps everything up to the end but leading blanks
    words.resize(static_cast<size_t>(limit) + 1);
    words.back().second = text.size();
    return words;
  }
  const size_t joined = words.size() - static_cast<size_t>(limit);
  const size_t end = words[joined - 1].second;
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(joined - 1));
  words.front() = {0, end};
  return words;
}

Bounds split_on(std::string_view text, std::string_view separator, Int limit, bool from_right) {
  Bounds out;
  if (from_right) {
    size_t end = text.size();
    while (limit != 0) {
      const size_t at = end < separator.size() ? std::string_view::npos
                                               : text.rfind(separator, end - separator.size());
      if (at == std::string_view::npos) break;
      out.emplace_back(at + separator.size(), end);
      end = at;
      --limit;
    }
    out.emplace_back(0, end);
    std::ranges::reverse(out);
    return out;
  }
  size_t begin = 0;
  while (limit != 0) {
    const size_t at = text.find(separator, begin);
    if (at == std::string_view::npos) break;
    out.emplace_back(begin, at);
    begin = at + separator.size();
    --limit;
  }
  out.emplace_back(begin, text.size());
  return out;
}

Value split_sides(
    Interpreter& interpreter, const Text& text, const Arguments& arguments, bool from_right
) {
  const Bound args(arguments, from_right ? "rsplit" : "split", {"sep", "maxsplit"});
  const Int limit = args.integer(1, -1);
  if (!args.has(0) || args[0].is_none()) {
    return pieces(interpreter, text, split_words(text.bytes, limit, from_right));
  }
  const Text& separator = args.text(0);
  if (separator.bytes.empty()) fail("empty separator");
  return pieces(interpreter, text, split_on(text.bytes, separator.bytes, limit, from_right));
}

Value split(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  return split_sides(interpreter, self_text(self), arguments, false);
}
Value rsplit(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  return split_sides(interpreter, self_text(self), arguments, true);
}

Value splitlines(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "splitlines", {"keepends"});
  const Text& text = self_text(self);
  Bounds bounds = line_bounds(text.bytes);
  if (args.flag(0, false)) {
    for (size_t i = 0; i < bounds.size(); ++i) {
      bounds[i].second = i + 1 < bounds.size() ? bounds[i + 1].first : text.bytes.size();
    }
  }
  return pieces(interpreter, text, bounds);
}

Value partition_sides(
    Interpreter& interpreter, const Text& text, const Arguments& arguments, bool from_right
) {
  const Bound args(arguments, "partition", {"sep"}, 1);
  const Text& separator = args.text(0);
  if (separator.bytes.empty()) fail("empty separator");
  const size_t at =
      from_right ? text.bytes.rfind(separator.bytes) : text.bytes.find(separator.bytes);
  const Value all = interpreter.string(text);
  if (at == std::string::npos) {
    return from_right ? Value::tuple({Value(""), Value(""), all})
                      : Value::tuple({all, Value(""), Value("")});
  }
  const size_t end = at + separator.bytes.size();
  return Value::tuple(
      {interpreter.string(text.slice(0, at)),
       interpreter.string(text.slice(at, end)),
       interpreter.string(text.slice(end, text.bytes.size()))}
  );
}

Value partition(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  return partition_sides(interpreter, self_text(self), arguments, false);
}
Value rpartition(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  return partition_sides(interpreter, self_text(self), arguments, true);
}

Value upper(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "upper", {});
  return interpreter.string(upper_case(self_text(self)));
}
Value lower(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "lower", {});
  return interpreter.string(lower_case(self_text(self)));
}
Value capitalize(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "capitalize", {});
  return interpreter.string(capitalized(self_text(self)));
}

// Every character after one without case in upper case, the others in lower case.
Value title(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "title", {});
  const Text& text = self_text(self);
  std::string out;
  bool cased = false;
  for (size_t at = 0; at < text.bytes.size();) {
    const CodePoint c = utf8_decode(text.bytes, at);
    at += c.size;
    if (cased) {
      utf8_append_lower(out, c.value);
    } else {
      utf8_append_upper(out, c.value);
    }
    cased = is_upper(c.value) || is_lower(c.value);
  }
  return interpreter.string(recased(text, std::move(out)));
}

Value swapcase(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "swapcase", {});
  const Text& text = self_text(self);
  std::string out;
  for (size_t at = 0; at < text.bytes.size();) {
    const CodePoint c = utf8_decode(text.bytes, at);
    at += c.size;
    if (is_upper(c.value)) {
      utf8_append_lower(out, c.value);
    } else {
      utf8_append_upper(out, c.value);
    }
  }
  return interpreter.string(recased(text, std::move(out)));
}

Value replace(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "replace", {"old", "new", "count"}, 2);
  const Text& text = self_text(self);
  const Text& old = args.text(0);
  const Text& with = args.text(1);
  Int left = args.integer(2, -1);
  Text out;
  size_t done = 0;
  if (old.bytes.empty()) {  // between all characters
    for (size_t at = 0; left != 0; --left) {
      interpreter.charge(with.bytes.size());
      out.append_slice(text, done, at);
      out.append(with);
      done = at;
      if (at >= text.bytes.size()) break;
      at += utf8_size(text.bytes[at]);
    }
  } else {
    for (size_t at = 0; left != 0 && (at = text.bytes.find(old.bytes, done)) != std::string::npos;
         --left) {
      interpreter.charge(with.bytes.size());
      out.append_slice(text, done, at);
      out.append(with);
      done = at + old.bytes.size();
    }
  }
  out.append_slice(text, done, text.bytes.size());
  out.safe = text.safe;
  return interpreter.string(std::move(out));
}

Value remove_side(
    Interpreter& interpreter, const Text& text, const Arguments& arguments, bool prefix
) {
  const Bound args(arguments, prefix ? "removeprefix" : "removesuffix", {"affix"}, 1);
  const std::string& affix = args.text(0).bytes;
  const size_t size = text.bytes.size();
  if (prefix && text.bytes.starts_with(affix)) {
    return interpreter.string(text.slice(affix.size(), size));
  }
  if (!prefix && text.bytes.ends_with(affix)) {
    return interpreter.string(text.slice(0, size - affix.size()));
  }
  return interpreter.string(text);
}

Value removeprefix(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  return remove_side(interpreter, self_text(self), arguments, true);
}
Value removesuffix(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  return remove_side(interpreter, self_text(self), arguments, false);
}

Value join(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "join", {"iterable"}, 1);
  Text out;
  size_t index = 0;
  for (const Value& item : interpreter.iterate(args[0])) {
    if (item.text() == nullptr) {
      fail("sequence item {}: expected str instance, {} found", index, type_name(item));
    }
    if (index++ > 0) out.append(self_text(self));
    out.append(
        self_text(self).safe && !item.text()->safe ? html_escaped(*item.text()) : *item.text()
    );
    interpreter.charge(item.text()->bytes.size());
  }
  out.safe = self_text(self).safe;
  return interpreter.string(std::move(out));
}

Value format(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  return interpreter.string(brace_format(interpreter, self_text(self), arguments));
}

enum class Side : uint8_t { kLeft, kRight, kCenter };

Value pad(Interpreter& interpreter, const Text& text, const Arguments& arguments, Side side) {
  const Bound args(arguments, "justify", {"width", "fillchar"}, 1);
  const Int width = args.integer(0, 0);
  if (width > kMaxWidth) fail("width {} is too large", width);
  const std::string fill = args.string(1, " ");
  if (utf8_length(fill) != 1) fail("The fill character must be exactly one character long");
  const auto size = static_cast<Int>(utf8_length(text.bytes));
  const Int space = std::max<Int>(0, width - size);
  Int before = side == Side::kRight ? space : 0;
  // CPython's rule for the odd blank.
  if (side == Side::kCenter) before = space / 2 + (space & width & 1);
  Text out;
  for (Int i = 0; i < before; ++i) out.append(std::string_view(fill));
  out.append(text);
  for (Int i = before; i < space; ++i) out.append(std::string_view(fill));
  return interpreter.string(std::move(out));
}

Value ljust(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  return pad(interpreter, self_text(self), arguments, Side::kLeft);
}
Value rjust(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  return pad(interpreter, self_text(self), arguments, Side::kRight);
}
Value center(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  return pad(interpreter, self_text(self), arguments, Side::kCenter);
}

Value zfill(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "zfill", {"width"}, 1);
  const Text& text = self_text(self);
  const Int width = args.integer(0, 0);
  if (width > kMaxWidth) fail("width {} is too large", width);
  const auto size = static_cast<Int>(utf8_length(text.bytes));
  const size_t sign = text.bytes.starts_with('-') || text.bytes.starts_with('+') ? 1 : 0;
  Text out = text.slice(0, sign);
  for (Int i = size; i < width; ++i) out.append("0");
  out.append_slice(text, sign, text.bytes.size());
  return interpreter.string(std::move(out));
}

constexpr auto kMethods = std::to_array<MethodEntry>({
    {"capitalize", capitalize},
    {"casefold", lower},
    {"center", center},
    {"format", format},
    {"join", join},
    {"ljust", ljust},
    {"lower", lower},
    {"lstrip", lstrip},
    {"partition", partition},
    {"removeprefix", removeprefix},
    {"removesuffix", removesuffix},
    {"replace", replace},
    {"rjust", rjust},
    {"rpartition", rpartition},
    {"rsplit", rsplit},
    {"rstrip", rstrip},
    {"split", split},
    {"splitlines", splitlines},
    {"strip", strip},
    {"swapcase", swapcase},
    {"title", title},
    {"upper", upper},
    {"zfill", zfill},
});

}  // namespace

std::span<const MethodEntry> string_methods() {
  return kMethods;
}

}  // namespace hone::jinja
