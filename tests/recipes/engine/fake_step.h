// A step for the engine's tests: copies its input to its output and counts its runs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/file.h"
#include "recipes/engine/manifest.h"
#include "recipes/engine/step.h"

namespace hone {

struct FakeStep : Step {
  std::string source;
  std::string output;
  std::string text = "x";
  int64_t times = 1;
  double weight = 0.5;
  bool fail = false;
  std::vector<std::string> tags;
  int64_t verdict = 0;

  static int& runs() {
    static int count = 0;
    return count;
  }

  [[nodiscard]] std::string_view kind() const override { return "fake"; }
  void visit(FieldVisitor& fields) override {
    fields.input("source", source, "File to read");
    fields.output("output", output, "Folder to write");
    fields.option("text", text, "Text to add");
    fields.option("times", times, "How often");
    fields.option("weight", weight, "A number");
    fields.option("fail", fail, "Throw half-way");
    fields.option("tags", tags, "Some strings");
    fields.option("verdict", verdict, "Exit code");
  }
  StepOutcome run() override {
    ++runs();
    StagedFolder folder(output);
    std::string all = source.empty() ? "" : read_text_file(source);
    for (int64_t i = 0; i < times; ++i) all += text;
    write_text_file(folder.staging() / "result.txt", all);
    if (fail) throw DataError("fake failure");
    StepOutcome outcome;
    outcome.summary["length"] = all.size();
    outcome.exit_code = static_cast<int>(verdict);
    write_manifest(*this, folder.staging(), outcome);
    folder.commit();
    return outcome;
  }
};

}  // namespace hone
