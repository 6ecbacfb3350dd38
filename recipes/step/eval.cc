#include "recipes/step/eval.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/file.h"
#include "eval/metric/policy.h"
#include "eval/report/json.h"
#include "eval/report/terminal.h"
#include "eval/report/write.h"
#include "eval/task/gsm8k.h"
#include "eval/task/kl.h"
#include "eval/task/tools.h"
#include "recipes/engine/manifest.h"

namespace hone {
namespace {

void require_data_file(const std::string& task, const std::string& path, const char* flag) {
  require(!path.empty(), "task {} needs its data: {} FILE.jsonl", task, flag);
}

TaskResult run_task(const EvalStep& step, const std::string& task, const ModelPair& models) {
  if (task == "gsm8k") {
    require_data_file(task, step.math_data, "--math-data");
    Gsm8kOptions options;
    options.data = step.math_data;
    options.limit = step.limit;
    options.max_tokens = step.max_tokens;
    options.instruction = step.math_instruction;
    return run_gsm8k(models, options);
  }
  if (task == "tools") {
    require_data_file(task, step.tools_data, "--tools-data");
    ToolsOptions options;
    options.data = step.tools_data;
    options.limit = step.limit;
    options.max_tokens = step.max_tokens;
    return run_tools(models, options);
  }
  require_data_file(task, step.kl_data, "--kl-data");
  KlOptions options;
  options.corpus.data = step.kl_data;
  options.corpus.limit = step.kl_limit_documents;
  options.corpus.skip = step.kl_skip;
  options.corpus.max_tokens = step.max_tokens;
  options.seed = static_cast<uint64_t>(step.seed);
  return run_kl(models, options);
}

void check_options(const EvalStep& step) {
  const std::vector<std::string> known{"kl", "gsm8k", "tools"};
  require(!step.tasks.empty(), "no task given; known tasks: {}", fmt::join(known, ", "));
  for (const std::string& task : step.tasks) {
    require(
        std::ranges::find(known, task) != known.end(),
        "unknown task \"{}\"; known tasks: {}",
        task,
        fmt::join(known, ", ")
    );
  }
  require(step.limit >= 0, "limit must not be negative, found {}", step.limit);
  require(step.max_tokens > 0, "max-tokens must be positive, found {}", step.max_tokens);
  require(!step.reference.empty(), "eval compares with a reference: --reference MODEL");
}

}  // namespace

void EvalStep::visit(FieldVisitor& fields) {
  fields.input("model", model, "Candidate: checkpoint folder, or a name in the Hugging Face cache");
  fields.input("reference", reference, "Reference that the candidate must equal");
  fields.input("math-data", math_data, "Word problems for gsm8k (default: the included 300)");
  fields.input("tools-data", tools_data, "Requests for tools (default: the included 300)");
  fields.input("kl-data", kl_data, "Texts or conversations for kl (default: included prompts)");
  fields.output("output", output, "Folder of the report");
  fields.option("tasks", tasks, "Tasks: kl, gsm8k, tools");
  fields.option("limit", limit, "First items of gsm8k and tools; 0: all");
  fields.option("kl-documents", kl_limit_documents, "Documents of kl; 0: all");
  fields.option("kl-skip", kl_skip, "Documents of kl left out first (those of calibration)");
  fields.option("max-tokens", max_tokens, "Longest answer, in tokens");
  fields.option("math-instruction", math_instruction, "Text put below every word problem");
  fields.option("margin", margin, "Equivalence margin of every paired metric, in points");
  fields.option("kl-limit", kl_limit, "Largest mean KL per token that counts as equivalent, nats");
  fields.option("as", profile, "Arithmetic of the candidate: exact, hopper or blackwell");
  fields.option("seed", seed, "Seed of the bootstrap");
}

StepOutcome EvalStep::run() {
  check_options(*this);
  StagedFolder folder(output);
  LoadedModel reference_model = load_model(reference);
  LoadedModel candidate_model = load_model(model, ModelOptions{.profile = parse_profile(profile)});
  const ModelPair models{reference_model, candidate_model};

  Evaluation evaluation;
  evaluation.reference = describe_model(reference_model);
  evaluation.candidate = describe_model(candidate_model);
  evaluation.profile = profile;
  evaluation.hone_version = kHoneVersion;
  evaluation.options = option_values(*this);
  evaluation.policy.margin = margin / 100;
  evaluation.policy.kl_limit = kl_limit;
  for (const std::string& task : tasks) evaluation.tasks.push_back(run_task(*this, task, models));
  judge(evaluation);
  write_report(evaluation, folder.staging());

  StepOutcome outcome;
  outcome.summary = report_summary(evaluation);
  outcome.summary["line"] = evaluation.headline;
  outcome.summary["text"] = report_text(evaluation);
  outcome.exit_code = verdict_exit_code(evaluation.verdict);
  write_manifest(*this, folder.staging(), outcome);
  folder.commit();
  return outcome;
}

}  // namespace hone
