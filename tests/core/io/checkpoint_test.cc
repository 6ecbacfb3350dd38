#include "core/io/checkpoint.h"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "core/base/threads.h"
#include "tests/core/io/safetensors_bytes.h"
#include "tests/core/io/temp_folder.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kIndexName = "model.safetensors.index.json";

std::string one_tensor(const std::string& name, char fill = 'x') {
  return safetensors_bytes(
      R"({")" + name + R"(":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", std::string(4, fill)
  );
}
std::string index_of(const std::string& map) {
  return R"({"metadata":{"total_size":8},"weight_map":{)" + map + "}}";
}

// Two shards, "a" and "b".
void write_sharded(const fs::path& folder) {
  write_bytes(folder / "config.json", R"({"model_type":"toy"})");
  write_bytes(folder / "model-00001-of-00002.safetensors", one_tensor("a"));
  write_bytes(folder / "model-00002-of-00002.safetensors", one_tensor("b"));
  write_bytes(
      folder / kIndexName,
      index_of(R"("b":"model-00002-of-00002.safetensors",)"
               R"("a":"model-00001-of-00002.safetensors")")
  );
}

std::string open_complaint(const fs::path& folder) {
  return message_of<DataError>([&] { (void)Checkpoint::open(folder); });
}

TEST(CheckpointRead, SingleFile) {
  TempFolder folder;
  write_bytes(folder / "config.json", "{\"x\": 1}");
  write_bytes(folder / "model.safetensors", one_tensor("w"));
  const auto checkpoint = Checkpoint::open(folder.path());
  EXPECT_EQ(checkpoint->config()["x"], 1);
  EXPECT_THAT(checkpoint->names(), ElementsAre("w"));
  EXPECT_EQ(checkpoint->total_bytes(), 4);
  EXPECT_EQ(checkpoint->shard_of("w"), "model.safetensors");
  const Tensor kept = checkpoint->borrow("w");
  EXPECT_EQ(kept.as<uint8_t>()[3], 'x');
}

TEST(CheckpointRead, BorrowedTensorsKeepTheirShard) {
  TempFolder folder;
  write_sharded(folder.path());
  Tensor kept = Checkpoint::open(folder.path())->borrow("b");
  EXPECT_EQ(std::as_const(kept).as<uint8_t>()[0], 'x');
}

TEST(CheckpointRead, ShardsInOrder) {
  TempFolder folder;
  write_sharded(folder.path());
  const auto checkpoint = Checkpoint::open(folder.path());
  EXPECT_THAT(checkpoint->names(), ElementsAre("a", "b"));
  EXPECT_TRUE(checkpoint->contains("b"));
  EXPECT_THAT(
      message_of<DataError>([&] { (void)checkpoint->tensor("bb"); }),
      AllOf(HasSubstr("\"bb\" is missing"), HasSubstr("nearest name is \"b\""))
  );
}

TEST(CheckpointRead, SymbolicLinksAsInHubCaches) {
  TempFolder folder;
  write_sharded(folder / "blobs");
  const fs::path snapshot = folder / "snapshots/abc";
  fs::create_directories(snapshot);
  for (const auto& entry : fs::directory_iterator(folder / "blobs")) {
    fs::create_symlink(
        "../../blobs/" + entry.path().filename().string(), snapshot / entry.path().filename()
    );
  }
  EXPECT_EQ(Checkpoint::open(snapshot)->names().size(), 2U);
}

TEST(CheckpointRead, IndexesThatPointOutOfTheFolder) {
  for (const char* name :
       {"../evil.safetensors",
        "/etc/passwd",
        "sub/model.safetensors",
        "..",
        ".",
        "",
        "a\\\\b.safetensors"}) {
    TempFolder folder;
    write_sharded(folder.path());
    write_bytes(folder / kIndexName, index_of("\"a\":\"" + std::string(name) + "\""));
    EXPECT_THAT(open_complaint(folder.path()), AllOf(HasSubstr(kIndexName), HasSubstr("refused")))
        << name;
  }
}

