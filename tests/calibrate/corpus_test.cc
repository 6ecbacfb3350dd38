#include "calibrate/corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/file.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

LoadedModel& demo() {
  static LoadedModel model = load_model(std::string(HONE_SOURCE_DIR) + "/recipes/demo");
  return model;
}

fs::path write(const std::string& extension, const std::string& text) {
  const fs::path path =
      fs::path(::testing::TempDir()) /
      ("corpus_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) +
       extension);
  write_text_file(path, text);
  return path;
}

constexpr const char* kQuestion = R"({"messages":[{"role":"user","content":"Say hello."}]})";

TEST(Corpus, ConversationsWithoutAnswerAreAnsweredByTheModel) {
  const fs::path path = write(".jsonl", std::string(kQuestion) + "\n");
  CorpusLimits options;
  options.answer_tokens = 0;
  const Corpus bare = load_corpus(path, demo(), options);
  options.answer_tokens = 20;
  const Corpus answered = load_corpus(path, demo(), options);
  ASSERT_EQ(bare.sequences.size(), 1U);
  ASSERT_EQ(answered.sequences.size(), 1U);
  const auto& prompt = bare.sequences[0];
  const auto& whole = answered.sequences[0];
  ASSERT_GT(whole.size(), prompt.size());
  EXPECT_TRUE(std::equal(prompt.begin(), prompt.end(), whole.begin()));
  // The rest is the greedy answer.
  Engine engine(*demo().model, demo().tokenizer, {});
  Request request = demo().request(prompt);
  request.sampling = {};
  request.max_tokens = 20;
  const Completion completion = engine.generate({request}).front();
  EXPECT_TRUE(std::equal(
      completion.ids.begin(),
      completion.ids.end(),
      whole.begin() + static_cast<int64_t>(prompt.size())
  ));
}

TEST(Corpus, AnswersOfTheFileAreKept) {
  const fs::path path = write(
      ".jsonl",
      R"({"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello you."}]})"
      "\n"
  );
  const Corpus corpus = load_corpus(path, demo(), {});
  EXPECT_THAT(demo().tokenizer->decode(corpus.sequences.at(0)), HasSubstr("Hello you."));
}

TEST(Corpus, TextIsCutIntoSequences) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "The hens lay eggs every day. ";
  CorpusLimits options;
  options.max_length = 64;
  options.max_tokens = 200;
  const Corpus corpus = load_corpus(write(".txt", text), demo(), options);
  EXPECT_EQ(corpus.tokens(), 200);
  ASSERT_EQ(corpus.sequences.size(), 4U);
  EXPECT_EQ(corpus.sequences[0].size(), 64U);
  EXPECT_EQ(corpus.sequences[3].size(), 8U);
}

TEST(Corpus, HashKnowsIdsAndBoundaries) {
  Corpus a{{{1, 2}, {3, 4}}};
  Corpus b{{{1, 2, 3, 4}}};
  Corpus c{{{1, 2}, {3, 5}}};
  EXPECT_EQ(a.hash(), Corpus({{{1, 2}, {3, 4}}}).hash());
  EXPECT_NE(a.hash(), b.hash());
  EXPECT_NE(a.hash(), c.hash());
}

TEST(Corpus, BadDocumentsAreNamed) {
  const auto error = [](const std::string& text) -> std::string {
    try {
      load_corpus(write(".jsonl", text), demo(), {});
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_THAT(error(std::string(kQuestion) + "\n{\"text\": 3}\n"), HasSubstr("document 2"));
  EXPECT_THAT(error("[1]\n"), HasSubstr("\"messages\" or \"text\""));
  EXPECT_THAT(error("{\"messages\": []}\n"), HasSubstr("non-empty"));
  EXPECT_THAT(error("{\n"), HasSubstr(".jsonl"));
  EXPECT_THAT(error(""), HasSubstr("no sequence"));
}

}  // namespace
}  // namespace hone
