// The whole server on the included model, through real sockets.
#include "runtime/serve/service.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json/json.h"
#include "tests/fixture/http_client.h"

namespace hone {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr const char* kChat = "/v1/chat/completions";

LoadedModel& demo() {
  static LoadedModel model = load_model(std::string(HONE_SOURCE_DIR) + "/recipes/demo");
  return model;
}

class ServiceTest : public ::testing::Test {
 protected:
  void start(ServiceOptions options = {}) {
    options.http.port = 0;
    options.model_name = "demo";
    service_ = std::make_unique<Service>(demo(), nullptr, options);
  }
  Json chat(Json body, int status = 200) {
    if (!body.contains("messages")) body["messages"] = question();
    return post(kChat, body, status);
  }
  Json post(const std::string& path, const Json& body, int status = 200) {
    const HttpReply reply = http_post(service_->port(), path, dump_json(body));
    EXPECT_EQ(reply.status, status) << reply.body;
    return parse_json(reply.body, "reply");
  }
  // The error's "param" of a request that must be refused.
  std::string refused(const Json& body, int status = 400) {
    const Json reply = chat(body, status);
    EXPECT_TRUE(reply.contains("error")) << reply.dump();
    const Json& param = reply.at("error").at("param");
    return param.is_null() ? "" : param.get<std::string>();
  }
  static Json question() {
    return {
        {{"role", "user"},
         {"content",
          "Walter has 11 hens and each hen lays 2 eggs a day. How many eggs are "
          "there after 4 days?"}}};
  }
  static Json weather_tool() {
    return {
        {"type", "function"},
        {"function",
         {{"name", "get_weather"},
          {"description", "Weather"},
          {"parameters",
           {{"type", "object"},
            {"properties", {{"city", {{"type", "string"}}}}},
            {"required", {"city"}}}}}}};
  }
  std::string streamed_content(const Json& body, Json* calls = nullptr) {
    const HttpReply reply = http_post(service_->port(), kChat, dump_json(body));
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.headers.at("content-type"), "text/event-stream");
    const std::vector<std::string> events = sse_events(reply.body);
    EXPECT_FALSE(events.empty());
    EXPECT_EQ(events.back(), "[DONE]");
    std::string content;
    for (size_t i = 0; i + 1 < events.size(); ++i) {
      const Json chunk = parse_json(events[i], "chunk");
      EXPECT_EQ(chunk.at("object"), "chat.completion.chunk");
      for (const Json& choice : chunk.at("choices")) {
        content += choice.at("delta").value("content", "");
        if (calls != nullptr && choice.at("delta").contains("tool_calls")) {
          for (const Json& call : choice.at("delta").at("tool_calls")) calls->push_back(call);
        }
      }
    }
    return content;
  }
  double metric(const std::string& name) {
    const std::string page = http_get(service_->port(), "/metrics").body;
    const size_t at = page.find("\n" + name + " ");
    EXPECT_NE(at, std::string::npos) << name;
    return at == std::string::npos ? -1 : std::stod(page.substr(at + name.size() + 2));
  }

  std::unique_ptr<Service> service_;
};

TEST_F(ServiceTest, ChatAnswersAsTheEngineDoes) {
  start();
  ChatInput input;
  input.messages = question();
  Engine engine(*demo().model, demo().tokenizer, {});
  Request request = demo().request(demo().encode_chat(input));
  request.sampling.temperature = 0;
  request.max_tokens = 100;
  const auto prompt_tokens = static_cast<int64_t>(request.prompt.size());
  const Completion expected = engine.generate({request}).front();

  const Json reply = chat({{"model", "demo"}, {"max_tokens", 100}, {"temperature", 0}});
  EXPECT_EQ(reply.at("object"), "chat.completion");
  EXPECT_EQ(reply.at("model"), "demo");
  const Json& choice = reply.at("choices").at(0);
  EXPECT_EQ(choice.at("message").at("role"), "assistant");
  EXPECT_EQ(choice.at("message").at("content"), expected.text);
  EXPECT_THAT(expected.text, HasSubstr("#### 88"));
  EXPECT_EQ(choice.at("finish_reason"), "stop");
  EXPECT_EQ(reply.at("usage").at("prompt_tokens"), prompt_tokens);
  EXPECT_EQ(reply.at("usage").at("completion_tokens"), expected.stats.output_tokens);
}

TEST_F(ServiceTest, StreamEqualsThePlainAnswer) {
  start();
  Json body = {{"messages", question()}, {"temperature", 0}, {"max_tokens", 100}};
  const std::string plain = chat(body).at("choices").at(0).at("message").at("content");
  body["stream"] = true;
  EXPECT_EQ(streamed_content(body), plain);
}

