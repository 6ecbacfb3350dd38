#include "runtime/text/jinja/text.h"

#include <algorithm>

namespace hone::jinja {

void Text::mark(size_t begin, size_t end, MarkKind kind) {
  if (begin >= end) return;
  // Only the last mark of the kind can touch the new one.
  for (size_t i = marks.size(); i-- > 0;) {
    if (marks[i].kind != kind) continue;
    if (marks[i].end == begin && kind == MarkKind::kInput) {
      marks[i].end = end;
      return;
    }
    break;
  }
  marks.push_back({begin, end, kind});
}

void Text::append(const Text& text) {
  const size_t base = bytes.size();
  bytes += text.bytes;
  for (const Mark& m : text.marks) mark(base + m.begin, base + m.end, m.kind);
}

void Text::append(std::string_view text, bool input) {
  const size_t base = bytes.size();
  bytes += text;
  if (input) mark(base, bytes.size(), MarkKind::kInput);
}

void Text::append_slice(const Text& text, size_t begin, size_t end) {
  const size_t base = bytes.size();
  bytes.append(text.bytes, begin, end - begin);
  for (const Mark& m : text.marks) {
    const size_t from = std::max(m.begin, begin);
    const size_t to = std::min(m.end, end);
    if (from < to) mark(base + from - begin, base + to - begin, m.kind);
  }
}

Text Text::slice(size_t begin, size_t end) const {
  Text out;
  out.append_slice(*this, begin, end);
  out.safe = safe;
  return out;
}

bool Text::has_input() const {
  return std::ranges::any_of(marks, [](const Mark& m) { return m.kind == MarkKind::kInput; });
}

}  // namespace hone::jinja
