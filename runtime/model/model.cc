#include "runtime/model/model.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/io/checkpoint.h"
#include "runtime/model/decoder.h"
#include "runtime/model/llama.h"
#include "runtime/model/weights.h"

namespace hone {
namespace {

struct ProfileName {
  Profile profile;
  std::string_view name;
};

constexpr ProfileName kProfiles[] = {
    {Profile::kExact, "exact"}, {Profile::kHopper, "hopper"}, {Profile::kBlackwell, "blackwell"}};

DecoderParts read_parts(WeightReader& reader, const ModelConfig& config) {
  switch (config.architecture) {
    case Architecture::kLlama:
      return read_llama(reader, config);
  }
  throw InternalError(fmt::format("{} is known but not read", config.architecture_name));
}

}  // namespace

std::string_view profile_name(Profile profile) {
  const auto* it = std::ranges::find(kProfiles, profile, &ProfileName::profile);
  check(it != std::end(kProfiles), "profile {} has no name", static_cast<int>(profile));
  return it->name;
}

Profile parse_profile(std::string_view name) {
  const auto* it = std::ranges::find(kProfiles, name, &ProfileName::name);
  require(
      it != std::end(kProfiles),
      "profile \"{}\" is not known; expected exact, hopper or blackwell",
      name
  );
  return it->profile;
}

std::unique_ptr<Model> Model::load(const std::filesystem::path& folder, ModelOptions options) {
  std::shared_ptr<const Checkpoint> checkpoint = Checkpoint::open(folder);
  const ModelConfig config =
      ModelConfig::parse(checkpoint->config(), (folder / "config.json").string());
  WeightReader reader(checkpoint, options.profile);
  DecoderParts parts = read_parts(reader, config);
  reader.check_all_used();
  parts.profile = options.profile;
  parts.checkpoint = std::move(checkpoint);
  return make_decoder(std::move(parts));
}

}  // namespace hone
