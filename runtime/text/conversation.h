// OpenAI messages as chat templates expect them.
#pragma once

#include "core/json/json.h"

namespace hone {

// A copy of `messages` in which
//   content given as parts becomes one string (text parts joined by newlines, as vLLM and llama.cpp
//   join them; other kinds are refused),
//   content null or missing becomes "",
//   tool_calls' arguments given as a string become the object that the string holds (templates
//   write objects with tojson; a string would be quoted twice).
// Arguments that are no JSON stay strings. Throws DataError naming the message when it is no
// object, or for content that is neither a string nor text parts.
Json normalize_messages(const Json& messages);

}  // namespace hone
