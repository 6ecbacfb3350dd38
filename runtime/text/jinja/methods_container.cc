// Methods of list, tuple and dict, and the look-up of methods. Methods that change their object
// are allowed: the data is the rendering's own copy.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "runtime/text/jinja/arguments.h"
#include "runtime/text/jinja/builtins.h"
#include "runtime/text/jinja/operators.h"

namespace hone::jinja {
namespace {

// The list behind `self`, about to be changed.
List& changing_list(Interpreter& interpreter, const Value& self, size_t more) {
  const auto& list = std::get<std::shared_ptr<List>>(self.storage());
  interpreter.will_change(list);
  interpreter.charge(more * sizeof(Value) + 64);
  return *list;
}

Dict& changing_dict(Interpreter& interpreter, const Value& self, size_t more) {
  const auto& dict = std::get<std::shared_ptr<Dict>>(self.storage());
  interpreter.will_change(dict);
  interpreter.charge(more * 2 * sizeof(Value) + 64);
  return *dict;
}

Value append(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "append", {"object"}, 1);
  changing_list(interpreter, self, 1).items.push_back(args[0]);
  return Value(None{});
}

Value extend(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "extend", {"iterable"}, 1);
  const auto more = interpreter.iterate(args[0]);
  List& list = changing_list(interpreter, self, more.size());
  list.items.insert(list.items.end(), more.begin(), more.end());
  return Value(None{});
}

Value insert(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "insert", {"index", "object"}, 2);
  List& list = changing_list(interpreter, self, 1);
  const auto size = static_cast<Int>(list.items.size());
  const Int index = args.integer(0, 0);
  const Int at = std::clamp<Int>(index < 0 ? index + size : index, 0, size);
  list.items.insert(list.items.begin() + static_cast<std::ptrdiff_t>(at), args[1]);
  return Value(None{});
}

Value list_pop(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "pop", {"index"});
  List& list = changing_list(interpreter, self, 0);
  const auto size = static_cast<Int>(list.items.size());
  if (size == 0) fail("pop from empty list");
  const Int index = args.integer(0, -1);
  const Int at = index < 0 ? index + size : index;
  if (at < 0 || at >= size) fail("pop index out of range");
  Value value = list.items[static_cast<size_t>(at)];
  list.items.erase(list.items.begin() + static_cast<std::ptrdiff_t>(at));
  return value;
}

Value remove(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "remove", {"value"}, 1);
  List& list = changing_list(interpreter, self, 0);
  const auto at =
      std::ranges::find_if(list.items, [&](const Value& item) { return equal(item, args[0]); });
  if (at == list.items.end()) fail("list.remove(x): x not in list");
  list.items.erase(at);
  return Value(None{});
}

Value list_reverse(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "reverse", {});
  std::ranges::reverse(changing_list(interpreter, self, 0).items);
  return Value(None{});
}

Value list_sort(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "sort", {"reverse"});
  List& list = changing_list(interpreter, self, 0);
  const bool reversed = args.flag(0, false);
  std::ranges::stable_sort(list.items, [reversed](const Value& a, const Value& b) {
    return reversed ? less(b, a) : less(a, b);
  });
  return Value(None{});
}

Value list_clear(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "clear", {});
  changing_list(interpreter, self, 0).items.clear();
  return Value(None{});
}

Value list_copy(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "copy", {});
  return interpreter.list(self.list()->items);
}

Value index(Interpreter&, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "index", {"value"}, 1);
  const auto& items = self.list()->items;
  for (size_t i = 0; i < items.size(); ++i) {
    if (equal(items[i], args[0])) return Value(i);
  }
  fail("value is not in the list");
}

Value count(Interpreter&, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "count", {"value"}, 1);
  return Value(static_cast<size_t>(std::ranges::count_if(self.list()->items, [&](const Value& v) {
    return equal(v, args[0]);
  })));
}

Value get(Interpreter&, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "get", {"key", "default"}, 1);
  if (const Value* value = self.dict()->find(args[0])) return *value;
  return args.has(1) ? args[1] : Value(None{});
}

Value view(Interpreter& interpreter, const Value& self, const Arguments& arguments, ListKind kind) {
  const Bound args(arguments, "view", {});
  auto list = std::make_shared<List>();
  list->kind = kind;
  for (const auto& [key, value] : self.dict()->entries()) {
    list->items.push_back(
        kind == ListKind::kKeys     ? key
        : kind == ListKind::kValues ? value
                                    : Value::tuple({key, value})
    );
  }
  interpreter.charge(list->items.size() * 2 * sizeof(Value) + 64);
  return Value(std::move(list));
}

Value keys(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  return view(interpreter, self, arguments, ListKind::kKeys);
}
Value values(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  return view(interpreter, self, arguments, ListKind::kValues);
}
Value items(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  return view(interpreter, self, arguments, ListKind::kItems);
}

