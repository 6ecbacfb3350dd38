#include "core/base/file.h"

#include <csignal>
#include <cstring>
#include <fstream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/error.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(testing::TempDir()) /
            ("file_test_" + std::string(info->name()) + std::to_string(::getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override {
    inject_write_fault_after(-1);
    fs::remove_all(root_);
  }

  template <typename E, typename F>
  static std::string message_of(F&& call) {
    try {
      call();
    } catch (const E& error) {
      return error.what();
    }
    return "nothing was thrown";
  }

  static void plain_write(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }

  fs::path root_;
};

std::string text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST_F(FileTest, MapsWholeFilesAndFollowsLinks) {
  const std::string content("ab\0c", 4);
  plain_write(root_ / "a", content);
  fs::create_symlink("a", root_ / "link");
  MappedFile file = MappedFile::open(root_ / "link");
  EXPECT_EQ(text_of(file), content);
  EXPECT_EQ(file.path(), root_ / "link");
  // The mapping outlives the name.
  fs::remove(root_ / "a");
  MappedFile moved = std::move(file);
  EXPECT_EQ(text_of(moved), content);
  EXPECT_TRUE(file.bytes().empty());
  plain_write(root_ / "b", "other");
  moved = MappedFile::open(root_ / "b");
  EXPECT_EQ(text_of(moved), "other");
}

TEST_F(FileTest, MapsAnEmptyFile) {
  plain_write(root_ / "empty", "");
  const MappedFile file = MappedFile::open(root_ / "empty");
  EXPECT_TRUE(file.bytes().empty());
  EXPECT_NO_THROW(file.drop(0, 0));
}

TEST_F(FileTest, MapErrorsNameThePath) {
  const auto missing = root_ / "missing";
  EXPECT_THAT(
      message_of<DataError>([&] { MappedFile::open(missing); }), StartsWith(missing.string())
  );
  EXPECT_THAT(
      message_of<DataError>([&] { MappedFile::open(root_); }), HasSubstr("not a regular file")
  );
  fs::create_symlink("nowhere", root_ / "dangling");
  EXPECT_THROW(MappedFile::open(root_ / "dangling"), DataError);
}

TEST_F(FileTest, DroppedPagesReadTheSameAgain) {
  std::string content(50000, 'x');
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 31 % 251);
  plain_write(root_ / "pages", content);
  const MappedFile file = MappedFile::open(root_ / "pages");
  EXPECT_EQ(text_of(file), content);
  file.drop(0, content.size());
  file.drop(5000, 20000);
  file.drop(49999, 1);
  EXPECT_EQ(text_of(file), content);
  EXPECT_THROW(file.drop(1, content.size()), UsageError);
  EXPECT_THROW(file.drop(content.size() + 1, 0), UsageError);
}

TEST_F(FileTest, AtomicFileAppearsOnlyWithCommit) {
  const auto path = root_ / "out";
  plain_write(path, "old");
  {
    AtomicFile file(path);
    // Across the buffer's size, in odd pieces.
    for (int i = 0; i < 3000; ++i) file.append(std::string(1000, static_cast<char>('a' + i % 26)));
    EXPECT_EQ(file.size(), 3000000U);
    EXPECT_EQ(read_text_file(path), "old");
    EXPECT_TRUE(fs::exists(root_ / "out.partial"));
    file.commit();
    EXPECT_THROW(file.append("x"), InternalError);
    EXPECT_THROW(file.commit(), InternalError);
  }
  EXPECT_FALSE(fs::exists(root_ / "out.partial"));
  const std::string text = read_text_file(path);
  ASSERT_EQ(text.size(), 3000000U);
  for (size_t i = 0; i < text.size(); ++i) {
    ASSERT_EQ(text[i], static_cast<char>('a' + i / 1000 % 26)) << i;
  }
}

TEST_F(FileTest, AtomicFileWithoutCommitLeavesNothing) {
  {
    AtomicFile file(root_ / "out");
    file.append("half");
  }
  EXPECT_TRUE(fs::is_empty(root_));
}

