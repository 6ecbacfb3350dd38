#include "eval/report/write.h"

#include "core/base/file.h"
#include "core/json/json.h"
#include "eval/report/html.h"
#include "eval/report/json.h"

namespace hone {

void write_report(const Evaluation& evaluation, const std::filesystem::path& folder) {
  write_json_file(folder / "report.json", report_json(evaluation));
  AtomicFile samples(folder / "samples.jsonl");
  for (const TaskResult& task : evaluation.tasks)
    for (const Json& sample : task.samples) samples.append(dump_json(sample) + "\n");
  samples.commit();
  write_text_file(folder / "report.html", report_html(evaluation));
}

}  // namespace hone
