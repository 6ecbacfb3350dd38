// The include matrix of cmake/layers.txt, read from the #includes themselves.
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/structure/source_tree.h"

namespace hone {
namespace {

struct Matrix {
  std::map<std::string, std::vector<std::string>> rows;

  static Matrix read(std::istream& in) {
    Matrix matrix;
    for (std::string line; std::getline(in, line);) {
      const size_t colon = line.find(" :");
      if (line.empty() || line[0] == '#' || colon == std::string::npos) continue;
      std::istringstream rest(line.substr(colon + 2));
      std::vector<std::string>& allowed = matrix.rows[line.substr(0, colon)];
      for (std::string name; rest >> name;) allowed.push_back(name);
    }
    return matrix;
  }

  static bool under(const std::string& path, const std::string& row) {
    return path == row || path.starts_with(row + "/") || path == row + ".h" || path == row + ".cc";
  }

  // The longest row above `file`; empty when there is none.
  [[nodiscard]] std::string row_of(const std::string& file) const {
    std::string best;
    for (const auto& [row, allowed] : rows) {
      if (under(file, row) && row.size() > best.size()) best = row;
    }
    return best;
  }

  [[nodiscard]] bool allows(const std::string& file, const std::string& included) const {
    const std::string row = row_of(file);
    if (under(included, row)) return true;
    for (const std::string& allowed : rows.at(row)) {
      if (under(included, allowed)) return true;
    }
    return false;
  }
};

Matrix project_matrix() {
  std::ifstream in(std::string(HONE_SOURCE_DIR) + "/cmake/layers.txt");
  return Matrix::read(in);
}

TEST(Layers, EveryIncludeIsAllowed) {
  const Matrix matrix = project_matrix();
  int includes = 0;
  for (const SourceFile& file : product_sources()) {
    ASSERT_FALSE(matrix.row_of(file.path).empty()) << file.path << " has no row";
    for (const std::string& included : file.project_includes) {
      ++includes;
      EXPECT_TRUE(matrix.allows(file.path, included))
          << file.path << " may not include " << included << " (cmake/layers.txt)";
    }
  }
  EXPECT_GT(includes, 100);  // the scan itself works
}

TEST(Layers, ForbiddenDirectionsAreSeen) {
  const Matrix matrix = project_matrix();
  EXPECT_FALSE(matrix.allows("core/io/checkpoint.cc", "runtime/model/model.h"));
  EXPECT_FALSE(matrix.allows("core/format/fp8.h", "core/io/dialect.h"));
  EXPECT_FALSE(matrix.allows("quant/apply.cc", "runtime/model/model.h"));
  EXPECT_TRUE(matrix.allows("quant/apply.cc", "runtime/model/schema.h"));
  EXPECT_FALSE(matrix.allows("quant/apply.cc", "calibrate/corpus.h"));
  EXPECT_TRUE(matrix.allows("quant/apply.cc", "calibrate/stats/stats.h"));
  EXPECT_FALSE(matrix.allows("eval/task/kl.cc", "quant/plan.h"));
  EXPECT_FALSE(matrix.allows("runtime/model/llama.cc", "runtime/text/tokenizer.h"));
  EXPECT_FALSE(matrix.allows("runtime/engine/engine.cc", "runtime/serve/server.h"));
}

}  // namespace
}  // namespace hone
