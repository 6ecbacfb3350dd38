// What simd_codes_test.cc calls in the sources compiled for each ISA. Each returns how many results
// differ from the scalar codecs.
#pragma once

#include <cstdint>

namespace hone {

namespace avx2 {
// E4M3, E2M1 and BF16 of the float32 with bits begin, begin + step, ... below end.
int64_t encode_mismatches(uint64_t begin, uint64_t end, uint32_t step);
int64_t nibble_mismatches();
int64_t finite_decode_mismatches();
}  // namespace avx2
namespace avx512 {
int64_t encode_mismatches(uint64_t begin, uint64_t end, uint32_t step);
int64_t nibble_mismatches();
int64_t finite_decode_mismatches();
}  // namespace avx512

}  // namespace hone
