#ifndef TESSERA_EMBEDDING_LOOKUP_LOOKUP_IMPL_H_
#define TESSERA_EMBEDDING_LOOKUP_LOOKUP_IMPL_H_
// The lookup on each device, and for each instruction set of a CPU (lookup_simd.cc).
#include "embedding/lookup/lookup.h"
#include "runtime/base/host_device.h"
#include "runtime/base/isa.h"
#include "runtime/context.h"
#include "runtime/device/device.h"

namespace tessera::internal {

void Lookup(OnCpu, Context& ctx, const LookupArgs& args);
void LookupWeightGradients(OnCpu, Context& ctx, const LookupArgs& args, float* grad_weights);
void Lookup(OnCuda, Context& ctx, const LookupArgs& args);
void LookupWeightGradients(OnCuda, Context& ctx, const LookupArgs& args, float* grad_weights);

// Calls fn.operator()<T>() with the C++ type of a row or an output, which Lookup has
// checked: float, Half or BFloat16.
template <typename Fn>
decltype(auto) VisitRowType(DType dtype, Fn&& fn) {
  if (dtype == DType::kF16) return fn.template operator()<Half>();
  if (dtype == DType::kBF16) return fn.template operator()<BFloat16>();
  return fn.template operator()<float>();
}

// Whether packs of `size` elements can be written past the caches to a feature's output rows.
template <typename Out>
TESSERA_HD bool PacksAreAligned(const LookupFeature& f, int size) {
  return (reinterpret_cast<uintptr_t>(f.output) |
          static_cast<uintptr_t>(f.output_stride) * sizeof(Out)) %
             (static_cast<size_t>(size) * sizeof(Out)) ==
         0;
}

// Bags [begin, end) of one feature, counted from its first.
struct LookupPiece {
  const LookupFeature* feature;
  IndexArray offsets;
  const float* weights;
  int64_t begin, end;
  bool stream;          // write past the caches
  float* grad_weights;  // for the weight gradients only
};

#define TESSERA_DECLARE_LOOKUP_(isa)                    \
  namespace isa {                                       \
  void LookupBags(const LookupPiece& piece);            \
  void LookupRows(const LookupPiece& piece);            \
  void LookupWeightGradients(const LookupPiece& piece); \
  }
TESSERA_FOR_EACH_ISA(TESSERA_DECLARE_LOOKUP_)
#undef TESSERA_DECLARE_LOOKUP_

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_LOOKUP_LOOKUP_IMPL_H_
