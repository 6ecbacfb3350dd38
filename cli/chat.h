#pragma once

#include <iosfwd>

#include <CLI/CLI.hpp>

#include "cli/text_engine.h"

namespace hone {

// `hone chat MODEL`: a conversation on the terminal.
void add_chat(CLI::App& app);

// The conversation itself: reads lines from `in` until /exit or the end, streams answers to `out`.
// `system` (may be empty) opens the conversation. With `prompts` a "> " invites each line.
struct ChatOptions {
  std::string system;
  bool prompts = true;
};
void chat_loop(TextEngine& engine, const ChatOptions& options, std::istream& in, std::ostream& out);

}  // namespace hone
