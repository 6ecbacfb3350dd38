// A string that remembers which of its bytes came from the caller's data and which from
// {% generation %} blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone::jinja {

enum class MarkKind : uint8_t { kInput, kGeneration };

// Bytes [begin, end).
struct Mark {
  size_t begin;
  size_t end;
  MarkKind kind;
};

// Marks of a kind are ascending and disjoint; neighbours are joined.
struct Text {
  std::string bytes;
  std::vector<Mark> marks;
  // Came through "| safe" or "| escape": what is added to it by + and % is escaped for HTML, as
  // Python's Markup does. append() leaves it alone; slices keep it.
  bool safe = false;

  Text() = default;
  explicit Text(std::string text) : bytes(std::move(text)) {}

  void append(std::string_view text) { bytes += text; }
  void append(const Text& text);
  // Appends `text`, as the caller's data when `input`.
  void append(std::string_view text, bool input);
  void append_slice(const Text& text, size_t begin, size_t end);
  [[nodiscard]] Text slice(size_t begin, size_t end) const;
  void mark(size_t begin, size_t end, MarkKind kind);
  [[nodiscard]] bool has_input() const;
};

}  // namespace hone::jinja
