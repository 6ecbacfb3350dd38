// The seam between HTTP and what is served: requests in, a responder to answer with.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone {

// A complete request. Header names are lower-case.
struct HttpRequest {
  std::string method;  // "GET", "POST"
  std::string path;    // without the query
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;

  // Value of a header, "" when absent.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

// Answers one request: either respond() once, or start_stream(), send()..., finish(). Thread-safe;
// calls after the client has gone are ignored.
class Responder {
 public:
  virtual ~Responder() = default;
  virtual void respond(HttpResponse response) = 0;
  // A response whose body comes in pieces (chunked); `head.body` is ignored.
  virtual void start_stream(HttpResponse head) = 0;
  virtual void send(std::string piece) = 0;
  virtual void finish() = 0;
  // Called once, from any thread, when the client disconnects before the answer is complete; at
  // once when it already has.
  virtual void on_disconnect(std::function<void()> callback) = 0;
};

// Called on a network thread; must not block. May keep the responder.
using HttpHandler = std::function<void(HttpRequest request, std::shared_ptr<Responder> responder)>;

}  // namespace hone
