#ifndef TESSERA_TESTS_TESTING_UPDATE_BY_THE_BOOK_H_
#define TESSERA_TESTS_TESTING_UPDATE_BY_THE_BOOK_H_
// The scalar reference of updates: one row at a time, in float, in the documented order.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "embedding/lookup/element.h"
#include "embedding/update/update.h"
#include "runtime/numbers/lanes.h"
#include "tests/testing/random_batch.h"
#include "tests/testing/update_tables.h"

namespace tessera::testing {

// Σ_d fn(d, terms) in the order that every machine keeps (runtime/numbers/lanes.h).
template <int kTerms, typename Fn>
void SumInLaneOrder(int64_t dim, float* sums, Fn&& fn) {
  float lane[kTerms][kLanes] = {};
  for (int64_t d = 0; d < dim; ++d) {
    float terms[kTerms];
    fn(d, terms);
    for (int k = 0; k < kTerms; ++k) lane[k][d % kLanes] += terms[k];
  }
  for (int k = 0; k < kTerms; ++k) sums[k] = FoldLanes(lane[k]);
}

// Every occurrence of every row of table t in the order of the batch: (gradient row, coefficient).
using Occurrences = std::map<int64_t, std::vector<std::pair<const float*, float>>>;
inline Occurrences OccurrencesOf(const RandomBatch& batch, const std::vector<int64_t>& ids,
                                 const BatchShape& shape, size_t t) {
  Occurrences all;
  for (int f = 0; f < batch.num_features(); ++f) {
    if (batch.table_of(f) != t) continue;
    const auto first = static_cast<size_t>(f * shape.batch);
    for (size_t b = 0; b < static_cast<size_t>(shape.batch); ++b) {
      const int64_t begin = batch.offsets()[first + b], end = batch.offsets()[first + b + 1];
      for (int64_t i = begin; i < end; ++i) {
        const int64_t id = ids[static_cast<size_t>(i)];
        if (id < 0) continue;
        const bool none = shape.pooling == PoolingType::kNone;
        const float scale =
            shape.pooling == PoolingType::kMean ? 1.0f / static_cast<float>(end - begin) : 1.0f;
        all[id].emplace_back(
            batch.Grad(f, none ? i - batch.offsets()[first] : static_cast<int64_t>(b)),
            batch.weight(i) * scale);
      }
    }
  }
  return all;
}

// The summed gradient of a row, in chunks, in order.
inline std::vector<float> SumByTheBook(const std::vector<std::pair<const float*, float>>& list,
                                       int64_t dim) {
  std::vector<float> g(static_cast<size_t>(dim));
  for (int64_t d = 0; d < dim; ++d) {
    float total = 0;
    for (size_t chunk = 0; chunk < list.size(); chunk += kChunk) {
      float part = 0;
      for (size_t i = chunk; i < std::min(list.size(), chunk + kChunk); ++i)
        part += list[i].second * list[i].first[d];
      total = chunk == 0 ? part : total + part;
    }
    g[static_cast<size_t>(d)] = total;
  }
  return g;
}

// A table whose numbers are read and written one at a time.
struct ScalarTable {
  const UpdateTable& table;
  int64_t step;
  std::vector<std::pair<void*, DType>> by_row = {}, by_element = {};