TEST(CheckpointRead, BrokenIndexes) {
  for (const char* text :
       {"",
        "[]",
        "{}",
        "{\"weight_map\":[]}",
        "{\"weight_map\":{\"a\":1}}",
        "{\"weight_map\":{\"a\"",
        "nonsense"}) {
    TempFolder folder;
    write_sharded(folder.path());
    write_bytes(folder / kIndexName, text);
    EXPECT_THAT(open_complaint(folder.path()), HasSubstr(kIndexName)) << text;
  }
  TempFolder folder;
  write_sharded(folder.path());
  const std::string shard = "\"model-00001-of-00002.safetensors\"";
  write_bytes(folder / kIndexName, index_of("\"a\":" + shard + ",\"a\":" + shard));
  EXPECT_THAT(open_complaint(folder.path()), HasSubstr("\"a\" is listed twice"));
}

TEST(CheckpointRead, MissingShardsAndTensors) {
  TempFolder folder;
  write_sharded(folder.path());
  fs::remove(folder / "model-00002-of-00002.safetensors");
  EXPECT_THAT(
      open_complaint(folder.path()),
      AllOf(HasSubstr("model-00002-of-00002.safetensors is missing"), HasSubstr("incomplete"))
  );
  write_bytes(folder / "model-00002-of-00002.safetensors", one_tensor("c"));
  EXPECT_THAT(open_complaint(folder.path()), HasSubstr("index puts tensor \"b\" into"));
  write_bytes(folder / "model-00002-of-00002.safetensors", one_tensor("a"));
  EXPECT_THAT(
      open_complaint(folder.path()),
      HasSubstr("\"a\" is in model-00001-of-00002.safetensors and in")
  );
}

TEST(CheckpointRead, AStaleSingleFileBesideAnIndexIsRefused) {
  TempFolder folder;
  write_sharded(folder.path());
  write_bytes(folder / "model.safetensors", one_tensor("old"));
  EXPECT_THAT(open_complaint(folder.path()), HasSubstr("remove the stale one"));
}

TEST(CheckpointRead, FoldersThatAreNoCheckpoint) {
  TempFolder folder;
  EXPECT_THAT(open_complaint(folder.path()), HasSubstr("config.json is missing"));
  write_bytes(folder / "config.json", "[1]");
  EXPECT_THAT(open_complaint(folder.path()), HasSubstr("expected an object"));
  write_bytes(folder / "config.json", "{");
  EXPECT_THAT(open_complaint(folder.path()), HasSubstr("config.json"));
  write_bytes(folder / "config.json", "{}");
  write_bytes(folder / "pytorch_model.bin", "PK");
  EXPECT_THAT(open_complaint(folder.path()), AllOf(HasSubstr("neither"), HasSubstr("converted")));
}

TEST(CheckpointRead, SideFiles) {
  TempFolder folder;
  write_sharded(folder.path());
  for (const char* name :
       {"tokenizer.json",
        "chat_template.jinja",
        "generation_config.json",
        "merges.txt",
        "README.md",
        "hone.json",
        "hf_quant_config.json",
        ".gitattributes",
        "pytorch_model.bin",
        "original.pth",
        "traces.jsonl"}) {
    write_bytes(folder / name, "x");
  }
  write_bytes(folder / "sub/other.json", "x");
  EXPECT_THAT(
      Checkpoint::open(folder.path())->side_files(),
      ElementsAre("chat_template.jinja", "generation_config.json", "merges.txt", "tokenizer.json")
  );
}

TEST(CheckpointRead, ContentHashSeesEveryChangeAndNoSharding) {
  TempFolder folder;
  write_sharded(folder / "two");
  write_bytes(folder / "one/config.json", R"({ "model_type" : "toy" })");
  write_bytes(
      folder / "one/model.safetensors",
      safetensors_bytes(
          R"({"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
          std::string(8, 'x')
      )
  );
  const auto hash = [&](const char* name) {
    return Checkpoint::open(folder / name)->content_hash();
  };
  const std::string first = hash("two");
  EXPECT_EQ(first.size(), 64U);
  EXPECT_EQ(hash("one"), first);
  for (const int threads : {1, 3}) {
    ThreadPool::set_threads(threads);
    EXPECT_EQ(hash("two"), first);
  }
  write_bytes(folder / "two/tokenizer.json", "x");
  const std::string second = hash("two");
  EXPECT_NE(second, first);
  write_bytes(folder / "two/tokenizer.json", "y");
  EXPECT_NE(hash("two"), second);
  fs::remove(folder / "two/tokenizer.json");
  EXPECT_EQ(hash("two"), first);
  write_bytes(folder / "two/hf_quant_config.json", "{}");
  EXPECT_NE(hash("two"), first);
  fs::remove(folder / "two/hf_quant_config.json");
  write_bytes(folder / "two/model-00002-of-00002.safetensors", one_tensor("b", 'y'));
  EXPECT_NE(hash("two"), first);
}

