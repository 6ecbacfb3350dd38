#include "quant/plan.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <tuple>

#include "core/base/progress.h"

namespace hone {
namespace {

using Parts = std::vector<std::string>;

std::string_view format_text(const PlanEntry& entry) {
  if (entry.scheme != nullptr) return entry.scheme->name;
  return entry.to_bf16 ? "bf16" : "keep";
}

std::string source_text(const PlanEntry& entry) {
  return std::string(entry.stored ? format_name(*entry.stored) : dtype_name(entry.dtype));
}

Parts split(const std::string& name) {
  Parts parts(1);
  for (char c : name) {
    if (c == '.') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

bool is_number(const std::string& part) {
  return !part.empty() && part.size() < 10 &&
         std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
}

// {3, 4, 5, 9} -> "{3-5,9}"; a single number stays bare.
std::string ranges_text(const std::set<int64_t>& numbers) {
  std::string text;
  for (auto it = numbers.begin(); it != numbers.end();) {
    const int64_t first = *it;
    int64_t last = first;
    for (++it; it != numbers.end() && *it == last + 1; ++it) last = *it;
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (last > first) text += '-' + std::to_string(last);
  }
  return numbers.size() == 1 ? text : '{' + text + '}';
}

// A row of the table: what all its tensors share, and how many there are.
struct Row {
  Parts name;
  std::array<std::string, 8>
      cells;  // shape, role, source, format, bits, method, reason, group kind
  int64_t count = 1;
  int64_t bytes = 0;
};

// Merges rows that differ only in the number at component `at`. Doing so from the last component
// to the first keeps every printed name an exact product of its ranges.
std::vector<Row> merge_numbers(std::vector<Row> rows, size_t at) {
  struct Merged {
    size_t row;
    std::set<int64_t> numbers;
  };
  std::map<std::tuple<Parts, std::array<std::string, 8>, int64_t>, Merged> merged;
  std::vector<Row> result;
  for (Row& row : rows) {
    if (at >= row.name.size() || !is_number(row.name[at])) {
      result.push_back(std::move(row));
      continue;
    }
    const int64_t number = std::stoll(row.name[at]);
    Parts key = row.name;
    key[at] = "*";
    const auto [it, fresh] =
        merged.try_emplace({key, row.cells, row.count}, Merged{result.size(), {number}});
    if (fresh) {
      result.push_back(std::move(row));
      continue;
    }
    it->second.numbers.insert(number);
    Row& target = result[it->second.row];
    target.bytes += row.bytes;
  }
  for (const auto& [key, value] : merged) {
    Row& row = result[value.row];
    row.name[at] = ranges_text(value.numbers);
    row.count *= static_cast<int64_t>(value.numbers.size());
  }
  return result;
}

std::vector<Row> table_rows(const Plan& plan, bool full) {
  std::vector<Row> rows;
  size_t components = 0;
  for (const PlanEntry& e : plan.entries) {
    Row row;
    row.name = split(e.module.empty() ? e.tensor : e.module);
    row.cells = {
        e.shape.str(),
        std::string(role_name(e.role)),
        source_text(e),
        std::string(format_text(e)),
        fmt::format("{:.2f}", e.bits()),
        e.method.empty() ? "-" : e.method,
        e.reason,
        e.fused_group.empty() ? "-" : e.fused_group.substr(e.fused_group.rfind('.') + 1),
    };
    row.bytes = e.output_bytes;
    components = std::max(components, row.name.size());
    rows.push_back(std::move(row));
  }
  if (full) return rows;
  for (size_t at = components; at-- > 0;) rows = merge_numbers(std::move(rows), at);
  return rows;
}

std::string join(const Parts& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ".") + part;
  return text;
}

std::string warning_text(const PlanWarning& warning) {
  if (warning.engine.empty()) return "warning: " + warning.text;
  return fmt::format(
      "warning: {}{}: {}", warning.engine, warning.refused ? " refuses this" : "", warning.text
  );
}

}  // namespace

double PlanEntry::bits() const {
  const int64_t n = shape.numel();
  return n == 0 ? 0 : 8.0 * static_cast<double>(output_bytes) / static_cast<double>(n);
}

std::vector<const Scheme*> plan_schemes(const Plan& plan) {
  std::vector<const Scheme*> schemes;
  for (const PlanEntry& e : plan.entries) {
    if (e.scheme != nullptr && std::ranges::find(schemes, e.scheme) == schemes.end())
      schemes.push_back(e.scheme);
  }
  return schemes;
}

PlanSize plan_size(const Plan& plan) {
  PlanSize size;
  int64_t parameters = 0;
  int64_t selectable = 0;
  int64_t selectable_bytes = 0;
  for (const PlanEntry& e : plan.entries) {
    size.source_bytes += e.source_bytes;
    size.output_bytes += e.output_bytes;
    parameters += e.shape.numel();
    if (e.scheme != nullptr) {
      ++size.quantized_modules;
    } else if (!e.module.empty() && e.shape.rank() == 2 && e.role != Role::kEmbedding) {
      ++size.kept_modules;
    }
    if (e.selectable) {
      selectable += e.shape.numel();
      selectable_bytes += e.output_bytes;
    }
  }
  const auto bits = [](int64_t bytes, int64_t n) {
    return n == 0 ? 0.0 : 8.0 * static_cast<double>(bytes) / static_cast<double>(n);
  };
  size.selectable_bits = bits(selectable_bytes, selectable);
  size.file_bits = bits(size.output_bytes, parameters);
  return size;
}

std::string plan_table(const Plan& plan, bool full) {
  const std::vector<Row> rows = table_rows(plan, full);
  const std::array<std::string, 10> head = {
      "module or tensor",
      "count",
      "shape",
      "role",
      "fused",
      "source",
      "format",
      "bits",
      "method",
      "reason"};
  std::vector<std::array<std::string, 10>> lines = {head};
  for (const Row& row : rows) {
    const auto& c = row.cells;
    lines.push_back(
        {join(row.name), std::to_string(row.count), c[0], c[1], c[7], c[2], c[3], c[4], c[5], c[6]}
    );
  }
  std::array<size_t, 10> width{};
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) width[i] = std::max(width[i], line[i].size());
  }
  std::string text;
  for (const auto& line : lines) {
    std::string printed;
    for (size_t i = 0; i < line.size(); ++i) {
      const bool number = i == 1 || i == 7;
      printed += number ? fmt::format("{:>{}}  ", line[i], width[i])
                        : fmt::format("{:<{}}  ", line[i], width[i]);
    }
    printed.erase(printed.find_last_not_of(' ') + 1);
    text += printed + '\n';
  }
  const PlanSize size = plan_size(plan);
  text += fmt::format(
      "\n{} of {} linear modules quantized; tensors {} -> {} ({:.1f} %)\n",
      size.quantized_modules,
      size.quantized_modules + size.kept_modules,
      format_bytes(static_cast<double>(size.source_bytes)),
      format_bytes(static_cast<double>(size.output_bytes)),
      size.source_bytes == 0
          ? 0.0
          : 100.0 * static_cast<double>(size.output_bytes) / static_cast<double>(size.source_bytes)
  );
  text += fmt::format(
      "bits per weight: {:.3f} over the selectable linear weights, {:.3f} over the whole file\n",
      size.selectable_bits,
      size.file_bits
  );
  if (plan.budget) {
    text += fmt::format(
        "budget: {:.3f} bits asked, {:.3f} achieved; predicted KL {:.3e} nats per token (sum of "
        "single-module measurements{})\n",
        plan.budget->requested_bits,
        plan.budget->achieved_bits,
        plan.budget->predicted_kl,
        plan.budget->optimal ? ", smallest possible" : ""
    );
  }
  for (const PlanWarning& warning : plan.warnings) text += warning_text(warning) + '\n';
  return text;
}

