#include "runtime/serve/http_server.h"

// Boost 1.74's awaitable.hpp uses std::exchange without including <utility>; http.h brings it.
#include <atomic>
#include <cerrno>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/version.hpp>
#include <sys/socket.h>

#include "core/base/error.h"
#include "core/base/log.h"

namespace hone {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

HttpRequest convert(http::request<http::string_body>&& request) {
  HttpRequest result;
  result.method = std::string(request.method_string());
  const std::string_view target(request.target().data(), request.target().size());
  result.path = target.substr(0, target.find('?'));
  for (const auto& field : request) {
    result.headers.emplace_back(
        lower({field.name_string().data(), field.name_string().size()}), std::string(field.value())
    );
  }
  result.body = std::move(request.body());
  return result;
}

// The answer to one request, filled from any thread and written by the connection's coroutine.
class Answer : public Responder, public std::enable_shared_from_this<Answer> {
 public:
  explicit Answer(asio::io_context& io) : io_(io), wake_(io) {
    wake_.expires_at(asio::steady_timer::time_point::max());
  }

  void respond(HttpResponse response) override {
    const std::lock_guard lock(mutex_);
    if (started_ || gone_) return;
    started_ = true;
    finished_ = true;
    head_ = std::move(response);
    wake();
  }
  void start_stream(HttpResponse head) override {
    const std::lock_guard lock(mutex_);
    if (started_ || gone_) return;
    started_ = true;
    streaming_ = true;
    head_ = std::move(head);
    wake();
  }
  void send(std::string piece) override {
    const std::lock_guard lock(mutex_);
    if (!streaming_ || finished_ || gone_ || piece.empty()) return;
    pieces_.push_back(std::move(piece));
    wake();
  }
  void finish() override {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    wake();
  }
  void on_disconnect(std::function<void()> callback) override {
    {
      const std::lock_guard lock(mutex_);
      if (!gone_) {
        on_disconnect_ = std::move(callback);
        return;
      }
    }
    callback();
  }

  // ---- for the connection, on the network thread
  struct Ready {
    bool head = false;
    bool streaming = false;
    bool finished = false;
    bool gone = false;
    std::deque<std::string> pieces;
  };
  Ready take() {
    const std::lock_guard lock(mutex_);
    Ready ready{started_ && !head_taken_, streaming_, finished_, gone_, std::move(pieces_)};
    pieces_.clear();
    head_taken_ = head_taken_ || started_;
    return ready;
  }
  HttpResponse& head() { return head_; }
  bool watched = true;  // touched on the network thread only

  asio::awaitable<void> wait() {
    error_code ignored;
    co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    wake_.expires_at(asio::steady_timer::time_point::max());
  }

  void disconnected() {
    std::function<void()> callback;
    {
      const std::lock_guard lock(mutex_);
      if (gone_) return;
      gone_ = true;
      callback = std::move(on_disconnect_);
      wake();
    }
    if (callback) callback();
  }
  // The answer is complete: a later close of the connection is no disconnect.
  void completed() {
    const std::lock_guard lock(mutex_);
    on_disconnect_ = nullptr;
  }

 private:
  void wake() {
    // The timer belongs to the network thread.
    asio::post(io_, [self = shared_from_this()] { self->wake_.cancel(); });
  }

  asio::io_context& io_;
  asio::steady_timer wake_;
  std::mutex mutex_;
  HttpResponse head_;
  std::deque<std::string> pieces_;
  std::function<void()> on_disconnect_;
  bool started_ = false;
  bool head_taken_ = false;
  bool streaming_ = false;
  bool finished_ = false;
  bool gone_ = false;
};

template <typename Message>
void set_head(Message& message, const HttpResponse& response, bool keep_alive) {
  message.result(static_cast<unsigned>(response.status));
  message.set(http::field::content_type, response.content_type);
  message.set(http::field::server, "hone");
  for (const auto& [name, value] : response.headers) message.set(name, value);
  message.keep_alive(keep_alive);
}

}  // namespace

std::string_view HttpRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

