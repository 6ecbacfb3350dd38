#include "eval/task/corpus.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/eval/task/demo.h"

namespace hone {
namespace {

ModelPair same() {
  return {demo_model(), demo_model()};
}

std::string scored_text(const TeacherDocument& document) {
  return demo_model().tokenizer->decode(
      std::span<const int32_t>(document.ids).subspan(static_cast<size_t>(document.scored_from)),
      false
  );
}

TEST(Corpus, TheReferenceAnswersOpenConversations) {
  CorpusOptions options;
  options.data = write_lines(
      {R"({"messages": [{"role": "user", "content": "Hello"}]})",
       R"({"messages": [{"role": "user", "content": "Hello"}], "tools": []})"},
      ".jsonl"
  );
  options.max_tokens = 64;
  const TeacherCorpus corpus = read_corpus(same(), options);
  ASSERT_EQ(corpus.documents.size(), 2U);
  EXPECT_EQ(corpus.documents[0].ids, corpus.documents[1].ids);
  const TeacherDocument& document = corpus.documents[0];
  ChatInput input;
  input.messages = Json::array({{{"role", "user"}, {"content", "Hello"}}});
  const auto prompt = demo_model().encode_chat(input);
  ASSERT_EQ(document.scored_from, static_cast<int64_t>(prompt.size()));
  // The end of the turn is scored too.
  EXPECT_TRUE(scored_text(document).ends_with("<|im_end|>")) << scored_text(document);
  const auto answer = generate_answers(demo_model(), {prompt}, {.max_tokens = 64, .label = ""});
  EXPECT_EQ(scored_text(document), answer[0].text + "<|im_end|>");
}

TEST(Corpus, GivenAnswersAreScored) {
  CorpusOptions options;
  options.data = write_lines(
      {R"({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Good day."}]})"},
      ".jsonl"
  );
  const TeacherCorpus corpus = read_corpus(same(), options);
  ASSERT_EQ(corpus.documents.size(), 1U);
  EXPECT_EQ(scored_text(corpus.documents[0]).rfind("Good day.<|im_end|>", 0), 0U)
      << scored_text(corpus.documents[0]);
}

TEST(Corpus, PlainTextIsCutIntoWindows) {
  const std::string text(600, 'a');
  CorpusOptions options;
  options.data = write_lines({R"({"text": "one two three four five six seven"})"}, ".jsonl");
  options.window = 4;
  const TeacherCorpus corpus = read_corpus(same(), options);
  const auto ids = demo_model().encode_text("one two three four five six seven");
  std::vector<int32_t> joined;
  for (const TeacherDocument& document : corpus.documents) {
    EXPECT_LE(document.ids.size(), 4U);
    EXPECT_GE(document.ids.size(), 2U);
    EXPECT_EQ(document.scored_from, 1);
    joined.insert(joined.end(), document.ids.begin(), document.ids.end());
  }
  // A single token at the end cannot be predicted from anything and is left out.
  EXPECT_GE(joined.size() + 1, ids.size());
  EXPECT_TRUE(std::equal(joined.begin(), joined.end(), ids.begin()));
  options.data = write_lines({"one two three four five six seven"}, ".txt");
  EXPECT_GT(read_corpus(same(), options).documents.size(), 1U);
}

TEST(Corpus, SkipAndLimit) {
  std::vector<std::string> lines;
  for (int i = 0; i < 6; ++i) lines.push_back(fmt::format(R"({{"text": "number {} here"}})", i));
  CorpusOptions options;
  options.data = write_lines(lines, ".jsonl");
  options.skip = 2;
  options.limit = 3;
  const TeacherCorpus corpus = read_corpus(same(), options);
  ASSERT_EQ(corpus.documents.size(), 3U);
  EXPECT_EQ(corpus.data.items, 3);
  EXPECT_EQ(corpus.documents[0].ids, demo_model().encode_text("number 2 here"));
  options.skip = 6;
  EXPECT_THROW((void)read_corpus(same(), options), DataError);
}

TEST(Corpus, OtherTokenizerIsAMismatch) {
  LoadedModel other = changed_demo([](const std::filesystem::path& folder) {
    replace_in_file(
        folder / "tokenizer_config.json", "<|im_start|>assistant", "<|im_start|> assistant"
    );
  });
  CorpusOptions options;
  options.data = write_lines({R"({"messages": [{"role": "user", "content": "Hello"}]})"}, ".jsonl");
  const TeacherCorpus corpus = read_corpus({demo_model(), other}, options);
  EXPECT_NE(corpus.mismatch.find("token"), std::string::npos);
}

TEST(Corpus, BrokenDataIsNamed) {
  const auto message = [](const std::string& line, const char* suffix) {
    CorpusOptions options;
    options.data = write_lines({line}, suffix);
    try {
      (void)read_corpus(same(), options);
    } catch (const DataError& error) {
      return std::string(error.what());
    }
    return std::string("nothing thrown");
  };
  EXPECT_NE(message(R"({"prompt": "x"})", "a.jsonl").find("text"), std::string::npos);
  EXPECT_NE(message(R"({"messages": []})", "b.jsonl").find("messages"), std::string::npos);
  EXPECT_NE(message("[]", "c.jsonl").find("item 0"), std::string::npos);
  std::string words;
  for (int i = 0; i < 2000; ++i) words += "word ";
  EXPECT_NE(
      message(R"({"messages": [{"role": "user", "content": ")" + words + R"("}]})", "d.jsonl")
          .find("the context holds 1024"),
      std::string::npos
  );
}

}  // namespace
}  // namespace hone
