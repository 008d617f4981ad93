#include "bench/embedding/any_loops.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "runtime/numbers/simd.h"

namespace tessera::bench {
namespace {

using internal::native::Pack;

constexpr int64_t kAhead = 64;  // ids
constexpr int kMaxSums = Pack::kSize >= 16 ? 16 : 8;

// Calls fn.operator()<T>() with the C++ type.
template <typename Fn>
void VisitType(DType type, Fn&& fn) {
  if (type == DType::kF16) return fn.template operator()<Half>();
  if (type == DType::kBF16) return fn.template operator()<BFloat16>();
  fn.template operator()<float>();
}

template <typename T>
Pack LoadPart(const T* p, int64_t n) {
  return n >= Pack::kSize ? Pack::Load(p) : Pack::LoadFirst(p, static_cast<int>(n));
}
template <typename T>
void StorePart(Pack v, T* p, int64_t n) {
  n >= Pack::kSize ? v.Store(p) : v.StoreFirst(p, static_cast<int>(n));
}

template <int write, int locality>
[[gnu::always_inline]] inline void PrefetchBytes(const char* row, int64_t bytes) {
  for (int64_t b = 0; b < bytes; b += 64) __builtin_prefetch(row + b, write, locality);
  __builtin_prefetch(row + bytes - 1, write, locality);
}

template <typename Out>
void WriteSums(const Pack* sum, int packs, int64_t columns, Out* out) {
  const bool stream = sizeof(Out) == 4 && reinterpret_cast<uintptr_t>(out) % sizeof(Pack) == 0;
  for (int v = 0; v < packs; ++v) {
    const int64_t at = int64_t{v} * Pack::kSize;
    if constexpr (sizeof(Out) == 4) {
      if (stream && columns - at >= Pack::kSize) {
        sum[v].Stream(out + at);
        continue;
      }
    }
    StorePart(sum[v], out + at, columns - at);
  }
}

// Columns [column, column + columns) of one item; kSums packs hold them, the last perhaps in part.
template <typename Row, int kSums>
void GatherBlock(const AnyGather& a, int64_t item, int64_t column, int64_t columns, Pack* sum) {
  const Row* table = static_cast<const Row*>(a.tables[item / a.batch]);
  const int64_t last = a.offsets[a.num_tables * a.batch] - 1;
  Pack sums[kSums];
  for (Pack& s : sums) s = Pack(0.0f);
  for (int64_t i = a.offsets[item]; i < a.offsets[item + 1]; ++i) {
    if (column == 0)
      PrefetchBytes<0, 2>(
          reinterpret_cast<const char*>(table + a.ids[std::min(i + kAhead, last)] * a.dim),
          a.dim * static_cast<int64_t>(sizeof(Row)));
    const Row* row = table + a.ids[i] * a.dim + column;
    for (int v = 0; v + 1 < kSums; ++v) sums[v] = sums[v] + Pack::Load(row + v * Pack::kSize);
    constexpr int64_t kRest = int64_t{kSums - 1} * Pack::kSize;
    sums[kSums - 1] = sums[kSums - 1] + LoadPart(row + kRest, columns - kRest);
  }
  std::copy_n(sums, kSums, sum);
}

// GatherBlock for 1 … kMaxSums packs.
template <typename Row, int kSums = kMaxSums>
void GatherPacks(const AnyGather& a, int packs, int64_t item, int64_t column, int64_t columns,
                 Pack* sum) {
  if constexpr (kSums > 0) {
    if (packs == kSums) return GatherBlock<Row, kSums>(a, item, column, columns, sum);
    GatherPacks<Row, kSums - 1>(a, packs, item, column, columns, sum);
  }
}

template <typename Row, typename Out>
void GatherItems(const AnyGather& a, int64_t begin, int64_t end) {
  for (int64_t item = begin; item < end; ++item) {
    Out* out = static_cast<Out*>(a.out) + (item % a.batch * a.num_tables + item / a.batch) * a.dim;
    for (int64_t column = 0; column < a.dim; column += kMaxSums * Pack::kSize) {
      Pack sum[kMaxSums];
      const int64_t columns = std::min<int64_t>(a.dim - column, kMaxSums * Pack::kSize);
      const auto packs = static_cast<int>((columns + Pack::kSize - 1) / Pack::kSize);
      GatherPacks<Row>(a, packs, item, column, columns, sum);
      WriteSums(sum, packs, columns, out + column);
    }
  }
}

// Rows of ids [begin, end) of one table.
template <typename Row, typename Out>
void CopyItems(const AnyGather& a, int64_t t, int64_t begin, int64_t end) {
  const Row* table = static_cast<const Row*>(a.tables[t]);
  const int64_t last = a.offsets[(t + 1) * a.batch] - 1;
  for (int64_t i = begin; i < end; ++i) {
    PrefetchBytes<0, 2>(
        reinterpret_cast<const char*>(table + a.ids[std::min(i + kAhead, last)] * a.dim),
        a.dim * static_cast<int64_t>(sizeof(Row)));
    const Row* row = table + a.ids[i] * a.dim;
    Out* out = static_cast<Out*>(a.out) + i * a.dim;
    for (int64_t d = 0; d < a.dim; d += Pack::kSize) {
      const Pack value = LoadPart(row + d, a.dim - d);
      WriteSums(&value, 1, a.dim - d, out + d);
    }
  }
}

// The rows of one step and their states, moved in the order of BareUpdate.
template <typename Row, typename State>
class AnyRows {
 public:
  explicit AnyRows(const AnyUpdate& a) : a_(a), sum_(static_cast<size_t>(a.dim)) {}

