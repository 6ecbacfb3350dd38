#include "recipes/step/model_card.h"

#include <algorithm>
#include <map>
#include <span>

#include "core/base/error.h"
#include "core/base/progress.h"
#include "quant/select/acceptance.h"
#include "recipes/engine/manifest.h"

namespace hone {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kEvaluation = "## Evaluation\n";

struct FormatRow {
  int64_t modules = 0;
  int64_t elements = 0;
  int64_t bytes = 0;
  std::map<std::string, int64_t> roles;
};

std::string role_list(const std::map<std::string, int64_t>& roles) {
  std::string text;
  for (const auto& [role, count] : roles) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, role);
  }
  return text;
}

std::string stored_as(const PlanEntry& e) {
  if (e.scheme != nullptr) return std::string(format_name(e.scheme->format));
  if (e.to_bf16) return "BF16";
  return std::string(e.stored ? format_name(*e.stored) : dtype_name(e.dtype));
}

std::string format_table(const Plan& plan) {
  std::map<std::string, FormatRow> rows;
  for (const PlanEntry& e : plan.entries) {
    FormatRow& row = rows[stored_as(e)];
    ++row.modules;
    row.elements += e.shape.numel();
    row.bytes += e.output_bytes;
    ++row.roles[std::string(role_name(e.role))];
  }
  std::string text = "| stored as | tensors | parameters | bits per weight | size | what |\n";
  text += "|---|---:|---:|---:|---:|---|\n";
  for (const auto& [format, row] : rows) {
    text += fmt::format(
        "| {} | {} | {} | {:.2f} | {} | {} |\n",
        format,
        row.modules,
        row.elements,
        row.elements == 0
            ? 0.0
            : 8.0 * static_cast<double>(row.bytes) / static_cast<double>(row.elements),
        format_bytes(static_cast<double>(row.bytes)),
        role_list(row.roles)
    );
  }
  return text;
}

std::string sizes_text(const Plan& plan) {
  const PlanSize size = plan_size(plan);
  std::string text = fmt::format(
      "Tensors take {} instead of {} ({:.1f} %): {:.3f} bits per weight over the linear weights "
      "that could be quantized, {:.3f} over the whole file.\n",
      format_bytes(static_cast<double>(size.output_bytes)),
      format_bytes(static_cast<double>(size.source_bytes)),
      100.0 * static_cast<double>(size.output_bytes) / static_cast<double>(size.source_bytes),
      size.selectable_bits,
      size.file_bits
  );
  if (plan.budget) {
    text += fmt::format(
        "The modules were chosen for a budget of {:.3f} bits; the KL divergence predicted from "
        "measurements of one group at a time is {:.3e} nats per token.\n",
        plan.budget->requested_bits,
        plan.budget->predicted_kl
    );
  }
  return text;
}

std::string weights_text(const ModelCard& card, Format format) {
  switch (format) {
    case Format::kBlockFp8:
      return fmt::format(
          "FP8 E4M3 in blocks of 128x128, {} scales (amax / 448{})",
          card.scale_kind == "ue8m0" ? "power-of-two" : "float32",
          card.scale_kind == "ue8m0" ? " rounded up" : ""
      );
    case Format::kNvfp4:
      return "NVFP4 (E2M1 in blocks of 16 with E4M3 scales and one float32 scale per fused group)";
    case Format::kFp8Channel:
      return "FP8 E4M3 with one float32 scale per output channel (amax / 448)";
    case Format::kFp8Tensor:
      return "FP8 E4M3 with one float32 scale per fused group (amax / 448)";
    case Format::kMxfp4:
      return "MXFP4 (E2M1 in blocks of 32 with power-of-two scales)";
    case Format::kMxfp8:
      return "MXFP8 (E4M3 in blocks of 32 with power-of-two scales)";
  }
  throw InternalError("unknown format");
}

std::string_view activations_text(ActivationRule rule) {
  switch (rule) {
    case ActivationRule::kNone:
      return "Activations are not quantized.";
    case ActivationRule::kFp8Group128:
      return "Activations: FP8 E4M3 in groups of 128, scaled at run time.";
    case ActivationRule::kNvfp4:
      return "Activations: NVFP4 with calibrated input scales.";
    case ActivationRule::kFp8Token:
      return "Activations: FP8 E4M3 with one scale per token, at run time.";
    case ActivationRule::kFp8Tensor:
      return "Activations: FP8 E4M3 with calibrated input scales.";
    case ActivationRule::kMxfp4:
      return "Activations: MXFP4, scaled at run time.";
    case ActivationRule::kMxfp8:
      return "Activations: MXFP8, scaled at run time.";
  }
  throw InternalError("unknown activation rule");
}

std::string method_text(const ModelCard& card, std::span<const Scheme* const> schemes) {
  std::string text;
  for (const Scheme* scheme : schemes) {
    text += fmt::format(
        "{}Weights: {}, rounded to nearest. {}\n",
        schemes.size() > 1 ? fmt::format("- {}. ", scheme->name) : "",
        weights_text(card, scheme->format),
        activations_text(scheme->activation)
    );
  }
  if (card.calibration_tokens > 0) {
    text += fmt::format(
        "Calibrated on {} tokens (sha256 of the token ids: `{}`).\n",
        card.calibration_tokens,
        card.corpus_hash
    );
  }
  return text;
}

