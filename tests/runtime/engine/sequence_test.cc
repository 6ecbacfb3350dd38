#include "runtime/engine/sequence.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "runtime/text/tokenizer.h"

namespace hone {
namespace {

using ::testing::ElementsAre;

constexpr Sequence::Limits kLimits{.max_positions = 100, .max_repeats = 5};

std::shared_ptr<const Tokenizer> tokenizer() {
  static const auto loaded =
      Tokenizer::load(std::filesystem::path(HONE_SOURCE_DIR) / "recipes/demo");
  return loaded;
}

// A listener that joins what it hears.
struct Stream {
  std::string text;
  std::vector<int32_t> ids;
  int updates = 0;
  int ends = 0;
  Engine::Listener listener() {
    return [this](const Engine::Update& update) {
      ++updates;
      text += update.text;
      ids.insert(ids.end(), update.tokens.begin(), update.tokens.end());
      if (update.done == nullptr) return;
      ++ends;
      EXPECT_EQ(update.done->text, text);
      EXPECT_EQ(update.done->ids, ids);
    };
  }
};

Request request_of(std::vector<std::string> stop = {}) {
  Request request;
  request.prompt = {1, 2, 3};
  request.stop = std::move(stop);
  return request;
}

void feed(Sequence& sequence, const std::vector<int32_t>& ids) {
  for (const int32_t id : ids) {
    if (sequence.finished()) return;
    sequence.append(id, {});
    sequence.report();
  }
}

TEST(Sequence, StreamsTheTextOfItsTokens) {
  const std::string text = "Grüße from the tram: 18 − 3 = 15 people \xF0\x9F\x9A\x8B!";
  Stream stream;
  Sequence sequence(7, request_of(), stream.listener(), tokenizer(), kLimits);
  EXPECT_EQ(sequence.pending(), 3);
  EXPECT_EQ(sequence.remaining(), 97);
  const auto ids = tokenizer()->encode(text);
  feed(sequence, ids);
  EXPECT_EQ(stream.ids, ids);
  EXPECT_EQ(sequence.tokens().size(), ids.size() + 3);
  sequence.finish(FinishReason::kCancelled);
  sequence.report();
  sequence.report();
  EXPECT_EQ(stream.text, text);
  EXPECT_EQ(stream.ends, 1);
  EXPECT_THROW(sequence.append(1, {}), InternalError);
}

TEST(Sequence, TextEndsBeforeTheStopString) {
  const auto ids = tokenizer()->encode("The answer is 42. And then some more text follows.");
  Stream stream;
  Sequence sequence(7, request_of({"more", "n then s"}), stream.listener(), tokenizer(), kLimits);
  feed(sequence, ids);
  EXPECT_EQ(sequence.completion().finish, FinishReason::kStop);
  EXPECT_EQ(sequence.completion().stop_id, -1);
  EXPECT_EQ(stream.text, "The answer is 42. And then some ");
  EXPECT_LT(sequence.completion().ids.size(), ids.size());
}

TEST(Sequence, WhatWasHeldForAStopComesAtTheEnd) {
  const auto ids = tokenizer()->encode("almost a sto");
  Stream stream;
  Request request = request_of({"stop"});
  request.max_tokens = static_cast<int64_t>(ids.size());
  Sequence sequence(7, request, stream.listener(), tokenizer(), kLimits);
  feed(sequence, ids);
  EXPECT_EQ(sequence.completion().finish, FinishReason::kLength);
  EXPECT_EQ(stream.text, "almost a sto");
}

TEST(Sequence, EndTokensAreNoText) {
  const int32_t end = tokenizer()->token_id("<|im_end|>").value();
  Request request = request_of();
  request.stop_ids = {end};
  Stream stream;
  Sequence sequence(7, request, stream.listener(), tokenizer(), kLimits);
  const auto ids = tokenizer()->encode("Yes.");
  feed(sequence, ids);
  feed(sequence, {end});
  EXPECT_EQ(sequence.completion().finish, FinishReason::kStop);
  EXPECT_EQ(sequence.completion().stop_id, end);
  EXPECT_EQ(stream.text, "Yes.");
  EXPECT_EQ(stream.ids, ids);
}

TEST(Sequence, SpecialTokensAreShownOnRequest) {
  const int32_t end = tokenizer()->token_id("<|im_end|>").value();
  for (const bool keep : {false, true}) {
    Request request = request_of();
    request.keep_special_tokens = keep;
    Sequence sequence(7, request, nullptr, tokenizer(), kLimits);
    feed(sequence, {end});
    sequence.finish(FinishReason::kLength);
    EXPECT_EQ(sequence.completion().text, keep ? "<|im_end|>" : "");
  }
}

TEST(Sequence, RepeatedTokenEnds) {
  Sequence sequence(7, request_of(), nullptr, nullptr, kLimits);
  feed(sequence, {4, 4, 4, 4, 9, 4, 4, 4, 4});
  EXPECT_FALSE(sequence.finished());
  feed(sequence, {4});
  EXPECT_EQ(sequence.completion().finish, FinishReason::kError);
  EXPECT_EQ(sequence.completion().error_code, "repetition");
  EXPECT_EQ(sequence.completion().ids.size(), 10U);
}

TEST(Sequence, LogprobsAreThoseOfTheLogits) {
  Request request = request_of();
  request.top_logprobs = 2;
  Sequence sequence(7, request, nullptr, nullptr, kLimits);
  const std::vector<float> logits = {std::log(0.1F), std::log(0.6F), std::log(0.3F)};
  sequence.append(2, logits);
  ASSERT_EQ(sequence.completion().logprobs.size(), 1U);
  const TokenLogprob& entry = sequence.completion().logprobs[0];
  EXPECT_EQ(entry.id, 2);
  EXPECT_NEAR(entry.logprob, std::log(0.3), 1e-6);
  ASSERT_EQ(entry.top.size(), 2U);
  EXPECT_EQ(entry.top[0].first, 1);
  EXPECT_NEAR(entry.top[0].second, std::log(0.6), 1e-6);
}

}  // namespace
}  // namespace hone