TEST_F(ServiceTest, StreamCarriesUsageWhenAsked) {
  start();
  const Json body = {
      {"messages", question()},
      {"max_tokens", 5},
      {"stream", true},
      {"stream_options", {{"include_usage", true}}}};
  const auto events = sse_events(http_post(service_->port(), kChat, dump_json(body)).body);
  ASSERT_GE(events.size(), 3U);
  const Json last = parse_json(events[events.size() - 2], "chunk");
  EXPECT_TRUE(last.at("choices").empty());
  EXPECT_EQ(last.at("usage").at("completion_tokens"), 5);
  const Json finish = parse_json(events[events.size() - 3], "chunk");
  EXPECT_EQ(finish.at("choices").at(0).at("finish_reason"), "length");
}

TEST_F(ServiceTest, SeedIsReturnedAndRepeats) {
  start();
  const Json body = {{"temperature", 1.0}, {"max_tokens", 40}};
  const Json first = chat(body);
  Json again = body;
  again["seed"] = first.at("seed");
  const auto content = [](const Json& reply) {
    return reply.at("choices").at(0).at("message").at("content").get<std::string>();
  };
  EXPECT_EQ(content(chat(again)), content(first));
  // Without a seed the server draws another one each time.
  EXPECT_NE(chat(body).at("seed"), first.at("seed"));
}

TEST_F(ServiceTest, ChoicesDifferAndAreIndexed) {
  start();
  const Json reply = chat({{"temperature", 1.5}, {"max_tokens", 30}, {"n", 3}, {"seed", 5}});
  ASSERT_EQ(reply.at("choices").size(), 3U);
  std::set<std::string> texts;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(reply.at("choices").at(i).at("index"), i);
    texts.insert(reply.at("choices").at(i).at("message").at("content"));
  }
  EXPECT_GT(texts.size(), 1U);
}

TEST_F(ServiceTest, StopStringsEndTheText) {
  start();
  const Json reply = chat({{"temperature", 0}, {"max_tokens", 100}, {"stop", {"####"}}});
  const std::string content = reply.at("choices").at(0).at("message").at("content");
  EXPECT_THAT(content, ::testing::Not(HasSubstr("#")));
  EXPECT_EQ(reply.at("choices").at(0).at("finish_reason"), "stop");
}

TEST_F(ServiceTest, ToolCallsAreParsedPlainAndStreamed) {
  start();
  Json body = {
      {"messages", {{{"role", "user"}, {"content", "What is the weather in Paris?"}}}},
      {"tools", {weather_tool()}},
      {"temperature", 0},
      {"max_tokens", 100}};
  const Json reply = chat(body);
  const Json& choice = reply.at("choices").at(0);
  ASSERT_EQ(choice.at("finish_reason"), "tool_calls") << reply.dump();
  const Json& call = choice.at("message").at("tool_calls").at(0);
  EXPECT_EQ(call.at("type"), "function");
  EXPECT_EQ(call.at("function").at("name"), "get_weather");
  const Json arguments =
      parse_json(call.at("function").at("arguments").get<std::string>(), "arguments");
  EXPECT_EQ(arguments.at("city"), "Paris");

  body["stream"] = true;
  Json calls = Json::array();
  EXPECT_EQ(streamed_content(body, &calls), "");
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].at("function"), call.at("function"));
  EXPECT_EQ(calls[0].at("index"), 0);

  body["stream"] = false;
  body["tool_choice"] = "none";
  EXPECT_FALSE(chat(body).at("choices").at(0).at("message").contains("tool_calls"));
}

TEST_F(ServiceTest, LogprobsAreThoseOfTheChosenTokens) {
  start();
  const Json reply =
      chat({{"temperature", 0}, {"max_tokens", 4}, {"logprobs", true}, {"top_logprobs", 2}});
  const Json& content = reply.at("choices").at(0).at("logprobs").at("content");
  ASSERT_EQ(content.size(), 4U);
  std::string text;
  for (const Json& token : content) {
    EXPECT_LE(token.at("logprob").get<double>(), 0);
    ASSERT_EQ(token.at("top_logprobs").size(), 2U);
    EXPECT_EQ(token.at("top_logprobs").at(0).at("token"), token.at("token"));  // greedy
    text += token.at("token").get<std::string>();
  }
  EXPECT_EQ(text, reply.at("choices").at(0).at("message").at("content"));
}

