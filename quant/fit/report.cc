#include "quant/fit/report.h"

#include <fmt/format.h>

#include "core/base/progress.h"

namespace hone {
namespace {

std::string grouped(int64_t value) {
  std::string digits = std::to_string(value);
  const int64_t first = value < 0 ? 1 : 0;
  for (auto at = static_cast<int64_t>(digits.size()) - 3; at > first; at -= 3) {
    digits.insert(static_cast<size_t>(at), ",");
  }
  return digits;
}

std::string size(int64_t bytes) {
  return format_bytes(static_cast<double>(bytes));
}

std::string tokens(int64_t n) {
  return grouped(n) + (n == 1 ? " token" : " tokens");
}

std::string parameters_text(const FitReport& r) {
  const bool sparse = r.active != r.total;
  std::string text = fmt::format("{:<18} {:>20}", "parameters", "total");
  if (sparse) text += fmt::format(" {:>20}", "active a token");
  text += '\n';
  const auto line = [&](std::string_view kind, int64_t total, int64_t active) {
    text += fmt::format("  {:<16} {:>20}", kind, grouped(total));
    if (sparse) text += fmt::format(" {:>20}", grouped(active));
    text += '\n';
  };
  for (const ParameterCount& p : r.parameters) line(p.kind, p.total, p.active);
  line("all", r.total, r.active);
  if (r.mtp_total > 0) text += fmt::format("  {:<16} {:>20}\n", "prediction", grouped(r.mtp_total));
  return text;
}

std::string weights_text(const FitReport& r) {
  std::string text =
      fmt::format("{:<18} {:>20} {:>11} {:>16}\n", "weights", "bytes", "", "bits a parameter");
  const int64_t parameters = r.total;
  for (const WeightSize& w : r.weights) {
    const double bits = 8.0 * static_cast<double>(w.bytes) / static_cast<double>(parameters);
    text += fmt::format(
        "  {:<16} {:>20} {:>11} {:>16.2f}{}\n",
        w.scheme,
        grouped(w.bytes),
        size(w.bytes),
        bits,
        w.scheme == r.chosen.scheme ? "  <" : ""
    );
  }
  return text;
}

std::string cache_text(const FitReport& r) {
  std::string text = fmt::format("{:<28} {:>14} {:>14}\n", "cache of one sequence", "bf16", "fp8");
  const auto line = [&](const std::string& what, const int64_t(&bytes)[2]) {
    text += fmt::format("  {:<26} {:>14} {:>14}\n", what, grouped(bytes[0]), grouped(bytes[1]));
  };
  line("a token", r.token_bytes);
  if (r.fixed_bytes[0] > 0) line("states and full windows", r.fixed_bytes);
  line("at " + tokens(r.context), r.sequence_bytes);
  return text;
}

std::string verdict_text(const FitReport& r, const FitVerdict& v) {
  std::string text = fmt::format(
      "{} x {} ({} bytes each): tensor parallel {}, expert parallel {}, data parallel {}\n",
      v.gpus.count,
      v.gpus.gpu.title,
      grouped(v.memory),
      v.tp,
      v.ep,
      v.dp
  );
  const auto line = [&](const std::string& what, int64_t bytes) {
    text += fmt::format("  {:<38} {:>18} {:>11}\n", what, grouped(bytes), size(bytes));
  };
  line("weights, " + r.chosen.scheme, v.weights);
  line("driver and context", v.context);
  line("workspaces and graphs", v.workspace);
  line("communication", v.communication);
  line("activations", v.activations);
  line("left for the cache", v.room);
  line(
      fmt::format("cache, {} x {}{}", v.sequences, tokens(r.context), r.fp8_cache ? ", fp8" : ""),
      v.cache
  );
  const auto count = [&](const std::string& what, int64_t n, std::string_view remark) {
    text +=
        fmt::format("  {:<38} {:>18}{}{}\n", what, grouped(n), remark.empty() ? "" : " ", remark);
  };
  count(
      fmt::format("longest context at batch {}", r.batch),
      v.max_context,
      v.model_limit ? "(the model's limit)" : ""
  );
  count("largest batch at " + tokens(r.context), v.max_batch, "");
  if (v.smallest_count > 0) count("smallest power of two that fits", v.smallest_count, "GPUs");
  if (v.smallest_count == 0) text += "  no power of two up to 4,096 GPUs fits\n";
  text += fmt::format("\n{}: {}\n", v.fits ? "fits" : "does not fit", v.reason);
  return text;
}

Json weight_json(const WeightSize& w) {
  return {{"scheme", w.scheme}, {"bytes", w.bytes}, {"prediction_bytes", w.mtp_bytes}};
}

Json verdict_json(const FitVerdict& v) {
  return {
      {"gpu", v.gpus.gpu.name},
      {"gpus", v.gpus.count},
      {"tensor_parallel", v.tp},
      {"expert_parallel", v.ep},
      {"data_parallel", v.dp},
      {"memory", v.memory},
      {"weights", v.weights},
      {"context_reserve", v.context},
      {"workspace_reserve", v.workspace},
      {"communication_reserve", v.communication},
      {"activations", v.activations},
      {"cache_room", v.room},
      {"sequences", v.sequences},
      {"cache", v.cache},
      {"fits", v.fits},
      {"max_context", v.max_context},
      {"max_context_is_model_limit", v.model_limit},
      {"max_batch", v.max_batch},
      {"smallest_count", v.smallest_count},
      {"reason", v.reason}};
}

}  // namespace

std::string fit_text(const FitReport& r) {
  std::string text = fmt::format(
      "{}: {}{} layers, family {}\n\n",
      r.name,
      r.architecture.empty() ? "" : r.architecture + ", ",
      r.layers,
      r.family
  );
  text += parameters_text(r) + '\n' + weights_text(r) + '\n' + cache_text(r);
  for (const std::string& note : r.notes)
    text += (&note == r.notes.data() ? "\nnote: " : "note: ") + note + '\n';
  if (r.verdict) text += '\n' + verdict_text(r, *r.verdict);
  return text;
}

Json fit_json(const FitReport& r) {
  Json json = Json::object();
  json["name"] = r.name;
  json["architecture"] = r.architecture;
  json["model_type"] = r.model_type;
  json["family"] = r.family;
  json["layers"] = r.layers;
  json["parameters"] = Json::array();
  for (const ParameterCount& p : r.parameters) {
    json["parameters"].push_back({{"kind", p.kind}, {"total", p.total}, {"active", p.active}});
  }
  json["total_parameters"] = r.total;
  json["active_parameters"] = r.active;
  json["prediction_parameters"] = r.mtp_total;
  json["scheme"] = r.scheme;
  json["expert_scheme"] = r.expert_scheme;
  json["weights"] = weight_json(r.chosen);
  json["weights_by_scheme"] = Json::array();
  for (const WeightSize& w : r.weights) json["weights_by_scheme"].push_back(weight_json(w));
  json["context"] = r.context;
  json["batch"] = r.batch;
  json["cache"] = r.fp8_cache ? "fp8" : "bf16";
  for (const int i : {0, 1}) {
    json[i == 0 ? "cache_bf16" : "cache_fp8"] = {
        {"bytes_per_token", r.token_bytes[i]},
        {"fixed_bytes", r.fixed_bytes[i]},
        {"sequence_bytes", r.sequence_bytes[i]}};
  }
  json["verdict"] = r.verdict ? verdict_json(*r.verdict) : Json();
  json["notes"] = r.notes;
  return json;
}

}  // namespace hone
