#include "runtime/text/tokenize/tokenizer_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/runtime/text/golden_text.h"

namespace hone {
namespace {

using testing::HasSubstr;

Json small() {
  return parse_json(
      R"({"version": "1.0", "truncation": {"max_length": 2}, "padding": null,
          "added_tokens": [{"id": 3, "content": "<s>", "special": true}],
          "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": null,
          "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}})",
      "test"
  );
}

std::string error_of(const std::string& text, const Json& config = {}) {
  try {
    read_tokenizer_json(text, "tokenizer.json", config, "tokenizer_config.json");
  } catch (const DataError& error) {
    return error.what();
  }
  return "none";
}

std::string error_with(const char* pointer, const char* value) {
  Json json = small();
  json[Json::json_pointer(pointer)] = parse_json(value, "value");
  return error_of(dump_json(json));
}

TEST(TokenizerJson, MergesInBothForms) {
  EXPECT_EQ(error_of(dump_json(small())), "none");
  EXPECT_EQ(error_with("/model/merges", R"([["a", "b"]])"), "none");
  EXPECT_EQ(error_with("/model/merges", R"(["#version: 0.2", "a b"])"), "none");
  EXPECT_THAT(error_with("/model/merges", R"(["ab"])"), HasSubstr("merge 0"));
  EXPECT_THAT(error_with("/model/merges", R"(["a b c"])"), HasSubstr("merge 0"));
  EXPECT_THAT(error_with("/model/merges", R"([["a"]])"), HasSubstr("merge 0"));
  EXPECT_THAT(error_with("/model/merges", R"([["a", "b", "c"]])"), HasSubstr("merge 0"));
  EXPECT_THAT(error_with("/model/merges", R"([5])"), HasSubstr("merge 0"));
  EXPECT_THAT(
      error_with("/model/merges", R"(["b a"])"), HasSubstr("\"ba\" is not in the vocabulary")
  );
}

TEST(TokenizerJson, UnknownPartsAreNamed) {
  EXPECT_THAT(error_with("/model/type", "\"Unigram\""), HasSubstr("model Unigram"));
  EXPECT_THAT(error_with("/model/type", "\"WordPiece\""), HasSubstr("WordPiece"));
  EXPECT_THAT(error_with("/normalizer", R"({"type": "Precompiled"})"), HasSubstr("Precompiled"));
  EXPECT_THAT(error_with("/pre_tokenizer", R"({"type": "Odd"})"), HasSubstr("pre_tokenizer Odd"));
  EXPECT_THAT(error_with("/decoder", R"({"type": "CTC"})"), HasSubstr("decoder CTC"));
  EXPECT_THAT(error_with("/post_processor", R"({"type": "Odd"})"), HasSubstr("post_processor Odd"));
  EXPECT_THAT(error_with("/surprise", "1"), HasSubstr("field \"surprise\" is not known"));
  EXPECT_THAT(error_with("/model/dropout", "0.1"), HasSubstr("dropout 0.1"));
  EXPECT_EQ(error_with("/model/dropout", "null"), "none");
  EXPECT_THAT(error_with("/model/fuse_unk", "5"), HasSubstr("fuse_unk"));
  EXPECT_THAT(error_with("/model/unk_token", "\"<unk>\""), HasSubstr("<unk>"));
  EXPECT_THAT(error_with("/model/vocab", "[[\"a\", 0.0]]"), HasSubstr("vocab"));
  EXPECT_THAT(error_with("/model/vocab/a", "-1"), HasSubstr("\"a\""));
  EXPECT_THAT(error_with("/model/vocab/a", "1.5"), HasSubstr("\"a\""));
  EXPECT_THAT(error_with("/model/vocab/a", "2000000000"), HasSubstr("out of range"));
  EXPECT_THAT(error_with("/added_tokens", "5"), HasSubstr("added_tokens"));
  EXPECT_THAT(error_with("/added_tokens/0/id", "-5"), HasSubstr("out of range"));
  EXPECT_THAT(error_with("/added_tokens/0/content", "5"), HasSubstr("content"));
}

TEST(TokenizerJson, BrokenFiles) {
  const std::string text = dump_json(small());
  EXPECT_THAT(error_of(""), HasSubstr("tokenizer.json"));
  EXPECT_THAT(error_of("[]"), HasSubstr("must be a JSON object"));
  EXPECT_THAT(error_of("{}"), HasSubstr("\"model\" is missing"));
  EXPECT_THAT(error_of(R"({"model": {"type": "BPE"}})"), HasSubstr("\"vocab\" and \"merges\""));
  EXPECT_THAT(error_of(R"({"model": 5})"), HasSubstr("\"model\" must be an object"));
  EXPECT_THAT(error_of(text + "x"), HasSubstr("tokenizer.json"));
  EXPECT_NE(error_of("\xFF\xFE"), "none");
  // Cut anywhere: refused, never read past the end.
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_NE(error_of(text.substr(0, size)), "none") << size;
  }
}

TEST(TokenizerJson, TokensOfTheConfigFile) {
  const Json config = parse_json(
      R"({"added_tokens_decoder": {"3": {"content": "<s>", "special": false, "lstrip": true},
                                   "9": {"content": "<new>", "special": true}},
          "eos_token": "ab", "pad_token": {"content": "<never>"}, "additional_special_tokens": ["b"]})",
      "config"
  );
  const TokenizerParts parts =
      read_tokenizer_json(dump_json(small()), "tokenizer.json", config, "tokenizer_config.json");
  ASSERT_NE(parts.added.find("<s>"), nullptr);
  EXPECT_TRUE(parts.added.find("<s>")->lstrip);
  EXPECT_FALSE(parts.added.find("<s>")->special);
  EXPECT_EQ(parts.added.find("<new>")->id, 9);
  EXPECT_EQ(parts.added.find("ab")->id, 2);
  EXPECT_TRUE(parts.added.find("ab")->special);
  EXPECT_TRUE(parts.added.find(1)->special);
  EXPECT_EQ(parts.added.find("<never>"), nullptr);
  EXPECT_THAT(
      error_of(
          dump_json(small()),
          parse_json(R"({"added_tokens_decoder": {"x": {"content": "y"}}})", "c")
      ),
      HasSubstr("tokenizer_config.json: added_tokens_decoder: \"x\"")
  );
}

TEST(TokenizerJson, PostProcessorTemplates) {
  const auto post = [](const char* json) {
    return PostProcessor::read(parse_json(json, "test"), "tokenizer.json");
  };
  const char* good = R"({"type": "TemplateProcessing", "single": [
      {"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
      {"SpecialToken": {"id": "</s>", "type_id": 0}}],
      "special_tokens": {"<s>": {"id": "<s>", "ids": [7, 8]}, "</s>": {"id": "</s>", "ids": [9]}}})";
  EXPECT_EQ(post(good).before, (std::vector<int32_t>{7, 8}));
  EXPECT_EQ(post(good).after, (std::vector<int32_t>{9}));
  EXPECT_THROW(post(R"({"type": "TemplateProcessing", "single": []})"), DataError);
  EXPECT_THROW(
      post(R"({"type": "TemplateProcessing", "single": [{"Sequence": {"id": "B"}}]})"), DataError
  );
  EXPECT_THROW(
      post(
          R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}, {"Sequence": {"id": "A"}}]})"
      ),
      DataError
  );
  EXPECT_THROW(post(R"({"type": "RobertaProcessing", "cls": ["a", 1]})"), DataError);
}

}  // namespace
}  // namespace hone
