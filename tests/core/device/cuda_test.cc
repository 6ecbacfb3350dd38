#include "core/device/cuda.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

using testing::HasSubstr;

// What a call says on a machine where it cannot work.
template <typename Body>
std::string complaint(Body body) {
  try {
    body();
  } catch (const DeviceError& error) {
    return error.what();
  }
  return "";
}

TEST(CudaWithoutGpu, CallsFailByName) {
  if (cuda_device_count() > 0) GTEST_SKIP() << "this machine has a GPU";
  const char* expected = built_with_cuda() ? "failed" : "built without CUDA";
  EXPECT_THAT(complaint([] { (void)cuda_device(0); }), HasSubstr(expected));
  EXPECT_THAT(complaint([] { cuda_set_device(0); }), HasSubstr(expected));
  EXPECT_THAT(complaint([] { CudaStream stream; }), HasSubstr(expected));
  EXPECT_THAT(complaint([] { CudaEvent event; }), HasSubstr(expected));
  EXPECT_THAT(complaint([] { CudaBuffer buffer(1 << 20); }), HasSubstr(expected));
}

TEST(CudaGpu, DevicesAreDescribed) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no GPU: nothing was tested";
  const CudaDevice device = cuda_device(0);
  EXPECT_FALSE(device.name.empty());
  EXPECT_GE(device.compute_major, 7);
  EXPECT_GT(device.multiprocessors, 0);
  EXPECT_GT(device.total_bytes, 0);
  EXPECT_LE(device.free_bytes, device.total_bytes);
  EXPECT_THAT(complaint([] { (void)cuda_device(1000); }), HasSubstr("cudaGetDeviceProperties"));
}

TEST(CudaGpu, BuffersStreamsAndEvents) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no GPU: nothing was tested";
  const CudaStream stream;
  const CudaEvent start;
  const CudaEvent end;
  std::vector<int> sent(1000);
  for (int i = 0; i < 1000; ++i) sent[i] = i * i;
  std::vector<int> received(1000);
  CudaBuffer buffer(4000);
  start.record(stream);
  buffer.upload(sent.data(), 4000, stream);
  CudaBuffer moved = std::move(buffer);
  moved.download(received.data(), 4000, stream);
  end.record(stream);
  stream.synchronize();
  EXPECT_EQ(received, sent);
  EXPECT_GE(end.milliseconds_since(start), 0.0F);
  EXPECT_THROW(moved.upload(sent.data(), 4001, stream), UsageError);
  EXPECT_EQ(CudaBuffer(0).data(), nullptr);
  EXPECT_THAT(complaint([] { CudaBuffer huge(int64_t{1} << 50); }), HasSubstr("bytes are free"));
}

}  // namespace
}  // namespace hone
