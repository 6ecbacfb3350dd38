// How tensor parallelism cuts linear modules: one fact for planning and checking.
#pragma once

#include "runtime/model/schema.h"

namespace hone {

// Cut along out_features: q, k, v, gate and up (experts' too), and latent attention's q_b and kv_b.
// The small matrices of latent attention (q_a, kv_a) are copied to every device.
[[nodiscard]] bool is_column_parallel(Role role);
// Cut along in_features: o and down (experts' too); the partial sums are added over the devices.
[[nodiscard]] bool is_row_parallel(Role role);

}  // namespace hone
