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

// Columns [column, column + columns) of the bag of ids [begin, end) of table t; kSums packs hold
// them, the last perhaps in part.
struct Block {
  int64_t table, begin, end, column, columns;
};

template <typename Row, int kSums>
void GatherBlock(const AnyGather& a, const Block& block, Pack* sum) {
  const int64_t dim = a.tables[block.table].dim;
  const Row* table = static_cast<const Row*>(a.tables[block.table].rows);
  const int64_t last = a.offsets[(block.table + 1) * a.batch] - 1;
  Pack sums[kSums];
  for (Pack& s : sums) s = Pack(0.0f);
  for (int64_t i = block.begin; i < block.end; ++i) {
    if (block.column == 0)
      PrefetchBytes<0, 2>(
          reinterpret_cast<const char*>(table + a.ids[std::min(i + kAhead, last)] * dim),
          dim * static_cast<int64_t>(sizeof(Row)));
    const Row* row = table + a.ids[i] * dim + block.column;
    for (int v = 0; v + 1 < kSums; ++v) sums[v] = sums[v] + Pack::Load(row + v * Pack::kSize);
    constexpr int64_t kRest = int64_t{kSums - 1} * Pack::kSize;
    sums[kSums - 1] = sums[kSums - 1] + LoadPart(row + kRest, block.columns - kRest);
  }
  std::copy_n(sums, kSums, sum);
}

// GatherBlock for 1 … kMaxSums packs.
template <typename Row, int kSums = kMaxSums>
void GatherPacks(const AnyGather& a, int packs, const Block& block, Pack* sum) {
  if constexpr (kSums > 0) {
    if (packs == kSums) return GatherBlock<Row, kSums>(a, block, sum);
    GatherPacks<Row, kSums - 1>(a, packs, block, sum);
  }
}

// Bags [begin, end) of table t.
template <typename Row, typename Out>
void GatherBags(const AnyGather& a, int64_t t, int64_t begin, int64_t end) {
  const LoopTable& table = a.tables[t];
  for (int64_t bag = begin; bag < end; ++bag) {
    const int64_t* ids = a.offsets + t * a.batch + bag;
    Out* out = static_cast<Out*>(table.pooled) + bag * table.stride;
    for (int64_t column = 0; column < table.dim; column += kMaxSums * Pack::kSize) {
      Pack sum[kMaxSums];
      const int64_t columns = std::min<int64_t>(table.dim - column, kMaxSums * Pack::kSize);
      const auto packs = static_cast<int>((columns + Pack::kSize - 1) / Pack::kSize);
      GatherPacks<Row>(a, packs, {t, ids[0], ids[1], column, columns}, sum);
      WriteSums(sum, packs, columns, out + column);
    }
  }
}

// Rows of the ids of bags [begin, end) of table t.
template <typename Row, typename Out>
void CopyBags(const AnyGather& a, int64_t t, int64_t begin, int64_t end) {
  const LoopTable& table = a.tables[t];
  const Row* rows = static_cast<const Row*>(table.rows);
  const int64_t* offsets = a.offsets + t * a.batch;
  const int64_t last = offsets[a.batch] - 1;
  for (int64_t i = offsets[begin]; i < offsets[end]; ++i) {
    PrefetchBytes<0, 2>(
        reinterpret_cast<const char*>(rows + a.ids[std::min(i + kAhead, last)] * table.dim),
        table.dim * static_cast<int64_t>(sizeof(Row)));
    const Row* row = rows + a.ids[i] * table.dim;
    Out* out = static_cast<Out*>(table.pooled) + (i - offsets[0]) * table.stride;
    for (int64_t d = 0; d < table.dim; d += Pack::kSize) {
      const Pack value = LoadPart(row + d, table.dim - d);
      WriteSums(&value, 1, table.dim - d, out + d);
    }
  }
}

// The rows of one step and their states, moved in the order of BareUpdate.
template <typename Row, typename State>
class AnyRows {
 public:
  AnyRows(const AnyUpdate& a, int64_t t)
      : a_(a), t_(t), dim_(a.tables[t].dim), sum_(static_cast<size_t>(dim_)) {}

