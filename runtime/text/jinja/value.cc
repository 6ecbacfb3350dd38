#include "runtime/text/jinja/value.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace hone::jinja {
namespace {

constexpr int kMaxNesting = 200;  // of values that are compared

bool is_view(ListKind kind) {
  return kind == ListKind::kKeys || kind == ListKind::kValues || kind == ListKind::kItems;
}

bool holds_values(const Value& value) {
  return value.list() != nullptr || value.dict() != nullptr || value.space() != nullptr ||
         value.callable() != nullptr || value.loop() != nullptr;
}

Value make_list(std::vector<Value> items, ListKind kind) {
  auto list = std::make_shared<List>();
  list->items = std::move(items);
  list->kind = kind;
  return Value(std::move(list));
}

}  // namespace

Value Value::list(std::vector<Value> items) {
  return make_list(std::move(items), ListKind::kList);
}
Value Value::tuple(std::vector<Value> items) {
  return make_list(std::move(items), ListKind::kTuple);
}
Value Value::generator(std::vector<Value> items) {
  return make_list(std::move(items), ListKind::kGenerator);
}

Int Value::integer() const {
  if (const auto* value = get<bool>()) return *value ? 1 : 0;
  return std::get<Int>(data_);
}

double Value::number() const {
  if (const auto* value = get<double>()) return *value;
  return static_cast<double>(integer());
}

void dispose(std::vector<Value> values) {
  // Destroying a value may end here again for what it held; beyond a few levels the values wait for
  // the outermost call.
  constexpr int kLevels = 20;
  thread_local int level = 0;
  thread_local std::vector<std::vector<Value>> waiting;
  if (std::ranges::none_of(values, holds_values)) return;
  if (level >= kLevels) {
    waiting.push_back(std::move(values));
    return;
  }
  ++level;
  values.clear();
  while (level == 1 && !waiting.empty()) {
    std::vector<Value> next = std::move(waiting.back());
    waiting.pop_back();
    next.clear();
  }
  --level;
}

std::vector<Value> List::take() {
  if (kind != ListKind::kGenerator) return items;
  std::vector<Value> rest(items.begin() + static_cast<std::ptrdiff_t>(used), items.end());
  used = items.size();
  return rest;
}

size_t Dict::position(const Value& key) const {
  if (entries_.size() <= kIndexed) {
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (equal(entries_[i].first, key)) return i;
    }
    return kNowhere;
  }
  const auto [first, last] = index_.equal_range(hash_of(key));
  for (auto at = first; at != last; ++at) {
    if (equal(entries_[at->second].first, key)) return at->second;
  }
  return kNowhere;
}

const Value* Dict::find(const Value& key) const {
  hash_of(key);
  const size_t at = position(key);
  return at == kNowhere ? nullptr : &entries_[at].second;
}

const Value* Dict::find(std::string_view key) const {
  if (entries_.size() <= kIndexed) {
    for (const Entry& entry : entries_) {
      const Text* text = entry.first.text();
      if (text != nullptr && text->bytes == key) return &entry.second;
    }
    return nullptr;
  }
  const auto [first, last] = index_.equal_range(std::hash<std::string_view>()(key));
  for (auto at = first; at != last; ++at) {
    const Text* text = entries_[at->second].first.text();
    if (text != nullptr && text->bytes == key) return &entries_[at->second].second;
  }
  return nullptr;
}

void Dict::set(const Value& key, Value value) {
  const size_t hash = hash_of(key);
  const size_t at = position(key);
  if (at != kNowhere) {
    entries_[at].second = std::move(value);
    return;
  }
  entries_.emplace_back(key, std::move(value));
  if (entries_.size() == kIndexed + 1) {
    for (size_t i = 0; i < entries_.size(); ++i) index_.emplace(hash_of(entries_[i].first), i);
  } else if (entries_.size() > kIndexed + 1) {
    index_.emplace(hash, entries_.size() - 1);
  }
}

bool Dict::erase(const Value& key) {
  hash_of(key);
  const size_t at = position(key);
  if (at == kNowhere) return false;
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(at));
  index_.clear();
  if (entries_.size() > kIndexed) {
    for (size_t i = 0; i < entries_.size(); ++i) index_.emplace(hash_of(entries_[i].first), i);
  }
  return true;
}

void Dict::clear() {
  std::vector<Value> values;
  for (Entry& entry : entries_) {
    if (holds_values(entry.second)) values.push_back(std::move(entry.second));
    if (holds_values(entry.first)) values.push_back(entry.first);  // a tuple
  }
  entries_.clear();
  index_.clear();
  dispose(std::move(values));
}

