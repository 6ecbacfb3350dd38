#include "calibrate/stats/stats.h"

#include <cmath>
#include <functional>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/io/hdf5.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

fs::path file(const std::string& name) {
  const std::string program = fs::read_symlink("/proc/self/exe").string();
  const fs::path path = fs::path(::testing::TempDir()) /
                        ("hone-stats-" + std::to_string(std::hash<std::string>()(program)) + name);
  fs::remove(path);
  return path;
}

CalibrationStats example() {
  CalibrationStats stats;
  stats.model_hash = "abc";
  stats.corpus_hash = "def";
  stats.tokens = 4096;
  ModuleStats q;
  q.rows = 128;
  q.cols = 3;
  q.tokens = 4096;
  q.input_amax = 12.5F;
  q.input_channel_amax = {1.0F, 12.5F, 0.0F};
  q.input_mean_square = {0.25, 2.5, 1e-30};
  q.sensitivity = {{"nvfp4", {1.5e-4, 2e-6}}, {"fp8-block", {-1e-9, 3e-9}}};
  stats.modules["model.layers.0.self_attn.q_proj"] = q;
  ModuleStats down = q;
  down.cols = 2;
  down.input_channel_amax = {3.0F, 4.0F};
  down.input_mean_square.clear();
  down.sensitivity.erase("fp8-block");
  stats.modules["model.layers.0.mlp.down_proj"] = down;
  // A group measured as a whole.
  stats.modules["model.layers.0.self_attn.qkv"].sensitivity["nvfp4"] = {7e-4, 1e-6};
  return stats;
}

void expect_equal(const CalibrationStats& a, const CalibrationStats& b) {
  EXPECT_EQ(a.model_hash, b.model_hash);
  EXPECT_EQ(a.corpus_hash, b.corpus_hash);
  EXPECT_EQ(a.tokens, b.tokens);
  ASSERT_EQ(a.modules.size(), b.modules.size());
  for (const auto& [name, m] : a.modules) {
    ASSERT_TRUE(b.modules.contains(name)) << name;
    const ModuleStats& n = b.modules.at(name);
    EXPECT_EQ(m.rows, n.rows);
    EXPECT_EQ(m.cols, n.cols);
    EXPECT_EQ(m.tokens, n.tokens);
    EXPECT_EQ(m.input_amax, n.input_amax);
    EXPECT_EQ(m.input_channel_amax, n.input_channel_amax);
    EXPECT_EQ(m.input_mean_square, n.input_mean_square);
    ASSERT_EQ(m.sensitivity.size(), n.sensitivity.size()) << name;
    for (const auto& [format, s] : m.sensitivity) {
      EXPECT_EQ(s.kl_mean, n.sensitivity.at(format).kl_mean);
      EXPECT_EQ(s.kl_stderr, n.sensitivity.at(format).kl_stderr);
    }
  }
}

template <typename Error>
std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

// A file with the root attributes, and whatever `fill` adds.
fs::path hand_made(
    const std::string& name, int64_t version, const std::function<void(Hdf5Writer&)>& fill
) {
  const fs::path path = file(name);
  Hdf5Writer writer(path);
  writer.attribute("/", "schema_version", version);
  writer.attribute("/", "model_hash", std::string("abc"));
  writer.attribute("/", "corpus_hash", std::string("def"));
  writer.attribute("/", "tokens", int64_t{1});
  fill(writer);
  writer.commit();
  return path;
}

TEST(Stats, RoundTripIsExact) {
  const fs::path path = file("round-trip.h5");
  const CalibrationStats stats = example();
  stats.save(path);
  expect_equal(stats, CalibrationStats::load(path));
}

TEST(Stats, EmptyStatisticsRoundTrip) {
  const fs::path path = file("empty.h5");
  CalibrationStats stats;
  stats.model_hash = "abc";
  stats.save(path);
  expect_equal(stats, CalibrationStats::load(path));
}

TEST(Stats, EqualStatisticsGiveEqualBytes) {
  const fs::path a = file("a.h5");
  const fs::path b = file("b.h5");
  example().save(a);
  example().save(b);
  EXPECT_EQ(read_text_file(a), read_text_file(b));
}