std::string loading_text(const ModelCard& card, std::span<const Scheme* const> schemes) {
  const auto has = [&](Format format, bool quantized_activations) {
    return std::ranges::any_of(schemes, [&](const Scheme* scheme) {
      return scheme->format == format &&
             (scheme->activation != ActivationRule::kNone) == quantized_activations;
    });
  };
  const bool fp4 = has(Format::kNvfp4, true);
  const bool fp4_weights = has(Format::kNvfp4, false);
  const bool mx = has(Format::kMxfp4, true) || has(Format::kMxfp8, true);
  const std::string& dialect = card.plan->dialect;
  const auto loads = [&](std::string_view engine) {
    const Acceptance found = schemes.size() == 1 ? acceptance(engine, dialect, *schemes.front())
                                                 : mixed_acceptance(engine, dialect, schemes);
    return found.verdict == Verdict::kLoads;
  };
  std::string text = "With FOLDER being this folder:\n\n```\n";
  if (loads("vllm")) text += "vllm serve FOLDER\n";
  if (loads("sglang")) {
    text += fmt::format(
        "python -m sglang.launch_server --model-path FOLDER{}\n",
        fp4 && dialect == "modelopt" ? " --quantization modelopt_fp4" : ""
    );
  }
  if (loads("tensorrt-llm")) text += "trtllm-serve FOLDER\n";
  text += "hone serve FOLDER\n```\n\n";
  if (fp4)
    text +=
        "FP4 arithmetic needs a Blackwell GPU; on Hopper vLLM runs these weights with 16-bit "
        "activations.\n";
  if (mx)
    text +=
        "MX arithmetic needs a Blackwell GPU; elsewhere vLLM runs these weights with 16-bit "
        "activations.\n";
  if (fp4_weights)
    text += "SGLang reads NVFP4 weights with 16-bit activations in newer versions only.\n";
  for (const PlanWarning& warning : card.plan->warnings) {
    text += fmt::format(
        "- {}{}: {}\n",
        warning.engine.empty() ? "note" : warning.engine,
        warning.refused ? " refuses this" : "",
        warning.text
    );
  }
  return text;
}

// "nvfp4", "fp8-tensor-nvfp4".
std::string scheme_title(std::span<const Scheme* const> schemes) {
  std::string text;
  for (const Scheme* scheme : schemes)
    text += (text.empty() ? "" : "-") + std::string(scheme->name);
  check(!text.empty(), "a model card of a plan that quantizes nothing");
  return text;
}

std::string front_matter(const ModelCard& card, std::string_view title) {
  std::string text = "---\n";
  text += fmt::format("base_model: {}\nbase_model_relation: quantized\n", card.base_model);
  for (const std::string& line : card.license) text += line + '\n';
  text += fmt::format("tags:\n- hone\n- {}\n---\n", title);
  return text;
}

}  // namespace

std::string model_card_text(const ModelCard& card) {
  const std::vector<const Scheme*> schemes = plan_schemes(*card.plan);
  const std::string title = scheme_title(schemes);
  std::string text = front_matter(card, title);
  text += fmt::format(
      "\n# {}-{}\n\n{} quantized to {} by Hone {}.\n",
      card.base_model.substr(card.base_model.rfind('/') + 1),
      title,
      card.base_model,
      title,
      kHoneVersion
  );
  text += "\n## What is inside\n\n" + format_table(*card.plan) + '\n' + sizes_text(*card.plan);
  text += "\n## How it was made\n\n" + method_text(card, schemes);
  text += fmt::format("\n```\n{}\n```\n\n", card.command);
  text += "`hone.json` holds the sha256 of every input and output file.\n";
  text += "\n## How to load it\n\n" + loading_text(card, schemes);
  return text;
}

std::string with_evaluation(std::string card, std::span<const CardMetric> metrics) {
  const size_t begin = card.find(kEvaluation);
  if (begin != std::string::npos) {
    const size_t end = card.find("\n## ", begin);
    card.erase(begin, end == std::string::npos ? end : end + 1 - begin);
    while (card.ends_with("\n\n")) card.pop_back();
  }
  if (metrics.empty()) return card;
  card += fmt::format("\n{}\n| metric | reference | this | verdict |\n", kEvaluation);
  card += "|---|---:|---:|---|\n";
  for (const CardMetric& m : metrics) {
    card += fmt::format("| {} | {} | {} | {} |\n", m.name, m.reference, m.candidate, m.verdict);
  }
  return card;
}

std::string base_model_name(const fs::path& folder) {
  constexpr std::string_view kPrefix = "models--";
  fs::path path = fs::weakly_canonical(folder).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  for (const fs::path& part : path) {
    const std::string text = part.string();
    if (!text.starts_with(kPrefix)) continue;
    const std::string name = text.substr(kPrefix.size());
    const size_t separator = name.find("--");
    if (separator == std::string::npos) return name;
    return name.substr(0, separator) + "/" + name.substr(separator + 2);
  }
  return path.filename().string();
}

std::vector<std::string> license_lines(std::string_view readme) {
  std::vector<std::string> lines;
  constexpr std::string_view kFence = "---\n";
  if (!readme.starts_with(kFence)) return lines;
  size_t begin = kFence.size();
  while (begin < readme.size()) {
    const size_t end = std::min(readme.find('\n', begin), readme.size());
    const std::string_view line = readme.substr(begin, end - begin);
    if (line == "---") break;
    if (line.starts_with("license:") || line.starts_with("license_name:") ||
        line.starts_with("license_link:"))
      lines.emplace_back(line);
    begin = end + 1;
  }
  return lines;
}

}  // namespace hone
