#include "quant/select/planner.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/io/dialect.h"
#include "quant/select/cost.h"
#include "quant/select/engine_limits.h"
#include "quant/select/solver.h"

namespace hone {
namespace {

constexpr int64_t kBf16Bytes = 2;
constexpr std::string_view kWeight = ".weight";

// An entry together with what is known while the plan is made.
struct Draft {
  PlanEntry entry;
  RuleDecision decision;
  std::string impossible;  // why it cannot be quantized at all; empty: it can
};

using Groups = std::map<std::string, std::vector<Draft*>>;

bool is_dense_float(DType type) {
  return type == DType::kBF16 || type == DType::kF16 || type == DType::kF32;
}

// Why no rule can quantize the tensor; empty: one can.
std::string impossible_reason(const PlanEntry& e, bool tied_embeddings) {
  if (e.role == Role::kNorm) return "norm";
  if (e.role == Role::kEmbedding) return "embedding: looked up, not multiplied";
  if (e.role == Role::kMoeRouter) return "engines read routers unquantized";
  if (e.shape.rank() == 3)
    return fmt::format("{} matrices in one tensor are not split", e.shape.dim(0));
  if (e.module.empty() || e.shape.rank() != 2) return "no linear weight";
  if (!e.stored && !is_dense_float(e.dtype)) return fmt::format("{} weights", dtype_name(e.dtype));
  if (e.role == Role::kLmHead && tied_embeddings) return "tied to the embedding";
  return "";
}

const Dialect& output_dialect(const PlanRequest& request, const Scheme& scheme) {
  return dialect_by_name(
      request.dialect.empty() ? default_dialect(scheme, request.engine) : request.dialect
  );
}

// A dialect without a name for the scheme would leave nothing to quantize; that is said at once.
void refuse_unspeakable(const PlanRequest& request, const Scheme& scheme) {
  constexpr int64_t kWholeBlocks = 128;
  const Dialect& dialect = output_dialect(request, scheme);
  const std::optional<std::string> reason =
      dialect.refuses({"every module", scheme.format, scheme.activation, kWholeBlocks, kWholeBlocks}
      );
  require(
      !reason.has_value(),
      "scheme {} cannot be written in the {} dialect: {}; scheme {} is written in {} by default",
      scheme.name,
      dialect.name(),
      reason.value_or(""),
      scheme.name,
      scheme.dialect
  );
}

// Why `scheme` cannot hold a matrix of this shape; empty: it can.
std::string shape_reason(const PlanRequest& request, const PlanEntry& e, const Scheme& scheme) {
  const int64_t rows = e.shape.dim(0);
  const int64_t cols = e.shape.dim(1);
  if (rows == 0 || cols == 0) return "empty matrix";
  const int64_t multiple = format_layout(scheme.format, rows, cols).column_multiple;
  if (cols % multiple != 0)
    return fmt::format("in_features {} is not divisible by {}", cols, multiple);
  const Dialect& dialect = output_dialect(request, scheme);
  return dialect.refuses({e.module, scheme.format, scheme.activation, rows, cols}).value_or("");
}

void keep(PlanEntry& e, std::string reason) {
  e.scheme = nullptr;
  e.reason = std::move(reason);
}

int64_t layers_of(const std::vector<Draft>& drafts) {
  int64_t last = -1;
  for (const Draft& d : drafts) last = std::max(last, d.entry.layer);
  return last + 1;
}

RuleSubject subject_of(const Draft& d, int64_t layers) {
  const PlanEntry& e = d.entry;
  return {e.role, e.module, e.tensor, e.layer, layers, e.shape.numel()};
}

std::vector<Draft> draft_entries(const PlanRequest& request) {
  std::vector<std::string> names;
  for (const SourceTensor& t : request.tensors)
    names.push_back(t.stored_module.empty() ? t.name : t.stored_module + std::string(kWeight));
  const ModelSchema schema(request.architecture, names);
  std::vector<Draft> drafts;
  for (const SourceTensor& t : request.tensors) {
    Draft draft;
    PlanEntry& e = draft.entry;
    e.tensor = t.name;
    e.dtype = t.dtype;
    e.shape = t.shape;
    e.stored = t.stored;
    e.stored_activation = t.stored_activation;
    e.source_bytes = t.bytes;
    const std::string weight =
        t.stored_module.empty() ? t.name : t.stored_module + std::string(kWeight);
    e.role = schema.role(weight);
    if (weight.ends_with(kWeight)) {
      const std::string module = weight.substr(0, weight.size() - kWeight.size());
      // What is stored quantized is a module, whether the architecture is known or not.
      if (!t.stored_module.empty()) e.module = module;
      if (const ModuleInfo* info = schema.find(module)) {
        e.module = module;
        e.layer = info->layer;
        e.fused_group = info->fused_group;
      }
    }
    draft.impossible = impossible_reason(e, request.tied_embeddings);
    drafts.push_back(std::move(draft));
  }
  const int64_t layers = layers_of(drafts);
  for (Draft& d : drafts) d.decision = decide(request.rules, request.scheme, subject_of(d, layers));
  return drafts;
}

void refuse_unmatched_rules(const PlanRequest& request, const std::vector<Draft>& drafts) {
  const int64_t layers = layers_of(drafts);
  for (const Rule& rule : request.rules) {
    if (!rule.preset.empty()) continue;
    const bool matched = std::ranges::any_of(drafts, [&](const Draft& d) {
      return rule.matches(subject_of(d, layers));
    });
    if (matched) continue;
    const bool head =
        rule.matches({.role = Role::kLmHead, .module = "lm_head", .tensor = "lm_head.weight"});
    require(
        !(head && request.tied_embeddings),
        "rule {}: this model has no lm_head tensor of its own, it is tied to the embedding "
        "(tie_word_embeddings in config.json)",
        rule.text
    );
    std::set<std::string_view> roles;
    for (const Draft& d : drafts) roles.insert(role_name(d.entry.role));
    throw UsageError(fmt::format(
        "rule {} matches no tensor; roles in this model: {}; names look like {}",
        rule.text,
        fmt::join(roles, ", "),
        drafts.empty() ? "(none)" : drafts.back().entry.tensor
    ));
  }
}

// A rule that later ones override wherever it matches does nothing, which is seldom meant.
void warn_of_overridden_rules(
    const PlanRequest& request, const std::vector<Draft>& drafts, Plan& plan
) {
  for (const Rule& rule : request.rules) {
    const bool decides =
        std::ranges::any_of(drafts, [&](const Draft& d) { return d.decision.rule == &rule; });
    if (decides || !rule.preset.empty()) continue;
    plan.warnings.push_back(
        {"",
         false,
         fmt::format(
             "rule {} decides nothing: later rules match all that it matches (the last one counts)",
             rule.text
         )}
    );
  }
}

// Turns the decision into scheme or keep, for one tensor alone.
void settle(const PlanRequest& request, Draft& draft) {
  PlanEntry& e = draft.entry;
  const RuleDecision& decision = draft.decision;
  if (decision.scheme == nullptr) {
    keep(e, draft.impossible.empty() ? decision.reason : draft.impossible);
    return;
  }
  if (draft.impossible.empty()) draft.impossible = shape_reason(request, e, *decision.scheme);
  require(
      draft.impossible.empty() || !decision.explicit_request(),
      "{} asks to quantize {} {}, which is impossible: {}",
      decision.reason,
      e.tensor,
      e.shape.str(),
      draft.impossible
  );
  if (!draft.impossible.empty()) {
    keep(e, draft.impossible);
    return;
  }
  e.scheme = decision.scheme;
  e.reason = decision.reason;
}

// Block FP8 is decoded exactly and may become NVFP4; everything else that is quantized stays.
void settle_stored(const PlanRequest& request, std::vector<Draft>& drafts) {
  if (request.source_dialect.empty()) return;
  for (Draft& draft : drafts) {
    PlanEntry& e = draft.entry;
    if (!e.stored || e.scheme == nullptr) continue;
    if (*e.stored == e.scheme->format &&
        request.source_dialect == output_dialect(request, *e.scheme).name()) {
      keep(e, fmt::format("already {}", format_name(*e.stored)));
      continue;
    }
    require(
        *e.stored == Format::kBlockFp8,
        "{} is quantized already ({}, dialect {}); quantizing it again to {} would round twice: "
        "start from the original checkpoint",
        e.tensor,
        format_name(*e.stored),
        request.source_dialect,
        e.scheme->name
    );
  }
}

std::string scheme_text(const PlanEntry& e) {
  return e.scheme == nullptr ? "keep" : std::string(e.scheme->name);
}

// All members of a group get one format: what one cannot have none gets, and rules that disagree
// are refused.
void unite(const std::string& group, std::vector<Draft*>& members) {
  const PlanEntry& first = members.front()->entry;
  const bool agree =
      std::ranges::all_of(members, [&](const Draft* d) { return d->entry.scheme == first.scheme; });
  if (agree) return;
  for (const Draft* blocked : members) {
    if (blocked->impossible.empty() || blocked->decision.scheme == nullptr) continue;
    for (Draft* d : members) {
      require(
          !d->decision.explicit_request(),
          "{} asks to quantize {}, which engines fuse with {} ({}): that one cannot be: {}",
          d->decision.reason,
          d->entry.module,
          blocked->entry.module,
          group,
          blocked->impossible
      );
      if (d->entry.scheme != nullptr)
        keep(
            d->entry, fmt::format("fused with {}: {}", blocked->entry.module, blocked->impossible)
        );
    }
    return;
  }
  const Draft* other = *std::ranges::find_if(members, [&](const Draft* d) {
    return d->entry.scheme != first.scheme;
  });
  throw UsageError(fmt::format(
      "the rules split {}: {} is {} ({}) and {} is {} ({}); engines run them as one, so give all "
      "of them the same format",
      group,
      first.module,
      scheme_text(first),
      first.reason,
      other->entry.module,
      scheme_text(other->entry),
      other->entry.reason
  ));
}

Groups choice_groups(std::vector<Draft>& drafts) {
  Groups groups;
  for (Draft& d : drafts) {
    const PlanEntry& e = d.entry;
    if (e.module.empty() || e.shape.rank() != 2) continue;
    groups[choice_group(e.role, e.module, e.fused_group)].push_back(&d);
  }
  return groups;
}

int64_t bf16_bytes(const PlanEntry& e) {
  return kBf16Bytes * e.shape.numel();
}

int64_t quantized_bytes(const Plan& plan, const PlanEntry& e, const Scheme& scheme) {
  int64_t bytes = 0;
  const QuantizedModule module{
      e.module, scheme.format, scheme.activation, e.shape.dim(0), e.shape.dim(1)};
  for (const DialectPart& part : dialect_by_name(plan.dialect).parts(module)) {
    bytes += byte_size(part.spec.type, part.spec.shape);
  }
  return bytes;
}

// A group that the budget may keep or quantize as a whole.
struct Candidate {
  std::string name;
  std::vector<Draft*> members;
  double kl = 0;
};

// Weights of the problem are bytes; one item per candidate (0: keep, 1: quantize) and one for all
// that rules have fixed.
void apply_budget(const PlanRequest& request, Groups& groups, Plan& plan) {
  require(
      request.stats != nullptr,
      "choosing modules by a budget needs the statistics of hone calibrate (--stats)"
  );
  std::vector<Candidate> candidates;
  std::vector<KnapsackItem> items(1);
  items[0].choices.push_back({0, 0.0});
  int64_t weights = 0;
  int64_t bytes_when_kept = 0;
  for (auto& [name, members] : groups) {
    int64_t kept = 0;
    int64_t quantized = 0;
    std::vector<const PlanEntry*> entries;
    for (Draft* d : members) {
      if (d->entry.scheme == nullptr) continue;
      weights += d->entry.shape.numel();
      kept += d->entry.stored ? bf16_bytes(d->entry) : d->entry.source_bytes;
      quantized += quantized_bytes(plan, d->entry, *d->entry.scheme);
      entries.push_back(&d->entry);
    }
    if (entries.empty()) continue;
    const bool fixed =
        std::ranges::any_of(members, [](const Draft* d) { return d->decision.rule != nullptr; });
    if (fixed) {
      items[0].choices[0].weight += quantized;
      bytes_when_kept += quantized;
      continue;
    }
    const Format format = entries.front()->scheme->format;
    const double kl = measured_kl(*request.stats, name, entries, format);
    candidates.push_back({name, members, kl});
    items.push_back({{{kept, 0.0}, {quantized, kl}}});
    bytes_when_kept += kept;
  }
  require(
      !candidates.empty(), "there is nothing to choose: no module that the scheme may quantize"
  );
  const double per_byte = 8.0 / static_cast<double>(weights);
  const auto capacity =
      static_cast<int64_t>(std::floor(request.bits * static_cast<double>(weights) / 8.0));
  require(
      least_weight(items) <= capacity,
      "{} bits per weight cannot be met: quantizing every selectable module takes {:.4f}",
      request.bits,
      static_cast<double>(least_weight(items)) * per_byte
  );
  require(
      bytes_when_kept > capacity,
      "{} bits per weight change nothing: unquantized the selectable modules take {:.4f}",
      request.bits,
      static_cast<double>(bytes_when_kept) * per_byte
  );
  const KnapsackSolution solution = solve_knapsack(items, capacity);
  for (size_t i = 0; i < candidates.size(); ++i) {
    const bool quantize = solution.choice[i + 1] == 1;
    for (Draft* d : candidates[i].members) {
      if (d->entry.scheme == nullptr) continue;
      const std::string kl = fmt::format("KL {:.2e}", candidates[i].kl);
      if (quantize) {
        d->entry.reason = fmt::format("auto: {}", kl);
      } else {
        keep(d->entry, fmt::format("auto: {} if quantized", kl));
      }
      d->entry.selectable = true;
    }
  }
  plan.budget = PlanBudget{
      request.bits,
      static_cast<double>(solution.weight) * per_byte,
      solution.cost,
      solution.optimal};
}

std::string_view stored_name(Format format) {
  return format == Format::kBlockFp8 ? "block FP8" : format_name(format);
}

// One folder speaks one dialect; what it cannot say of a module is an error.
void settle_dialect(const PlanRequest& request, std::vector<Draft>& drafts, Plan& plan) {
  std::vector<const Scheme*> schemes;
  for (const Draft& d : drafts) {
    if (d.entry.scheme != nullptr && std::ranges::find(schemes, d.entry.scheme) == schemes.end())
      schemes.push_back(d.entry.scheme);
  }
  require(
      !schemes.empty(),
      "nothing is left to quantize: {}",
      drafts.empty() ? "the checkpoint has no tensors"
                     : "every linear module is kept (hone quantize --dry-run shows why with a "
                       "scheme that applies)"
  );
  if (schemes.size() == 1) {
    plan.dialect = output_dialect(request, *schemes.front()).name();
  } else if (request.dialect.empty()) {
    plan.dialect = mixed_dialect(schemes, request.engine);
  } else {
    plan.dialect = request.dialect;
    require(
        plan.dialect != "fp8",
        "the fp8 dialect holds one scheme, the rules ask for {} and {}; use compressed-tensors",
        schemes[0]->name,
        schemes[1]->name
    );
  }
  for (const Draft& d : drafts) {
    const PlanEntry& e = d.entry;
    if (e.scheme == nullptr) continue;
    const std::optional<std::string> reason =
        dialect_by_name(plan.dialect)
            .refuses(
                {e.module, e.scheme->format, e.scheme->activation, e.shape.dim(0), e.shape.dim(1)}
            );
    require(
        !reason.has_value(),
        "{} cannot be {} in the {} dialect that this folder needs: {}",
        e.module,
        e.scheme->name,
        plan.dialect,
        reason.value_or("")
    );
  }
  for (Draft& d : drafts) {
    PlanEntry& e = d.entry;
    if (!e.stored || e.scheme != nullptr || e.to_bf16) continue;
    if (plan.dialect == request.source_dialect) continue;
    require(
        e.tensor.ends_with(kWeight),
        "{} is stored as {} and would have to become BF16, since the output is in the {} dialect; "
        "its codes are not \"{}.weight\", which is not done here: start from the original "
        "checkpoint",
        e.tensor,
        format_name(*e.stored),
        plan.dialect,
        e.module
    );
    e.to_bf16 = true;
    e.reason += fmt::format("; {} decoded and rounded to BF16", stored_name(*e.stored));
  }
}

void warn_of_unsplit_experts(Plan& plan) {
  int64_t count = 0;
  int64_t bytes = 0;
  for (const PlanEntry& e : plan.entries) {
    if (e.shape.rank() != 3 || e.role == Role::kVision) continue;
    ++count;
    bytes += e.source_bytes;
  }
  if (count == 0) return;
  plan.warnings.push_back(
      {"",
       false,
       fmt::format(
           "{} tensors that hold several matrices each ({} bytes) stay unquantized", count, bytes
       )}
  );
}

}  // namespace

Plan make_plan(const PlanRequest& request) {
  if (request.scheme != nullptr) refuse_unspeakable(request, *request.scheme);
  for (const Rule& rule : request.rules) {
    if (rule.scheme != nullptr) refuse_unspeakable(request, *rule.scheme);
  }
  std::vector<Draft> drafts = draft_entries(request);
  refuse_unmatched_rules(request, drafts);
  for (Draft& d : drafts) settle(request, d);
  settle_stored(request, drafts);
  Groups groups = choice_groups(drafts);
  for (auto& [name, members] : groups) unite(name, members);
  for (Draft& d : drafts) d.entry.selectable = d.entry.scheme != nullptr;

  Plan plan;
  warn_of_overridden_rules(request, drafts, plan);
  settle_dialect(request, drafts, plan);
  if (request.bits > 0) {
    apply_budget(request, groups, plan);
    settle_dialect(request, drafts, plan);
  }
  for (Draft& d : drafts) {
    PlanEntry& e = d.entry;
    e.output_bytes = e.to_bf16 ? bf16_bytes(e) : e.source_bytes;
    if (e.scheme != nullptr) e.output_bytes = quantized_bytes(plan, e, *e.scheme);
    if (e.scheme != nullptr) e.method = request.method;
    plan.entries.push_back(std::move(e));
  }
  warn_of_unsplit_experts(plan);
  for (PlanWarning& warning : engine_warnings(plan, request.engine)) {
    require(
        request.engine.empty() || !warning.refused,
        "{} would refuse this checkpoint: {}; keep those modules by a rule or choose another "
        "scheme (the nearest that {} {} is {})",
        warning.engine,
        warning.text,
        request.engine,
        request.engine == "all" ? "engines load" : "loads",
        nearest_accepted(*plan_schemes(plan).front(), request.engine)
    );
    plan.warnings.push_back(std::move(warning));
  }
  return plan;
}

}  // namespace hone