Json plan_json(const Plan& plan) {
  const PlanSize size = plan_size(plan);
  Json json = Json::object();
  json["dialect"] = plan.dialect;
  json["source_bytes"] = size.source_bytes;
  json["output_bytes"] = size.output_bytes;
  json["quantized_modules"] = size.quantized_modules;
  json["kept_modules"] = size.kept_modules;
  json["selectable_bits"] = size.selectable_bits;
  json["file_bits"] = size.file_bits;
  if (plan.budget) {
    json["budget"] = {
        {"requested_bits", plan.budget->requested_bits},
        {"achieved_bits", plan.budget->achieved_bits},
        {"predicted_kl", plan.budget->predicted_kl},
        {"optimal", plan.budget->optimal}};
  }
  json["warnings"] = Json::array();
  for (const PlanWarning& w : plan.warnings) {
    json["warnings"].push_back({{"engine", w.engine}, {"refused", w.refused}, {"text", w.text}});
  }
  json["tensors"] = Json::array();
  for (const PlanEntry& e : plan.entries) {
    Json tensor = Json::object();
    tensor["tensor"] = e.tensor;
    tensor["role"] = role_name(e.role);
    tensor["shape"] = e.shape.dims();
    tensor["source"] = source_text(e);
    tensor["format"] = format_text(e);
    tensor["bits"] = e.bits();
    if (!e.method.empty()) tensor["method"] = e.method;
    tensor["reason"] = e.reason;
    if (!e.fused_group.empty()) tensor["fused_group"] = e.fused_group;
    tensor["source_bytes"] = e.source_bytes;
    tensor["output_bytes"] = e.output_bytes;
    json["tensors"].push_back(std::move(tensor));
  }
  return json;
}

}  // namespace hone
