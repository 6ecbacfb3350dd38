// Compiled once for each ISA.
#include "tests/core/device/simd_checks.h"

#include <cstring>

#include "core/device/simd.h"

namespace hone::HONE_ISA {
namespace {

SimdResult result(const char* name, i32x16 value) {
  SimdResult r = {};
  r.name = name;
  store_i32(reinterpret_cast<int32_t*>(r.lanes), value);
  return r;
}
SimdResult result(const char* name, f32x16 value) {
  return result(name, as_i32(value));
}
SimdResult result(const char* name, mask16 value) {
  return result(name, set1_i32(static_cast<int32_t>(bits(value))));
}
SimdResult result(const char* name, float value) {
  return result(name, set1(value));
}

// No std::vector here: its functions would be compiled for the wide ISA and shared by the linker.
struct Results {
  SimdResult* at;
  int count;
  void push_back(const SimdResult& r) { at[count++] = r; }
};

void add_float_results(const SimdInput& input, Results& out) {
  const f32x16 a = load(input.a);
  const f32x16 b = load(input.b);
  const f32x16 c = load(input.c);
  const i32x16 i = load_i32(input.i);
  out.push_back(result("add", a + b));
  out.push_back(result("sub", a - b));
  out.push_back(result("mul", a * b));
  out.push_back(result("div", a / b));
  out.push_back(result("fma", fma(a, b, c)));
  out.push_back(result("fnma", fnma(a, b, c)));
  out.push_back(result("max", max(a, b)));
  out.push_back(result("min", min(a, b)));
  out.push_back(result("sqrt", sqrt(abs(a))));
  out.push_back(result("abs", abs(a)));
  out.push_back(result("neg", -a));
  out.push_back(result("round_even", round_even(a)));
  out.push_back(result("floor", floor(a)));
  out.push_back(result("less", less(a, b)));
  out.push_back(result("less_equal", less_equal(a, b)));
  out.push_back(result("equal", equal(a, b)));
  out.push_back(result("is_nan", is_nan(a / b)));
  out.push_back(result("and", less(a, b) & less(b, c)));
  out.push_back(result("or", less(a, b) | less(b, c)));
  out.push_back(result("not", !less(a, b)));
  out.push_back(result("select", select(less(a, b), a, c)));
  out.push_back(result("to_i32", to_i32(a)));
  out.push_back(result("lookup16", lookup16(b, i & set1_i32(15))));
  out.push_back(result("gather", gather(input.b, i & set1_i32(15))));
  out.push_back(result("halves", combine(high_half(a), low_half(a))));
  out.push_back(result("f16", from_f16(to_f16(a))));
  out.push_back(result("hsum", hsum(a)));
  out.push_back(result("hmax", hmax(a)));
}

void add_int_results(const SimdInput& input, Results& out) {
  const i32x16 i = load_i32(input.i);
  const i32x16 j = load_i32(input.j);
  out.push_back(result("iadd", i + j));
  out.push_back(result("isub", i - j));
  out.push_back(result("imul", i * j));
  out.push_back(result("iand", i & j));
  out.push_back(result("ior", i | j));
  out.push_back(result("ixor", i ^ j));
  out.push_back(result("imax", max(i, j)));
  out.push_back(result("imin", min(i, j)));
  out.push_back(result("shl", shl<5>(i)));
  out.push_back(result("shr", shr<5>(i)));
  out.push_back(result("sar", sar<5>(i)));
  out.push_back(result("greater", greater(i, j)));
  out.push_back(result("iequal", equal(i, j)));
  out.push_back(result("iselect", select(greater(i, j), i, j)));
  out.push_back(result("to_f32", to_f32(i)));
  out.push_back(result("ihmax", set1_i32(hmax(i))));
  out.push_back(result("pow2", pow2((i & set1_i32(127)) - set1_i32(63))));
  out.push_back(result("u8", widen_u8(narrow_u8(i & set1_i32(255)))));
  out.push_back(result("i8", widen_i8(narrow_u8(i & set1_i32(255)))));
  out.push_back(result("u16", widen_u16(narrow_u16(i & set1_i32(65535)))));
}

}  // namespace

int every_operation(const SimdInput& input, SimdResult* out) {
  Results results{out, 0};
  add_float_results(input, results);
  add_int_results(input, results);
  return results.count;
}

void copy_partial(const float* src, int64_t n, float* out) {
  const f32x16 value = load_partial(src, n);
  store(out, value + set1(1.0F));  // shows what the other lanes read as
  store_partial(out, n, value);
}

}  // namespace hone::HONE_ISA