Value dict_pop(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "pop", {"key", "default"}, 1);
  Dict& dict = changing_dict(interpreter, self, 0);
  if (const Value* found = dict.find(args[0])) {
    Value value = *found;
    dict.erase(args[0]);
    return value;
  }
  if (!args.has(1)) fail("KeyError in pop()");
  return args[1];
}

Value update(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  Arguments positional{arguments.positional, {}};
  const Bound args(positional, "update", {"other"});
  std::vector<Dict::Entry> more;
  if (args.has(0)) {
    if (const Dict* other = args[0].dict()) {
      more = other->entries();
    } else {
      for (const Value& pair : interpreter.iterate(args[0])) {
        const auto parts = interpreter.iterate(pair);
        if (parts.size() != 2) fail("update(): every element must be a pair");
        more.emplace_back(parts[0], parts[1]);
      }
    }
  }
  for (const auto& [name, value] : arguments.named) more.emplace_back(Value(name), value);
  Dict& dict = changing_dict(interpreter, self, more.size());
  for (auto& [key, value] : more) dict.set(key, std::move(value));
  return Value(None{});
}

Value setdefault(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "setdefault", {"key", "default"}, 1);
  Dict& dict = changing_dict(interpreter, self, 1);
  if (const Value* value = dict.find(args[0])) return *value;
  const Value value = args.has(1) ? args[1] : Value(None{});
  dict.set(args[0], value);
  return value;
}

Value dict_clear(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "clear", {});
  changing_dict(interpreter, self, 0).clear();
  return Value(None{});
}

Value dict_copy(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  const Bound args(arguments, "copy", {});
  interpreter.charge(self.dict()->entries().size() * 2 * sizeof(Value));
  return Value(std::make_shared<Dict>(*self.dict()));
}

constexpr auto kListMethods = std::to_array<MethodEntry>({
    {"append", append},
    {"clear", list_clear},
    {"copy", list_copy},
    {"count", count},
    {"extend", extend},
    {"index", index},
    {"insert", insert},
    {"pop", list_pop},
    {"remove", remove},
    {"reverse", list_reverse},
    {"sort", list_sort},
});

constexpr auto kTupleMethods = std::to_array<MethodEntry>({{"count", count}, {"index", index}});

constexpr auto kDictMethods = std::to_array<MethodEntry>({
    {"clear", dict_clear},
    {"copy", dict_copy},
    {"get", get},
    {"items", items},
    {"keys", keys},
    {"pop", dict_pop},
    {"setdefault", setdefault},
    {"update", update},
    {"values", values},
});

using Table = std::unordered_map<std::string_view, MethodFunction>;

const Table* make_table(std::initializer_list<std::span<const MethodEntry>> groups) {
  auto* table = new Table();
  for (const auto group : groups) {
    for (const MethodEntry& entry : group) table->emplace(entry.name, entry.function);
  }
  return table;
}

const Table* methods_of(const Value& object) {
  static const Table* const strings = make_table({string_methods(), string_tests()});
  static const Table* const lists = make_table({list_methods()});
  static const Table* const tuples = make_table({tuple_methods()});
  static const Table* const dicts = make_table({dict_methods()});
  if (object.text() != nullptr) return strings;
  if (object.dict() != nullptr) return dicts;
  const List* list = object.list();
  if (list == nullptr) return nullptr;
  if (list->kind == ListKind::kList) return lists;
  return list->kind == ListKind::kTuple || list->kind == ListKind::kRange ? tuples : nullptr;
}

// A method and the object it belongs to.
class BoundMethod : public Callable {
 public:
  BoundMethod(Value self, MethodFunction function, std::string name)
      : function_(function), name_(std::move(name)) {
    self_.push_back(std::move(self));
  }
  BoundMethod(const BoundMethod&) = delete;
  BoundMethod& operator=(const BoundMethod&) = delete;
  ~BoundMethod() override { dispose(std::move(self_)); }
  Value call(Interpreter& interpreter, Arguments& arguments) override {
    const Value self = self_.front();
    return function_(interpreter, self, arguments);
  }
  std::string describe() const override { return "<built-in method " + name_ + ">"; }

 private:
  std::vector<Value> self_;
  MethodFunction function_;
  std::string name_;
};

}  // namespace

std::span<const MethodEntry> list_methods() {
  return kListMethods;
}
std::span<const MethodEntry> tuple_methods() {
  return kTupleMethods;
}
std::span<const MethodEntry> dict_methods() {
  return kDictMethods;
}

std::optional<Value> bound_method(const Value& object, std::string_view name) {
  const Table* table = methods_of(object);
  if (table == nullptr) return std::nullopt;
  const auto found = table->find(name);
  if (found == table->end()) return std::nullopt;
  return Value(std::static_pointer_cast<Callable>(
      std::make_shared<BoundMethod>(object, found->second, std::string(name))
  ));
}

}  // namespace hone::jinja
