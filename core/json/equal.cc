#include "core/json/equal.h"

#include <algorithm>
#include <compare>
#include <vector>

#include "core/json/number.h"

namespace hone {
namespace {

using Member = Json::object_t::value_type;

std::vector<const Member*> sorted_members(const Json& object) {
  std::vector<const Member*> members;
  members.reserve(object.size());
  for (const Member& member : *object.get_ptr<const Json::object_t*>()) members.push_back(&member);
  std::ranges::sort(members, {}, [](const Member* member) -> const std::string& {
    return member->first;
  });
  return members;
}

bool objects_equal(const Json& a, const Json& b) {
  if (a.size() != b.size()) return false;
  const auto left = sorted_members(a);
  const auto right = sorted_members(b);
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i]->first != right[i]->first) return false;
  }
  for (size_t i = 0; i < left.size(); ++i) {
    if (!json_equal(left[i]->second, right[i]->second)) return false;
  }
  return true;
}

void append_number(const Json& value, std::string& text) {
  // Integral doubles within 64 bits are written as integers.
  if (is_integral(value) && value.is_number_float()) {
    const auto number = value.get<double>();
    if (number >= -0x1p63 && number < 0x1p63) {
      text += std::to_string(static_cast<int64_t>(number));
      return;
    }
    if (number >= 0x1p63 && number < 0x1p64) {
      text += std::to_string(static_cast<uint64_t>(number));
      return;
    }
  }
  text += value.dump();
}

void append_canonical(const Json& value, std::string& text) {
  if (value.is_object()) {
    text += '{';
    bool first = true;
    for (const Member* member : sorted_members(value)) {
      if (!first) text += ',';
      first = false;
      text += dump_json(member->first);
      text += ':';
      append_canonical(member->second, text);
    }
    text += '}';
  } else if (value.is_array()) {
    text += '[';
    for (size_t i = 0; i < value.size(); ++i) {
      if (i > 0) text += ',';
      append_canonical(value[i], text);
    }
    text += ']';
  } else if (value.is_number()) {
    append_number(value, text);
  } else {
    text += dump_json(value);
  }
}

}  // namespace

bool json_equal(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return std::is_eq(compare_numbers(a, b));
  if (a.type() != b.type()) return false;
  if (a.is_object()) return objects_equal(a, b);
  if (a.is_array()) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), json_equal);
  }
  return a == b;
}

std::string canonical_json(const Json& value) {
  std::string text;
  append_canonical(value, text);
  return text;
}

}  // namespace hone