  void Update(int64_t begin, int64_t end) {
    Row* table = static_cast<Row*>(a_.tables[t_].rows);
    const int64_t row_bytes = dim_ * static_cast<int64_t>(sizeof(Row)),
                  state_bytes = dim_ * static_cast<int64_t>(sizeof(State));
    for (int64_t u = begin; u < end; ++u) {
      const int64_t ahead = a_.unique[std::min(u + a_.ahead, end - 1)];
      PrefetchBytes<1, 3>(reinterpret_cast<const char*>(table + ahead * dim_), row_bytes);
      for (int s = 0; s < a_.num_element_states; ++s)
        PrefetchBytes<1, 3>(reinterpret_cast<const char*>(
                                static_cast<State*>(a_.element_states[s][t_]) + ahead * dim_),
                            state_bytes);
      if (a_.row_states) __builtin_prefetch(static_cast<State*>(a_.row_states[t_]) + ahead, 1, 3);
      Step(a_.unique[u], table + a_.unique[u] * dim_, Gradient(u));
    }
  }

 private:
  const float* GradientOf(int64_t occurrence) const {
    return static_cast<const float*>(a_.tables[t_].pooled) +
           a_.grad_rows[occurrence] * a_.tables[t_].stride;
  }
  const float* Gradient(int64_t u) {
    const int64_t begin = a_.occurrence_start[u], end = a_.occurrence_start[u + 1];
    const float* first = GradientOf(begin);
    if (end == begin + 1) return first;
    std::copy_n(first, dim_, sum_.data());
    for (int64_t o = begin + 1; o < end; ++o) {
      const float* row = GradientOf(o);
      for (int64_t d = 0; d < dim_; d += Pack::kSize)
        StorePart(LoadPart(sum_.data() + d, dim_ - d) + LoadPart(row + d, dim_ - d),
                  sum_.data() + d, dim_ - d);
    }
    return sum_.data();
  }

  void Step(int64_t number, Row* row, const float* g) {
    const float rate =
        a_.row_states ? RowRate(static_cast<State*>(a_.row_states[t_])[number], g) : 1e-3f;
    State* states[2] = {};
    for (int s = 0; s < a_.num_element_states; ++s)
      states[s] = static_cast<State*>(a_.element_states[s][t_]) + number * dim_;
    for (int64_t d = 0; d < dim_; d += Pack::kSize) {
      const int64_t n = dim_ - d;
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
    for (int64_t d = 0; d < dim_; d += Pack::kSize) {
      const Pack part = LoadPart(g + d, dim_ - d);
      squares = squares + part * part;
    }
    const float sum = static_cast<float>(state) + squares.Fold() / static_cast<float>(dim_);
    state = static_cast<State>(sum);
    return 1e-3f / (std::sqrt(sum) + 1e-8f);
  }

  const AnyUpdate& a_;
  int64_t t_, dim_;
  std::vector<float> sum_;
};

}  // namespace

void AnyGather::Run(int64_t part, int64_t parts) const {
  VisitType(row_type, [&]<typename Row>() {
    VisitType(output_type, [&]<typename Out>() {
      ForEachTablePart(tables, num_tables, batch, offsets, part, parts,
                       [&](int64_t t, int64_t begin, int64_t end) {
                         sequence ? CopyBags<Row, Out>(*this, t, begin, end)
                                  : GatherBags<Row, Out>(*this, t, begin, end);
                       });
    });
  });
}

void AnyUpdate::Run(int64_t part, int64_t parts) const {
  VisitType(row_type, [&]<typename Row>() {
    VisitType(state_type, [&]<typename State>() {
      for (int64_t t = 0; t < num_tables; ++t) {
        const int64_t first = table_start[t], n = table_start[t + 1] - first;
        AnyRows<Row, State>(*this, t).Update(first + n * part / parts,
                                             first + n * (part + 1) / parts);
      }
    });
  });
}

}  // namespace tessera::bench
