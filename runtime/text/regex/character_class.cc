#include "runtime/text/regex/character_class.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "runtime/text/regex/newer_unicode.h"

namespace hone {
namespace {

constexpr std::string_view kSpace =
    "\\x{09}-\\x{0d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}"
    "\\x{205f}\\x{3000}";
constexpr std::string_view kNotSpace =
    "\\x{00}-\\x{08}\\x{0e}-\\x{1f}\\x{21}-\\x{84}\\x{86}-\\x{9f}\\x{a1}-\\x{167f}"
    "\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}"
    "\\x{2060}-\\x{2fff}\\x{3001}-\\x{10ffff}";
constexpr std::string_view kHex = "0-9A-Fa-f";
constexpr std::string_view kNotHex =
    "\\x{00}-\\x{2f}\\x{3a}-\\x{40}\\x{47}-\\x{60}\\x{67}-\\x{10ffff}";
// Alphabetic characters outside the letters, marks and letter numbers, and what Oniguruma counts as
// word characters besides.
constexpr std::string_view kOtherAlphabetic =
    "\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}\\x{1f150}-\\x{1f169}\\x{1f170}-\\x{1f189}";
constexpr std::string_view kOtherWord = "\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}";

// Characters newer than PCRE2's tables whose category starts with `category`.
std::string newer(std::string_view category) {
  std::string out;
  for (const NewerRange& range : kNewerCharacters) {
    if (!std::string_view(range.category).starts_with(category)) continue;
    out += fmt::format("\\x{{{:x}}}", static_cast<uint32_t>(range.first));
    if (range.last != range.first) {
      out += fmt::format("-\\x{{{:x}}}", static_cast<uint32_t>(range.last));
    }
  }
  return out;
}

std::string category_body(std::string_view category) {
  return fmt::format("\\p{{{}}}{}", category, newer(category));
}

std::string word_body() {
  return category_body("L") + category_body("M") + category_body("Nd") + category_body("Nl") +
         category_body("Pc") + std::string(kOtherAlphabetic) + std::string(kOtherWord);
}

CharacterSet plain(std::string body) {
  CharacterSet set;
  set.body = std::move(body);
  return set;
}

// Names compare without case, blanks, '_' and '-'.
std::string loose(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == ' ' || c == '_' || c == '-') continue;
    out += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  }
  return out;
}

constexpr auto kLongNames = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"letter", "L"},
    {"uppercaseletter", "Lu"},
    {"lowercaseletter", "Ll"},
    {"titlecaseletter", "Lt"},
    {"modifierletter", "Lm"},
    {"otherletter", "Lo"},
    {"mark", "M"},
    {"combiningmark", "M"},
    {"nonspacingmark", "Mn"},
    {"spacingmark", "Mc"},
    {"enclosingmark", "Me"},
    {"number", "N"},
    {"decimalnumber", "Nd"},
    {"letternumber", "Nl"},
    {"othernumber", "No"},
    {"punctuation", "P"},
    {"punct", "P"},
    {"connectorpunctuation", "Pc"},
    {"dashpunctuation", "Pd"},
    {"openpunctuation", "Ps"},
    {"closepunctuation", "Pe"},
    {"initialpunctuation", "Pi"},
    {"finalpunctuation", "Pf"},
    {"otherpunctuation", "Po"},
    {"symbol", "S"},
    {"mathsymbol", "Sm"},
    {"currencysymbol", "Sc"},
    {"modifiersymbol", "Sk"},
    {"othersymbol", "So"},
    {"separator", "Z"},
    {"spaceseparator", "Zs"},
    {"lineseparator", "Zl"},
    {"paragraphseparator", "Zp"},
    {"control", "Cc"},
    {"cntrl", "Cc"},
    {"format", "Cf"},
    {"privateuse", "Co"},
    {"digit", "Nd"},
});

constexpr auto kCategories = std::to_array<std::string_view>({
    "l",  "lu", "ll", "lt", "lm", "lo", "m",  "mn", "mc", "me", "n",  "nd",
    "nl", "no", "p",  "pc", "pd", "ps", "pe", "pi", "pf", "po", "s",  "sm",
    "sc", "sk", "so", "z",  "zs", "zl", "zp", "cc", "cf", "co", "cs",
});

std::string bracket(std::string_view body, bool negated) {
  return fmt::format("[{}{}]", negated ? "^" : "", body);
}

}  // namespace