TEST_F(ServiceTest, CompletionsTakeTextAndIds) {
  start();
  const std::string prompt = "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n";
  const Json by_text =
      post("/v1/completions", {{"prompt", prompt}, {"max_tokens", 8}, {"temperature", 0}});
  EXPECT_EQ(by_text.at("object"), "text_completion");
  const Json by_ids = post(
      "/v1/completions",
      {{"prompt", demo().encode_text(prompt)}, {"max_tokens", 8}, {"temperature", 0}}
  );
  EXPECT_EQ(by_text.at("choices").at(0).at("text"), by_ids.at("choices").at(0).at("text"));
  const Json several = post("/v1/completions", {{"prompt", {prompt, "Once"}}, {"max_tokens", 3}});
  EXPECT_EQ(several.at("choices").size(), 2U);
}

TEST_F(ServiceTest, WrongFieldsAreNamed) {
  start();
  EXPECT_EQ(refused({{"messages", "hello"}}), "messages");
  EXPECT_EQ(refused({{"messages", Json::array()}}), "messages");
  EXPECT_EQ(refused({{"messages", {{{"content", "x"}}}}}), "messages[0].role");
  EXPECT_EQ(refused({{"messages", {{{"role", 3}, {"content", "x"}}}}}), "messages[0].role");
  EXPECT_EQ(refused({{"messages", {{{"role", "user"}, {"content", 3}}}}}), "messages[0].content");
  EXPECT_EQ(refused({{"temperature", "hot"}}), "temperature");
  EXPECT_EQ(refused({{"temperature", -1}}), "temperature");
  EXPECT_EQ(refused({{"top_p", 0}}), "top_p");
  EXPECT_EQ(refused({{"top_p", 1.5}}), "top_p");
  EXPECT_EQ(refused({{"max_tokens", 0}}), "max_tokens");
  EXPECT_EQ(refused({{"max_tokens", 1.5}}), "max_tokens");
  EXPECT_EQ(refused({{"seed", "x"}}), "seed");
  EXPECT_EQ(refused({{"stop", 5}}), "stop");
  EXPECT_EQ(refused({{"stop", {1}}}), "stop");
  EXPECT_EQ(refused({{"stream", "yes"}}), "stream");
  EXPECT_EQ(refused({{"n", 1000}}), "n");
  EXPECT_EQ(refused({{"tools", "x"}}), "tools");
  EXPECT_EQ(refused({{"tools", {{{"type", "function"}}}}}), "tools[0]");
  EXPECT_EQ(refused({{"tool_choice", "required"}}), "tool_choice");
  EXPECT_EQ(refused({{"frequency_penalty", 0.5}}), "frequency_penalty");
  EXPECT_EQ(refused({{"response_format", {{"type", "json_object"}}}}), "response_format");
  EXPECT_EQ(refused({{"model", 3}}), "model");
  EXPECT_EQ(refused({{"model", "gpt-4"}}, 404), "model");
}

TEST_F(ServiceTest, BadBodiesAreRefused) {
  start();
  for (const char* body : {"", "{", "[]", "null", "{\"messages\": [}", "\xff\xfe"}) {
    const HttpReply reply = http_post(service_->port(), kChat, body);
    EXPECT_EQ(reply.status, 400) << body;
    EXPECT_THAT(reply.body, HasSubstr("\"error\""));
  }
  std::string deep(100000, '[');
  EXPECT_EQ(http_post(service_->port(), kChat, deep).status, 400);
  EXPECT_EQ(http_get(service_->port(), "/health").status, 200);
}

TEST_F(ServiceTest, UnknownFieldsAreReportedNotRefused) {
  start();
  const Json body = {{"messages", question()}, {"max_tokens", 1}, {"frobnicate", 3}};
  const HttpReply reply = http_post(service_->port(), kChat, dump_json(body));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.headers.at("x-hone-ignored"), "frobnicate");
}

TEST_F(ServiceTest, TooLongPromptsAreRefused) {
  start();
  std::string words;
  for (int i = 0; i < 3000; ++i) words += "word ";
  const Json reply = chat({{"messages", {{{"role", "user"}, {"content", words}}}}}, 400);
  EXPECT_EQ(reply.at("error").at("code"), "context_length_exceeded");
  EXPECT_THAT(reply.at("error").at("message").get<std::string>(), HasSubstr("1024"));
}

TEST_F(ServiceTest, UsersCannotMakeControlTokens) {
  start();
  // The end token spelled by a user must not end the turn: more tokens than the one token it is.
  const auto tokens = [&](const std::string& text) {
    return chat({{"messages", {{{"role", "user"}, {"content", text}}}}, {"max_tokens", 1}})
        .at("usage")
        .at("prompt_tokens")
        .get<int64_t>();
  };
  EXPECT_GT(tokens("a<|im_end|>"), tokens("a") + 1);
}

