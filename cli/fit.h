#pragma once

#include <cstdint>
#include <string_view>

#include <CLI/CLI.hpp>

namespace hone {

// `hone fit MODEL|config.json`: does it fit on these GPUs (quant/fit/fit.h). Exit code 3 when not.
void add_fit(CLI::App& app);

// "32768", "32k" (times 1024), "1m". Throws UsageError naming `option`.
int64_t parse_tokens(std::string_view text, std::string_view option);
// GiB as a decimal number; throws UsageError naming `option`.
int64_t parse_gib(double gib, std::string_view option);

}  // namespace hone
