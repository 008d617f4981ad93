#ifndef TESSERA_BENCH_LAB_CUDA_CUDA_VARIANT_H_
#define TESSERA_BENCH_LAB_CUDA_CUDA_VARIANT_H_
// Other kernels for a GPU, each in a .cu file of its own in bench/lab/cuda/variants, which
// `tools/lab_cuda NAME` checks bit by bit, compiles, and reports on beside the library's.
//
// One line makes a variant known; its function says by its arguments which kernel it is:
//
//   void LookupMine(Context& ctx, const LookupArgs& args);
//   const RegisterCuda kMine({.name = "mine", .about = "what it does", .run = LookupMine});
//
// Other arguments are QuantizedLookupArgs, UpdateArgs, ProductArgs, and CudaGroupingArgs, whose
// function returns a CudaGrouped. The function starts its kernels by internal::Launch
// (runtime/launch.cuh) and waits for nothing. All pointers of the arguments are the device's; ids
// and offsets are i64.
#include <functional>
#include <source_location>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bench/lab/cuda/cuda_grouping.h"
#include "bench/lab/product_kernel.h"
#include "bench/lab/variant.h"
#include "embedding/lookup/lookup.h"
#include "embedding/quantized/quantized_lookup.h"
#include "embedding/update/update.h"
#include "runtime/base/check.h"
#include "runtime/base/joined.h"
#include "runtime/context.h"

namespace tessera::bench {

using CudaLookup = std::function<void(Context&, const LookupArgs&)>;
using CudaQuantizedLookup = std::function<void(Context&, const QuantizedLookupArgs&)>;
using CudaUpdate = std::function<void(Context&, const UpdateArgs&)>;
using CudaGrouping = std::function<CudaGrouped(Context&, const CudaGroupingArgs&)>;
using CudaProduct = std::function<void(Context&, const ProductArgs&)>;
using CudaKernel = std::variant<std::monostate, CudaLookup, CudaQuantizedLookup, CudaUpdate,
                                CudaGrouping, CudaProduct>;

struct CudaVariant {
  std::string name, about;
  Takes takes = {};
  CudaKernel run = {};
  // With parameters, in place of `run`: the function for a point's values of them. A variant of a
  // quantized lookup has the parameter "codec", one of an update "rule": what it takes.
  std::vector<Axis> parameters = {};
  std::function<CudaKernel(const Point&)> make = nullptr;
  // A product may have sums in another order than ours, within a tolerance, as on a CPU.
  bool other_sums = false;
  std::string source = {};  // "file:line" of its registration, which sets it

  CudaKernel At(const Point& point) const { return make ? make(point) : run; }
};

// All of them. Filled before main by objects of static storage.
inline std::vector<CudaVariant>& CudaVariants() {
  static std::vector<CudaVariant> variants;
  return variants;
}

struct RegisterCuda {
  explicit RegisterCuda(CudaVariant variant,
                        const std::source_location& source = std::source_location::current()) {
    variant.source = SourceText(source);
    CudaVariants().push_back(std::move(variant));
  }
};

// A parameter that is a constant of the kernel, so that loops over it are unrolled; it is compiled
// for each of these values, of which the first is the default:
//
//   using RowsInFlight = Constants<4, 1, 2>;
//   .parameters = {RowsInFlight::Named("rows-in-flight", "rows that a lane asks for at once")},
//   .make = [](const Point& point) {
//     return RowsInFlight::With(point.Int("rows-in-flight"),
//                               [&]<int kRows>() -> CudaKernel { return LookupMine<kRows>; });
//   }
template <int... kValues>
struct Constants {
  static Axis Named(const std::string& name, const std::string& help) {
    std::vector<std::string> values = {std::to_string(kValues)...};
    return {name, {values[0]}, help + ": " + internal::Joined(values), OneOf(values)};
  }
  // Throws Error for another value.
  template <typename Fn>
  static CudaKernel With(int64_t value, const Fn& fn) {
    CudaKernel kernel;
    const bool found =
        ((value == kValues && (kernel = fn.template operator()<kValues>(), true)) || ...);
    TESSERA_CHECK(found, "{} is none of the values that this variant is compiled for", value);
    return kernel;
  }
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_CUDA_CUDA_VARIANT_H_
