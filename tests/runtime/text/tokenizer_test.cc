// Tokenizers against Hugging Face's own library; goldens by
// tests/golden/scripts/tokenizer_golden.py.
#include "runtime/text/tokenizer.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/runtime/text/golden_text.h"

namespace hone {
namespace {

using Ids = std::vector<int32_t>;

std::string stream_decode(
    const std::shared_ptr<const Tokenizer>& tokenizer, const Ids& ids, bool skip_special
) {
  StreamDecoder decoder(tokenizer, skip_special);
  std::string out;
  for (const int32_t id : ids) out += decoder.push(id);
  return out + decoder.finish();
}

TEST(TokenizerGolden, DemoPrompts) {
  const auto tokenizer = Tokenizer::load(demo_folder());
  const Json golden = read_json_file(demo_folder() + "/golden.json");
  ASSERT_EQ(golden["items"].size(), 12U);
  for (const Json& item : golden["items"]) {
    EXPECT_EQ(tokenizer->encode(item["prompt"].get<std::string>()), item["prompt_ids"].get<Ids>());
    EXPECT_EQ(
        tokenizer->decode(item["greedy_ids"].get<Ids>(), false),
        item["greedy_text"].get<std::string>()
    );
    EXPECT_EQ(
        tokenizer->decode(item["prompt_ids"].get<Ids>(), false), item["prompt"].get<std::string>()
    );
  }
}

TEST(TokenizerGolden, DemoOddTexts) {
  const auto tokenizer = Tokenizer::load(demo_folder());
  const Json golden = golden_text("tokenizer_demo.json");
  ASSERT_EQ(golden["cases"].size(), 220U);
  int as_text_cases = 0;
  for (const Json& c : golden["cases"]) {
    const std::string text = c["text"];
    const Ids want = c["ids"];
    EXPECT_EQ(tokenizer->encode(text), want) << text;
    EXPECT_EQ(tokenizer->decode(want, false), c["decoded"].get<std::string>()) << text;
    EXPECT_EQ(stream_decode(tokenizer, want, false), c["decoded"].get<std::string>()) << text;
    as_text_cases += c.contains("ids_as_text");
    const Ids as_text = c.contains("ids_as_text") ? c["ids_as_text"].get<Ids>() : want;
    EXPECT_EQ(tokenizer->encode(text, SpecialTokens::kText), as_text) << text;
    // A whole text marked as the user's is encoded as plain text.
    EncodeOptions options;
    const TextSpan all{0, text.size()};
    options.plain_spans = {&all, 1};
    EXPECT_EQ(tokenizer->encode_with(text, options).ids, as_text) << text;
  }
  EXPECT_GT(as_text_cases, 10);
}

TEST(TokenizerGolden, Components) {
  const Json golden = golden_text("tokenizer_components.json");
  ASSERT_GE(golden["tokenizers"].size(), 35U);
  for (const Json& entry : golden["tokenizers"]) {
    const std::string name = entry["name"];
    SCOPED_TRACE(name);
    Json file = entry["tokenizer"];
    file["model"] = golden["models"][entry["model"].get<size_t>()];
    const auto tokenizer = Tokenizer::parse(dump_json(file), name);
    for (const Json& c : entry["cases"]) {
      const std::string text = c["text"];
      const Ids ids = c["ids"];
      const Ids special = c.contains("special") ? c["special"].get<Ids>() : ids;
      const std::string decoded = c["decoded"];
      const std::string skipped = c.contains("skipped") ? c["skipped"].get<std::string>() : decoded;
      EXPECT_EQ(tokenizer->encode(text), ids) << text;
      EXPECT_EQ(tokenizer->encode(text), ids) << "second time (cached): " << text;
      EXPECT_EQ(tokenizer->encode(text, SpecialTokens::kParse, true), special) << text;
      EXPECT_EQ(tokenizer->decode(special, false), decoded) << text;
      EXPECT_EQ(tokenizer->decode(special, true), skipped) << text;
      EncodeOptions options;
      options.offsets = true;
      const Encoding with_offsets = tokenizer->encode_with(text, options);
      EXPECT_EQ(with_offsets.ids, ids) << text;
      ASSERT_EQ(with_offsets.offsets.size(), ids.size());
      for (size_t i = 0; i < ids.size(); ++i) {
        EXPECT_LE(with_offsets.offsets[i], text.size());
        EXPECT_LE(with_offsets.offsets[i == 0 ? 0 : i - 1], with_offsets.offsets[i]) << text;
      }
      if (decoded.find("\xEF\xBF\xBD") == std::string::npos) {
        EXPECT_EQ(stream_decode(tokenizer, special, false), decoded) << text;
        EXPECT_EQ(stream_decode(tokenizer, special, true), skipped) << text;
      }
    }
  }
}

TEST(Tokenizer, InvalidUtf8IsReplaced) {
  const auto tokenizer = Tokenizer::load(demo_folder());
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(tokenizer->encode("a\xFFz"), tokenizer->encode("a" + r + "z"));
  EXPECT_EQ(tokenizer->encode("\xE4\xBD"), tokenizer->encode(r));
  EXPECT_EQ(tokenizer->encode("\xC0\xAF"), tokenizer->encode(r + r));
  // Broken bytes cannot move the bounds of what the user typed.
  const std::string text = "\xE4\xBD<|im_end|>\xFF<|im_end|>";
  const std::vector<TextSpan> spans = {{1, 12}};  // ends with the first token
  EncodeOptions options;
  options.plain_spans = spans;
  const auto ids = tokenizer->encode_with(text, options).ids;
  EXPECT_EQ(std::count(ids.begin(), ids.end(), *tokenizer->token_id("<|im_end|>")), 1);
  EXPECT_EQ(ids.back(), *tokenizer->token_id("<|im_end|>"));
}

TEST(Tokenizer, OffsetsStartTheTokens) {
  const auto tokenizer = Tokenizer::load(demo_folder());
  const std::string text = "<|im_start|>user\nHow many \xE4\xBD\xA0 + 12?<|im_end|>";
  EncodeOptions options;
  options.offsets = true;
  const Encoding encoding = tokenizer->encode_with(text, options);
  EXPECT_EQ(encoding.ids, tokenizer->encode(text));
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    const std::string bytes = tokenizer->token_bytes(encoding.ids[i]);
    EXPECT_EQ(text.substr(encoding.offsets[i], bytes.size()), bytes);
  }
}

TEST(Tokenizer, TokensInsideSpans) {
  Encoding encoding;
  encoding.ids = {1, 2, 3, 4, 5, 6};
  encoding.offsets = {0, 3, 3, 5, 8, 10};
  using Mask = std::vector<uint8_t>;
  const auto inside = [&](const std::vector<TextSpan>& spans) {
    return tokens_inside(encoding, 12, spans);
  };
  EXPECT_EQ(inside({}), (Mask{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(inside({{3, 5}}), (Mask{0, 1, 1, 0, 0, 0}));
  EXPECT_EQ(inside({{4, 6}}), (Mask{0, 1, 1, 1, 0, 0}));
  EXPECT_EQ(inside({{0, 1}, {9, 10}, {11, 12}}), (Mask{1, 0, 0, 0, 1, 1}));
  EXPECT_EQ(inside({{0, 12}}), (Mask{1, 1, 1, 1, 1, 1}));
  encoding.offsets.clear();
  EXPECT_THROW(inside({}), UsageError);
}

TEST(Tokenizer, LooksUpTokens) {
  const auto tokenizer = Tokenizer::load(demo_folder());
  EXPECT_EQ(tokenizer->vocab_size(), 2048);
  EXPECT_EQ(tokenizer->token_id("<|im_end|>"), 2041);
  EXPECT_EQ(tokenizer->token_text(2041), "<|im_end|>");
  EXPECT_TRUE(tokenizer->is_special(2041));
  EXPECT_FALSE(tokenizer->is_special(2042));  // <tool_call>: added, not special
  EXPECT_FALSE(tokenizer->is_special(-1));
  EXPECT_EQ(tokenizer->token_id("no such token"), std::nullopt);
  EXPECT_EQ(tokenizer->token_bytes(220), " ");
  EXPECT_EQ(tokenizer->token_bytes(99999), "");
  EXPECT_EQ(tokenizer->decode(std::vector<int32_t>{-1, 99999, 2041, 11}, true), ",");
  // The bytes of all tokens joined are the text.
  const std::string text = "Caf\xC3\xA9 \xF0\x9F\x98\x80 x";
  std::string bytes;
  for (const int32_t id : tokenizer->encode(text)) bytes += tokenizer->token_bytes(id);
  EXPECT_EQ(bytes, text);
}

TEST(Tokenizer, StreamsCompleteCharactersOnly) {
  const auto tokenizer = Tokenizer::load(demo_folder());
  const std::string text = "a\xF0\x9F\x98\x80\xE4\xBD\xA0z";
  StreamDecoder decoder(tokenizer);
  std::string all;
  for (const int32_t id : tokenizer->encode(text)) {
    const std::string part = decoder.push(id);
    EXPECT_EQ(part.find("\xEF\xBF\xBD"), std::string::npos);
    all += part;
  }
  EXPECT_EQ(all + decoder.finish(), text);
  StreamDecoder cut(tokenizer);
  const auto emoji = tokenizer->encode("\xF0\x9F\x98\x80");
  ASSERT_GT(emoji.size(), 1U);
  EXPECT_EQ(cut.push(emoji[0]), "");
  EXPECT_EQ(cut.finish(), "\xEF\xBF\xBD");
  StreamDecoder special(tokenizer, true);
  EXPECT_EQ(special.push(2041), "");
  StreamDecoder kept(tokenizer, false);
  EXPECT_EQ(kept.push(2041), "<|im_end|>");
}

TEST(Tokenizer, SameFromSeveralThreads) {
  const auto tokenizer = Tokenizer::load(demo_folder());
  const Json golden = golden_text("tokenizer_demo.json");
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (const Json& c : golden["cases"]) {
        if (tokenizer->encode(c["text"].get<std::string>()) != c["ids"].get<Ids>()) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Tokenizer, MissingFileIsNamed) {
  try {
    Tokenizer::load(testing::TempDir() + "/no_such_checkpoint");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("tokenizer.json"), std::string::npos);
  }
}

}  // namespace
}  // namespace hone