  void Update(int64_t t, int64_t begin, int64_t end) {
    Row* table = static_cast<Row*>(a_.tables[t]);
    const int64_t row_bytes = a_.dim * static_cast<int64_t>(sizeof(Row)),
                  state_bytes = a_.dim * static_cast<int64_t>(sizeof(State));
    for (int64_t u = begin; u < end; ++u) {
      const int64_t ahead = a_.unique[std::min(u + a_.ahead, end - 1)];
      PrefetchBytes<1, 3>(reinterpret_cast<const char*>(table + ahead * a_.dim), row_bytes);
      for (int s = 0; s < a_.num_element_states; ++s)
        PrefetchBytes<1, 3>(reinterpret_cast<const char*>(
                                static_cast<State*>(a_.element_states[s][t]) + ahead * a_.dim),
                            state_bytes);
      if (a_.row_states) __builtin_prefetch(static_cast<State*>(a_.row_states[t]) + ahead, 1, 3);
      Step(t, a_.unique[u], table + a_.unique[u] * a_.dim, Gradient(u));
    }
  }

 private:
  const float* Gradient(int64_t u) {
    const int64_t begin = a_.occurrence_start[u], end = a_.occurrence_start[u + 1];
    const float* first = a_.grad + a_.grad_rows[begin] * a_.dim;
    if (end == begin + 1) return first;
    std::copy_n(first, a_.dim, sum_.data());
    for (int64_t o = begin + 1; o < end; ++o) {
      const float* row = a_.grad + a_.grad_rows[o] * a_.dim;
      for (int64_t d = 0; d < a_.dim; d += Pack::kSize)
        StorePart(LoadPart(sum_.data() + d, a_.dim - d) + LoadPart(row + d, a_.dim - d),
                  sum_.data() + d, a_.dim - d);
    }
    return sum_.data();
  }

  void Step(int64_t t, int64_t number, Row* row, const float* g) {
    const float rate =
        a_.row_states ? RowRate(static_cast<State*>(a_.row_states[t])[number], g) : 1e-3f;
    State* states[2] = {};
    for (int s = 0; s < a_.num_element_states; ++s)
      states[s] = static_cast<State*>(a_.element_states[s][t]) + number * a_.dim;
    for (int64_t d = 0; d < a_.dim; d += Pack::kSize) {
      const int64_t n = a_.dim - d;
      Pack move = LoadPart(g + d, n);
      for (int s = 0; s < a_.num_element_states; ++s) {
        const Pack state = LoadPart(states[s] + d, n) + move * move;
        StorePart(state, states[s] + d, n);
        move = move / (Sqrt(state) + Pack(1e-8f));
      }
      StorePart(LoadPart(row + d, n) - Pack(rate) * move, row + d, n);
    }
  }
  float RowRate(State& state, const float* g) const {
    Pack squares(0.0f);
    for (int64_t d = 0; d < a_.dim; d += Pack::kSize) {
      const Pack part = LoadPart(g + d, a_.dim - d);
      squares = squares + part * part;
    }
    const float sum = static_cast<float>(state) + squares.Fold() / static_cast<float>(a_.dim);
    state = static_cast<State>(sum);
    return 1e-3f / (std::sqrt(sum) + 1e-8f);
  }

  const AnyUpdate& a_;
  std::vector<float> sum_;
};

}  // namespace

void AnyGather::Run(int64_t part, int64_t parts) const {
  VisitType(row_type, [&]<typename Row>() {
    VisitType(output_type, [&]<typename Out>() {
      if (!sequence) {
        const int64_t items = num_tables * batch;
        return GatherItems<Row, Out>(*this, items * part / parts, items * (part + 1) / parts);
      }
      for (int64_t t = 0; t < num_tables; ++t) {
        const int64_t first = offsets[t * batch], n = offsets[(t + 1) * batch] - first;
        CopyItems<Row, Out>(*this, t, first + n * part / parts, first + n * (part + 1) / parts);
      }
    });
  });
}

void AnyUpdate::Run(int64_t part, int64_t parts) const {
  VisitType(row_type, [&]<typename Row>() {
    VisitType(state_type, [&]<typename State>() {
      AnyRows<Row, State> rows(*this);
      for (int64_t t = 0; t < num_tables; ++t) {
        const int64_t first = table_start[t], n = table_start[t + 1] - first;
        rows.Update(t, first + n * part / parts, first + n * (part + 1) / parts);
      }
    });
  });
}

}  // namespace tessera::bench
