#include "cli/chat.h"

#include <iostream>
#include <memory>
#include <string>

#include <unistd.h>

#include "cli/bind.h"
#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/json/json.h"

namespace hone {
namespace {

constexpr std::string_view kHelp =
    "  /reset          forget the conversation\n"
    "  /system TEXT    set the system message and start anew\n"
    "  /history        show the conversation\n"
    "  /exit           leave (also end of input)\n"
    "  Ctrl-C          end the answer\n";

class Conversation {
 public:
  explicit Conversation(std::string system) : system_(std::move(system)) { reset(); }

  void reset() {
    messages_ = Json::array();
    if (!system_.empty()) add("system", system_);
  }
  void set_system(std::string text) {
    system_ = std::move(text);
    reset();
  }
  void add(const char* role, const std::string& text) {
    messages_.push_back({{"role", role}, {"content", text}});
  }
  void take_back() { messages_.erase(messages_.size() - 1); }
  [[nodiscard]] const Json& messages() const { return messages_; }
  void print(std::ostream& out) const {
    for (const Json& message : messages_)
      out << message.at("role").get<std::string>() << ": "
          << message.at("content").get<std::string>() << '\n';
  }

 private:
  std::string system_;
  Json messages_;
};

// One question and its answer. A prompt that does not fit leaves the conversation as it was.
void answer(
    TextEngine& engine, Conversation& conversation, const std::string& line, std::ostream& out
) {
  conversation.add("user", line);
  Completion completion;
  try {
    ChatInput input;
    input.messages = conversation.messages();
    const Request request = engine.request(engine.model().encode_chat(input));
    completion = engine.run(request, [&out](std::string_view text) { out << text << std::flush; });
  } catch (const UsageError& error) {
    conversation.take_back();
    out << error.what() << "\n/reset starts anew\n";
    return;
  } catch (...) {
    conversation.take_back();
    throw;
  }
  out << '\n';
  if (completion.finish == FinishReason::kError)
    out << '[' << completion.error_code << ": " << completion.error << "]\n";
  if (completion.finish == FinishReason::kLength) out << "[cut off: --max-tokens or context]\n";
  if (completion.finish == FinishReason::kCancelled) {
    out << "[interrupted]\n";
    reset_cancel();
  }
  conversation.add("assistant", completion.text);
  log_debug("{}", describe(completion, engine.drafts()));
}

}  // namespace

void chat_loop(
    TextEngine& engine, const ChatOptions& options, std::istream& in, std::ostream& out
) {
  Conversation conversation(options.system);
  std::string line;
  for (;;) {
    if (options.prompts) out << "> " << std::flush;
    if (!std::getline(in, line)) break;
    if (line.empty()) continue;
    if (line == "/exit" || line == "/quit") return;
    if (line == "/reset") {
      conversation.reset();
    } else if (line == "/history") {
      conversation.print(out);
    } else if (line.starts_with("/system ")) {
      conversation.set_system(line.substr(8));
    } else if (line.starts_with("/")) {
      if (line != "/help") out << "unknown command " << line << '\n';
      out << kHelp;
    } else {
      answer(engine, conversation, line, out);
    }
  }
  if (options.prompts) out << '\n';
  throw_if_cancelled();
}

void add_chat(CLI::App& app) {
  struct Arguments {
    TextFlags text;
    std::string system;
  };
  auto a = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("chat", "Talk to a model on the terminal");
  add_text_flags(*command, a->text);
  command->add_option("--system", a->system, "System message");
  command->footer(examples(
      {"hone chat recipes/demo",
       "hone chat MODEL --system \"Answer in one sentence.\" --temperature 0.7"}
  ));
  command->callback([a] {
    TextEngine engine(a->text);
    require_data(
        engine.model().chat_template != nullptr,
        "{} has no chat template; use hone generate --raw",
        a->text.model
    );
    const bool terminal = isatty(STDIN_FILENO) != 0;
    if (terminal) std::cout << "/help lists the commands.\n";
    chat_loop(engine, {.system = a->system, .prompts = terminal}, std::cin, std::cout);
  });
}

}  // namespace hone
