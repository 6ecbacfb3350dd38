#include <algorithm>

#include <fmt/format.h>

#include "eval/report/html_part.h"
#include "eval/report/html_text.h"

namespace hone {
namespace {

// The prompt as people read it: the text, or "role: content" of each message.
std::string prompt_text(const Json& prompt) {
  if (prompt.is_string()) return prompt.get<std::string>();
  std::string out;
  if (!prompt.is_array()) return dump_json(prompt);
  for (const Json& message : prompt) {
    if (!message.is_object()) continue;
    if (!out.empty()) out += "\n";
    const auto role = message.find("role");
    if (role != message.end() && role->is_string()) out += role->get<std::string>() + ": ";
    const auto content = message.find("content");
    if (content == message.end() || content->is_null()) continue;
    out += content->is_string() ? content->get<std::string>() : dump_json(*content);
  }
  return out;
}

std::string text_of(const Json& side) {
  return side.value("text", std::string());
}

std::string cause_of(const Json& side) {
  const auto score = side.find("score");
  return score == side.end() ? "" : score->value("cause", std::string());
}

std::string expected_text(const Json& sample) {
  const auto expected = sample.find("expected");
  if (expected == sample.end()) return {};
  if (expected->is_string()) return expected->get<std::string>();
  if (expected->empty()) return "no call";
  std::string out;
  for (const Json& call : *expected) out += (out.empty() ? "" : "\n") + dump_json(call);
  return out;
}

std::string item_html(const Json& sample, std::string_view label) {
  const Json& reference = sample.at("reference");
  const Json& candidate = sample.at("candidate");
  const MarkedPair texts = mark_difference(text_of(reference), text_of(candidate));
  const std::string prompt = prompt_text(sample.at("prompt"));
  const size_t user = prompt.rfind("user: ");
  const std::string summary = user == std::string::npos ? prompt : prompt.substr(user + 6);
  return fmt::format(
      "<details class=\"flip\"><summary><span class=\"tag {0}\">{0}</span> <span class=\"num\">"
      "#{1}</span> {2}</summary><div class=\"grid\"><div><h4>Prompt</h4><pre>{3}</pre></div><div>"
      "<h4>Expected</h4><pre>{4}</pre></div><div><h4>Reference <small>{5}</small></h4><pre>{6}"
      "</pre></div><div><h4>Candidate "
      "<small>{7}</small></h4><pre>{8}</pre></div></div></details>\n",
      label,
      sample.at("item").get<int64_t>(),
      escape_html(summary),
      escape_html(prompt),
      escape_html(expected_text(sample)),
      escape_html(cause_of(reference)),
      texts.left,
      escape_html(cause_of(candidate)),
      texts.right
  );
}

std::string list_html(
    const TaskResult& task, const std::vector<int64_t>& items, std::string_view label, size_t limit
) {
  std::string out;
  size_t shown = 0;
  for (const Json& sample : task.samples) {
    const auto item = sample.at("item").get<int64_t>();
    if (!std::binary_search(items.begin(), items.end(), item)) continue;
    if (shown == limit) break;
    out += item_html(sample, label);
    ++shown;
  }
  if (items.size() > shown)
    out += fmt::format(
        "<p class=\"note\">{} more {} in samples.jsonl.</p>\n", items.size() - shown, label
    );
  return out;
}

}  // namespace

std::string flips_html(const TaskResult& task, size_t limit) {
  // The strictest deciding metric tells the most: it flips whenever a looser one matters.
  const PairedMetric* shown = nullptr;
  for (const PairedMetric& metric : task.metrics)
    if (metric.decides && metric.counts.flips() > 0) shown = &metric;
  if (shown == nullptr) return {};
  std::string out = fmt::format(
      "<h3>Items that flipped: {}</h3>\n<p>{} lost, {} gained. What follows the common beginning "
      "of "
      "both answers is marked.</p>\n",
      escape_html(shown->title),
      shown->counts.lost,
      shown->counts.gained
  );
  return out + list_html(task, shown->lost, "lost", limit) +
         list_html(task, shown->gained, "gained", limit);
}

}  // namespace hone