TEST(FindCheckpoint, LocalFoldersAndTheHubCache) {
  TempFolder folder;
  fs::create_directories(folder / "local");
  EXPECT_EQ(find_checkpoint((folder / "local").string(), {}), folder / "local");
  const fs::path repository = folder / "hub/models--Org--Name-7B";
  fs::create_directories(repository / "snapshots/0123abc");
  write_bytes(repository / "refs/main", "0123abc");
  const std::vector<fs::path> roots = {folder / "other", folder / "hub"};
  EXPECT_EQ(find_checkpoint("Org/Name-7B", roots), repository / "snapshots/0123abc");
  EXPECT_THAT(
      message_of<UsageError>([&] { (void)find_checkpoint("Org/Absent", roots); }),
      AllOf(
          HasSubstr("Org/Absent"),
          HasSubstr("models--Org--Absent"),
          HasSubstr("nothing is downloaded")
      )
  );
  write_bytes(repository / "refs/main", "../../../secret");
  EXPECT_THROW((void)find_checkpoint("Org/Name-7B", roots), UsageError);
  EXPECT_THROW((void)find_checkpoint("", roots), UsageError);
}

std::vector<TensorSpec> four_specs() {
  std::vector<TensorSpec> specs;
  for (const char* name : {"d", "c", "b", "a"}) specs.push_back({name, DType::kF32, Shape{8}});
  return specs;
}

void fill(CheckpointWriter& writer) {
  const std::vector<float> values(8, 2.5F);
  for (const TensorSpec& spec : four_specs())
    writer.append(spec.name, std::as_bytes(std::span(values)));
}

TEST(CheckpointWrite, OneShardHasNoIndex) {
  TempFolder folder;
  CheckpointWriter writer(folder / "out", four_specs(), {});
  fill(writer);
  writer.write_json("config.json", {{"a", 1}});
  writer.write_text("note.txt", "hello");
  EXPECT_FALSE(fs::exists(folder / "out"));
  writer.commit();
  EXPECT_TRUE(fs::exists(folder / "out/model.safetensors"));
  EXPECT_FALSE(fs::exists(folder / "out" / kIndexName));
  EXPECT_FALSE(fs::exists(folder / "out.partial"));
  EXPECT_EQ(file_bytes(folder / "out/note.txt"), "hello");
  EXPECT_EQ(Checkpoint::open(folder / "out")->names().size(), 4U);
}

TEST(CheckpointWrite, ShardsAndIndex) {
  TempFolder folder;
  write_bytes(folder / "source/tokenizer.json", "tok");
  CheckpointWriter writer(folder / "out", four_specs(), {.max_shard_bytes = 70});
  fill(writer);
  writer.copy_side_file(folder / "source/tokenizer.json");
  writer.write_json("config.json", Json::object());
  writer.close();
  EXPECT_TRUE(fs::exists(writer.staging() / kIndexName));
  writer.write_text("hone.json", "{}");
  writer.commit();
  const auto checkpoint = Checkpoint::open(folder / "out");
  EXPECT_THAT(checkpoint->names(), ElementsAre("d", "c", "b", "a"));
  EXPECT_EQ(checkpoint->shard_of("c"), "model-00001-of-00002.safetensors");
  EXPECT_EQ(checkpoint->shard_of("b"), "model-00002-of-00002.safetensors");
  EXPECT_THAT(checkpoint->side_files(), ElementsAre("tokenizer.json"));
  const Json index = read_json_file(folder / "out" / kIndexName);
  EXPECT_EQ(index["metadata"]["total_size"], 128);
  EXPECT_EQ(index["weight_map"].size(), 4U);
  EXPECT_EQ(index["weight_map"].begin().key(), "a");
}

TEST(CheckpointWrite, ATensorLargerThanAShardGetsItsOwn) {
  TempFolder folder;
  CheckpointWriter writer(folder / "out", four_specs(), {.max_shard_bytes = 5});
  fill(writer);
  writer.write_json("config.json", Json::object());
  writer.commit();
  EXPECT_EQ(Checkpoint::open(folder / "out")->shard_of("a"), "model-00004-of-00004.safetensors");
}

