// Bodies of /v1/chat/completions and /v1/completions, read and checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/json/json.h"
#include "runtime/engine/loaded_model.h"

namespace hone {

// What both endpoints share after reading. One prompt may have several choices (n), and
// /v1/completions may have several prompts.
struct GenerationRequest {
  bool chat = false;
  std::string model;
  std::vector<Request> choices;        // in the order of the answer's "index"
  std::vector<int64_t> prompt_tokens;  // of each distinct prompt
  bool stream = false;
  bool include_usage = false;        // stream_options.include_usage
  bool parse_tools = false;          // tools were offered and tool_choice is not "none"
  uint64_t seed = 0;                 // drawn by the server when the client gave none
  std::vector<std::string> ignored;  // unknown fields, reported in a response header
};

struct RequestLimits {
  int64_t default_max_tokens = 0;  // 0: up to the context's end
  int max_choices = 16;
  int max_stop = 16;
};

// Draws a seed for requests without one.
uint64_t draw_seed();

// Throw ApiError (400) naming the field: wrong type, out of range, not supported, prompt too long.
GenerationRequest read_chat_request(
    const Json& body, const LoadedModel& model, const RequestLimits& limits
);
GenerationRequest read_completion_request(
    const Json& body, const LoadedModel& model, const RequestLimits& limits
);

}  // namespace hone