TEST_F(FileTest, AtomicFileErrorsNameThePath) {
  const auto path = root_ / "no" / "folder";
  EXPECT_THAT(message_of<DataError>([&] { AtomicFile file(path); }), StartsWith(path.string()));
}

TEST_F(FileTest, FullDiskLeavesNoFile) {
  const auto path = root_ / "model.safetensors";
  for (const int64_t room : {int64_t{0}, int64_t{1}, int64_t{1500000}}) {
    inject_write_fault_after(room);
    const std::string message = message_of<DataError>([&] {
      AtomicFile file(path);
      for (int i = 0; i < 3; ++i) file.append(std::string(1000000, 'x'));
      file.commit();
    });
    EXPECT_THAT(message, StartsWith(path.string()));
    EXPECT_THAT(message, HasSubstr("disk full"));
    EXPECT_TRUE(fs::is_empty(root_)) << "after " << room << " bytes";
  }
  // Enough room for exactly this file, and switched off again.
  inject_write_fault_after(5);
  write_text_file(path, "12345");
  EXPECT_THROW(write_text_file(path, "x"), DataError);
  EXPECT_EQ(read_text_file(path), "12345");
  inject_write_fault_after(-1);
  write_text_file(path, "again");
  EXPECT_EQ(read_text_file(path), "again");
}

TEST_F(FileTest, KilledWriterLeavesNothingUnderTheFinalName) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    AtomicFile file(root_ / "out");
    file.append(std::string(3000000, 'x'));
    ::kill(::getpid(), SIGKILL);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_FALSE(fs::exists(root_ / "out"));
  EXPECT_TRUE(fs::exists(root_ / "out.partial"));
  write_text_file(root_ / "out", "second run");
  EXPECT_EQ(read_text_file(root_ / "out"), "second run");
  EXPECT_FALSE(fs::exists(root_ / "out.partial"));
}

TEST_F(FileTest, ReadTextFileKnowsItsLimit) {
  plain_write(root_ / "t", "0123456789");
  EXPECT_EQ(read_text_file(root_ / "t"), "0123456789");
  EXPECT_EQ(read_text_file(root_ / "t", 10), "0123456789");
  const std::string message = message_of<DataError>([&] { read_text_file(root_ / "t", 9); });
  EXPECT_THAT(message, HasSubstr((root_ / "t").string()));
  EXPECT_THAT(message, HasSubstr("9 bytes"));
  plain_write(root_ / "empty", "");
  EXPECT_EQ(read_text_file(root_ / "empty"), "");
  EXPECT_THROW(read_text_file(root_ / "none"), DataError);
  EXPECT_THAT(message_of<DataError>([&] { read_text_file(root_); }), HasSubstr("is a folder"));
}

TEST_F(FileTest, ReadsPipes) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "from a pipe", 11), 11);
  ::close(ends[1]);
  EXPECT_EQ(read_text_file("/dev/fd/" + std::to_string(ends[0])), "from a pipe");
  ::close(ends[0]);
}

TEST_F(FileTest, StagedFolderAppearsOnlyWithCommit) {
  const auto path = root_ / "deep" / "out";
  {
    StagedFolder folder(path);
    EXPECT_EQ(folder.path(), path);
    EXPECT_EQ(folder.staging(), root_ / "deep" / "out.partial");
    fs::create_directory(folder.staging() / "sub");
    write_text_file(folder.staging() / "sub" / "a", "1");
    EXPECT_FALSE(fs::exists(path));
    folder.commit();
    EXPECT_THROW(folder.commit(), InternalError);
  }
  EXPECT_EQ(read_text_file(path / "sub" / "a"), "1");
  EXPECT_FALSE(fs::exists(root_ / "deep" / "out.partial"));
}

TEST_F(FileTest, StagedFolderWithoutCommitLeavesNothing) {
  {
    StagedFolder folder(root_ / "out");
    write_text_file(folder.staging() / "a", "1");
  }
  EXPECT_TRUE(fs::is_empty(root_));
}

