// The summed gradient of a run of occurrences in row_ops.h's order, compiled once for each
// instruction set: the columns of a block in registers, over all occurrences, whose gradients are
// widened there.
#include "embedding/update/update_isa.h"
#include "runtime/numbers/simd.h"

namespace tessera::internal::TESSERA_ISA {
namespace {

constexpr int kSumPacks = 8;

// kPacks whole packs and, with kTail, `tail` more columns.
template <typename Grad, bool kScaled, int kPacks, bool kTail, typename Key>
void SumRunColumns(const RowUpdateArgs& a, int64_t begin, int64_t end, int64_t column, int tail,
                   float* sum) {
  constexpr int kSums = kPacks + (kTail ? 1 : 0);
  const auto* occurrences = static_cast<const Occurrence<Key>*>(a.occurrences);
  Pack total[kSums], part[kSums];
  TESSERA_UNROLL
  for (int k = 0; k < kSums; ++k) total[k] = Pack(0.0f);
  for (int64_t chunk = begin; chunk < end; chunk += kChunk) {
    TESSERA_UNROLL
    for (int k = 0; k < kSums; ++k) part[k] = Pack(0.0f);
    const int64_t stop = chunk + kChunk < end ? chunk + kChunk : end;
    for (int64_t i = chunk; i < stop; ++i) {
      const auto gradient = a.GradientOf<Grad>(occurrences[i].payload);
      const Pack coefficient = Pack(gradient.coefficient);
      const Grad* g = Opaque(gradient.data + column);
      TESSERA_UNROLL
      for (int k = 0; k < kSums; ++k) {
        const Pack value = kTail && k == kPacks ? Pack::LoadFirst(g + k * Pack::kSize, tail)
                                                : Pack::Load(g + k * Pack::kSize);
        part[k] = part[k] + (kScaled ? coefficient * value : value);
      }
    }
    TESSERA_UNROLL
    for (int k = 0; k < kSums; ++k) total[k] = chunk == begin ? part[k] : total[k] + part[k];
  }
  TESSERA_UNROLL
  for (int k = 0; k < kPacks; ++k) total[k].Store(sum + column + k * Pack::kSize);
  if constexpr (kTail) total[kPacks].StoreFirst(sum + column + kPacks * Pack::kSize, tail);
}

template <typename Grad, typename Key, bool kScaled, int kPacks = kSumPacks>
RunSum::Columns ColumnsFor(int packs, bool tail) {
  if constexpr (kPacks == 0)
    return SumRunColumns<Grad, kScaled, 0, true, Key>;
  else if (packs == kPacks)
    return tail ? SumRunColumns<Grad, kScaled, kPacks, true, Key>
                : SumRunColumns<Grad, kScaled, kPacks, false, Key>;
  else
    return ColumnsFor<Grad, Key, kScaled, kPacks - 1>(packs, tail);
}

template <typename Grad>
RunSum::Columns ColumnsOf(const RowUpdateArgs& a, int packs, bool tail) {
  const bool scaled = a.slot_scales != nullptr || a.slots != nullptr;
  if (a.wide_rows)
    return scaled ? ColumnsFor<Grad, uint64_t, true>(packs, tail)
                  : ColumnsFor<Grad, uint64_t, false>(packs, tail);
  return scaled ? ColumnsFor<Grad, uint32_t, true>(packs, tail)
                : ColumnsFor<Grad, uint32_t, false>(packs, tail);
}
RunSum::Columns ColumnsOf(const RowUpdateArgs& a, int packs, bool tail) {
  if (a.grad_type == DType::kF16) return ColumnsOf<Half>(a, packs, tail);
  if (a.grad_type == DType::kBF16) return ColumnsOf<BFloat16>(a, packs, tail);
  return ColumnsOf<float>(a, packs, tail);
}

}  // namespace

void SelectRunSum(const RowUpdateArgs& a, RunSum& sum) {
  sum.block = int64_t{kSumPacks} * Pack::kSize;
  sum.full_columns = a.table.dim / sum.block * sum.block;
  const int rest = static_cast<int>(a.table.dim - sum.full_columns);
  sum.tail = rest % Pack::kSize;
  sum.full = ColumnsOf(a, kSumPacks, false);
  if (rest > 0) sum.last = ColumnsOf(a, rest / Pack::kSize, sum.tail != 0);
}

}  // namespace tessera::internal::TESSERA_ISA
