#include "quant/ordered_output.h"

#include <utility>

namespace hone {

OrderedOutput::OrderedOutput(CheckpointWriter& writer, size_t most_pieces)
    : writer_(writer), most_pieces_(most_pieces), thread_([this] { run(); }) {}

OrderedOutput::~OrderedOutput() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::vector<std::byte> OrderedOutput::buffer(size_t size) {
  std::vector<std::byte> bytes;
  {
    const std::lock_guard lock(mutex_);
    if (!spare_.empty()) {
      bytes = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  bytes.resize(size);
  return bytes;
}

void OrderedOutput::append(const std::string& tensor, std::vector<std::byte> bytes) {
  Piece piece;
  piece.tensor = tensor;
  piece.owned = std::move(bytes);
  piece.bytes = piece.owned;
  push(std::move(piece));
}

void OrderedOutput::append(
    const std::string& tensor, std::span<const std::byte> bytes, std::function<void()> done
) {
  Piece piece;
  piece.tensor = tensor;
  piece.bytes = bytes;
  piece.done = std::move(done);
  push(std::move(piece));
}

void OrderedOutput::push(Piece piece) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return pieces_.size() < most_pieces_ || error_ != nullptr; });
  rethrow_locked();
  pieces_.push_back(std::move(piece));
  lock.unlock();
  changed_.notify_all();
}

void OrderedOutput::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return (pieces_.empty() && !writing_) || error_ != nullptr; });
  rethrow_locked();
}

void OrderedOutput::rethrow_locked() {
  if (error_ != nullptr) std::rethrow_exception(error_);
}

void OrderedOutput::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || !pieces_.empty(); });
    if (stop_ || error_ != nullptr) return;
    // Moving keeps the heap block of `owned`, so `bytes` stays valid.
    Piece piece = std::move(pieces_.front());
    pieces_.pop_front();
    writing_ = true;
    lock.unlock();
    std::exception_ptr error;
    try {
      writer_.append(piece.tensor, piece.bytes);
      if (piece.done) piece.done();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    writing_ = false;
    error_ = error;
    if (!piece.owned.empty() && spare_.size() < most_pieces_)
      spare_.push_back(std::move(piece.owned));
    changed_.notify_all();
    if (error_ != nullptr) return;
  }
}

}  // namespace hone
