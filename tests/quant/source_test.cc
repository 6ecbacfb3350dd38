#include "quant/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/threads.h"
#include "quant/apply.h"
#include "quant/select/planner.h"
#include "runtime/model/config.h"
#include "tests/fixture/random_checkpoint.h"
#include "tests/reference/quant_formats.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using testing_fixture::fresh_path;
using testing_fixture::write_random_checkpoint;

std::vector<float> floats(const RowSlab& slab) {
  const auto* data = reinterpret_cast<const float*>(slab.data);
  return {data, data + slab.rows * slab.cols};
}

TEST(Source, DenseTensorsAreListedInOrder) {
  const fs::path folder = fresh_path("source-dense");
  testing_fixture::RandomCheckpoint options;
  write_random_checkpoint(folder, options);
  const auto checkpoint = Checkpoint::open(folder);
  const auto tensors = list_source(*checkpoint, nullptr);
  const auto expected = random_checkpoint_tensors(options);
  ASSERT_EQ(tensors.size(), expected.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(tensors[i].name, expected[i].first);
    EXPECT_EQ(tensors[i].shape, expected[i].second);
    EXPECT_EQ(tensors[i].bytes, 2 * expected[i].second.numel());
    EXPECT_FALSE(tensors[i].stored.has_value());
  }
}

TEST(Source, SlabsOfDenseRows) {
  const fs::path folder = fresh_path("source-rows");
  testing_fixture::RandomCheckpoint options;
  options.dtype = DType::kF32;
  write_random_checkpoint(folder, options);
  const auto checkpoint = Checkpoint::open(folder);
  const std::string name = "model.layers.0.mlp.up_proj.weight";
  WeightRows rows(*checkpoint, name);
  EXPECT_EQ(rows.rows(), 384);
  EXPECT_EQ(rows.cols(), 256);
  EXPECT_EQ(rows.slab_rows(0), 128);
  EXPECT_EQ(rows.slab_rows(1 << 20), 1024);
  EXPECT_EQ(rows.slab_rows(300 * 1024), 256);
  const auto expected = reference::matrix_of(reference::read_folder(folder).at(name));
  const RowSlab slab = rows.slab(130, 7, ThreadPool::global());
  EXPECT_EQ(slab.row0, 130);
  const auto values = floats(slab);
  for (int64_t r = 0; r < 7; ++r) {
    for (int64_t c = 0; c < 256; ++c) {
      ASSERT_EQ(values[static_cast<size_t>(r * 256 + c)], expected.at(130 + r, c));
    }
  }
  // What is dropped is read again from the file.
  rows.prefetch(0, 1000);
  rows.drop(0, 384);
  EXPECT_EQ(floats(rows.slab(130, 7, ThreadPool::global())), values);
}

TEST(Source, VectorsAreOneRow) {
  const fs::path folder = fresh_path("source-vector");
  write_random_checkpoint(folder, {});
  const auto checkpoint = Checkpoint::open(folder);
  const WeightRows norm(*checkpoint, "model.norm.weight");
  EXPECT_EQ(norm.rows(), 1);
  EXPECT_EQ(norm.cols(), 256);
}

// A folder in the fp8 dialect, written by quantization itself (apply_test.cc proves its bytes).
fs::path fp8_folder(const std::string& name) {
  const fs::path source = fresh_path(name + "-bf16");
  const fs::path output = fresh_path(name);
  write_random_checkpoint(source, {});
  const auto checkpoint = Checkpoint::open(source);
  PlanRequest request;
  request.architecture = "LlamaForCausalLM";
  request.scheme = find_scheme("fp8-block");
  request.tensors = list_source(*checkpoint, nullptr);
  const auto writer = apply_plan(*checkpoint, make_plan(request), output, {});
  writer->commit();
  return output;
}

TEST(Source, StoredModulesAreListedWithTheirScales) {
  const auto checkpoint = Checkpoint::open(fp8_folder("source-fp8"));
  const Dialect* dialect = detect_dialect(*checkpoint);
  ASSERT_NE(dialect, nullptr);
  int64_t stored = 0;
  for (const SourceTensor& t : list_source(*checkpoint, dialect)) {
    EXPECT_EQ(t.name.find("scale"), std::string::npos) << t.name;
    if (!t.stored) continue;
    ++stored;
    EXPECT_EQ(*t.stored, Format::kBlockFp8);
    const int64_t blocks = ((t.shape.dim(0) + 127) / 128) * ((t.shape.dim(1) + 127) / 128);
    EXPECT_EQ(t.bytes, t.shape.numel() + 4 * blocks);
  }
  EXPECT_EQ(stored, 14);
  EXPECT_EQ(stored_parts(*checkpoint, *dialect, "model.layers.0.mlp.up_proj").size(), 2U);
}

TEST(Source, StoredModulesAreDecodedExactly) {
  const fs::path folder = fp8_folder("source-decode");
  const auto checkpoint = Checkpoint::open(folder);
  const std::string module = "model.layers.1.mlp.down_proj";
  WeightRows rows(*checkpoint, module + ".weight", *detect_dialect(*checkpoint), module);
  ASSERT_EQ(rows.rows(), 256);
  ASSERT_EQ(rows.cols(), 384);
  const auto tensors = reference::read_folder(folder);
  const std::string& codes = tensors.at(module + ".weight").bytes;
  const auto scales = reference::elements<float>(tensors.at(module + ".weight_scale_inv"));
  const auto values = floats(rows.slab(100, 60, ThreadPool::global()));
  for (int64_t r = 0; r < 60; ++r) {
    for (int64_t c = 0; c < 384; ++c) {
      const auto code = static_cast<uint8_t>(codes[static_cast<size_t>((100 + r) * 384 + c)]);
      const double scale = scales[static_cast<size_t>((100 + r) / 128 * 3 + c / 128)];
      ASSERT_EQ(
          values[static_cast<size_t>(r * 384 + c)],
          static_cast<float>(reference::e4m3_value(code) * scale)
      );
    }
  }
}

TEST(Source, RefusalsNameTheElement) {
  const fs::path folder = fresh_path("source-refuse");
  write_random_checkpoint(folder, {});
  const auto checkpoint = Checkpoint::open(folder);
  const WeightRows rows(*checkpoint, "model.layers.0.mlp.up_proj.weight");
  try {
    rows.refuse({3, 5, INFINITY});
  } catch (const DataError& error) {
    EXPECT_THAT(
        error.what(),
        ::testing::HasSubstr(
            "model.safetensors: tensor model.layers.0.mlp.up_proj.weight holds inf at [3, 5] "
            "(element 773)"
        )
    );
  }
}

}  // namespace
}  // namespace hone
