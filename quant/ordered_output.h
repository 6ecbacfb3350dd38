// Writes pieces of tensors in order from a thread of its own, so that encoding the next slab and
// writing the last one overlap. Holds at most a few pieces: a slow disk slows the producer.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/io/checkpoint.h"

namespace hone {

// One producer thread. An error of the writer is rethrown by the next call.
class OrderedOutput {
 public:
  explicit OrderedOutput(CheckpointWriter& writer, size_t most_pieces = 3);
  // Drops what is not written yet (an exception is on its way, or finish() was called).
  ~OrderedOutput();
  OrderedOutput(const OrderedOutput&) = delete;
  OrderedOutput& operator=(const OrderedOutput&) = delete;

  // A buffer of `size` bytes with unspecified contents, reused from an earlier piece if possible.
  std::vector<std::byte> buffer(size_t size);
  void append(const std::string& tensor, std::vector<std::byte> bytes);
  // `bytes` must live until `done` is called (from the writing thread).
  void append(
      const std::string& tensor, std::span<const std::byte> bytes, std::function<void()> done
  );
  // Waits until everything is written.
  void finish();

 private:
  struct Piece {
    std::string tensor;
    std::vector<std::byte> owned;
    std::span<const std::byte> bytes;
    std::function<void()> done;
  };
  void push(Piece piece);
  void run();
  void rethrow_locked();

  CheckpointWriter& writer_;
  const size_t most_pieces_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> pieces_;
  std::vector<std::vector<std::byte>> spare_;
  bool writing_ = false;
  bool stop_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace hone
