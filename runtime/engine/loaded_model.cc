#include "runtime/engine/loaded_model.h"

#include "core/base/error.h"
#include "core/json/json.h"
#include "runtime/text/conversation.h"

namespace hone {
namespace {

// generation_config.json is optional; what it says about sampling counts only with do_sample.
SamplingParams read_sampling(const Json& config, const std::string& source) {
  SamplingParams params;
  if (!json_bool_or(config, "do_sample", false, source)) return params;
  params.temperature = static_cast<float>(json_number_or(config, "temperature", 1.0, source));
  params.top_k = static_cast<int32_t>(json_int_or(config, "top_k", 0, source));
  params.top_p = static_cast<float>(json_number_or(config, "top_p", 1.0, source));
  params.min_p = static_cast<float>(json_number_or(config, "min_p", 0.0, source));
  try {
    validate(params);
  } catch (const UsageError& error) {
    throw DataError(fmt::format("{}: {}", source, error.what()));
  }
  return params;
}

}  // namespace

std::vector<int32_t> LoadedModel::encode_chat(const ChatInput& input) const {
  require_data(
      chat_template != nullptr,
      "{}: no chat template (chat_template.jinja or tokenizer_config.json); give the prompt as raw "
      "text instead",
      folder.string()
  );
  ChatInput normalized = input;
  normalized.messages = normalize_messages(input.messages);
  const Rendering rendering = chat_template->render_with_spans(normalized);
  EncodeOptions options;
  options.plain_spans = rendering.input_spans;
  return tokenizer->encode_with(rendering.text, options).ids;
}

std::vector<int32_t> LoadedModel::encode_text(std::string_view text) const {
  return tokenizer->encode(text, SpecialTokens::kParse, true);
}

Request LoadedModel::request(std::vector<int32_t> prompt) const {
  Request request;
  request.prompt = std::move(prompt);
  request.sampling = default_sampling;
  request.stop_ids = stop_ids;
  return request;
}

LoadedModel load_model(const std::filesystem::path& folder, ModelOptions options) {
  LoadedModel loaded;
  loaded.folder = folder;
  // The small files first: an architecture that nobody knows or a missing tokenizer is found before
  // gigabytes are scanned.
  const std::filesystem::path config_path = folder / "config.json";
  (void)ModelConfig::parse(read_json_file(config_path), config_path.string());
  loaded.tokenizer = Tokenizer::load(folder);
  if (ChatTemplate::exists(folder)) loaded.chat_template = ChatTemplate::load(folder);
  const std::filesystem::path generation = folder / "generation_config.json";
  Json generation_config = Json::object();
  if (std::filesystem::exists(generation)) generation_config = read_json_file(generation);
  loaded.default_sampling = read_sampling(generation_config, generation.string());
  loaded.model = Model::load(folder, options);
  ModelConfig config = loaded.model->config();
  config.add_generation_config(generation_config, generation.string());
  loaded.stop_ids = config.eos_ids;
  return loaded;
}

}  // namespace hone