struct HttpServer::State {
  HttpOptions options;
  HttpHandler handler;
  asio::io_context io{1};
  tcp::acceptor acceptor{io};
  uint16_t port = 0;
  std::atomic<int> connections = 0;
  std::atomic<int> open_requests = 0;
  std::atomic<bool> stopping = false;
  std::thread thread;

  void listen() {
    try {
      const tcp::endpoint endpoint(asio::ip::make_address(options.host), options.port);
      acceptor.open(endpoint.protocol());
      acceptor.set_option(asio::socket_base::reuse_address(true));
      acceptor.bind(endpoint);
      acceptor.listen(asio::socket_base::max_listen_connections);
      port = acceptor.local_endpoint().port();
    } catch (const boost::system::system_error& e) {
      throw UsageError(fmt::format(
          "cannot listen on {}:{}: {}; choose another --host or --port",
          options.host,
          options.port,
          e.code().message()
      ));
    }
  }

  asio::awaitable<void> accept_loop() {
    while (!stopping) {
      error_code error;
      tcp::socket socket =
          co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, error));
      if (error == asio::error::operation_aborted) co_return;
      if (error) continue;  // a client that vanished, or no descriptor just now
      asio::co_spawn(io, connection(std::move(socket)), asio::detached);
    }
  }

  asio::awaitable<void> connection(tcp::socket socket) {
    socket.set_option(tcp::no_delay(true));
    beast::tcp_stream stream(std::move(socket));
    if (connections.fetch_add(1) >= options.max_connections) {
      co_await refuse(stream, 503, "too many connections");
    } else {
      try {
        co_await serve(stream);
      } catch (const std::exception& e) {
        log_debug("connection ended: {}", e.what());
      }
    }
    connections.fetch_sub(1);
    error_code ignored;
    stream.socket().shutdown(tcp::socket::shutdown_both, ignored);
  }

  // Answers outside of the handler: the request was not even readable.
  asio::awaitable<void> refuse(beast::tcp_stream& stream, int status, std::string reason) {
    http::response<http::string_body> message;
    HttpResponse response;
    response.status = status;
    set_head(message, response, false);
    message.body() = fmt::format(
        R"({{"error":{{"message":"{}","type":"invalid_request_error","param":null,"code":null}}}})",
        reason
    );
    message.prepare_payload();
    stream.expires_after(options.write_timeout);
    error_code ignored;
    co_await http::async_write(stream, message, asio::redirect_error(asio::use_awaitable, ignored));
  }

  asio::awaitable<void> serve(beast::tcp_stream& stream) {
    beast::flat_buffer buffer;
    while (!stopping) {
      http::request_parser<http::string_body> parser;
      parser.body_limit(options.max_body_bytes);
      parser.header_limit(options.max_header_bytes);
      error_code error;
      stream.expires_after(options.idle_timeout);
      co_await http::async_read_header(
          stream, buffer, parser, asio::redirect_error(asio::use_awaitable, error)
      );
      if (!error) {
        if (lower(std::string(parser.get()[http::field::expect])) == "100-continue") {
          http::response<http::empty_body> go_on;
          go_on.result(http::status::continue_);
          co_await http::async_write(stream, go_on, asio::use_awaitable);
        }
        stream.expires_after(options.read_timeout);
        co_await http::async_read(
            stream, buffer, parser, asio::redirect_error(asio::use_awaitable, error)
        );
      }
      if (error == http::error::body_limit) {
        co_await refuse(
            stream, 413, fmt::format("the body is larger than {} bytes", options.max_body_bytes)
        );
        co_return;
      }
      if (error == http::error::header_limit) {
        co_await refuse(stream, 431, "the header is too large");
        co_return;
      }
      if (error && error.category() == http::make_error_code(http::error::bad_version).category() &&
          error != http::error::end_of_stream && error != http::error::partial_message) {
        co_await refuse(stream, 400, "malformed HTTP request: " + error.message());
        co_return;
      }
      if (error) co_return;  // closed, timed out
      const bool keep_alive = parser.get().keep_alive();
      if (!co_await answer(stream, parser.release(), keep_alive)) co_return;
    }
  }

  // True when the connection can be used again.
  asio::awaitable<bool> answer(
      beast::tcp_stream& stream, http::request<http::string_body> request, bool keep_alive
  ) {
    auto responder = std::make_shared<Answer>(io);
    open_requests.fetch_add(1);
    bool ok = false;
    try {
      handler(convert(std::move(request)), responder);
      stream.expires_never();
      watch(stream, responder);
      ok = co_await write_answer(stream, *responder, keep_alive);
    } catch (const std::exception& e) {
      log_debug("request ended: {}", e.what());
    }
    if (ok) {
      responder->completed();
    } else {
      responder->disconnected();
    }
    open_requests.fetch_sub(1);
    responder->watched = false;
    error_code ignored;
    stream.socket().cancel(ignored);  // ends watch()
    co_return ok&& keep_alive;
  }

  // Notices a client that goes away while we compute: the socket becomes readable with nothing in
  // it.
  void watch(beast::tcp_stream& stream, const std::shared_ptr<Answer>& responder) {
    stream.socket().async_wait(
        tcp::socket::wait_read,
        [&stream, weak = std::weak_ptr<Answer>(responder)](error_code error) {
          auto answer = weak.lock();
          // Once the answer is complete the stream may be gone.
          if (error || !answer || !answer->watched) return;
          char byte = 0;
          const ssize_t n =
              ::recv(stream.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
          const bool nothing_yet = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
          if (n <= 0 && !nothing_yet) answer->disconnected();
        }
    );
  }

  asio::awaitable<bool> write_answer(
      beast::tcp_stream& stream, Answer& responder, bool keep_alive
  ) {
    std::optional<http::response_serializer<http::empty_body>> chunked;
    std::optional<http::response<http::empty_body>> head;
    while (true) {
      Answer::Ready ready = responder.take();
      if (ready.gone) co_return false;
      if (ready.head && !ready.streaming) {
        http::response<http::string_body> message;
        set_head(message, responder.head(), keep_alive);
        message.body() = std::move(responder.head().body);
        message.prepare_payload();
        stream.expires_after(options.write_timeout);
        co_await http::async_write(stream, message, asio::use_awaitable);
        co_return true;
      }
      if (ready.head) {
        head.emplace();
        set_head(*head, responder.head(), keep_alive);
        head->chunked(true);
        chunked.emplace(*head);
        stream.expires_after(options.write_timeout);
        co_await http::async_write_header(stream, *chunked, asio::use_awaitable);
      }
      for (const std::string& piece : ready.pieces) {
        stream.expires_after(options.write_timeout);
        co_await asio::async_write(
            stream, http::make_chunk(asio::buffer(piece)), asio::use_awaitable
        );
      }
      if (ready.finished) {
        if (ready.streaming) {
          co_await asio::async_write(stream, http::make_chunk_last(), asio::use_awaitable);
        }
        co_return ready.streaming;
      }
      // While something was written, more may have come: its wake-up is already spent.
      if (ready.head || !ready.pieces.empty()) continue;
      stream.expires_never();
      co_await responder.wait();
    }
  }
};

HttpServer::HttpServer(HttpOptions options, HttpHandler handler)
    : state_(std::make_unique<State>()) {
  state_->options = std::move(options);
  state_->handler = std::move(handler);
  state_->listen();
  asio::co_spawn(state_->io, state_->accept_loop(), asio::detached);
  state_->thread = std::thread([state = state_.get()] { state->io.run(); });
}

HttpServer::~HttpServer() {
  stop(std::chrono::seconds(0));
}

uint16_t HttpServer::port() const {
  return state_->port;
}

void HttpServer::stop(std::chrono::seconds grace) {
  if (!state_->thread.joinable()) return;
  state_->stopping = true;
  asio::post(state_->io, [state = state_.get()] {
    error_code ignored;
    state->acceptor.close(ignored);
  });
  const auto deadline = std::chrono::steady_clock::now() + grace;
  while (state_->open_requests > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  state_->io.stop();
  state_->thread.join();
}

}  // namespace hone
