// libFuzzer's entry; CMake names the target.
#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hone::HONE_FUZZ_TARGET(data, size);
  return 0;
}
