#include "runtime/op/cpu/kernels.h"

#include "core/device/cpu_isa.h"

namespace hone::cpu {
namespace {

Kernels make_avx2() {
  Kernels table;
  table.isa = "avx2";
  avx2::fill_matmul_direct(table);
  avx2::fill_matmul_tiled(table);
  avx2::fill_attention(table);
  avx2::fill_elementwise(table);
  avx2::fill_rows(table);
  avx2::fill_transpose(table);
  return table;
}

Kernels make_avx512() {
  Kernels table;
  table.isa = "avx512";
  avx512::fill_matmul_direct(table);
  avx512::fill_matmul_tiled(table);
  avx512::fill_attention(table);
  avx512::fill_elementwise(table);
  avx512::fill_rows(table);
  avx512::fill_transpose(table);
  return table;
}

}  // namespace

const Kernels& kernels() {
  static const Kernels avx2_table = make_avx2();
  static const Kernels avx512_table = make_avx512();
  return by_isa(avx2_table, avx512_table);
}

}  // namespace hone::cpu
