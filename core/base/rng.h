// Counter-based random numbers: a draw depends only on its key, never on what was drawn before.
//
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
#pragma once

#include <array>
#include <cstdint>

namespace hone {

// One Philox4x32-10 block: 128 random bits for (key, counter).
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 2> key, std::array<uint32_t, 4> counter);

// Uniform in [0, 1) with 53 bits, keyed by (seed, stream, position). Sampling uses stream = choice
// index and position = token position, so a text does not depend on batching or speculation.
double uniform(uint64_t seed, uint32_t stream, uint64_t position);

// A sequence of draws for code that wants "the next number" (shuffles, initial weights, tests).
// Two objects with equal (seed, stream) give equal sequences on every machine.
class Rng {
 public:
  explicit Rng(uint64_t seed, uint32_t stream = 0) : seed_(seed), stream_(stream) {}
  uint32_t next_u32();
  uint64_t next_u64();
  // Uniform in [0, 1).
  double uniform();
  // Standard normal (Box-Muller in Marsaglia's polar form, with an own logarithm: no libm function
  // that may differ between machines).
  double normal();
  // Uniform in [0, n); unbiased. n > 0.
  uint64_t below(uint64_t n);

 private:
  uint64_t seed_;
  uint32_t stream_;
  uint64_t block_ = 0;
  std::array<uint32_t, 4> buffer_{};
  int used_ = 4;
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace hone