  ScalarTable(const UpdateTable& of, int64_t at) : table(of), step(at) {
    const StateSpecs specs = RuleStates(*of.rule);
    for (size_t s = 0; s < specs.size(); ++s)
      (specs[s].per_row ? by_row : by_element)
          .emplace_back(of.states[s], specs[s].counts ? DType::kF32 : of.state_type);
  }
  float Weight(int64_t i) const { return internal::LoadElement(table.weights, table.row_type, i); }
  void SetWeight(int64_t row, int64_t d, float value) const {
    const int64_t i = row * table.dim + d;
    const RowRounding& r = table.rounding;
    if (!r.stochastic || table.row_type == DType::kF32)
      return internal::StoreElement(table.weights, table.row_type, i, value);
    const int64_t column = r.first_column + d,
                  number = r.row_ids ? r.row_ids[row] : r.first_row + row;
    const uint32_t bits =
        internal::RoundingBitsOf(internal::RoundingBits(r.seed, step, number, column), column);
    if (table.row_type == DType::kF16)
      static_cast<Half*>(table.weights)[i] = internal::RoundedByChance(Half{}, value, bits);
    else
      static_cast<BFloat16*>(table.weights)[i] = internal::RoundedByChance(BFloat16{}, value, bits);
  }
};

// The scalar reference: one row at a time, in float, in the documented order.
template <typename Step>
void UpdateRowByTheBook(const Step& r, const ScalarTable& at, int64_t row,
                        const std::vector<float>& gradient) {
  const int64_t dim = at.table.dim;
  const auto g = [&](int64_t d) { return gradient[static_cast<size_t>(d)]; };
  const auto w = [&](int64_t d) { return at.Weight(row * dim + d); };
  const auto load = [&](int64_t d, float* state) {
    for (size_t s = 0; s < at.by_element.size(); ++s)
      state[s] =
          internal::LoadElement(at.by_element[s].first, at.by_element[s].second, row * dim + d);
  };
  float sums[kMaxStatistics] = {}, row_state[kMaxRowStates] = {};
  if constexpr (Step::kStatistics > 0)
    SumInLaneOrder<Step::kStatistics>(dim, sums, [&](int64_t d, float* terms) {
      r.Statistics(RowElement<float>{w(d), g(d)}, terms);
    });
  for (size_t s = 0; s < at.by_row.size(); ++s)
    row_state[s] = internal::LoadElement(at.by_row[s].first, at.by_row[s].second, row);
  auto begun = r.BeginRow(sums, dim, row_state);
  for (size_t s = 0; s < at.by_row.size(); ++s)
    internal::StoreElement(at.by_row[s].first, at.by_row[s].second, row, row_state[s]);
  if constexpr (requires { Step::kLateStatistics; }) {
    SumInLaneOrder<Step::kLateStatistics>(dim, sums, [&](int64_t d, float* terms) {
      float state[kMaxElementStates] = {};
      load(d, state);
      r.LateStatistics(begun, RowElement<float>{w(d), g(d)}, static_cast<const float*>(state),
                       terms);
    });
    r.FinishRow(begun, sums);
  }
  for (int64_t d = 0; d < dim; ++d) {
    float state[kMaxElementStates] = {};
    RowElement<float> x = {w(d), g(d)};
    load(d, state);
    r.Update(begun, x, state);
    at.SetWeight(row, d, x.w);
    for (size_t s = 0; s < at.by_element.size(); ++s)
      internal::StoreElement(at.by_element[s].first, at.by_element[s].second, row * dim + d,
                             state[s]);
  }
  if constexpr (requires { r.max_norm; }) {
    float square = 0;
    SumInLaneOrder<1>(dim, &square, [&](int64_t d, float* term) { *term = w(d) * w(d); });
    const float norm = Sqrt(square);
    if (r.max_norm > 0 && norm > r.max_norm)
      for (int64_t d = 0; d < dim; ++d) at.SetWeight(row, d, w(d) * (r.max_norm / norm));
  }
}

template <typename Rule>
void UpdateByTheBook(const Rule& rule, int64_t step, const Occurrences& occurrences,
                     const UpdateTable& table) {
  const auto r = rule.AtStep(step);
  const ScalarTable at(table, step);
  for (const auto& [row, list] : occurrences)
    UpdateRowByTheBook(r, at, row, SumByTheBook(list, table.dim));
}

// Updates all tables of a batch by the book, if their rules are the library's.
inline void UpdateAllByTheBook(const RandomBatch& batch, const std::vector<int64_t>& ids,
                               const BatchShape& shape, int64_t step, const UpdateTables& tables) {
  for (size_t t = 0; t < tables.tables().size(); ++t)
    std::visit(
        [&](const auto& r) {
          if constexpr (requires { r.AtStep(1); })
            UpdateByTheBook(r, step, OccurrencesOf(batch, ids, shape, t), tables.tables()[t]);
        },
        *tables.tables()[t].rule);
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_TESTING_UPDATE_BY_THE_BOOK_H_
