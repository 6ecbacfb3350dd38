#include "core/device/cuda.h"

#include <utility>

#include <cuda_runtime_api.h>

#include "core/base/error.h"

namespace hone {
namespace {

void check_cuda(cudaError_t status, const char* call) {
  if (status == cudaSuccess) [[likely]]
    return;
  throw DeviceError(
      fmt::format("{} failed: {} ({})", call, cudaGetErrorString(status), cudaGetErrorName(status))
  );
}

}  // namespace

bool built_with_cuda() {
  return true;
}

int cuda_device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();  // the failure is the answer, and must not be found by a later check
    return 0;
  }
  return count;
}

CudaDevice cuda_device(int index) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  CudaDevice device;
  device.index = index;
  device.name = properties.name;
  device.compute_major = properties.major;
  device.compute_minor = properties.minor;
  device.multiprocessors = properties.multiProcessorCount;
  int current = 0;
  check_cuda(cudaGetDevice(&current), "cudaGetDevice");
  check_cuda(cudaSetDevice(index), "cudaSetDevice");
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  const cudaError_t status = cudaMemGetInfo(&free_bytes, &total_bytes);
  check_cuda(cudaSetDevice(current), "cudaSetDevice");
  check_cuda(status, "cudaMemGetInfo");
  device.free_bytes = static_cast<int64_t>(free_bytes);
  device.total_bytes = static_cast<int64_t>(total_bytes);
  return device;
}

void cuda_set_device(int index) {
  check_cuda(cudaSetDevice(index), "cudaSetDevice");
}

void cuda_check_launch(const char* what) {
  check_cuda(cudaGetLastError(), what);
}

CudaStream::CudaStream() {
  check_cuda(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking), "cudaStreamCreate");
}
CudaStream::CudaStream(CudaStream&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)) {}
CudaStream& CudaStream::operator=(CudaStream&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}
CudaStream::~CudaStream() {
  if (handle_ != nullptr) cudaStreamDestroy(handle_);
}
void CudaStream::synchronize() const {
  check_cuda(cudaStreamSynchronize(handle_), "cudaStreamSynchronize");
}

CudaEvent::CudaEvent() {
  check_cuda(cudaEventCreate(&handle_), "cudaEventCreate");
}
CudaEvent::CudaEvent(CudaEvent&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
CudaEvent& CudaEvent::operator=(CudaEvent&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}
CudaEvent::~CudaEvent() {
  if (handle_ != nullptr) cudaEventDestroy(handle_);
}
void CudaEvent::record(const CudaStream& stream) const {
  check_cuda(cudaEventRecord(handle_, stream.handle()), "cudaEventRecord");
}
void CudaEvent::synchronize() const {
  check_cuda(cudaEventSynchronize(handle_), "cudaEventSynchronize");
}
float CudaEvent::milliseconds_since(const CudaEvent& start) const {
  float milliseconds = 0.0F;
  check_cuda(cudaEventElapsedTime(&milliseconds, start.handle_, handle_), "cudaEventElapsedTime");
  return milliseconds;
}

CudaBuffer::CudaBuffer(int64_t bytes) : bytes_(bytes) {
  require(bytes >= 0, "device buffer of {} bytes", bytes);
  if (bytes == 0) return;
  const cudaError_t status = cudaMalloc(&data_, static_cast<size_t>(bytes));
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    check_cuda(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
    throw DeviceError(fmt::format(
        "cudaMalloc of {} bytes failed: {} of {} bytes are free on the GPU; use a smaller batch or "
        "context",
        bytes,
        free_bytes,
        total_bytes
    ));
  }
  check_cuda(status, "cudaMalloc");
}
CudaBuffer::CudaBuffer(CudaBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
CudaBuffer& CudaBuffer::operator=(CudaBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}
CudaBuffer::~CudaBuffer() {
  if (data_ != nullptr) cudaFree(data_);
}
void CudaBuffer::upload(const void* host, int64_t bytes, const CudaStream& stream) {
  require(bytes >= 0 && bytes <= bytes_, "upload of {} bytes into a buffer of {}", bytes, bytes_);
  if (bytes == 0) return;
  const cudaError_t status = cudaMemcpyAsync(
      data_, host, static_cast<size_t>(bytes), cudaMemcpyHostToDevice, stream.handle()
  );
  check_cuda(status, "cudaMemcpyAsync to the device");
}
void CudaBuffer::download(void* host, int64_t bytes, const CudaStream& stream) const {
  require(bytes >= 0 && bytes <= bytes_, "download of {} bytes from a buffer of {}", bytes, bytes_);
  if (bytes == 0) return;
  const cudaError_t status = cudaMemcpyAsync(
      host, data_, static_cast<size_t>(bytes), cudaMemcpyDeviceToHost, stream.handle()
  );
  check_cuda(status, "cudaMemcpyAsync to the host");
}

}  // namespace hone
