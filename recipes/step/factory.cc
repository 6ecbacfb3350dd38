#include "recipes/step/factory.h"

#include <array>
#include <utility>

#include "core/base/error.h"
#include "recipes/step/bench_decode.h"
#include "recipes/step/calibrate.h"
#include "recipes/step/convert.h"
#include "recipes/step/eval.h"
#include "recipes/step/quantize.h"
#include "recipes/step/train_eagle3.h"

namespace hone {
namespace {

template <typename S>
std::unique_ptr<Step> make() {
  return std::make_unique<S>();
}

constexpr std::array<std::pair<std::string_view, std::unique_ptr<Step> (*)()>, 6> kSteps{{
    {"calibrate", make<CalibrateStep>},
    {"convert", make<ConvertStep>},
    {"quantize", make<QuantizeStep>},
    {"train-eagle3", make<TrainEagle3Step>},
    {"bench-decode", make<BenchDecodeStep>},
    {"eval", make<EvalStep>},
}};

}  // namespace

std::unique_ptr<Step> make_step(std::string_view kind) {
  std::string known;
  for (const auto& [name, create] : kSteps) {
    if (name == kind) return create();
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  throw UsageError(fmt::format("unknown step \"{}\"; known steps: {}", kind, known));
}

}  // namespace hone