TEST(CheckpointWrite, MisuseIsCaught) {
  TempFolder folder;
  std::vector<TensorSpec> twice = four_specs();
  twice.push_back(twice[0]);
  EXPECT_THROW(CheckpointWriter(folder / "out", twice, {}), UsageError);
  CheckpointWriter writer(folder / "out", four_specs(), {.max_shard_bytes = 70});
  const std::vector<float> values(8);
  EXPECT_THROW(writer.append("zz", std::as_bytes(std::span(values))), InternalError);
  EXPECT_THROW(writer.append("b", std::as_bytes(std::span(values))), InternalError);  // "d" is next
  EXPECT_THROW(writer.commit(), InternalError);
  EXPECT_FALSE(fs::exists(folder / "out"));
}

TEST(CheckpointWrite, AFullDiskLeavesNothing) {
  TempFolder folder;
  std::vector<TensorSpec> specs = {{"w", DType::kU8, Shape{2'500'000}}};
  const std::vector<std::byte> bytes(2'500'000);
  for (const int64_t room : {0, 1'100'000, 2'400'000, 2'500'080}) {
    inject_write_fault_after(room);
    const std::string message = message_of<DataError>([&] {
      CheckpointWriter writer(folder / "out", specs, {});
      writer.append("w", bytes);
      writer.write_json("config.json", Json::object());
      writer.write_text("tokenizer.json", std::string(1000, 'x'));
      writer.commit();
    });
    inject_write_fault_after(-1);
    EXPECT_THAT(message, HasSubstr("disk full")) << room;
    EXPECT_TRUE(fs::is_empty(folder.path())) << room;
  }
}

TEST(CheckpointWrite, KilledWritersLeaveNothingThatIsTakenForComplete) {
  TempFolder folder;
  const std::vector<float> values(8, 2.5F);
  const auto bytes = std::as_bytes(std::span(values));
  // The child dies after 0 .. 4 tensors, and at last after close().
  for (int after = 0; after <= 5; ++after) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      CheckpointWriter writer(folder / "out", four_specs(), {.max_shard_bytes = 70});
      writer.write_json("config.json", Json::object());
      int written = 0;
      for (const TensorSpec& spec : four_specs()) {
        if (written++ == after) ::raise(SIGKILL);
        writer.append(spec.name, bytes);
      }
      if (after == 5) writer.close();
      ::raise(SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    EXPECT_FALSE(fs::exists(folder / "out"));
    EXPECT_TRUE(fs::exists(folder / "out.partial"));
  }
  // The next run starts afresh.
  CheckpointWriter writer(folder / "out", four_specs(), {.max_shard_bytes = 70});
  fill(writer);
  writer.write_json("config.json", Json::object());
  writer.commit();
  EXPECT_EQ(Checkpoint::open(folder / "out")->names().size(), 4U);
  EXPECT_FALSE(fs::exists(folder / "out.partial"));
}

TEST(CheckpointWrite, ForeignFoldersAreNotReplacedAndOwnOnesAre) {
  TempFolder folder;
  write_bytes(folder / "out/precious.txt", "x");
  EXPECT_THROW(CheckpointWriter(folder / "out", four_specs(), {}), UsageError);
  EXPECT_EQ(file_bytes(folder / "out/precious.txt"), "x");
  write_bytes(folder / "out/hone.json", "{}");
  CheckpointWriter writer(folder / "out", four_specs(), {});
  fill(writer);
  writer.write_json("config.json", Json::object());
  writer.commit();
  EXPECT_FALSE(fs::exists(folder / "out/precious.txt"));
}

TEST(CheckpointWrite, EqualInputGivesEqualBytes) {
  TempFolder folder;
  for (const char* name : {"first", "second"}) {
    CheckpointWriter writer(folder / name, four_specs(), {.max_shard_bytes = 70});
    fill(writer);
    writer.write_json("config.json", {{"k", "v"}});
    writer.commit();
  }
  for (const auto& entry : fs::directory_iterator(folder / "first")) {
    EXPECT_EQ(file_bytes(entry.path()), file_bytes(folder / "second" / entry.path().filename()));
  }
}

}  // namespace
}  // namespace hone