std::string CharacterSet::pcre() const {
  if (also.empty()) {
    std::string merged = body;
    std::vector<const CharacterSet*> rest;
    for (const CharacterSet& set : nested) {
      if (!set.negated && set.also.empty() && set.nested.empty()) {
        merged += set.body;
      } else {
        rest.push_back(&set);
      }
    }
    if (rest.empty()) return merged.empty() ? "(?!)" : bracket(merged, negated);
    if (merged.empty() && rest.size() == 1 && !negated) return rest[0]->pcre();
    std::string any = merged.empty() ? "" : bracket(merged, false);
    for (const CharacterSet* set : rest) any += (any.empty() ? "" : "|") + set->pcre();
    return negated ? fmt::format("(?:(?!(?:{}))(?s:.))", any) : fmt::format("(?:{})", any);
  }
  CharacterSet first;
  first.body = body;
  first.nested = nested;
  std::string all;
  for (const CharacterSet& set : also) all += fmt::format("(?={})", set.pcre());
  all += first.pcre();
  return negated ? fmt::format("(?:(?!{})(?s:.))", all) : fmt::format("(?:{})", all);
}

CharacterSet shorthand_set(char letter) {
  switch (letter) {
    case 's':
      return plain(std::string(kSpace));
    case 'S':
      return plain(std::string(kNotSpace));
    case 'h':
      return plain(std::string(kHex));
    case 'H':
      return plain(std::string(kNotHex));
    case 'd':
    case 'D': {
      CharacterSet set = plain(category_body("Nd"));
      set.negated = letter == 'D';
      return set;
    }
    default: {
      CharacterSet set = plain(word_body());
      set.negated = letter == 'W';
      return set;
    }
  }
}

CharacterSet property_set(std::string_view name) {
  const std::string key = loose(name);
  for (const auto& [long_name, category] : kLongNames) {
    if (key == long_name) return plain(category_body(category));
  }
  if (std::ranges::find(kCategories, key) != kCategories.end()) {
    std::string category = key;
    category[0] = static_cast<char>(category[0] - 32);
    return plain(category_body(category));
  }
  if (key == "space" || key == "whitespace") return plain(std::string(kSpace));
  if (key == "word") return plain(word_body());
  if (key == "xdigit" || key == "asciihexdigit") return plain(std::string(kHex));
  if (key == "ascii") return plain("\\x{00}-\\x{7f}");
  if (key == "any") return plain("\\x{00}-\\x{10ffff}");
  if (key == "alnum") return plain(posix_set("alnum").body);
  if (key == "alpha" || key == "alphabetic") return plain(posix_set("alpha").body);
  if (key == "han") {
    std::string body = "\\p{sc:Han}";
    for (const NewerRange& range : kNewerHan) {
      body += fmt::format(
          "\\x{{{:x}}}-\\x{{{:x}}}",
          static_cast<uint32_t>(range.first),
          static_cast<uint32_t>(range.last)
      );
    }
    return plain(body);
  }
  constexpr auto kBinary =
      std::to_array<std::string_view>({"lower", "lowercase", "upper", "uppercase", "emoji"});
  if (std::ranges::find(kBinary, key) != kBinary.end()) {
    if (key == "lower") return plain("\\p{Lowercase}");
    if (key == "upper") return plain("\\p{Uppercase}");
    return plain(fmt::format("\\p{{{}}}", name));
  }
  // A category of unassigned or grouped characters, or a script: PCRE2's bare script names mean
  // script extensions, Oniguruma's mean the script.
  if (key == "c" || key == "cn") return plain(fmt::format("\\p{{{}}}", key == "c" ? "C" : "Cn"));
  return plain(fmt::format("\\p{{sc:{}}}", name));
}

CharacterSet posix_set(std::string_view name) {
  const std::string alpha =
      category_body("L") + category_body("Nl") + "\\p{Alphabetic}" + std::string(kOtherAlphabetic);
  if (name == "alpha") return plain(alpha);
  if (name == "alnum") return plain(alpha + category_body("Nd"));
  if (name == "digit") return plain(category_body("Nd"));
  if (name == "lower") return plain("\\p{Lowercase}");
  if (name == "upper") return plain("\\p{Uppercase}");
  if (name == "punct") return plain(category_body("P") + category_body("S"));
  if (name == "space") return plain(std::string(kSpace));
  if (name == "xdigit") return plain(std::string(kHex));
  if (name == "word") {
    return plain(alpha + category_body("M") + category_body("Nd") + category_body("Pc"));
  }
  if (name == "cntrl") return plain("\\p{Cc}");
  if (name == "blank") return plain("\\p{Zs}\\x{09}");
  if (name == "ascii") return plain("\\x{00}-\\x{7f}");
  return {};
}

std::string class_literal(char32_t c) {
  if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')) {
    return std::string(1, static_cast<char>(c));
  }
  return fmt::format("\\x{{{:x}}}", static_cast<uint32_t>(c));
}

}  // namespace hone