TEST(Stats, TheDocumentedDataSetsAreThere) {
  const fs::path path = file("documented.h5");
  example().save(path);
  const Hdf5Reader reader(path);
  EXPECT_EQ(reader.int_attribute("/", "schema_version"), 1);
  EXPECT_THAT(
      reader.read_strings("modules/name"),
      ::testing::ElementsAre(
          "model.layers.0.mlp.down_proj",
          "model.layers.0.self_attn.q_proj",
          "model.layers.0.self_attn.qkv"
      )
  );
  EXPECT_THAT(reader.children("sensitivity"), ::testing::ElementsAre("fp8-block", "nvfp4"));
  const Tensor offset = reader.read("channels/amax_offset");
  EXPECT_THAT(
      std::vector<int64_t>(offset.view().as<int64_t>().begin(), offset.view().as<int64_t>().end()),
      ::testing::ElementsAre(0, 2, 5, 5)
  );
  EXPECT_EQ(reader.read("modules/input_amax").type(), DType::kF32);
  EXPECT_EQ(reader.read("channels/mean_square").type(), DType::kF64);
}

TEST(Stats, OtherSchemaVersionsAreRefusedWithBothNumbers) {
  const fs::path path = hand_made("version.h5", 7, [](Hdf5Writer&) {});
  const std::string error = error_of<DataError>([&] { CalibrationStats::load(path); });
  EXPECT_THAT(error, HasSubstr(path.string()));
  EXPECT_THAT(error, HasSubstr("schema_version is 7"));
  EXPECT_THAT(error, HasSubstr("reads 1"));
}

TEST(Stats, MissingFilesAndForeignFilesAreRefused) {
  EXPECT_THROW(CalibrationStats::load(file("missing.h5")), DataError);
  const fs::path text = file("text.h5");
  write_text_file(text, "this is no HDF5 file");
  EXPECT_THROW(CalibrationStats::load(text), DataError);
}

TEST(Stats, SizesThatDisagreeAreRefused) {
  const fs::path path = hand_made("sizes.h5", 1, [](Hdf5Writer& writer) {
    const std::vector<std::string> names = {"a", "b"};
    const std::vector<int64_t> one = {1};
    writer.write_strings("modules/name", names);
    writer.write(
        "modules/rows", {DType::kI64, Shape{1}, reinterpret_cast<const std::byte*>(one.data())}
    );
  });
  const std::string error = error_of<DataError>([&] { CalibrationStats::load(path); });
  EXPECT_THAT(error, HasSubstr("modules/rows has 1 elements, expected 2"));
}

TEST(Stats, WrongTypesAreRefused) {
  const fs::path path = hand_made("types.h5", 1, [](Hdf5Writer& writer) {
    const std::vector<std::string> names = {"a"};
    const std::vector<float> one = {1};
    writer.write_strings("modules/name", names);
    writer.write(
        "modules/rows", {DType::kF32, Shape{1}, reinterpret_cast<const std::byte*>(one.data())}
    );
  });
  const std::string error = error_of<DataError>([&] { CalibrationStats::load(path); });
  EXPECT_THAT(error, HasSubstr("modules/rows is F32 [1], expected I64 of rank 1"));
}

TEST(Stats, BrokenNumbersAreNeverWritten) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::string module = "model.layers.0.mlp.down_proj";
  const std::vector<std::pair<const char*, std::function<void(ModuleStats&)>>> faults = {
      {"input_amax", [&](ModuleStats& m) { m.input_amax = nan; }},
      {"input_amax", [&](ModuleStats& m) { m.input_amax = -1.0F; }},
      {"input_channel_amax", [&](ModuleStats& m) { m.input_channel_amax[1] = INFINITY; }},
      {"expected 2 (in_features)", [&](ModuleStats& m) { m.input_channel_amax.resize(1); }},
      {"sensitivity to nvfp4", [&](ModuleStats& m) { m.sensitivity["nvfp4"].kl_mean = NAN; }},
      {"sensitivity to nvfp4", [&](ModuleStats& m) { m.sensitivity["nvfp4"].kl_stderr = -1; }},
      {"no negative sizes", [&](ModuleStats& m) { m.tokens = -1; }},
  };
  for (const auto& [expected, spoil] : faults) {
    CalibrationStats stats = example();
    spoil(stats.modules[module]);
    const fs::path path = file("broken.h5");
    const std::string error = error_of<DataError>([&] { stats.save(path); });
    EXPECT_THAT(error, HasSubstr(expected));
    EXPECT_THAT(error, HasSubstr(module));
    EXPECT_FALSE(fs::exists(path));
  }
}

TEST(Stats, AFullDiskLeavesNothing) {
  const fs::path path = file("full.h5");
  inject_write_fault_after(16);
  const std::string error = error_of<DataError>([&] { example().save(path); });
  inject_write_fault_after(-1);
  EXPECT_NE(error, "(no error)");
  EXPECT_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace hone
