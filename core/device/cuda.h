// The CUDA runtime behind RAII types: devices, memory, streams, events.
//
// Needs no CUDA header, so every folder may include it. Without CUDA the build takes
// cuda_stub.cc: cuda_device_count() is 0 and everything else throws DeviceError. Every failed call
// throws DeviceError naming the call and what the runtime said. Objects belong to the device that
// was current when they were made; they are movable and not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

// The runtime's own types behind a stream and an event.
struct CUstream_st;
struct CUevent_st;

namespace hone {

using CudaStreamHandle = CUstream_st*;
using CudaEventHandle = CUevent_st*;

// Was the backend compiled in?
[[nodiscard]] bool built_with_cuda();
// Number of usable GPUs; 0 without a driver, a GPU, or the backend. Never throws.
[[nodiscard]] int cuda_device_count();

struct CudaDevice {
  int index = 0;
  std::string name;
  int compute_major = 0;  // 9.0: Hopper, 10.x: Blackwell
  int compute_minor = 0;
  int multiprocessors = 0;
  int64_t total_bytes = 0;
  int64_t free_bytes = 0;
};
CudaDevice cuda_device(int index);
// Makes a device current for the calling thread.
void cuda_set_device(int index);
// Throws DeviceError when a kernel launch before it failed; `what` names the kernel.
void cuda_check_launch(const char* what);

class CudaStream {
 public:
  CudaStream();
  CudaStream(CudaStream&& other) noexcept;
  CudaStream& operator=(CudaStream&& other) noexcept;
  ~CudaStream();

  [[nodiscard]] CudaStreamHandle handle() const { return handle_; }
  // Waits for all work given to the stream; reports its errors.
  void synchronize() const;

 private:
  CudaStreamHandle handle_ = nullptr;
};

class CudaEvent {
 public:
  CudaEvent();
  CudaEvent(CudaEvent&& other) noexcept;
  CudaEvent& operator=(CudaEvent&& other) noexcept;
  ~CudaEvent();

  void record(const CudaStream& stream) const;
  void synchronize() const;
  // Milliseconds from `start` to this event; both recorded and complete.
  [[nodiscard]] float milliseconds_since(const CudaEvent& start) const;

 private:
  CudaEventHandle handle_ = nullptr;
};

// Device memory; at least 256-byte aligned. 0 bytes is allowed and holds nullptr.
class CudaBuffer {
 public:
  CudaBuffer() = default;
  explicit CudaBuffer(int64_t bytes);
  CudaBuffer(CudaBuffer&& other) noexcept;
  CudaBuffer& operator=(CudaBuffer&& other) noexcept;
  ~CudaBuffer();

  [[nodiscard]] void* data() const { return data_; }
  template <typename T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data_);
  }
  [[nodiscard]] int64_t bytes() const { return bytes_; }

  // Copies `bytes` between host and the start of the buffer, asynchronously on the stream where the
  // host memory is pinned. UsageError beyond the buffer's end.
  void upload(const void* host, int64_t bytes, const CudaStream& stream);
  void download(void* host, int64_t bytes, const CudaStream& stream) const;

 private:
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace hone
