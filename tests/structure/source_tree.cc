#include "tests/structure/source_tree.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace hone {
namespace fs = std::filesystem;
namespace {

SourceFile read(const fs::path& root, const fs::path& path) {
  SourceFile file;
  file.path = path.lexically_relative(root).generic_string();
  std::ifstream in(path);
  std::ostringstream text;
  for (std::string line; std::getline(in, line);) {
    text << line << '\n';
    ++file.lines;
    if (line.starts_with("#include \"")) {
      file.project_includes.push_back(line.substr(10, line.find('"', 10) - 10));
    }
  }
  file.text = text.str();
  return file;
}

std::vector<SourceFile> scan(const std::vector<std::string>& folders) {
  const fs::path root(HONE_SOURCE_DIR);
  std::vector<SourceFile> files;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension == ".h" || extension == ".cc" || extension == ".cu") {
        files.push_back(read(root, entry.path()));
      }
    }
  }
  std::ranges::sort(files, {}, &SourceFile::path);
  return files;
}

}  // namespace

const std::vector<SourceFile>& product_sources() {
  static const std::vector<SourceFile> files =
      scan({"core", "runtime", "quant", "calibrate", "speculator", "eval", "recipes", "cli"});
  return files;
}

const std::vector<SourceFile>& test_sources() {
  static const std::vector<SourceFile> files = scan({"tests"});
  return files;
}

}  // namespace hone
