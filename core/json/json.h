// JSON documents (nlohmann): parsed with the source's name in every error, written atomically.
//
// Objects keep the order of their keys, so rewritten config files stay comparable. Lookup is
// linear: documents with very many keys (vocabularies, safetensors headers) are read with simdjson.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace hone {

using Json = nlohmann::ordered_json;

// Parses one document. `source` names it in the error ("config.json", "line 3 of traces.jsonl").
// Throws DataError with the byte offset. Refuses documents nested deeper than 256.
Json parse_json(std::string_view text, const std::string& source);
Json read_json_file(const std::filesystem::path& path);
// One document a line; blank lines are skipped.
std::vector<Json> read_jsonl_file(const std::filesystem::path& path);

// Two-space indentation and a final newline, through AtomicFile. Invalid UTF-8 is replaced.
void write_json_file(const std::filesystem::path& path, const Json& document);
// Compact text; invalid UTF-8 in strings is replaced.
std::string dump_json(const Json& document);

// Typed field access. Each throws DataError "<source>: field \"<key>\" ..." when the field is
// missing (or null) or has another type; the `_or` forms return the default when it is missing or
// null, and still throw on another type.
int64_t json_int(const Json& object, std::string_view key, const std::string& source);
double json_number(const Json& object, std::string_view key, const std::string& source);
bool json_bool(const Json& object, std::string_view key, const std::string& source);
std::string json_string(const Json& object, std::string_view key, const std::string& source);
int64_t json_int_or(
    const Json& o, std::string_view key, int64_t otherwise, const std::string& source
);
double json_number_or(
    const Json& o, std::string_view key, double otherwise, const std::string& source
);
bool json_bool_or(const Json& o, std::string_view key, bool otherwise, const std::string& source);
std::string json_string_or(
    const Json& o, std::string_view key, const std::string& otherwise, const std::string& source
);

}  // namespace hone
