#include "recipes/step/convert.h"

#include <cmath>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/progress.h"
#include "recipes/engine/manifest.h"
#include "recipes/step/model_card.h"

namespace hone {
namespace fs = std::filesystem;

void ConvertStep::visit(FieldVisitor& fields) {
  fields.input("model", model, "Checkpoint folder, or a name in the Hugging Face cache");
  fields.input("lora", lora, "PEFT adapter folder to merge into the weights");
  fields.output("output", output, "Folder to write");
  fields.option("to", to, "bf16: decode quantized weights");
  fields.option("max-shard-gb", max_shard_gb, "Largest weight file, in 10^9 bytes");
}

StepOutcome ConvertStep::run() {
  require(to.empty() || to == "bf16", "to \"{}\": known is bf16", to);
  require(
      std::isfinite(max_shard_gb) && max_shard_gb > 0,
      "max-shard-gb is {}, expected a positive number",
      max_shard_gb
  );
  std::error_code ignored;
  require(!fs::equivalent(model, output, ignored), "the output {} is the model itself", output);
  const auto checkpoint = Checkpoint::open(model);
  ConvertOptions options;
  options.to_bf16 = to == "bf16";
  if (!lora.empty()) options.lora = LoraAdapter::open(lora);
  options.max_shard_bytes = std::llround(max_shard_gb * 1e9);
  Conversion conversion = convert_checkpoint(*checkpoint, output, options);
  const ConvertCounts& counts = conversion.counts;
  conversion.writer->write_text("README.md", card(counts));

  StepOutcome outcome;
  outcome.summary = {
      {"line", convert_line(counts)},
      {"copied", counts.copied},
      {"decoded", counts.decoded},
      {"merged", counts.merged},
      {"replaced", counts.replaced},
      {"output_bytes", counts.output_bytes}};
  write_manifest(*this, conversion.writer->staging(), outcome);
  conversion.writer->commit();
  return outcome;
}

std::string ConvertStep::card(const ConvertCounts& counts) const {
  const std::string base = base_model_name(model);
  std::string text = "---\nbase_model: " + base + "\n";
  const fs::path readme = fs::path(model) / "README.md";
  if (fs::exists(readme)) {
    for (const std::string& line : license_lines(read_text_file(readme))) text += line + "\n";
  }
  text += "tags:\n- hone\n---\n\n# " + base + ", converted\n\n" + convert_line(counts) + ".\n\n";
  std::string command = "hone convert " + base + " -o OUT";
  if (!to.empty()) command += " --to " + to;
  if (!lora.empty()) command += " --lora " + fs::path(lora).filename().string();
  return text + "```\n" + command + "\n```\n";
}

std::string convert_line(const ConvertCounts& counts) {
  std::string text;
  const auto add = [&text](int64_t count, const char* what) {
    if (count == 0) return;
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  };
  add(counts.merged, "weights merged with a LoRA adapter");
  add(counts.replaced, "tensors replaced by the adapter's");
  add(counts.decoded, "quantized weights decoded to BF16");
  add(counts.copied, "tensors copied as they are");
  return text + ", " + format_bytes(static_cast<double>(counts.output_bytes));
}

}  // namespace hone
