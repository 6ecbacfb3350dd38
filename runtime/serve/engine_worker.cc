#include "runtime/serve/engine_worker.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "core/base/error.h"
#include "core/base/log.h"

namespace hone {
namespace {

struct Job {
  JobId id = 0;
  Request request;
  JobListener listener;
};

}  // namespace

struct EngineWorker::State {
  std::unique_ptr<Engine> engine;
  int max_queue = 0;

  std::mutex mutex;
  std::condition_variable wake;
  std::vector<Job> incoming;
  std::vector<JobId> cancelled;
  bool stop = false;
  JobId next_id = 1;

  std::atomic<int> running = 0;
  std::atomic<int> waiting = 0;
  std::atomic<int64_t> free_pages = 0;
  std::atomic<bool> healthy = true;

  // Touched by the worker's thread only.
  std::map<JobId, RequestId> active;
  std::map<JobId, JobListener> listeners;
  std::thread thread;

  void admit(Job job) {
    const JobId id = job.id;
    listeners[id] = std::move(job.listener);
    try {
      active[id] = engine->submit(std::move(job.request), [this, id](const Engine::Update& update) {
        forward(id, update);
      });
    } catch (const Error& e) {
      const JobListener listener = std::move(listeners[id]);
      listeners.erase(id);
      JobEvent event;
      event.refused = e.what();
      listener(event);
    }
  }

  void forward(JobId id, const Engine::Update& update) {
    auto it = listeners.find(id);
    if (it == listeners.end()) return;
    JobEvent event;
    event.text = update.text;
    event.tokens.assign(update.tokens.begin(), update.tokens.end());
    if (update.done != nullptr) event.done = *update.done;
    it->second(event);
    if (update.done != nullptr) {
      listeners.erase(it);
      active.erase(id);
    }
  }

  void publish_load(size_t queued) {
    running = engine->running();
    waiting = engine->waiting() + static_cast<int>(queued);
    free_pages = engine->free_pages();
  }

  // False when it is time to end.
  bool take_commands(bool idle) {
    std::vector<Job> jobs;
    std::vector<JobId> ended;
    {
      std::unique_lock lock(mutex);
      if (idle) {
        wake.wait(lock, [&] { return stop || !incoming.empty() || !cancelled.empty(); });
      }
      if (stop) return false;
      jobs.swap(incoming);
      ended.swap(cancelled);
    }
    for (Job& job : jobs) admit(std::move(job));
    for (JobId id : ended) {
      if (auto it = active.find(id); it != active.end()) engine->cancel(it->second);
    }
    return true;
  }

  void loop() {
    try {
      bool idle = true;
      while (take_commands(idle)) {
        idle = !engine->step();
        publish_load(0);
      }
    } catch (const std::exception& e) {
      log_error("the engine stopped: {}", e.what());
      fail(e.what());
    }
  }

  // Every client gets an answer, even when the engine died.
  void fail(const std::string& why) {
    healthy = false;
    JobEvent event;
    event.done.emplace();
    event.done->finish = FinishReason::kError;
    event.done->error = "the engine stopped: " + why;
    for (auto& [id, listener] : listeners) listener(event);
    listeners.clear();
    std::vector<Job> unserved;
    {
      const std::lock_guard lock(mutex);
      unserved.swap(incoming);
    }
    for (Job& job : unserved) job.listener(event);
  }
};

EngineWorker::EngineWorker(std::unique_ptr<Engine> engine, int max_queue)
    : state_(std::make_unique<State>()) {
  state_->engine = std::move(engine);
  state_->max_queue = max_queue;
  state_->publish_load(0);
  state_->thread = std::thread([state = state_.get()] { state->loop(); });
}

EngineWorker::~EngineWorker() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->wake.notify_one();
  state_->thread.join();
}

std::optional<JobId> EngineWorker::submit(Request request, JobListener listener) {
  JobId id = 0;
  {
    const std::lock_guard lock(state_->mutex);
    const int queued = state_->waiting + static_cast<int>(state_->incoming.size());
    if (queued >= state_->max_queue || state_->stop || !state_->healthy) return std::nullopt;
    id = state_->next_id++;
    state_->incoming.push_back({id, std::move(request), std::move(listener)});
  }
  state_->wake.notify_one();
  return id;
}

void EngineWorker::cancel(JobId id) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->cancelled.push_back(id);
  }
  state_->wake.notify_one();
}

WorkerLoad EngineWorker::load() const {
  return {state_->running, state_->waiting, state_->free_pages};
}

bool EngineWorker::healthy() const {
  return state_->healthy;
}

}  // namespace hone
