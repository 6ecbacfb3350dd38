#include "cli/serve.h"

#include <csignal>
#include <memory>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "cli/bind.h"
#include "cli/paths.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "runtime/serve/service.h"
#include "runtime/spec/eagle3.h"

namespace hone {
namespace {

struct ServeArguments {
  std::string model;
  std::string draft;
  bool allow_other_target = false;
  std::string profile = "exact";
  std::string api_key_file;
  int64_t grace_seconds = 30;
  int64_t max_body_mib = 8;
  ServiceOptions service;
};

// One key a line; a file rather than a flag, so that keys are not seen in process lists.
std::vector<std::string> read_keys(const std::string& path) {
  std::vector<std::string> keys;
  std::string key;
  for (const char c : read_text_file(path) + "\n") {
    if (c != '\n' && c != '\r') {
      key += c;
    } else if (!key.empty()) {
      keys.push_back(std::move(key));
      key.clear();
    }
  }
  require(!keys.empty(), "{} holds no API key", path);
  return keys;
}

void wait_for_signal() {
  boost::asio::io_context io;
  boost::asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([](const boost::system::error_code&, int signal) {
    log_info("signal {}: finishing open requests (again to stop at once)", signal);
  });
  io.run();
}

void serve(ServeArguments& arguments) {
  LoadedModel model = load_model(
      resolve_model(arguments.model), ModelOptions{.profile = parse_profile(arguments.profile)}
  );
  std::unique_ptr<Proposer> proposer;
  if (!arguments.draft.empty()) {
    Eagle3Options options;
    options.allow_other_target = arguments.allow_other_target;
    options.max_pages = arguments.service.engine.max_pages;
    proposer = load_eagle3_proposer(arguments.draft, *model.model, options).proposer;
  }
  ServiceOptions options = arguments.service;
  options.http.max_body_bytes = static_cast<uint64_t>(arguments.max_body_mib) << 20;
  if (!arguments.api_key_file.empty()) options.api_keys = read_keys(arguments.api_key_file);
  Service service(model, std::move(proposer), options);
  log_info("serving {} at http://{}:{}/v1", arguments.model, options.http.host, service.port());
  wait_for_signal();
  // A second signal ends the program the hard way.
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  service.stop(std::chrono::seconds(arguments.grace_seconds));
  log_info("stopped");
}

}  // namespace

void add_serve(CLI::App& app) {
  auto a = std::make_shared<ServeArguments>();
  CLI::App* command =
      app.add_subcommand("serve", "Serve a model over an OpenAI-compatible HTTP API");
  command->add_option("MODEL", a->model, "Checkpoint folder, or a name in the Hugging Face cache")
      ->required();
  ServiceOptions& s = a->service;
  command->add_option("--draft", a->draft, "EAGLE-3 head for speculative decoding");
  command->add_flag(
      "--allow-other-target", a->allow_other_target, "Serve a head trained on other weights"
  );
  command->add_option("--draft-tokens", s.engine.draft_tokens, "Drafted tokens per verification")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  command->add_option("--host", s.http.host, "Address to listen on")->capture_default_str();
  command->add_option("--port", s.http.port, "Port; 0: any free one")->capture_default_str();
  command->add_option("--served-model-name", s.model_name, "Name reported to clients");
  command->add_option("--as", a->profile, "Arithmetic: exact, hopper or blackwell")
      ->capture_default_str();
  command->add_option("--api-key-file", a->api_key_file, "File with accepted API keys, one a line");
  command->add_option("--max-batch", s.engine.max_batch, "Requests generated at once")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_option("--max-queue", s.max_queue, "Requests waiting; more are answered 503")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--kv-pages", s.engine.max_pages, "KV cache pages of 32 tokens, at most")
      ->capture_default_str();
  command->add_option("--max-body", a->max_body_mib, "Largest request body in MiB")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--grace", a->grace_seconds, "Seconds to finish open requests on SIGTERM")
      ->check(CLI::Range(0, 3600))
      ->capture_default_str();
  command->footer(examples(
      {"hone serve out/nvfp4 --draft out/head --port 8000",
       "curl localhost:8000/v1/chat/completions -d "
       "'{\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}'"}
  ));
  command->callback([a] { serve(*a); });
}

}  // namespace hone
