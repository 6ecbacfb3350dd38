// The engine's thread: takes jobs from any thread, gives them to the engine, reports their events.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/engine/engine.h"

namespace hone {

// Something that happened to a job. Called on the engine's thread; must not block.
struct JobEvent {
  std::string text;                // new text
  std::vector<int32_t> tokens;     // new tokens
  std::optional<Completion> done;  // last event
  std::string refused;             // last event: the engine did not take it, and why
};
using JobListener = std::function<void(const JobEvent&)>;
using JobId = uint64_t;

// A moment's load, for /metrics and admission.
struct WorkerLoad {
  int running = 0;
  int waiting = 0;
  int64_t free_pages = 0;
};

// Owns the engine and a thread that steps it while there is work. All members are thread-safe.
class EngineWorker {
 public:
  // At most `max_queue` jobs may wait; submit() returns nullopt beyond that.
  EngineWorker(std::unique_ptr<Engine> engine, int max_queue);
  // Cancels what still runs.
  ~EngineWorker();

  std::optional<JobId> submit(Request request, JobListener listener);
  void cancel(JobId id);
  [[nodiscard]] WorkerLoad load() const;
  // False once the engine's thread has died of an exception (the message is logged): unhealthy.
  [[nodiscard]] bool healthy() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hone