TEST_F(FileTest, StagedFolderReplacesItsOwnOutputOnly) {
  const auto path = root_ / "out";
  fs::create_directory(path);
  plain_write(path / "hone.json", "{}");
  plain_write(path / "old", "old");
  {
    StagedFolder folder(path.string() + "/");
    write_text_file(folder.staging() / "new", "new");
    EXPECT_TRUE(fs::exists(path / "old"));
    folder.commit();
  }
  EXPECT_FALSE(fs::exists(path / "old"));
  EXPECT_EQ(read_text_file(path / "new"), "new");
  EXPECT_FALSE(fs::exists(root_ / "out.partial"));

  // "new" alone is no output of ours: somebody's work.
  const std::string message = message_of<UsageError>([&] { StagedFolder folder(path); });
  EXPECT_THAT(message, StartsWith(path.string()));
  EXPECT_THAT(message, HasSubstr("hone.json"));
  EXPECT_EQ(read_text_file(path / "new"), "new");

  plain_write(root_ / "file", "x");
  EXPECT_THROW(StagedFolder(root_ / "file"), UsageError);
}

TEST_F(FileTest, StagedFolderTakesAnEmptyFolder) {
  fs::create_directory(root_ / "out");
  StagedFolder folder(root_ / "out");
  write_text_file(folder.staging() / "a", "1");
  folder.commit();
  EXPECT_TRUE(fs::exists(root_ / "out" / "a"));
}

TEST_F(FileTest, StagedFolderRefusesWhatAppearedMeanwhile) {
  StagedFolder folder(root_ / "out");
  fs::create_directory(root_ / "out");
  plain_write(root_ / "out" / "mine", "x");
  EXPECT_THROW(folder.commit(), UsageError);
  EXPECT_TRUE(fs::exists(root_ / "out" / "mine"));
}

TEST_F(FileTest, StagedFolderResolvesLinks) {
  fs::create_directories(root_ / "real");
  fs::create_directory_symlink(root_ / "real", root_ / "link");
  StagedFolder folder(root_ / "link");
  EXPECT_EQ(folder.path(), fs::canonical(root_ / "real"));
  write_text_file(folder.staging() / "a", "1");
  folder.commit();
  EXPECT_EQ(read_text_file(root_ / "link" / "a"), "1");
}

TEST_F(FileTest, StagedFolderRemovesTheLeftoverOfAKilledRun) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    StagedFolder folder(root_ / "out");
    plain_write(folder.staging() / "stale", "x");
    ::kill(::getpid(), SIGKILL);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(fs::exists(root_ / "out.partial" / "stale"));
  EXPECT_FALSE(fs::exists(root_ / "out"));
  StagedFolder folder(root_ / "out");
  EXPECT_TRUE(fs::is_empty(folder.staging()));
  write_text_file(folder.staging() / "a", "1");
  folder.commit();
  EXPECT_TRUE(fs::exists(root_ / "out" / "a"));
  EXPECT_FALSE(fs::exists(root_ / "out" / "stale"));
}

TEST_F(FileTest, StagedFolderRefusesALiveSecondWriter) {
  StagedFolder first(root_ / "out");
  plain_write(first.staging() / "a", "1");
  const std::string message = message_of<UsageError>([&] { StagedFolder second(root_ / "out"); });
  EXPECT_THAT(message, HasSubstr("another process is writing"));
  EXPECT_TRUE(fs::exists(first.staging() / "a"));
}

TEST_F(FileTest, FullDiskInAStagedFolderLeavesTheOldOne) {
  const auto path = root_ / "out";
  fs::create_directory(path);
  plain_write(path / "hone.json", "old");
  EXPECT_THROW(
      {
        StagedFolder folder(path);
        inject_write_fault_after(10);
        write_text_file(folder.staging() / "big", std::string(100, 'x'));
        folder.commit();
      },
      DataError
  );
  EXPECT_EQ(read_text_file(path / "hone.json"), "old");
  EXPECT_FALSE(fs::exists(root_ / "out.partial"));
}

}  // namespace
}  // namespace hone
