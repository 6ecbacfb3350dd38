// HQ2xx: config.json, hf_quant_config.json, and whether the tensors keep what they promise.
#include <algorithm>
#include <set>
#include <unordered_set>

#include "core/base/error.h"
#include "quant/check/check_table.h"

namespace hone {
namespace {

constexpr std::string_view kMixed = "MIXED_PRECISION";

bool looked_into(const CheckContext& c) {
  return c.declared.dialect() != QuantDialect::kNone &&
         c.declared.dialect() != QuantDialect::kForeign;
}

bool any_quantized(const CheckContext& c) {
  return std::ranges::any_of(c.modules.modules(), &CheckedModule::quantized);
}

// Nothing is known to be missing, so that what is not there is really not there.
bool all_names_known(const CheckContext& c) {
  return !c.files.incomplete && c.files.unreachable.empty();
}

bool in_mtp_layer(const CheckContext& c, const CheckedModule& module) {
  if (module.name.starts_with("mtp.") || module.name.find(".mtp.") != std::string::npos)
    return true;
  return c.identity.layers > 0 && module.layer >= c.identity.layers;
}

// A dense matrix that the config calls quantized, without any scale beside it.
bool promised_but_dense(const CheckedModule& module) {
  return module.declared && module.codes == Codes::kDense && module.rows > 0 &&
         std::ranges::none_of(module.parts, [](const auto& part) {
           return needs_codes(part.first);
         });
}

void fields_have_their_types(const CheckContext& c, Findings& found) {
  if (!c.files.config.document) return;
  try {
    (void)ConfigIdentity::parse(*c.files.config.document, kConfigFile);
  } catch (const Error& error) {
    found.add(kConfigFile, error.what());
  }
}

void architecture_is_named(const CheckContext& c, Findings& found) {
  if (!c.files.config.document) return;
  const Json& config = *c.files.config.document;
  const auto names = config.find("architectures");
  if (names != config.end() && names->is_array() && !names->empty()) return;
  // Diffusion models have a class name instead.
  if (config.contains("_class_name")) return;
  found.add("architectures", "config.json names no architecture");
}

void layers_are_complete(const CheckContext& c, Findings& found) {
  if (!all_names_known(c)) return;
  std::set<int64_t> layers;
  for (const CheckedModule& module : c.modules.modules()) layers.insert(module.layer);
  for (int64_t i = 0; i < std::min<int64_t>(c.identity.layers, 100'000); ++i) {
    if (layers.contains(i)) continue;
    found.add(
        fmt::format("layer {}", i),
        fmt::format("config.json speaks of {} layers, this one has no weights", c.identity.layers)
    );
  }
}

void extra_layers_are_announced(const CheckContext& c, Findings& found) {
  if (c.identity.layers == 0) return;
  int64_t last = -1;
  for (const CheckedModule& module : c.modules.modules()) last = std::max(last, module.layer);
  if (last < c.identity.layers + c.identity.mtp_layers) return;
  found.add(
      fmt::format("layer {}", last),
      fmt::format(
          "config.json speaks of {} layers and {} for multi-token prediction",
          c.identity.layers,
          c.identity.mtp_layers
      )
  );
}

const CheckedModule* head(const CheckContext& c) {
  for (const CheckedModule& module : c.modules.modules()) {
    if (module.role == Role::kLmHead && module.layer < 0) return &module;
  }
  return nullptr;
}

void untied_head_is_there(const CheckContext& c, Findings& found) {
  if (!is_language_model(c) || !all_names_known(c) || head(c) != nullptr) return;
  if (c.identity.tie_said && !c.identity.tied_embeddings)
    found.add("lm_head.weight", "tie_word_embeddings is false, but there is no such tensor");
}

void tied_head_is_not(const CheckContext& c, Findings& found) {
  const CheckedModule* module = head(c);
  if (module != nullptr && c.identity.tied_embeddings)
    found.add(module->name, "tie_word_embeddings is true: engines use the embeddings instead");
}

void quantization_is_declared(const CheckContext& c, Findings& found) {
  if (c.declared.dialect() != QuantDialect::kNone || !c.files.config.document) return;
  for (const CheckedModule& module : c.modules.modules()) {
    const bool scaled =
        std::ranges::any_of(module.parts, [](const auto& part) { return needs_codes(part.first); });
    if (module.codes == Codes::kFp8 || (module.codes == Codes::kPacked && scaled))
      found.add(module.name, "it is stored quantized, but no config says how");
  }
}

void declared_quantization_is_there(const CheckContext& c, Findings& found) {
  if (!looked_into(c) || !all_names_known(c) || any_quantized(c) || c.files.names.empty()) return;
  found.add(
      c.declared.section() != nullptr ? kConfigFile : kQuantFile,
      "it declares a quantization, but no weight is stored quantized"
  );
}

void formats_agree(const CheckContext& c, Findings& found) {
  for (const CheckedModule& module : c.modules.modules()) {
    if (!module.declared || module.declared->form == StoredForm::kForeign) continue;
    if (!module.quantized() || module.consistent()) continue;
    found.add(
        module.name,
        fmt::format(
            "{} says {}, but the codes are {}",
            module.declared->source,
            form_name(module.declared->form),
            dtype_name(module.weight()->entry->type)
        )
    );
  }
}

// A config without the list that it lives by (HQ222, HQ241) leaves every module out.
bool lists_are_there(const CheckContext& c) {
  if (c.declared.algo() == kMixed) return !c.declared.layers().empty();
  return c.declared.dialect() != QuantDialect::kCompressedTensors || !c.declared.groups().empty();
}

void left_out_modules_are_dense(const CheckContext& c, Findings& found) {
  if (!looked_into(c) || !lists_are_there(c)) return;
  for (const CheckedModule& module : c.modules.modules()) {
    if (!module.quantized() || module.declared || module.role == Role::kEmbedding ||
        module.role == Role::kNorm)
      continue;
    const int64_t entry = c.declared.excluded().match(module.name);
    found.add(
        module.name,
        entry < 0 ? std::string("it is stored quantized, but the config quantizes no such module")
                  : fmt::format(
                        "it is stored quantized, but the config excludes \"{}\"",
                        c.declared.excluded().entries()[static_cast<size_t>(entry)]
                    )
    );
  }
}

void dense_modules_are_left_out(const CheckContext& c, Findings& found) {
  if (!looked_into(c) || !any_quantized(c)) return;
  for (const CheckedModule& module : c.modules.modules()) {
    if (decoder_linear(module.role) && !in_mtp_layer(c, module) && promised_but_dense(module))
      found.add(
          module.name,
          fmt::format(
              "it is stored as {}, but the config ({}) does not exclude it",
              dtype_name(module.weight()->entry->type),
              module.declared->source
          )
      );
  }
}

void mtp_layers_are_not_half(const CheckContext& c, Findings& found) {
  if (!looked_into(c) || !any_quantized(c)) return;
  for (const CheckedModule& module : c.modules.modules()) {
    if (decoder_linear(module.role) && in_mtp_layer(c, module) && promised_but_dense(module))
      found.add(
          module.name,
          fmt::format(
              "it belongs to multi-token prediction and is stored as {}, but is not excluded",
              dtype_name(module.weight()->entry->type)
          )
      );
  }
}

void other_modules_are_left_out(const CheckContext& c, Findings& found) {
  const bool lists_matter = c.declared.dialect() == QuantDialect::kModelOpt ||
                            c.declared.dialect() == QuantDialect::kCompressedTensors;
  if (!lists_matter || !any_quantized(c)) return;
  for (const CheckedModule& module : c.modules.modules()) {
    // Engines themselves leave vision parts, embeddings and norms alone.
    const bool concerned = !decoder_linear(module.role) && module.role != Role::kVision &&
                           module.role != Role::kEmbedding && module.role != Role::kNorm;
    if (concerned && !in_mtp_layer(c, module) && promised_but_dense(module))
      found.add(module.name, "it is not quantized, and the config does not exclude it");
  }
}

// Every name that an entry without wildcards may mean: tensors and all that stands above them.
std::unordered_set<std::string> known_names(const CheckContext& c) {
  std::unordered_set<std::string> names;
  const auto add_all = [&](const std::string& tensor) {
    for (size_t end = tensor.size(); end != std::string::npos && end > 0;
         end = tensor.rfind('.', end - 1)) {
      if (!names.insert(tensor.substr(0, end)).second) break;
    }
  };
  for (const std::string& tensor : c.files.names) add_all(tensor);
  for (const std::string& tensor : c.files.unreachable) add_all(tensor);
  for (const auto& [group, members] : c.modules.groups()) names.insert(group + "_proj");
  return names;
}

// Does the entry match anything that is stored? `style`: how its list is read.
bool matches_something(
    const std::string& entry, NameStyle style, const std::unordered_set<std::string>& names
) {
  if (names.contains(entry)) return true;
  const NameList list(style, {entry});
  return std::ranges::any_of(names, [&](const std::string& name) { return list.matches(name); });
}

// Modules that lists name for safety, whether the model has them or not.
bool named_for_safety(const std::string& entry) {
  return entry.find("lm_head") != std::string::npos || entry.find("embed") != std::string::npos ||
         entry == "Linear";
}

void excluded_modules_exist(const CheckContext& c, Findings& found) {
  if (!looked_into(c) || c.files.incomplete || c.files.names.empty()) return;
  const std::unordered_set<std::string> names = known_names(c);
  const NameStyle style = c.declared.dialect() == QuantDialect::kCompressedTensors
                              ? NameStyle::kRegex
                              : NameStyle::kGlob;
  std::set<std::string> seen;
  for (const std::string& entry : c.declared.excluded().entries()) {
    if (named_for_safety(entry) || !seen.insert(entry).second) continue;
    if (static_cast<size_t>(found.count()) >= Findings::kKept) break;
    if (!matches_something(entry, style, names))
      found.add(entry, "it is excluded, but nothing in the checkpoint has that name");
  }
}

void listed_layers_exist(const CheckContext& c, Findings& found) {
  if (c.files.incomplete || c.files.names.empty()) return;
  const std::unordered_set<std::string> names = known_names(c);
  for (const auto& [layer, algo] : c.declared.layers()) {
    if (!names.contains(layer))
      found.add(layer, "quantized_layers names it, but nothing in the checkpoint has that name");
  }
}

void config_fields_make_sense(const CheckContext& c, Findings& found) {
  const char* file = c.declared.section() != nullptr ? kConfigFile : kQuantFile;
  for (const std::string& text : c.declared.mistakes()) found.add(file, text);
}

void algorithms_agree(const CheckContext& c, Findings& found) {
  const std::string& one = c.declared.config_algo();
  const std::string& other = c.declared.file_algo();
  if (!one.empty() && !other.empty() && one != other)
    found.add(
        "quant_algo", fmt::format("{} says {}, {} says {}", kConfigFile, one, kQuantFile, other)
    );
}

std::set<std::string> names_under(const Json* object, std::string_view key) {
  std::set<std::string> names;
  if (object == nullptr) return names;
  const auto it = object->find(key);
  if (it == object->end() || !it->is_array()) return names;
  for (const Json& item : *it) {
    if (item.is_string()) names.insert(item.get<std::string>());
  }
  return names;
}

void exclude_lists_agree(const CheckContext& c, Findings& found) {
  const Json* section = c.declared.section();
  const Json* file = c.declared.file_section();
  if (c.declared.dialect() == QuantDialect::kModelOpt && section != nullptr && file != nullptr) {
    if (names_under(section, "ignore") != names_under(file, "exclude_modules"))
      found.add(
          "exclude_modules",
          fmt::format("the list of {} is not \"ignore\" of {}", kQuantFile, kConfigFile)
      );
  }
  if (c.declared.dialect() == QuantDialect::kFp8 && section->contains("ignored_layers") &&
      section->contains("modules_to_not_convert") &&
      names_under(section, "ignored_layers") != names_under(section, "modules_to_not_convert"))
    found.add("ignored_layers", "the list differs from modules_to_not_convert");
}

void method_is_named(const CheckContext& c, Findings& found) {
  // ModelOpt's early versions left it out; engines know them by quant_algo.
  if (c.declared.section() != nullptr && c.declared.method().empty() && c.declared.algo().empty())
    found.add("quantization_config.quant_method", "it is missing, and so is quant_algo");
}

void method_is_looked_into(const CheckContext& c, Findings& found) {
  if (c.declared.dialect() == QuantDialect::kForeign && !c.declared.method().empty())
    found.add(
        "quantization_config.quant_method",
        fmt::format(
            "\"{}\" is not looked into; known are fp8, modelopt, compressed-tensors, mxfp4",
            c.declared.method()
        )
    );
  if (c.declared.dialect() == QuantDialect::kModelOpt && c.declared.algo() != kMixed &&
      !modelopt_form(c.declared.algo()))
    found.add("quant_algo", fmt::format("\"{}\" is not looked into", c.declared.algo()));
  for (const DeclaredGroup& group : c.declared.groups()) {
    if (group.weights != nullptr && group.form.form == StoredForm::kForeign)
      found.add("config_groups." + group.name, "its kind of weights is not looked into");
  }
}

void activation_scheme_is_known(const CheckContext& c, Findings& found) {
  if (c.declared.dialect() != QuantDialect::kFp8) return;
  const std::string scheme = string_field(*c.declared.section(), "activation_scheme");
  if (scheme != "dynamic" && scheme != "static")
    found.add("activation_scheme", fmt::format("it is \"{}\", expected dynamic or static", scheme));
  if (scheme == "static" && c.declared.block_rows() > 0)
    found.add("activation_scheme", "block scales go with dynamic activations, it is static");
}

void nvfp4_groups_have_sixteen(const CheckContext& c, Findings& found) {
  if (c.declared.dialect() != QuantDialect::kModelOpt) return;
  const std::optional<DeclaredForm> form = modelopt_form(c.declared.algo());
  if (!form || form->form != StoredForm::kNvfp4 || c.declared.file_section() == nullptr) return;
  const auto it = c.declared.file_section()->find("group_size");
  if (it != c.declared.file_section()->end() && *it != 16)
    found.add("group_size", fmt::format("it is {}, NVFP4 has blocks of 16", dump_json(*it)));
}

void mixed_precision_lists_layers(const CheckContext& c, Findings& found) {
  if (c.declared.algo() == kMixed && c.declared.layers().empty())
    found.add("quantized_layers", "quant_algo is MIXED_PRECISION, but no layer is listed");
}

constexpr CheckLevel kFault = CheckLevel::kFault;
constexpr CheckLevel kWarning = CheckLevel::kWarning;
constexpr CheckNeeds kNothing = CheckNeeds::kNothing;

constexpr Check kChecks[] = {
    {"HQ201",
     kFault,
     kNoEngine,
     kNothing,
     "A field of config.json has the wrong type",
     "restore config.json from the source of the checkpoint",
     fields_have_their_types},
    {"HQ202",
     kFault,
     kNoEngine,
     kNothing,
     "config.json names no architecture",
     "copy \"architectures\" from the source: engines choose their code by it",
     architecture_is_named},
    {"HQ203",
     kFault,
     kNoEngine,
     kNothing,
     "A layer that config.json counts has no weights",
     "convert the checkpoint again, or correct num_hidden_layers",
     layers_are_complete},
    {"HQ204",
     kWarning,
     kNoEngine,
     kNothing,
     "There are layers that config.json does not count",
     "set num_nextn_predict_layers when they predict further tokens; engines drop them otherwise",
     extra_layers_are_announced},
    {"HQ205",
     kFault,
     kNoEngine,
     kNothing,
     "config.json says that the head is not tied, but there is none",
     "set tie_word_embeddings to true, or write lm_head.weight",
     untied_head_is_there},
    {"HQ206",
     kWarning,
     kNoEngine,
     kNothing,
     "The head is tied, but stored once more",
     "leave the tensor out, or set tie_word_embeddings to false when it differs",
     tied_head_is_not},
    {"HQ207",
     kFault,
     kNoEngine,
     kNothing,
     "Weights are stored quantized, but no config says so",
     "add the quantization_config that the writer of these tensors uses",
     quantization_is_declared},
    {"HQ208",
     kFault,
     kNoEngine,
     kNothing,
     "A quantization is declared, but nothing is quantized",
     "remove quantization_config and hf_quant_config.json: engines would wait for scales",
     declared_quantization_is_there},
    {"HQ209",
     kFault,
     kNoEngine,
     kNothing,
     "The config declares another format than the codes have",
     "correct quant_algo (or the group); the tensors decide",
     formats_agree},
    {"HQ210",
     kFault,
     kNoEngine,
     kNothing,
     "A module is stored quantized, but the config leaves it out",
     "remove it from the exclude list, or list it among the quantized modules",
     left_out_modules_are_dense},
    {"HQ211",
     kFault,
     kNoEngine,
     kNothing,
     "A module is not quantized, but the config does not exclude it",
     "add its exact name to the exclude list",
     dense_modules_are_left_out},
    {"HQ212",
     kFault,
     kNoEngine,
     kNothing,
     "A layer for multi-token prediction is neither excluded nor quantized",
     "add its modules to the exclude list by exact name",
     mtp_layers_are_not_half},
    {"HQ213",
     kWarning,
     kNoEngine,
     kNothing,
     "A router, head or other matrix is not quantized and not excluded",
     "add its exact name to the exclude list: some engines would expect codes",
     other_modules_are_left_out},
    {"HQ214",
     kWarning,
     kNoEngine,
     kNothing,
     "An entry of the exclude list matches nothing",
     "use the names of the checkpoint, without suffixes of other programs' classes",
     excluded_modules_exist},
    {"HQ215",
     kFault,
     kNoEngine,
     kNothing,
     "A field of the quantization config holds what it may not",
     "correct the field; docs/formats.md shows what each dialect writes",
     config_fields_make_sense},
    {"HQ216",
     kFault,
     kNoEngine,
     kNothing,
     "config.json and hf_quant_config.json disagree on the algorithm",
     "make both say what the tensors are: engines read either",
     algorithms_agree},
    {"HQ217",
     kWarning,
     kNoEngine,
     kNothing,
     "Two exclude lists of the checkpoint differ",
     "write the same names into both: engines read either",
     exclude_lists_agree},
    {"HQ218",
     kFault,
     kNoEngine,
     kNothing,
     "quantization_config has no quant_method",
     "add it (\"modelopt\", \"fp8\", \"compressed-tensors\"): engines choose the reader by it",
     method_is_named},
    {"HQ219",
     kWarning,
     kNoEngine,
     kNothing,
     "The quantization is of a kind that is not looked into",
     "check it with the program that wrote it; files and index were checked here",
     method_is_looked_into},
    {"HQ220",
     kFault,
     kNoEngine,
     kNothing,
     "activation_scheme is missing or does not fit the weights",
     "set it to dynamic for block scales; static needs an input_scale for every module",
     activation_scheme_is_known},
    {"HQ221",
     kFault,
     kNoEngine,
     kNothing,
     "group_size does not fit NVFP4",
     "set it to 16",
     nvfp4_groups_have_sixteen},
    {"HQ222",
     kFault,
     kNoEngine,
     kNothing,
     "Mixed precision without a list of layers",
     "list every quantized module in quantized_layers by exact name",
     mixed_precision_lists_layers},
    {"HQ223",
     kWarning,
     kNoEngine,
     kNothing,
     "quantized_layers names what the checkpoint does not have",
     "use the exact names of the checkpoint: engines leave what they do not find unquantized",
     listed_layers_exist},
};

}  // namespace

std::span<const Check> config_checks() {
  return kChecks;
}

}  // namespace hone
