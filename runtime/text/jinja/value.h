// Values of the template language, with Python's semantics.
//
// Copies share lists, dicts and namespaces, as Python names do. Not for several threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "runtime/text/jinja/text.h"

namespace hone::jinja {

// An error of the template or its data; the interpreter adds source and line.
class Fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Fault(fmt::format(format, std::forward<Args>(args)...));
}

using Int = __int128;  // Python's integers, as far as JSON and templates go

struct Undefined {
  std::shared_ptr<const std::string> why;  // "'x' is undefined"
};
struct None {};
class Value;
struct List;
struct Dict;
struct Namespace;
struct Callable;
struct Loop;

class Value {
 public:
  using Storage = std::variant<
      Undefined,
      None,
      bool,
      Int,
      double,
      std::shared_ptr<const Text>,
      std::shared_ptr<List>,
      std::shared_ptr<Dict>,
      std::shared_ptr<Namespace>,
      std::shared_ptr<Callable>,
      std::shared_ptr<Loop>>;

  Value() = default;  // undefined
  Value(None) : data_(None{}) {}
  explicit Value(bool value) : data_(value) {}
  explicit Value(Int value) : data_(value) {}
  explicit Value(int64_t value) : data_(static_cast<Int>(value)) {}
  explicit Value(size_t value) : data_(static_cast<Int>(value)) {}
  explicit Value(int value) : data_(static_cast<Int>(value)) {}
  explicit Value(double value) : data_(value) {}
  explicit Value(Text text) : data_(std::make_shared<const Text>(std::move(text))) {}
  explicit Value(std::string text) : Value(Text(std::move(text))) {}
  explicit Value(std::string_view text) : Value(Text(std::string(text))) {}
  explicit Value(const char* text) : Value(Text(std::string(text))) {}
  explicit Value(std::shared_ptr<const Text> text) : data_(std::move(text)) {}
  explicit Value(std::shared_ptr<List> list) : data_(std::move(list)) {}
  explicit Value(std::shared_ptr<Dict> dict) : data_(std::move(dict)) {}
  explicit Value(std::shared_ptr<Namespace> space) : data_(std::move(space)) {}
  explicit Value(std::shared_ptr<Callable> callable) : data_(std::move(callable)) {}
  explicit Value(std::shared_ptr<Loop> loop) : data_(std::move(loop)) {}

  static Value undefined(std::string why) {
    Value value;
    value.data_ = Undefined{std::make_shared<const std::string>(std::move(why))};
    return value;
  }
  static Value list(std::vector<Value> items);
  static Value tuple(std::vector<Value> items);
  static Value generator(std::vector<Value> items);

  template <typename T>
  [[nodiscard]] const T* get() const {
    return std::get_if<T>(&data_);
  }
  // Null unless the value is one.
  [[nodiscard]] const Text* text() const { return pointee<const Text>(); }
  [[nodiscard]] List* list() const { return pointee<List>(); }
  [[nodiscard]] Dict* dict() const { return pointee<Dict>(); }
  [[nodiscard]] Namespace* space() const { return pointee<Namespace>(); }
  [[nodiscard]] Callable* callable() const { return pointee<Callable>(); }
  [[nodiscard]] Loop* loop() const { return pointee<Loop>(); }
  [[nodiscard]] bool is_undefined() const { return get<Undefined>() != nullptr; }
  [[nodiscard]] bool is_none() const { return get<None>() != nullptr; }
  // Of int or bool.
  [[nodiscard]] bool is_integer() const { return get<Int>() != nullptr || get<bool>() != nullptr; }
  [[nodiscard]] bool is_number() const { return is_integer() || get<double>() != nullptr; }
  // REQUIRES is_integer() / is_number().
  [[nodiscard]] Int integer() const;
  [[nodiscard]] double number() const;

  [[nodiscard]] const Storage& storage() const { return data_; }

 private:
  template <typename T>
  [[nodiscard]] T* pointee() const {
    const auto* pointer = std::get_if<std::shared_ptr<T>>(&data_);
    return pointer == nullptr ? nullptr : pointer->get();
  }
  Storage data_;
};

enum class ListKind : uint8_t { kList, kTuple, kRange, kKeys, kValues, kItems, kGenerator };

// Destroys values without recursing through what they hold, however deep that is.
void dispose(std::vector<Value> values);

struct List {
  std::vector<Value> items;
  ListKind kind = ListKind::kList;
  size_t used = 0;  // of a generator: items that were taken already

  List() = default;
  List(const List&) = delete;
  List& operator=(const List&) = delete;
  ~List() { dispose(std::move(items)); }

  // What iteration gives; a generator is used up by it.
  std::vector<Value> take();
};

// Keeps the order of insertion.
struct Dict {
  using Entry = std::pair<Value, Value>;

  Dict() = default;
  Dict(const Dict&) = default;
  Dict& operator=(const Dict&) = default;
  ~Dict() { clear(); }

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] const Value* find(const Value& key) const;
  [[nodiscard]] const Value* find(std::string_view key) const;
  // Throws Fault for a key that Python could not hash.
  void set(const Value& key, Value value);
  void set(std::string_view key, Value value) { set(Value(key), std::move(value)); }
  bool erase(const Value& key);
  void clear();

 private:
  [[nodiscard]] size_t position(const Value& key) const;
  static constexpr size_t kNowhere = SIZE_MAX;
  static constexpr size_t kIndexed = 8;  // smaller dicts are searched from the front
  std::vector<Entry> entries_;
  std::unordered_multimap<size_t, size_t> index_;  // hash -> position
};

struct Namespace {
  Dict attributes;
};

// State of a for loop, as `loop` shows it.
struct Loop {
  std::vector<Value> items;
  size_t index = 0;
  size_t depth = 0;
  Value changed;                   // arguments of the last loop.changed()
  std::shared_ptr<Callable> call;  // loop(..) of a recursive loop

  Loop() = default;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() { dispose(std::move(items)); }
};

class Interpreter;

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

struct Callable {
  virtual ~Callable() = default;
  virtual Value call(Interpreter& interpreter, Arguments& arguments) = 0;
  [[nodiscard]] virtual std::string describe() const = 0;  // its str()
};

// bool(value).
bool truthy(const Value& value);
// ==. Undefined equals undefined.
bool equal(const Value& a, const Value& b, int depth = 0);
// a < b. Throws Fault for types that have no order.
bool less(const Value& a, const Value& b, int depth = 0);
// hash(value); throws Fault for lists and dicts.
size_t hash_of(const Value& value);
// type(value).__name__
std::string type_name(const Value& value);

}  // namespace hone::jinja
