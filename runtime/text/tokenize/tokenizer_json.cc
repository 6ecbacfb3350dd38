#include "runtime/text/tokenize/tokenizer_json.h"

#include <algorithm>

#include <simdjson.h>

#include "core/base/error.h"

namespace hone {
namespace {

namespace ondemand = simdjson::ondemand;

// The "model" object; the views point into the parser's buffers.
struct ModelText {
  Json options = Json::object();  // every field but vocab and merges
  std::vector<std::pair<std::string_view, int32_t>> vocabulary;
  std::vector<BpeModel::MergeText> merges;
  bool has_vocabulary = false;
  bool has_merges = false;
};

// Reads a value of any type with the document model.
Json small_json(ondemand::value value, const std::string& source) {
  return parse_json(std::string_view(simdjson::to_json_string(value)), source);
}

void read_vocabulary(ondemand::value value, ModelText& model, const std::string& source) {
  ondemand::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) {
    throw DataError(fmt::format(
        "{}: model: \"vocab\" must be an object of token and id (a BPE vocabulary)", source
    ));
  }
  for (auto field : object) {
    const std::string_view token = field.unescaped_key();
    int64_t id = 0;
    require_data(
        field.value().get_int64().get(id) == simdjson::SUCCESS && id >= 0 && id <= INT32_MAX,
        "{}: model: vocab: id of token {:?} is no integer from 0 to {}",
        source,
        token,
        INT32_MAX
    );
    model.vocabulary.emplace_back(token, static_cast<int32_t>(id));
  }
  model.has_vocabulary = true;
}

// "a b" or ["a", "b"].
void read_merges(ondemand::value value, ModelText& model, const std::string& source) {
  for (auto item : value.get_array()) {
    const size_t rank = model.merges.size();
    ondemand::json_type type = item.type();
    if (type == ondemand::json_type::string) {
      const std::string_view text = item.get_string();
      if (text.starts_with("#version")) continue;
      const size_t space = text.find(' ');
      require_data(
          space != std::string_view::npos && text.find(' ', space + 1) == std::string_view::npos,
          "{}: model: merge {} ({:?}) must be two tokens with one space between",
          source,
          rank,
          text
      );
      model.merges.emplace_back(text.substr(0, space), text.substr(space + 1));
      continue;
    }
    std::string_view pair[2];
    size_t count = 0;
    require_data(
        type == ondemand::json_type::array, "{}: model: merge {} is no pair of tokens", source, rank
    );
    for (auto part : item.get_array()) {
      require_data(
          count < 2 && part.get_string().get(pair[count]) == simdjson::SUCCESS,
          "{}: model: merge {} is no pair of tokens",
          source,
          rank
      );
      ++count;
    }
    require_data(count == 2, "{}: model: merge {} is no pair of tokens", source, rank);
    model.merges.emplace_back(pair[0], pair[1]);
  }
  model.has_merges = true;
}

void read_model(ondemand::value value, ModelText& model, const std::string& source) {
  ondemand::object object;
  require_data(
      value.get_object().get(object) == simdjson::SUCCESS, "{}: \"model\" must be an object", source
  );
  // The type decides how vocab is written, and it stands before it in every file but the oldest;
  // there it is BPE by its merges.
  for (auto field : object) {
    const std::string_view key = field.unescaped_key();
    if (key == "vocab" || key == "merges") {
      const std::string type = json_string_or(model.options, "type", "BPE", source + ": model");
      require_data(
          type == "BPE",
          "{}: model {} is not supported (BPE is); use a checkpoint with a BPE tokenizer",
          source,
          type
      );
      if (key == "vocab") {
        read_vocabulary(field.value(), model, source);
      } else {
        read_merges(field.value(), model, source);
      }
    } else {
      model.options[std::string(key)] = small_json(field.value(), source);
    }
  }
}

BpeOptions read_options(const Json& json, const std::string& where) {
  BpeOptions options;
  const std::string type = json_string_or(json, "type", "BPE", where);
  require_data(type == "BPE", "{} {} is not supported (BPE is)", where, type);
  if (json.contains("unk_token") && !json["unk_token"].is_null()) {
    options.unk_token = json_string(json, "unk_token", where);
  }
  options.continuing_subword_prefix = json_string_or(json, "continuing_subword_prefix", "", where);
  options.end_of_word_suffix = json_string_or(json, "end_of_word_suffix", "", where);
  options.fuse_unk = json_bool_or(json, "fuse_unk", false, where);
  options.byte_fallback = json_bool_or(json, "byte_fallback", false, where);
  options.ignore_merges = json_bool_or(json, "ignore_merges", false, where);
  const double dropout = json_number_or(json, "dropout", 0, where);
  require_data(
      dropout == 0,
      "{}: dropout {} makes encoding random; set \"dropout\" to null in the file",
      where,
      dropout
  );
  return options;
}

// Flags are false when they are missing; `id` is added by the caller.
AddedToken read_added(const Json& json, const std::string& where) {
  AddedToken token;
  token.content = json_string(json, "content", where);
  token.single_word = json_bool_or(json, "single_word", false, where);
  token.lstrip = json_bool_or(json, "lstrip", false, where);
  token.rstrip = json_bool_or(json, "rstrip", false, where);
  token.special = json_bool_or(json, "special", false, where);
  token.normalized = json_bool_or(json, "normalized", !token.special, where);
  return token;
}

int32_t checked_id(int64_t id, const std::string& content, const std::string& where) {
  require_data(
      id >= 0 && id < (1 << 26), "{}: id {} of added token {:?} is out of range", where, id, content
  );
  return static_cast<int32_t>(id);
}

class AddedTokenList {
 public:
  explicit AddedTokenList(const BpeModel& model) : model_(model) {}

