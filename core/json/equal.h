// Equality of JSON values as JSON means it: 1 equals 1.0, the order of keys does not matter.
#pragma once

#include <string>

#include "core/json/json.h"

namespace hone {

bool json_equal(const Json& a, const Json& b);

// Compact text that is the same exactly for equal values: keys sorted, numbers in one form.
std::string canonical_json(const Json& value);

}  // namespace hone
