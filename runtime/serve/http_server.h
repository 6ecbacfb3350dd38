// HTTP/1.1 server (Boost.Beast): bounded bodies, headers, connections and waiting times.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/serve/http.h"

namespace hone {

struct HttpOptions {
  std::string host = "127.0.0.1";  // loopback unless somebody decides otherwise
  uint16_t port = 8000;            // 0: any free port
  uint64_t max_body_bytes = 8 << 20;
  uint32_t max_header_bytes = 32 << 10;
  int max_connections = 1024;              // more are answered 503 and closed
  std::chrono::seconds read_timeout{30};   // to receive one whole request
  std::chrono::seconds idle_timeout{75};   // between requests of one connection
  std::chrono::seconds write_timeout{60};  // for one piece to be taken by the client
};

// Starts listening in the constructor (throws UsageError naming host and port when it cannot) and
// serves on its own thread until stop().
class HttpServer {
 public:
  HttpServer(HttpOptions options, HttpHandler handler);
  // Stops without waiting for open requests.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // The port it listens on.
  [[nodiscard]] uint16_t port() const;
  // No new connections or requests; waits up to `grace` for open requests to be answered.
  void stop(std::chrono::seconds grace);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hone
