// Equality of JSON values as JSON means it: 1 equals 1.0, the order of keys does not matter.
#pragma once

#include "core/json/json.h"

namespace hone {

bool json_equal(const Json& a, const Json& b);

}  // namespace hone