bool truthy(const Value& value) {
  if (value.is_undefined() || value.is_none()) return false;
  if (const auto* flag = value.get<bool>()) return *flag;
  if (const auto* number = value.get<Int>()) return *number != 0;
  if (const auto* number = value.get<double>()) return *number != 0;
  if (const Text* text = value.text()) return !text->bytes.empty();
  if (const List* list = value.list()) {
    return list->kind == ListKind::kGenerator || !list->items.empty();
  }
  if (const Dict* dict = value.dict()) return !dict->entries().empty();
  return true;
}

bool equal(const Value& a, const Value& b, int depth) {
  if (depth > kMaxNesting) fail("comparison of values nested deeper than {}", kMaxNesting);
  if (a.is_integer() && b.is_integer()) return a.integer() == b.integer();
  if (a.is_number() && b.is_number()) return a.number() == b.number();
  if (a.storage().index() != b.storage().index()) return false;
  if (a.is_undefined() || a.is_none()) return true;
  if (const Text* text = a.text()) return text->bytes == b.text()->bytes;
  if (const List* left = a.list()) {
    const List* right = b.list();
    if (left == right) return true;
    if (left->kind != right->kind || left->kind == ListKind::kGenerator || is_view(left->kind)) {
      return false;
    }
    return std::ranges::equal(left->items, right->items, [depth](const Value& x, const Value& y) {
      return equal(x, y, depth + 1);
    });
  }
  if (const Dict* left = a.dict()) {
    const Dict* right = b.dict();
    if (left->entries().size() != right->entries().size()) return false;
    return std::ranges::all_of(left->entries(), [&](const Dict::Entry& entry) {
      const Value* other = right->find(entry.first);
      return other != nullptr && equal(entry.second, *other, depth + 1);
    });
  }
  if (a.space() != nullptr) return a.space() == b.space();
  if (a.callable() != nullptr) return a.callable() == b.callable();
  return a.loop() == b.loop();
}

bool less(const Value& a, const Value& b, int depth) {
  if (depth > kMaxNesting) fail("comparison of values nested deeper than {}", kMaxNesting);
  if (a.is_undefined() || b.is_undefined()) {
    const auto* undefined = a.is_undefined() ? a.get<Undefined>() : b.get<Undefined>();
    fail("{}", undefined->why == nullptr ? "value is undefined" : *undefined->why);
  }
  if (a.is_integer() && b.is_integer()) return a.integer() < b.integer();
  if (a.is_number() && b.is_number()) return a.number() < b.number();
  // Byte order of UTF-8 is the order of code points.
  if (a.text() != nullptr && b.text() != nullptr) return a.text()->bytes < b.text()->bytes;
  const List* left = a.list();
  const List* right = b.list();
  if (left != nullptr && right != nullptr && left->kind == right->kind &&
      (left->kind == ListKind::kList || left->kind == ListKind::kTuple)) {
    for (size_t i = 0; i < left->items.size() && i < right->items.size(); ++i) {
      if (equal(left->items[i], right->items[i], depth + 1)) continue;
      return less(left->items[i], right->items[i], depth + 1);
    }
    return left->items.size() < right->items.size();
  }
  fail("'<' not supported between instances of '{}' and '{}'", type_name(a), type_name(b));
}

size_t hash_of(const Value& value) {
  if (value.is_integer()) return std::hash<double>()(static_cast<double>(value.integer()));
  if (const auto* number = value.get<double>()) return std::hash<double>()(*number);
  if (const Text* text = value.text()) return std::hash<std::string_view>()(text->bytes);
  if (const List* list = value.list()) {
    if (list->kind == ListKind::kTuple) {
      size_t hash = 17;
      for (const Value& item : list->items) hash = hash * 31 + hash_of(item);
      return hash;
    }
    if (list->kind == ListKind::kList) fail("unhashable type: 'list'");
  }
  if (value.dict() != nullptr) fail("unhashable type: 'dict'");
  return value.storage().index();
}

std::string type_name(const Value& value) {
  if (value.is_undefined()) return "Undefined";
  if (value.is_none()) return "NoneType";
  if (value.get<bool>() != nullptr) return "bool";
  if (value.get<Int>() != nullptr) return "int";
  if (value.get<double>() != nullptr) return "float";
  if (value.text() != nullptr) return "str";
  if (value.dict() != nullptr) return "dict";
  if (value.space() != nullptr) return "Namespace";
  if (value.callable() != nullptr) return "function";
  if (value.loop() != nullptr) return "LoopContext";
  switch (value.list()->kind) {
    case ListKind::kList:
      return "list";
    case ListKind::kTuple:
      return "tuple";
    case ListKind::kRange:
      return "range";
    case ListKind::kKeys:
      return "dict_keys";
    case ListKind::kValues:
      return "dict_values";
    case ListKind::kItems:
      return "dict_items";
    case ListKind::kGenerator:
      return "generator";
  }
  return "object";
}

}  // namespace hone::jinja
