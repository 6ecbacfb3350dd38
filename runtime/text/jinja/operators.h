// Python's operators on template values.
#pragma once

#include <optional>

#include "runtime/text/jinja/ast.h"
#include "runtime/text/jinja/interpreter.h"
#include "runtime/text/jinja/value.h"

namespace hone::jinja {

// Throws Fault for an undefined value: "'x' is undefined".
void require_defined(const Value& value);

Value arithmetic(Interpreter& interpreter, Op op, const Value& a, const Value& b);
Value negate(const Value& value);
bool compare(Op op, const Value& a, const Value& b);
// a in b.
bool contains(const Value& container, const Value& value);
// len(value); nothing when it has none.
std::optional<size_t> length_of(const Value& value);

// The positions that [start:stop:step] takes from `size` items, in order.
std::vector<size_t> slice_positions(
    size_t size, const Value& start, const Value& stop, const Value& step
);
Value slice(
    Interpreter& interpreter,
    const Value& object,
    const Value& start,
    const Value& stop,
    const Value& step
);

}  // namespace hone::jinja
