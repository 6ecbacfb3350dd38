#include "runtime/serve/http_server.h"

#include <atomic>
#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/fixture/http_client.h"

namespace hone {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

HttpOptions any_port() {
  HttpOptions options;
  options.port = 0;
  options.max_body_bytes = 1000;
  options.max_header_bytes = 2000;
  return options;
}

HttpResponse text(std::string body) {
  HttpResponse response;
  response.content_type = "text/plain";
  response.body = std::move(body);
  return response;
}

// Answers with what it was asked.
void echo(const HttpRequest& request, const std::shared_ptr<Responder>& responder) {
  responder->respond(text(
      request.method + " " + request.path + " " + std::string(request.header("x-a")) + " " +
      request.body
  ));
}

TEST(HttpServer, AnswersSeveralRequestsOfOneConnection) {
  HttpServer server(any_port(), echo);
  HttpClient client(server.port());
  client.send("POST", "/a?query=1", "body", {"X-A: value"});
  HttpReply reply = client.receive();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "POST /a value body");
  EXPECT_EQ(reply.headers["content-type"], "text/plain");
  client.send("GET", "/b");
  EXPECT_EQ(client.receive().body, "GET /b  ");
}

TEST(HttpServer, StreamsPiecesInOrderFromAnotherThread) {
  std::vector<std::thread> threads;
  {
    HttpServer server(any_port(), [&](const HttpRequest&, std::shared_ptr<Responder> responder) {
      threads.emplace_back([responder] {
        responder->start_stream(text(""));
        for (int i = 0; i < 100; ++i) responder->send(std::to_string(i) + ",");
        responder->finish();
      });
    });
    std::string expected;
    for (int i = 0; i < 100; ++i) expected += std::to_string(i) + ",";
    HttpClient client(server.port());
    for (int round = 0; round < 3; ++round) {
      client.send("GET", "/");
      EXPECT_EQ(client.receive().body, expected);
    }
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(HttpServer, RefusesWhatIsTooLarge) {
  HttpServer server(any_port(), echo);
  const HttpReply body = http_post(server.port(), "/", std::string(1001, 'x'));
  EXPECT_EQ(body.status, 413);
  EXPECT_THAT(body.body, HasSubstr("1000 bytes"));
  EXPECT_EQ(http_get(server.port(), "/", {"X: " + std::string(3000, 'y')}).status, 431);
  EXPECT_EQ(http_post(server.port(), "/", std::string(1000, 'x')).status, 200);
}

TEST(HttpServer, RefusesWhatIsNoHttp) {
  HttpServer server(any_port(), echo);
  HttpClient client(server.port());
  client.send_raw("this is not HTTP\r\n\r\n");
  EXPECT_EQ(client.receive().status, 400);
}

TEST(HttpServer, TellsWhenTheClientGoes) {
  std::promise<void> gone;
  std::shared_ptr<Responder> kept;
  {
    HttpServer server(any_port(), [&](const HttpRequest&, std::shared_ptr<Responder> responder) {
      kept = responder;
      responder->on_disconnect([&] { gone.set_value(); });
    });
    {
      HttpClient client(server.port());
      client.send("GET", "/");
      std::this_thread::sleep_for(50ms);
    }
    EXPECT_EQ(gone.get_future().wait_for(10s), std::future_status::ready);
    kept->respond(text("nobody listens"));  // must be harmless
    kept.reset();
  }
}

TEST(HttpServer, AnsweredRequestsAreNoDisconnects) {
  std::atomic<int> disconnects = 0;
  HttpServer server(any_port(), [&](const HttpRequest&, std::shared_ptr<Responder> responder) {
    responder->on_disconnect([&] { ++disconnects; });
    responder->respond(text("done"));
  });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(http_get(server.port(), "/").body, "done");
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(disconnects, 0);
}

TEST(HttpServer, LimitsConnections) {
  HttpOptions options = any_port();
  options.max_connections = 1;
  HttpServer server(options, echo);
  HttpClient first(server.port());
  first.send("GET", "/");
  EXPECT_EQ(first.receive().status, 200);
  EXPECT_EQ(http_get(server.port(), "/").status, 503);
}

TEST(HttpServer, StopWaitsForOpenRequests) {
  std::promise<std::shared_ptr<Responder>> asked;
  HttpServer server(any_port(), [&](const HttpRequest&, std::shared_ptr<Responder> responder) {
    asked.set_value(std::move(responder));
  });
  const uint16_t port = server.port();
  HttpClient client(port);
  client.send("GET", "/");
  auto responder = asked.get_future().get();
  std::thread answering([&] {
    std::this_thread::sleep_for(100ms);
    responder->respond(text("late"));
    responder.reset();
  });
  server.stop(10s);
  answering.join();
  EXPECT_EQ(client.receive().body, "late");
  EXPECT_ANY_THROW(HttpClient{port});
}

TEST(HttpServer, AddressInUseIsNamed) {
  HttpServer server(any_port(), echo);
  HttpOptions taken = any_port();
  taken.port = server.port();
  try {
    const HttpServer second(taken, echo);
    FAIL() << "two servers on one port";
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr(std::to_string(server.port())));
  }
}

}  // namespace
}  // namespace hone