  // The vocabulary's own id wins over the one that is stated. A later token of the same content
  // replaces an earlier one.
  void add(AddedToken token) {
    if (token.content.empty()) return;
    if (const int32_t own = model_.find(token.content); own >= 0) token.id = own;
    const auto [at, inserted] = index_.try_emplace(token.content, tokens_.size());
    if (inserted) {
      tokens_.push_back(std::move(token));
    } else {
      tokens_[at->second] = std::move(token);
    }
  }

  // Those that tokenizer_config.json adds, and what it names as special.
  void add_config(const Json& config, const std::string& source) {
    if (!config.is_object()) return;
    if (config.contains("added_tokens_decoder")) {
      const std::string where = source + ": added_tokens_decoder";
      const Json& decoder = config["added_tokens_decoder"];
      require_data(decoder.is_object(), "{} must be an object", where);
      for (const auto& [key, json] : decoder.items()) {
        require_data(
            !key.empty() && key.size() < 10 &&
                key.find_first_not_of("0123456789") == std::string::npos,
            "{}: {:?} is no token id",
            where,
            key
        );
        AddedToken token = read_added(json, where);
        token.id = checked_id(std::stoll(key), token.content, where);
        add(std::move(token));
      }
    }
    for (const char* key :
         {"bos_token",
          "eos_token",
          "unk_token",
          "pad_token",
          "sep_token",
          "cls_token",
          "mask_token"}) {
      if (config.contains(key)) name_special(config[key]);
    }
    for (const char* key : {"additional_special_tokens", "extra_special_tokens"}) {
      if (!config.contains(key) || !(config[key].is_array() || config[key].is_object())) continue;
      for (const Json& token : config[key]) name_special(token);
    }
  }

  std::vector<AddedToken> take() { return std::move(tokens_); }

 private:
  void name_special(const Json& json) {
    std::string content;
    if (json.is_string()) content = json.get<std::string>();
    if (json.is_object() && json.contains("content") && json["content"].is_string()) {
      content = json["content"].get<std::string>();
    }
    if (content.empty()) return;
    if (const auto at = index_.find(content); at != index_.end()) {
      tokens_[at->second].special = true;
      return;
    }
    AddedToken token;
    token.content = content;
    token.special = true;
    // A name without an id (a pad token that training never used) stays unknown.
    if (model_.find(content) >= 0) add(std::move(token));
  }

