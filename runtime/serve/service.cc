#include "runtime/serve/service.h"

#include <atomic>
#include <ctime>

#include <openssl/crypto.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "runtime/serve/answer.h"
#include "runtime/serve/api_error.h"
#include "runtime/serve/engine_worker.h"
#include "runtime/serve/metrics.h"

namespace hone {
namespace {

// Counts the status of an answer that is given at once.
class CountingResponder : public Responder {
 public:
  CountingResponder(std::shared_ptr<Responder> inner, Metrics& metrics, std::string endpoint)
      : inner_(std::move(inner)), metrics_(metrics), endpoint_(std::move(endpoint)) {}
  void respond(HttpResponse response) override {
    metrics_.count_request(endpoint_, response.status);
    inner_->respond(std::move(response));
  }
  void start_stream(HttpResponse head) override {
    metrics_.count_request(endpoint_, head.status);
    inner_->start_stream(std::move(head));
  }
  void send(std::string piece) override { inner_->send(std::move(piece)); }
  void finish() override { inner_->finish(); }
  void on_disconnect(std::function<void()> callback) override {
    inner_->on_disconnect(std::move(callback));
  }

 private:
  std::shared_ptr<Responder> inner_;
  Metrics& metrics_;
  std::string endpoint_;
};

HttpResponse ok(std::string content_type, std::string body) {
  HttpResponse response;
  response.content_type = std::move(content_type);
  response.body = std::move(body);
  return response;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

struct Service::State {
  LoadedModel& model;
  ServiceOptions options;
  Metrics metrics;
  std::string fingerprint;
  int64_t created = 0;
  std::atomic<uint64_t> next_id = 1;
  std::unique_ptr<EngineWorker> worker;
  // Declared after the worker but ended before it, see stop().
  std::unique_ptr<HttpServer> server;

  State(LoadedModel& m, ServiceOptions o) : model(m), options(std::move(o)) {}

  void handle(HttpRequest request, const std::shared_ptr<Responder>& raw) {
    auto responder =
        std::make_shared<CountingResponder>(raw, metrics, endpoint_label(request.path));
    try {
      route(request, responder);
    } catch (const ApiError& e) {
      responder->respond(e.response());
    } catch (const std::exception& e) {
      log_error("{} {}: {}", request.method, request.path, e.what());
      responder->respond(ApiError(500, e.what()).response());
    }
  }

  // Unknown paths share one label, so that strangers cannot grow the metrics.
  static std::string endpoint_label(const std::string& path) {
    for (const char* known :
         {"/v1/chat/completions", "/v1/completions", "/v1/models", "/health", "/metrics"}) {
      if (path == known) return path;
    }
    return "other";
  }

  static void expect_method(const HttpRequest& request, const char* method) {
    if (request.method != method) {
      throw ApiError(405, fmt::format("{} takes {}, not {}", request.path, method, request.method));
    }
  }

  void authenticate(const HttpRequest& request) const {
    if (options.api_keys.empty()) return;
    constexpr std::string_view kBearer = "Bearer ";
    const std::string_view given = request.header("authorization");
    bool known = false;
    for (const std::string& key : options.api_keys) {
      known = known || (given.starts_with(kBearer) &&
                        equal_in_constant_time(given.substr(kBearer.size()), key));
    }
    if (!known) throw ApiError(401, "missing or wrong API key", "", "invalid_api_key");
  }

  void route(const HttpRequest& request, const std::shared_ptr<Responder>& responder) {
    if (request.path == "/health") {
      expect_method(request, "GET");
      if (!worker->healthy()) throw ApiError(503, "the engine has stopped");
      responder->respond(ok("application/json", R"({"status":"ok"})"));
    } else if (request.path == "/metrics") {
      expect_method(request, "GET");
      responder->respond(ok("text/plain; version=0.0.4", metrics.page(worker->load())));
    } else if (request.path == "/v1/models") {
      expect_method(request, "GET");
      authenticate(request);
      responder->respond(ok("application/json", models_body()));
    } else if (request.path == "/v1/chat/completions" || request.path == "/v1/completions") {
      expect_method(request, "POST");
      authenticate(request);
      generate(request, responder);
    } else {
      throw ApiError(404, fmt::format("no such endpoint: {}", request.path));
    }
  }

  [[nodiscard]] std::string models_body() const {
    const Json entry = {
        {"id", options.model_name},
        {"object", "model"},
        {"created", created},
        {"owned_by", "hone"},
        {"max_model_len", model.model->config().max_positions}};
    return dump_json({{"object", "list"}, {"data", Json::array({entry})}});
  }

  void generate(const HttpRequest& http, const std::shared_ptr<Responder>& responder) {
    Json body;
    try {
      body = parse_json(http.body, "the body");
    } catch (const Error& e) {
      throw ApiError(400, e.what());
    }
    const bool chat = http.path == "/v1/chat/completions";
    GenerationRequest request = chat ? read_chat_request(body, model, options.limits)
                                     : read_completion_request(body, model, options.limits);
    if (!request.model.empty() && request.model != options.model_name) {
      throw ApiError(
          404,
          fmt::format(
              "no model \"{}\" here; this server has \"{}\"", request.model, options.model_name
          ),
          "model",
          "model_not_found"
      );
    }
    AnswerContext context;
    context.id = fmt::format("{}-{:x}-{:x}", chat ? "chatcmpl" : "cmpl", draw_seed(), next_id++);
    context.model = options.model_name;
    context.fingerprint = fingerprint;
    context.created = std::time(nullptr);
    context.tokenizer = model.tokenizer;
    submit(std::move(context), std::move(request), responder);
  }

  // Jobs of one answer; shared by its listeners and the disconnect callback.
  struct Flight {
    std::mutex mutex;
    std::unique_ptr<GenerationAnswer> answer;
  };

  void submit(
      AnswerContext context, GenerationRequest request, const std::shared_ptr<Responder>& responder
  ) {
    if (worker->load().waiting + static_cast<int>(request.choices.size()) > options.max_queue) {
      throw ApiError(503, "the queue is full; try again in a moment");
    }
    auto flight = std::make_shared<Flight>();
    flight->answer = std::make_unique<GenerationAnswer>(std::move(context), request, responder);
    std::vector<JobId> jobs;
    {
      // The head of a stream goes out before any event of the engine's thread can.
      const std::lock_guard lock(flight->mutex);
      flight->answer->begin();
      for (size_t i = 0; i < request.choices.size(); ++i) {
        auto id =
            worker->submit(std::move(request.choices[i]), [this, flight, i](const JobEvent& event) {
              const std::lock_guard guard(flight->mutex);
              if (event.done && event.done->finish != FinishReason::kError) {
                metrics.count_completion(*event.done);
              }
              flight->answer->on_event(i, event);
            });
        if (id) {
          jobs.push_back(*id);
        } else {
          JobEvent refused;
          refused.done.emplace();
          refused.done->finish = FinishReason::kCancelled;
          flight->answer->on_event(i, refused);
        }
      }
    }
    responder->on_disconnect([this, jobs] {
      for (JobId id : jobs) worker->cancel(id);
    });
  }
};

Service::Service(LoadedModel& model, std::unique_ptr<Proposer> proposer, ServiceOptions options)
    : state_(std::make_unique<State>(model, std::move(options))) {
  State& state = *state_;
  if (state.options.model_name.empty()) {
    state.options.model_name = std::filesystem::canonical(model.folder).filename().string();
  }
  state.fingerprint = "hone-" + model.model->content_hash().substr(0, 12);
  state.created = std::time(nullptr);
  state.worker = std::make_unique<EngineWorker>(
      std::make_unique<Engine>(
          *model.model, model.tokenizer, state.options.engine, std::move(proposer)
      ),
      state.options.max_queue
  );
  state.server = std::make_unique<HttpServer>(
      state.options.http,
      [&state](HttpRequest request, const std::shared_ptr<Responder>& responder) {
        state.handle(std::move(request), responder);
      }
  );
}

Service::~Service() {
  stop(std::chrono::seconds(0));
}

uint16_t Service::port() const {
  return state_->server->port();
}

void Service::stop(std::chrono::seconds grace) {
  if (state_->server) state_->server->stop(grace);
  // The worker's listeners hold responders, which belong to the server: they go first.
  state_->worker.reset();
  state_->server.reset();
}

}  // namespace hone
