// Tokenizers against Hugging Face's own library; goldens by
// tests/golden/scripts/tokenizer_golden.py.
#include "runtime/text/tokenizer.h"

#include <gtest/gtest.h>

#include "runtime/text/tokenize/pre_tokenizer.h"
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

TEST(TokenizerGolden, Patterns) {
  const Json golden = golden_text("tokenizer_patterns.json");
  const std::string text = golden["text"];
  for (const Json& entry : golden["patterns"]) {
    const std::string pattern = entry["pattern"];
    SCOPED_TRACE(pattern);
    const Json json = {
        {"type", "Split"},
        {"pattern", {{"Regex", pattern}}},
        {"behavior", "Isolated"},
        {"invert", false}};
    if (entry.contains("error")) {
      EXPECT_ANY_THROW(PreTokenizer::read(json, "test", false));
      continue;
    }
    PreTokenizer::Loaded loaded;
    ASSERT_NO_THROW(loaded = PreTokenizer::read(json, "test", false));
    PieceList list;
    list.pieces.push_back({text});
    loaded.steps->apply(list);
    std::vector<std::string> pieces;
    for (const Piece& piece : list.pieces) pieces.emplace_back(piece.text);
    EXPECT_EQ(pieces, entry["pieces"].get<std::vector<std::string>>());
  }
}

}  // namespace
}  // namespace hone
