#ifndef TESSERA_TESTS_PTX_RUN_PTX_H_
#define TESSERA_TESTS_PTX_RUN_PTX_H_
// Runs PTX text on the interpreter, and single instructions beside a plain twin in C++.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tools/emulation/memory.h"
#include "tools/ptx/interpreter.h"

namespace tessera::testing {

// Device memory with these values at the start.
template <typename T>
class InterpretedArray {
 public:
  explicit InterpretedArray(const std::vector<T>& values)
      : size_(values.size()),
        data_(static_cast<T*>(
            cuda_emulation::AllocateDevice(static_cast<int64_t>(size_ * sizeof(T))))) {
    const cuda_emulation::DeviceAccess access;
    std::memcpy(data_, values.data(), size_ * sizeof(T));
  }
  ~InterpretedArray() { cuda_emulation::FreeDevice(data_); }
  InterpretedArray(const InterpretedArray&) = delete;

  uint64_t address() const { return reinterpret_cast<uint64_t>(data_); }
  std::vector<T> Values() const {
    const cuda_emulation::DeviceAccess access;
    return std::vector<T>(data_, data_ + size_);
  }

 private:
  size_t size_;
  T* data_;
};

struct Grid {
  ptx::Extent3 blocks = {}, threads = {32};
  uint64_t shared_bytes = 0;
};

// Runs a kernel whose parameters are addresses named p0, p1, …; `body` may declare more of what it
// needs. The registers %tid (s32, in the block) and %index (u64, in the grid) are set.
inline void RunBody(const std::string& body, const std::vector<uint64_t>& addresses,
                    const Grid& grid = {}, const std::string& globals = "") {
  std::string params, loads;
  for (size_t k = 0; k < addresses.size(); ++k) {
    const std::string n = std::to_string(k);
    params += (k > 0 ? ", " : "") + (".param .u64 p" + n);
    loads += ".reg .b64 %p" + n + ";\n ld.param.u64 %p" + n + ", [p" + n + "];\n";
  }
  const std::string text = R"(.version 9.0
.target sm_90
.address_size 64
)" + globals + ".visible .entry kernel(" +
                           params + ")\n{\n" + loads + R"(
  .reg .b32 %tid, %block, %threads;
  .reg .b64 %index;
  mov.u32 %tid, %tid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mad.lo.s32 %block, %block, %threads, %tid;
  cvt.u64.u32 %index, %block;
)" + body + "\n  ret;\n}\n";
  const auto module = ptx::ParseModule(text);
  const ptx::Function& kernel = *module->Find("kernel");
  const cuda_emulation::DeviceAccess access;
  ptx::RunGrid(kernel, grid.blocks, grid.threads, grid.shared_bytes,
               reinterpret_cast<const char*>(addresses.data()));
}

// One result of 32 bits from each lane of a warp, in %result.
inline std::vector<uint32_t> OfLanes(const std::string& body) {
  const InterpretedArray<uint32_t> out(std::vector<uint32_t>(32, 0));
  RunBody(".reg .b32 %result;\n" + body + R"(
    mad.lo.u64 %index, %index, 4, %p0;
    st.global.u32 [%index], %result;)",
          {out.address()});
  return out.Values();
}
// A function of the lane, for each lane.
template <typename F>
std::vector<uint32_t> ForEachLane(F&& f) {
  std::vector<uint32_t> results;
  for (uint32_t lane = 0; lane < 32; ++lane) results.push_back(static_cast<uint32_t>(f(lane)));
  return results;
}

// ---- an instruction beside its twin

// Values where something may go wrong, and some at random.
template <typename T>
std::vector<T> EdgeValues() {
  std::vector<T> values;
  std::mt19937_64 random(3);
  if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    values = {0, 1, 2, 31, 33, Limits::max(), Limits::min(), static_cast<T>(Limits::max() / 3)};
    values.push_back(static_cast<T>(-1));
    for (int k = 0; k < 4; ++k) values.push_back(static_cast<T>(random()));
  } else {
    using Limits = std::numeric_limits<T>;
    values = {0,
              -T{0},
              1,
              T(-1.5),
              T(0.1),
              Limits::denorm_min(),
              -Limits::min(),
              T(2.5),
              Limits::max(),
              T(7e9),
              Limits::infinity(),
              -Limits::infinity(),
              Limits::quiet_NaN()};
    for (int k = 0; k < 4; ++k) values.push_back(static_cast<T>(std::ldexp(random(), -60)) - 8);
  }
  return values;
}

// All combinations.
template <typename First, typename... Rest>
std::vector<std::tuple<First, Rest...>> Combinations() {
  std::vector<std::tuple<First, Rest...>> all;
  for (const First value : EdgeValues<First>()) {
    if constexpr (sizeof...(Rest) == 0) {
      all.emplace_back(value);
    } else {
      for (const auto& rest : Combinations<Rest...>())
        all.push_back(std::tuple_cat(std::make_tuple(value), rest));
    }
  }
  return all;
}

template <typename T>
uint64_t BitsOf(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
template <typename T>
std::string TypeOf() {
  return ".b" + std::to_string(sizeof(T) * 8);
}

// Runs `instruction`, which makes %r of %a, %b, …, on all combinations of edge values of Args, and
// compares with twin(a, b, …). NaNs are all the same.
template <typename R, typename... Args, typename F>
void ExpectTwin(const std::string& instruction, F twin) {
  const auto cases = Combinations<Args...>();
  const size_t rounded = (cases.size() + 31) / 32 * 32;
  std::vector<uint64_t> inputs(rounded * sizeof...(Args));
  for (size_t n = 0; n < cases.size(); ++n) {
    size_t k = 0;
    std::apply([&](auto... v) { ((inputs[k++ * rounded + n] = BitsOf(v)), ...); }, cases[n]);
  }
  const InterpretedArray<uint64_t> in(inputs), out(std::vector<uint64_t>(rounded, 0));
  std::string body = "shl.b64 %index, %index, 3;\n add.u64 %p1, %p1, %index;\n";
  body += "add.u64 %p0, %p0, %index;\n .reg .pred %p;\n .reg " + TypeOf<R>() + " %r;\n";
  size_t k = 0;
  const auto load = [&]<typename T>(T) {
    const std::string name = std::string("%") + static_cast<char>('a' + k);
    body += ".reg " + TypeOf<T>() + " " + name + ";\n ld.global" + TypeOf<T>() + " " + name +
            ", [%p0+" + std::to_string(k++ * rounded * 8) + "];\n";
  };
  (load(Args{}), ...);
  RunBody(body + instruction + "\n st.global" + TypeOf<R>() + " [%p1], %r;",
          {in.address(), out.address()}, {{static_cast<uint32_t>(rounded / 32)}});
  const std::vector<uint64_t> results = out.Values();
  for (size_t n = 0; n < cases.size(); ++n) {
    const R want = std::apply(twin, cases[n]);
    if constexpr (std::is_floating_point_v<R>) {
      R got;
      std::memcpy(&got, &results[n], sizeof got);
      if (std::isnan(got) && std::isnan(want)) continue;
    }
    std::string arguments;
    std::apply([&](auto... v) { ((arguments += std::to_string(v) + " "), ...); }, cases[n]);
    ASSERT_EQ(results[n], BitsOf(want)) << instruction << " of " << arguments;
  }
}

// The text of the std::logic_error that a body ends in, or "".
inline std::string ErrorOf(const std::string& body, const std::vector<uint64_t>& addresses = {},
                           const Grid& grid = {}) {
  try {
    RunBody(body, addresses, grid);
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "";
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_PTX_RUN_PTX_H_