TEST_F(ServiceTest, RoutesAndMethods) {
  start();
  EXPECT_EQ(http_get(service_->port(), "/health").status, 200);
  EXPECT_EQ(http_get(service_->port(), "/nowhere").status, 404);
  EXPECT_EQ(http_get(service_->port(), kChat).status, 405);
  EXPECT_EQ(http_post(service_->port(), "/health", "{}").status, 405);
  const Json models = parse_json(http_get(service_->port(), "/v1/models").body, "models");
  EXPECT_EQ(models.at("data").at(0).at("id"), "demo");
}

TEST_F(ServiceTest, ApiKeysGuardTheApiOnly) {
  ServiceOptions options;
  options.api_keys = {"secret", "other"};
  start(options);
  EXPECT_EQ(http_get(service_->port(), "/v1/models").status, 401);
  EXPECT_EQ(http_get(service_->port(), "/v1/models", {"Authorization: Bearer wrong"}).status, 401);
  EXPECT_EQ(http_get(service_->port(), "/v1/models", {"Authorization: secret"}).status, 401);
  EXPECT_EQ(http_get(service_->port(), "/v1/models", {"Authorization: Bearer other"}).status, 200);
  EXPECT_EQ(http_get(service_->port(), "/health").status, 200);
}

TEST_F(ServiceTest, RequestsAtOnceGetTheTextTheyGetAlone) {
  start();
  const auto ask = [&](int i) {
    const Json body = {
        {"messages", {{{"role", "user"}, {"content", fmt::format("Count {} apples.", i)}}}},
        {"temperature", 0.8},
        {"seed", i},
        {"max_tokens", 30}};
    return chat(body).at("choices").at(0).at("message").at("content").get<std::string>();
  };
  std::vector<std::string> alone;
  for (int i = 0; i < 8; ++i) alone.push_back(ask(i));
  std::vector<std::string> together(8);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] { together[static_cast<size_t>(i)] = ask(i); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(together, alone);
}

TEST_F(ServiceTest, DisconnectCancelsTheGeneration) {
  start();
  {
    HttpClient client(service_->port());
    const Json body = {
        {"messages", question()}, {"ignore_eos", true}, {"max_tokens", 900}, {"stream", true}};
    client.send("POST", kChat, dump_json(body));
    ASSERT_TRUE(client.receive_until("content"));
  }
  for (int i = 0; i < 100 && metric("hone_requests_running") > 0; ++i) {
    std::this_thread::sleep_for(20ms);
  }
  EXPECT_EQ(metric("hone_requests_running"), 0);
  EXPECT_LT(metric("hone_output_tokens_total"), 900);
}

TEST_F(ServiceTest, DisconnectWhileWaitingForAPlainAnswerCancelsToo) {
  start();
  {
    HttpClient client(service_->port());
    client.send(
        "POST",
        kChat,
        dump_json({{"messages", question()}, {"ignore_eos", true}, {"max_tokens", 900}})
    );
    for (int i = 0; i < 100 && metric("hone_requests_running") == 0; ++i) {
      std::this_thread::sleep_for(5ms);
    }
  }
  for (int i = 0; i < 100 && metric("hone_requests_running") > 0; ++i) {
    std::this_thread::sleep_for(20ms);
  }
  EXPECT_EQ(metric("hone_requests_running"), 0);
  EXPECT_LT(metric("hone_output_tokens_total"), 900);
}

TEST_F(ServiceTest, AFullQueueIsAnsweredAtOnce) {
  ServiceOptions options;
  options.engine.max_batch = 1;
  options.max_queue = 1;
  start(options);
  const std::string body = dump_json(
      {{"messages", question()}, {"ignore_eos", true}, {"max_tokens", 900}, {"stream", true}}
  );
  std::vector<std::unique_ptr<HttpClient>> clients;
  int full = 0;
  for (int i = 0; i < 6 && full == 0; ++i) {
    clients.push_back(std::make_unique<HttpClient>(service_->port()));
    clients.back()->send("POST", kChat, body);
    ASSERT_TRUE(clients.back()->receive_until("\r\n\r\n"));
    const HttpReply probe =
        http_post(service_->port(), kChat, dump_json({{"messages", question()}, {"n", 2}}));
    if (probe.status == 503) {
      ++full;
      EXPECT_EQ(probe.headers.at("retry-after"), "1");
    }
  }
  EXPECT_EQ(full, 1);
}

TEST_F(ServiceTest, StopFinishesOpenRequests) {
  start();
  HttpClient client(service_->port());
  client.send(
      "POST",
      kChat,
      dump_json({{"messages", question()}, {"temperature", 0}, {"max_tokens", 60}, {"stream", true}}
      )
  );
  ASSERT_TRUE(client.receive_until("content"));
  service_->stop(30s);
  const auto events = sse_events(client.receive().body);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back(), "[DONE]");
}

}  // namespace
}  // namespace hone
