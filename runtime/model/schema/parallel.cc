#include "runtime/model/schema/parallel.h"

namespace hone {

bool is_column_parallel(Role role) {
  switch (role) {
    case Role::kAttnQ:
    case Role::kAttnK:
    case Role::kAttnV:
    case Role::kAttnQB:
    case Role::kAttnKvB:
    case Role::kMlpGate:
    case Role::kMlpUp:
    case Role::kMoeGate:
    case Role::kMoeUp:
      return true;
    default:
      return false;
  }
}

bool is_row_parallel(Role role) {
  return role == Role::kAttnO || role == Role::kMlpDown || role == Role::kMoeDown;
}

}  // namespace hone
