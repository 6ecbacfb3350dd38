#include "runtime/model/draft/eagle3_config.h"

#include <functional>

#include <gtest/gtest.h>

#include "tests/runtime/model/draft/small_head.h"

namespace hone {
namespace {

using Taps = std::vector<int64_t>;

TEST(Eagle3Config, DefaultTapsAreThePublishedOnesAndNeverTheLast) {
  EXPECT_EQ(default_eagle3_taps(6), (Taps{0, 2, 4}));
  // SafeAILab taps the inputs of layers 2, L/2 and L - 3.
  EXPECT_EQ(default_eagle3_taps(32), (Taps{1, 15, 28}));
  EXPECT_EQ(default_eagle3_taps(80), (Taps{1, 39, 76}));
  for (int64_t layers = 4; layers < 100; ++layers) {
    const Taps taps = default_eagle3_taps(layers);
    EXPECT_LT(taps[0], taps[1]) << layers;
    EXPECT_LT(taps[1], taps[2]) << layers;
    EXPECT_LT(taps[2], layers - 1) << layers;
    EXPECT_GE(taps[0], 0) << layers;
  }
  EXPECT_THROW(default_eagle3_taps(3), UsageError);
}

TEST(Eagle3Config, ValidationNamesWhatIsWrong) {
  EXPECT_NO_THROW(testing_draft::small_head().config.validate(6));
  const std::function<void(Eagle3Config&)> faults[] = {
      [](Eagle3Config& c) {
        c.taps = {0, 2, 5};
      },  // the last layer
      [](Eagle3Config& c) {
        c.taps = {2, 0, 4};
      },
      [](Eagle3Config& c) {
        c.taps = {0, 2, 2};
      },
      [](Eagle3Config& c) {
        c.taps = {-1, 2, 4};
      },
      [](Eagle3Config& c) { c.taps = {}; },
      [](Eagle3Config& c) { c.draft_vocab = 51; },
      [](Eagle3Config& c) { c.draft_vocab = 0; },
      [](Eagle3Config& c) { c.kv_heads = 3; },
      [](Eagle3Config& c) { c.head_dim = 7; },
      [](Eagle3Config& c) { c.hidden = 0; },
  };
  for (const auto& fault : faults) {
    Eagle3Config config = testing_draft::small_head().config;
    fault(config);
    EXPECT_THROW(config.validate(6), UsageError);
  }
}

TEST(Eagle3Config, TensorsAreThoseOfThePublishedHeads) {
  // Names and order of knowledge: fc, midlayer.*, norm, lm_head; q, k and v take two widths.
  std::vector<std::string> found;
  for (const Eagle3Tensor& tensor : eagle3_tensors(testing_draft::small_head().config))
    found.push_back(tensor.name + " " + tensor.shape.str());
  const std::vector<std::string> expected = {
      "fc.weight [32, 96]",
      "midlayer.input_layernorm.weight [32]",
      "midlayer.hidden_norm.weight [32]",
      "midlayer.self_attn.q_proj.weight [32, 64]",
      "midlayer.self_attn.k_proj.weight [16, 64]",
      "midlayer.self_attn.v_proj.weight [16, 64]",
      "midlayer.self_attn.o_proj.weight [32, 32]",
      "midlayer.post_attention_layernorm.weight [32]",
      "midlayer.mlp.gate_proj.weight [48, 32]",
      "midlayer.mlp.up_proj.weight [48, 32]",
      "midlayer.mlp.down_proj.weight [32, 48]",
      "norm.weight [32]",
      "lm_head.weight [20, 32]"};
  EXPECT_EQ(found, expected);
  Eagle3Parameters<int> numbers{};
  EXPECT_EQ(eagle3_members(numbers).size(), expected.size());
}

}  // namespace
}  // namespace hone