  const BpeModel& model_;
  std::vector<AddedToken> tokens_;
  std::unordered_map<std::string, size_t> index_;
};

// The small components, by name.
struct Components {
  Json added_tokens;
  Json normalizer;
  Json pre_tokenizer;
  Json post_processor;
  Json decoder;
  ModelText model;
  bool has_model = false;
};

Components read_components(ondemand::document& document, const std::string& source) {
  Components out;
  ondemand::object root;
  require_data(
      document.get_object().get(root) == simdjson::SUCCESS, "{}: must be a JSON object", source
  );
  for (auto field : root) {
    const std::string_view key = field.unescaped_key();
    if (key == "model") {
      read_model(field.value(), out.model, source);
      out.has_model = true;
    } else if (key == "added_tokens") {
      out.added_tokens = small_json(field.value(), source);
    } else if (key == "normalizer") {
      out.normalizer = small_json(field.value(), source);
    } else if (key == "pre_tokenizer") {
      out.pre_tokenizer = small_json(field.value(), source);
    } else if (key == "post_processor") {
      out.post_processor = small_json(field.value(), source);
    } else if (key == "decoder") {
      out.decoder = small_json(field.value(), source);
    } else {
      require_data(
          key == "version" || key == "truncation" || key == "padding",
          "{}: field \"{}\" is not known",
          source,
          key
      );
    }
  }
  const char* rest = nullptr;
  require_data(
      document.current_location().get(rest) == simdjson::OUT_OF_BOUNDS,
      "{}: text after the JSON document",
      source
  );
  require_data(out.has_model, "{}: field \"model\" is missing", source);
  require_data(
      out.model.has_vocabulary && out.model.has_merges,
      "{}: model: \"vocab\" and \"merges\" are needed",
      source
  );
  return out;
}

}  // namespace

TokenizerParts read_tokenizer_json(
    std::string_view text,
    const std::string& source,
    const Json& config,
    const std::string& config_source
) {
  const simdjson::padded_string padded(text);
  ondemand::parser parser;
  Components json;
  ondemand::document document;
  try {
    document = parser.iterate(padded);
    json = read_components(document, source);
  } catch (const simdjson::simdjson_error& error) {
    throw DataError(fmt::format("{}: not valid JSON: {}", source, error.what()));
  }
  BpeOptions options = read_options(json.model.options, source + ": model");
  const bool plain = !options.byte_fallback && options.continuing_subword_prefix.empty() &&
                     options.end_of_word_suffix.empty();
  TokenizerParts parts;
  parts.normalizer = Normalizer::read(json.normalizer, source);
  PreTokenizer::Loaded pre = PreTokenizer::read(json.pre_tokenizer, source, plain);
  parts.pre_tokenizer = std::move(pre.steps);
  options.raw_bytes = pre.raw_bytes;
  parts.model = std::make_unique<BpeModel>(
      std::move(options), json.model.vocabulary, json.model.merges, source + ": model"
  );
  parts.post_processor = PostProcessor::read(json.post_processor, source);
  parts.decoder = Decoder::read(json.decoder, source);

  AddedTokenList added(*parts.model);
  if (!json.added_tokens.is_null()) {
    const std::string where = source + ": added_tokens";
    require_data(json.added_tokens.is_array(), "{} must be a list", where);
    for (const Json& item : json.added_tokens) {
      require_data(item.is_object(), "{}: an element is no object", where);
      AddedToken token = read_added(item, where);
      token.id = checked_id(json_int(item, "id", where), token.content, where);
      added.add(std::move(token));
    }
  }
  added.add_config(config, config_source);
  std::vector<AddedToken> tokens = added.take();
  std::vector<std::string> normalized;
  RegexScratch regex;
  RewrittenText rewritten;
  for (const AddedToken& token : tokens) {
    const bool changed = token.normalized && parts.normalizer != nullptr &&
                         parts.normalizer->apply(token.content, regex, rewritten);
    normalized.push_back(changed ? rewritten.text : token.content);
  }
  parts.added = AddedTokens(std::move(tokens), normalized);
  return parts;
}

}  // namespace hone
