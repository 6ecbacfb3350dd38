// The build without CUDA; CMake chooses between this file and cuda.cc.
#include "core/base/error.h"
#include "core/device/cuda.h"

namespace hone {
namespace {

[[noreturn]] void absent(const char* what) {
  throw DeviceError(fmt::format(
      "{}: built without CUDA; configure with the preset `cuda` on a machine with the CUDA Toolkit",
      what
  ));
}

}  // namespace

bool built_with_cuda() {
  return false;
}
int cuda_device_count() {
  return 0;
}
CudaDevice cuda_device(int /*index*/) {
  absent("cuda_device");
}
void cuda_set_device(int /*index*/) {
  absent("cuda_set_device");
}
void cuda_check_launch(const char* what) {
  absent(what);
}

// Objects cannot come into being, so nothing else is ever reached.
CudaStream::CudaStream() {
  absent("CudaStream");
}
CudaStream::CudaStream(CudaStream&& other) noexcept : handle_(other.handle_) {}
CudaStream& CudaStream::operator=(CudaStream&& other) noexcept {
  handle_ = other.handle_;
  return *this;
}
CudaStream::~CudaStream() = default;
void CudaStream::synchronize() const {
  absent("CudaStream::synchronize");
}

CudaEvent::CudaEvent() {
  absent("CudaEvent");
}
CudaEvent::CudaEvent(CudaEvent&& other) noexcept : handle_(other.handle_) {}
CudaEvent& CudaEvent::operator=(CudaEvent&& other) noexcept {
  handle_ = other.handle_;
  return *this;
}
CudaEvent::~CudaEvent() = default;
void CudaEvent::record(const CudaStream& /*stream*/) const {
  absent("CudaEvent::record");
}
void CudaEvent::synchronize() const {
  absent("CudaEvent::synchronize");
}
float CudaEvent::milliseconds_since(const CudaEvent& /*start*/) const {
  absent("CudaEvent::milliseconds_since");
}

CudaBuffer::CudaBuffer(int64_t /*bytes*/) {
  absent("CudaBuffer");
}
CudaBuffer::CudaBuffer(CudaBuffer&& other) noexcept : data_(other.data_), bytes_(other.bytes_) {}
CudaBuffer& CudaBuffer::operator=(CudaBuffer&& other) noexcept {
  data_ = other.data_;
  bytes_ = other.bytes_;
  return *this;
}
CudaBuffer::~CudaBuffer() = default;
void CudaBuffer::upload(const void* /*host*/, int64_t /*bytes*/, const CudaStream& /*stream*/) {
  absent("CudaBuffer::upload");
}
void CudaBuffer::download(void* /*host*/, int64_t /*bytes*/, const CudaStream& /*stream*/) const {
  absent("CudaBuffer::download");
}

}  // namespace hone
