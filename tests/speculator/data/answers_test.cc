#include "speculator/data/answers.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "core/base/cancel.h"
#include "core/base/file.h"
#include "core/base/progress.h"
#include "tests/fixture/toy_target.h"

namespace hone {
namespace {

LoadedModel toy(uint64_t seed = 1) {
  set_progress_mode(ProgressMode::kSilent);
  LoadedModel loaded;
  loaded.model = std::make_unique<fixture::ToyTarget>(seed);
  loaded.stop_ids = {2, 17};
  return loaded;
}

std::vector<TrainingPrompt> some_prompts() {
  std::vector<TrainingPrompt> prompts;
  for (int32_t i = 0; i < 20; ++i)
    prompts.push_back({i, std::to_string(i), {i, static_cast<int32_t>((5 * i) % 24), 7}});
  return prompts;
}

std::filesystem::path fresh(const std::string& name) {
  const auto path = std::filesystem::path(testing::TempDir()) / ("answers_" + name);
  std::filesystem::remove(path);
  return path;
}

std::vector<std::vector<int32_t>> ids(const std::vector<TrainingRow>& rows) {
  std::vector<std::vector<int32_t>> all;
  for (const TrainingRow& row : rows) all.push_back(row.ids);
  return all;
}

TEST(Answers, AreTheTargetsOwnWithTheirEndToken) {
  LoadedModel loaded = toy();
  const fixture::ToyTarget rule;
  const AnswerOptions options{.max_new_tokens = 12};
  const auto rows = answer_prompts(loaded, some_prompts(), options, fresh("rule"));
  ASSERT_EQ(rows.size(), 20U);
  int ended = 0;
  for (const TrainingRow& row : rows) {
    ASSERT_GE(row.length(), 4);
    ASSERT_LE(row.length(), 3 + 12);
    for (size_t i = 3; i < row.ids.size(); ++i) {
      EXPECT_EQ(row.ids[i], rule.next(row.ids[i - 2], row.ids[i - 1]));
      EXPECT_EQ(row.mask[i], 1);
      const bool end = row.ids[i] == 2 || row.ids[i] == 17;
      EXPECT_EQ(end, end && i + 1 == row.ids.size());  // nothing follows an end token
      ended += end ? 1 : 0;
    }
    EXPECT_EQ(row.mask[2], 0);
    const bool full = row.length() == 15;
    EXPECT_TRUE(full || row.ids.back() == 2 || row.ids.back() == 17);
  }
  EXPECT_GT(ended, 0);
}

TEST(Answers, LengthIsLimited) {
  LoadedModel loaded = toy();
  const AnswerOptions options{.max_new_tokens = 12, .max_length = 6};
  for (const TrainingRow& row : answer_prompts(loaded, some_prompts(), options, fresh("length")))
    EXPECT_LE(row.length(), 6);
}

TEST(Answers, GoOnFromTheJournal) {
  const AnswerOptions options{.max_new_tokens = 12, .temperature = 2.0, .seed = 3, .batch = 4};
  LoadedModel loaded = toy();
  const auto whole = ids(answer_prompts(loaded, some_prompts(), options, fresh("whole")));
  // What a killed run leaves: some lines and half of one.
  const auto journal = fresh("resumed");
  answer_prompts(loaded, some_prompts(), options, journal);
  const std::string text = read_text_file(journal);
  size_t cut = 0;
  for (int line = 0; line < 8; ++line) cut = text.find('\n', cut) + 1;
  std::ofstream(journal, std::ios::trunc) << text.substr(0, cut + 9);
  EXPECT_EQ(ids(answer_prompts(loaded, some_prompts(), options, journal)), whole);
  // The journal is whole again, and a further call computes nothing: the lines keep their order.
  const std::string after = read_text_file(journal);
  EXPECT_EQ(ids(answer_prompts(loaded, some_prompts(), options, journal)), whole);
  std::istringstream lines(after);
  int count = 0;
  for (std::string line; std::getline(lines, line);) ++count;
  EXPECT_EQ(count, 21);
}

TEST(Answers, InterruptionsLoseNothing) {
  const AnswerOptions options{.max_new_tokens = 12, .batch = 2};
  LoadedModel loaded = toy();
  const auto whole = ids(answer_prompts(loaded, some_prompts(), options, fresh("not_cancelled")));
  const auto journal = fresh("cancelled");
  request_cancel();
  EXPECT_THROW(answer_prompts(loaded, some_prompts(), options, journal), Cancelled);
  reset_cancel();
  EXPECT_EQ(ids(answer_prompts(loaded, some_prompts(), options, journal)), whole);
}

TEST(Answers, AJournalOfOtherInputsIsReplaced) {
  const auto journal = fresh("other");
  LoadedModel loaded = toy();
  AnswerOptions options{.max_new_tokens = 12};
  answer_prompts(loaded, some_prompts(), options, journal);
  options.max_new_tokens = 4;
  for (const TrainingRow& row : answer_prompts(loaded, some_prompts(), options, journal))
    EXPECT_LE(row.length(), 7);
  // And one that is no journal at all.
  write_text_file(journal, "rubbish");
  EXPECT_EQ(answer_prompts(loaded, some_prompts(), options, journal).size(), 20U);
}

TEST(Answers, SampledOnesDependOnSeedAndPromptAlone) {
  LoadedModel loaded = toy();
  AnswerOptions options{.max_new_tokens = 12, .temperature = 3.0, .seed = 1, .batch = 1};
  const auto one = ids(answer_prompts(loaded, some_prompts(), options, fresh("seed_a")));
  options.batch = 16;
  EXPECT_EQ(ids(answer_prompts(loaded, some_prompts(), options, fresh("seed_b"))), one);
  options.seed = 2;
  EXPECT_NE(ids(answer_prompts(loaded, some_prompts(), options, fresh("seed_c"))), one);
}

}  // namespace
}  // namespace hone
