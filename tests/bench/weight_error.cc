// Relative error of the quantized weights of a checkpoint against the original:
// sqrt(sum (w - q)^2 / sum w^2) over all modules that are stored quantized, and the same with every
// column weighted by the mean square of its input (the error of the outputs, if inputs were
// uncorrelated).
//
//   bench_weight_error ORIGINAL QUANTIZED [STATISTICS.h5]
#include <cmath>
#include <cstdio>
#include <exception>

#include "calibrate/stats/stats.h"
#include "core/format/load.h"
#include "core/io/checkpoint.h"
#include "core/io/dialect.h"

namespace hone {
namespace {

struct Sums {
  double error = 0;
  double norm = 0;
  [[nodiscard]] double relative() const { return std::sqrt(error / norm); }
};

int run(const char* original_folder, const char* quantized_folder, const char* statistics) {
  const auto original = Checkpoint::open(original_folder);
  const auto quantized = Checkpoint::open(quantized_folder);
  const Dialect* dialect = detect_dialect(*quantized);
  require(dialect != nullptr, "{} is not quantized", quantized_folder);
  CalibrationStats stats;
  if (statistics != nullptr) stats = CalibrationStats::load(statistics);
  Sums plain;
  Sums weighted;
  for (const std::string& module : dialect->modules(*quantized)) {
    const QuantizedTensor tensor = dialect->read(*quantized, module);
    const TensorView weight = original->tensor(module + ".weight");
    const auto columns = static_cast<size_t>(tensor.cols);
    require(
        weight.shape == Shape({tensor.rows, tensor.cols}), "{} has another shape there", module
    );
    std::vector<double> squares(columns, 1.0);
    const auto found = stats.modules.find(module);
    if (found != stats.modules.end() && !found->second.input_mean_square.empty())
      squares = found->second.input_mean_square;
    std::vector<float> exact(columns);
    std::vector<float> decoded(columns);
    for (int64_t r = 0; r < tensor.rows; ++r) {
      const int64_t at = byte_size(weight.type, {r, tensor.cols});
      load_floats(weight.type, weight.data + at, tensor.cols, exact.data());
      dequantize_rows(tensor, r, 1, decoded.data());
      for (size_t c = 0; c < columns; ++c) {
        const double norm = double{exact[c]} * exact[c];
        const double error = std::pow(double{exact[c]} - double{decoded[c]}, 2);
        plain.error += error;
        plain.norm += norm;
        weighted.error += squares[c] * error;
        weighted.norm += squares[c] * norm;
      }
    }
  }
  std::printf("relative weight error %.5f", plain.relative());
  if (statistics != nullptr) std::printf(", weighted by the inputs %.5f", weighted.relative());
  std::printf("\n");
  return 0;
}

}  // namespace
}  // namespace hone

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    std::fprintf(stderr, "usage: %s ORIGINAL QUANTIZED [STATISTICS.h5]\n", argv[0]);
    return 2;
  }
  try {
    return hone::run(argv[1], argv[2], argc == 4 ? argv[3] : nullptr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
