#include "recipes/engine/step.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"

namespace hone {
namespace {

// Base of the visitors below: everything is ignored unless overridden.
class IgnoreAll : public FieldVisitor {
 public:
  void input(std::string_view, std::string&, std::string_view) override {}
  void output(std::string_view, std::string&, std::string_view) override {}
  void option(std::string_view, std::string&, std::string_view) override {}
  void option(std::string_view, int64_t&, std::string_view) override {}
  void option(std::string_view, double&, std::string_view) override {}
  void option(std::string_view, bool&, std::string_view) override {}
  void option(std::string_view, std::vector<std::string>&, std::string_view) override {}
};

// Assigns the fields that `values` names and remembers every field's name.
class Assign : public FieldVisitor {
 public:
  Assign(const Json& values, const std::string& source) : values_(values), source_(source) {}

  void input(std::string_view name, std::string& path, std::string_view) override {
    text(name, path);
  }
  void output(std::string_view name, std::string& path, std::string_view) override {
    text(name, path);
  }
  void option(std::string_view name, std::string& value, std::string_view) override {
    text(name, value);
  }
  void option(std::string_view name, int64_t& value, std::string_view) override {
    if (const Json* found = find(name)) {
      expect(found->is_number_integer(), name, "an integer", *found);
      value = found->get<int64_t>();
    }
  }
  void option(std::string_view name, double& value, std::string_view) override {
    if (const Json* found = find(name)) {
      expect(found->is_number(), name, "a number", *found);
      value = found->get<double>();
    }
  }
  void option(std::string_view name, bool& value, std::string_view) override {
    if (const Json* found = find(name)) {
      expect(found->is_boolean(), name, "true or false", *found);
      value = found->get<bool>();
    }
  }
  void option(std::string_view name, std::vector<std::string>& value, std::string_view) override {
    const Json* found = find(name);
    if (found == nullptr) return;
    value.clear();
    if (found->is_string()) {
      value.push_back(found->get<std::string>());
      return;
    }
    expect(found->is_array(), name, "a list of strings", *found);
    for (const Json& item : *found) {
      expect(item.is_string(), name, "a list of strings", item);
      value.push_back(item.get<std::string>());
    }
  }

  void refuse_unknown() const {
    for (const auto& [key, value] : values_.items()) {
      if (known_.contains(key)) continue;
      throw UsageError(fmt::format(
          "{}: unknown key \"{}\"; known keys: {}", source_, key, fmt::join(known_, ", ")
      ));
    }
  }

 private:
  const Json* find(std::string_view name) {
    known_.emplace(name);
    auto it = values_.find(std::string(name));
    return it == values_.end() || it->is_null() ? nullptr : &*it;
  }
  void text(std::string_view name, std::string& value) {
    if (const Json* found = find(name)) {
      expect(found->is_string(), name, "a string", *found);
      value = found->get<std::string>();
    }
  }
  void expect(bool ok, std::string_view name, std::string_view wanted, const Json& found) const {
    require(ok, "{}: key \"{}\" must be {}, found {}", source_, name, wanted, dump_json(found));
  }

  const Json& values_;
  const std::string& source_;
  std::set<std::string> known_;
};

class CollectOptions : public IgnoreAll {
 public:
  Json values = Json::object();

  void option(std::string_view name, std::string& value, std::string_view) override {
    values[std::string(name)] = value;
  }
  void option(std::string_view name, int64_t& value, std::string_view) override {
    values[std::string(name)] = value;
  }
  void option(std::string_view name, double& value, std::string_view) override {
    values[std::string(name)] = value;
  }
  void option(std::string_view name, bool& value, std::string_view) override {
    values[std::string(name)] = value;
  }
  void option(std::string_view name, std::vector<std::string>& value, std::string_view) override {
    values[std::string(name)] = value;
  }
};

class CollectPaths : public IgnoreAll {
 public:
  std::vector<NamedPath> inputs;
  std::string output_path;

  void input(std::string_view name, std::string& path, std::string_view) override {
    if (!path.empty()) inputs.push_back({std::string(name), path});
  }
  void output(std::string_view, std::string& path, std::string_view) override {
    output_path = path;
  }
};

class MapInputs : public IgnoreAll {
 public:
  using Map = std::function<std::string(std::string_view, const std::string&)>;
  explicit MapInputs(const Map& map) : map_(map) {}
  void input(std::string_view name, std::string& path, std::string_view) override {
    if (!path.empty()) path = map_(name, path);
  }

 private:
  const Map& map_;
};

}  // namespace

void set_fields(Step& step, const Json& values, const std::string& source) {
  require(values.is_object(), "{}: expected a mapping of options", source);
  Assign assign(values, source);
  step.visit(assign);
  assign.refuse_unknown();
}

Json option_values(Step& step) {
  CollectOptions collect;
  step.visit(collect);
  return collect.values;
}

std::vector<NamedPath> input_paths(Step& step) {
  CollectPaths collect;
  step.visit(collect);
  return collect.inputs;
}

void map_inputs(
    Step& step, const std::function<std::string(std::string_view, const std::string&)>& map
) {
  MapInputs visitor(map);
  step.visit(visitor);
}

std::string output_path(Step& step) {
  CollectPaths collect;
  step.visit(collect);
  return collect.output_path;
}

}  // namespace hone
