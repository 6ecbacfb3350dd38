// The OpenAI-compatible service: routes, authentication, life cycle.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/engine/loaded_model.h"
#include "runtime/serve/generation_request.h"
#include "runtime/serve/http_server.h"

namespace hone {

struct ServiceOptions {
  HttpOptions http;
  EngineOptions engine;
  RequestLimits limits;
  std::string model_name;             // reported by /v1/models; default: the folder's name
  std::vector<std::string> api_keys;  // empty: no authentication
  int max_queue = 256;                // waiting requests; more are answered 503
};

// Serves one model until stop(). Endpoints: POST /v1/chat/completions, POST /v1/completions,
// GET /v1/models, GET /health, GET /metrics. Only the /v1 endpoints ask for an API key.
class Service {
 public:
  // `model` must outlive the service. Throws UsageError when the address cannot be taken.
  Service(LoadedModel& model, std::unique_ptr<Proposer> proposer, ServiceOptions options);
  ~Service();

  [[nodiscard]] uint16_t port() const;
  // Takes no new requests and waits up to `grace` for the open ones; the rest is cut off.
  void stop(std::chrono::seconds grace);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hone
