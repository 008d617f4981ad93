#include "bench/embedding/workload.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "bench/facts/rule_operations.h"
#include "bench/harness/cold_rounds.h"
#include "bench/harness/run_bare.h"
#include "embedding/lookup/element.h"
#include "runtime/element_at.h"
#include "runtime/numbers/random.h"

namespace tessera::bench {
namespace {

struct StateCounts {
  int element = 0, row = 0;
};
StateCounts CountStates(const AnyRule& rule) {
  StateCounts counts;
  for (const StateSpec& spec : RuleStates(rule)) ++(spec.per_row ? counts.row : counts.element);
  return counts;
}

std::vector<void*> Pointers(const std::vector<Tensor>& tensors) {
  std::vector<void*> pointers;
  for (const Tensor& tensor : tensors) pointers.push_back(tensor.raw_data());
  return pointers;
}

// Rows of small random numbers, in any type of rows.
Tensor RandomRows(Context& ctx, int64_t rows, int64_t dim, DType type) {
  Tensor numbers = Tensor::Empty(ctx, {rows, dim});
  FillUniform(ctx, numbers, -0.01f, 0.01f);
  if (type == DType::kF32) return numbers;
  Tensor narrow = Tensor::Empty(ctx, {rows, dim}, type);
  const float* from = numbers.data<float>();
  ParallelFor(ctx, rows * dim, 1 << 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      internal::StoreElement(narrow.raw_data(), type, i, from[i]);
  });
  return narrow;
}

int64_t ColumnsOf(const Shape& shape) {
  int64_t columns = 0;
  for (size_t t = 0; t < shape.rows.size(); ++t) columns += shape.DimOf(t);
  return columns;
}

// Elements of the rows of a batch's ids.
int64_t ElementsOf(const Shape& shape, const IdBatch& batch) {
  int64_t elements = 0;
  for (size_t t = 0; t < shape.rows.size(); ++t) {
    const size_t first = t * static_cast<size_t>(shape.batch);
    elements += (batch.offsets[first + static_cast<size_t>(shape.batch)] - batch.offsets[first]) *
                shape.DimOf(t);
  }
  return elements;
}

// The pointers as those of f32. REQUIRES: they are.
float* const* FloatsOf(const std::vector<void*>& pointers) {
  return reinterpret_cast<float* const*>(pointers.data());
}

}  // namespace

Workload::Workload(Context& ctx, const Shape& shape, int element_states, int row_states)
    : shape_(shape),
      element_states_(static_cast<size_t>(element_states)),
      row_states_(static_cast<size_t>(row_states)) {
  for (size_t t = 0; t < shape.rows.size(); ++t) {
    const int64_t rows = shape.rows[t];
    weights_.push_back(RandomRows(ctx, rows, shape.DimOf(t), shape.row_type));
    for (auto& states : element_states_)
      states.push_back(Tensor::Zeros(ctx, {rows, shape.DimOf(t)}, shape.state_type));
    for (auto& states : row_states_) states.push_back(Tensor::Zeros(ctx, {rows}));
  }
  pointers_ = Pointers(weights_);
  for (auto& states : element_states_) element_pointers_.push_back(Pointers(states));
  if (row_states > 0) row_pointers_ = Pointers(row_states_[0]);
  IdBatches batches = DrawIdBatches(ctx, shape);
  const bool none = shape.pooling == PoolingType::kNone;
  int64_t most_ids = 0, most_outputs = none ? 0 : shape.batch * ColumnsOf(shape);
  for (int k = 0; k < kBatches; ++k) {
    batches_.push_back(batches.Next());
    most_ids = std::max(most_ids, std::ssize(batches_.back().ids));
    if (none) most_outputs = std::max(most_outputs, ElementsOf(shape, batches_.back()));
  }
  output_ = Tensor::Zeros(ctx, {most_outputs}, shape.output_type);
  grad_ = Tensor::Full(ctx, output_.shape(), 1e-3);
  if (shape.weighted) sample_weights_ = Tensor::Full(ctx, {most_ids}, 0.5);
  for (const IdBatch& batch : batches_) AddGrouping(batch);
  for (size_t k = 0; k < batches_.size(); ++k) {
    gathers_.push_back(LoopTables(k, output_));
    updates_.push_back(LoopTables(k, grad_));
  }
}

std::vector<LoopTable> Workload::LoopTables(size_t batch, const Tensor& pooled) const {
  const bool none = shape_.pooling == PoolingType::kNone;
  const std::vector<int64_t>& offsets = batches_[batch].offsets;
  std::vector<LoopTable> tables;
  int64_t before = 0;  // elements of the tables before
  for (size_t t = 0; t < shape_.rows.size(); ++t) {
    const int64_t dim = shape_.DimOf(t);
    const size_t first = t * static_cast<size_t>(shape_.batch);
    tables.push_back(
        {pointers_[t], dim, internal::ElementAt(pooled, before), none ? dim : ColumnsOf(shape_)});
    const int64_t ids = offsets[first + static_cast<size_t>(shape_.batch)] - offsets[first];
    before += none ? ids * dim : dim;
  }
  return tables;
}

bool Workload::HasBareLoop() const {
  for (size_t t = 0; t < shape_.rows.size(); ++t)
    if (!IsBareDim(shape_.DimOf(t))) return false;
  return shape_.all_f32() && shape_.pooling != PoolingType::kNone;
}

LookupArgs Workload::Lookup(int round, bool gradient) {
  const auto& tables = (gradient ? updates_ : gathers_)[static_cast<size_t>(round % kBatches)];
  features_.clear();
  for (int64_t t = 0; t < num_tables(); ++t) {
    const LoopTable& table = tables[static_cast<size_t>(t)];
    features_.push_back({.rows = table.rows,
                         .row_type = shape_.row_type,
                         .num_rows = shape_.rows[static_cast<size_t>(t)],
                         .dim = table.dim,
                         .ids = {ids(round).data(), true},
                         .first_bag = t * shape_.batch,
                         .num_bags = shape_.batch,
                         .pooling = shape_.pooling,
                         .output = table.pooled,
                         .output_type = gradient ? DType::kF32 : shape_.output_type,
                         .output_stride = table.stride});
  }
  return {features_,
          {offsets(round).data(), true},
          sample_weights_ ? sample_weights_.data<float>() : nullptr,
          std::ssize(ids(round))};
}

std::vector<UpdateTable> Workload::Tables(const AnyRule& rule) const {
  std::vector<UpdateTable> tables;
  for (size_t t = 0; t < shape_.rows.size(); ++t) {
    UpdateTable table{pointers_[t], shape_.rows[t], shape_.DimOf(t), {static_cast<int>(t)}, &rule};
    table.row_type = shape_.row_type;
    table.state_type = shape_.state_type;
    size_t element = 0, row = 0;
    for (const StateSpec& spec : RuleStates(rule))
      table.states.push_back(
          (spec.per_row ? row_states_[row++] : element_states_[element++])[t].raw_data());
    tables.push_back(table);
  }
  return tables;
}

BareGather Workload::Gather(int round) const {
  return {gathers_[static_cast<size_t>(round % kBatches)].data(), num_tables(), shape_.batch,
          ids(round).data(), offsets(round).data()};
}

AnyGather Workload::GatherAny(int round) const {
  return {.tables = gathers_[static_cast<size_t>(round % kBatches)].data(),
          .row_type = shape_.row_type,
          .output_type = shape_.output_type,
          .num_tables = num_tables(),
          .batch = shape_.batch,
          .ids = ids(round).data(),
          .offsets = offsets(round).data(),
          .sequence = shape_.pooling == PoolingType::kNone};
}

void Workload::RunGather(Context& ctx, int round) const {
  HasBareLoop() ? RunBare(ctx, Gather(round)) : RunBare(ctx, GatherAny(round));
}

void Workload::RunBareUpdate(Context& ctx, int round, const AnyRule& rule, int64_t ahead) const {
  HasBareLoop() ? RunBare(ctx, Bare(round, rule, ahead))
                : RunBare(ctx, UpdateAny(round, rule, ahead));
}

AnyUpdate Workload::UpdateAny(int round, const AnyRule& rule, int64_t ahead) const {
  const Grouping& g = groupings_[static_cast<size_t>(round % kBatches)];
  const StateCounts counts = CountStates(rule);
  AnyUpdate any{.tables = updates_[static_cast<size_t>(round % kBatches)].data(),
                .num_element_states = counts.element,
                .row_states = counts.row > 0 ? row_pointers_.data() : nullptr,
                .row_type = shape_.row_type,
                .state_type = shape_.state_type,
                .num_tables = num_tables(),
                .unique = g.unique.data(),
                .table_start = g.table_start.data(),
                .occurrence_start = g.occurrence_start.data(),
                .grad_rows = g.grad_rows.data(),
                .ahead = ahead};
  for (int s = 0; s < counts.element; ++s)
    any.element_states[s] = element_pointers_[static_cast<size_t>(s)].data();
  return any;
}

BareUpdate Workload::Bare(int round, const AnyRule& rule, int64_t ahead) const {
  const Grouping& g = groupings_[static_cast<size_t>(round % kBatches)];
  const StateCounts counts = CountStates(rule);
  BareUpdate bare;
  bare.tables = updates_[static_cast<size_t>(round % kBatches)].data();
  for (int s = 0; s < counts.element; ++s)
    bare.element_states[s] = FloatsOf(element_pointers_[static_cast<size_t>(s)]);
  bare.num_element_states = counts.element;
  if (counts.row > 0) bare.row_states = FloatsOf(row_pointers_);
  bare.num_tables = num_tables();
  bare.unique = g.unique.data();
  bare.table_start = g.table_start.data();
  bare.occurrence_start = g.occurrence_start.data();
  bare.grad_rows = g.grad_rows.data();
  bare.ahead = ahead;
  return bare;
}

void Workload::ClearOutput() {
  std::memset(output_.raw_data(), 0xA5, static_cast<size_t>(output_.nbytes()));
}

int64_t Workload::num_ids() const {
  int64_t all = 0;
  for (const IdBatch& batch : batches_) all += std::ssize(batch.ids);
  return all / kBatches;
}

int64_t Workload::distinct_rows() const {
  int64_t all = 0;
  for (const Grouping& grouping : groupings_) all += std::ssize(grouping.unique);
  return all / kBatches;
}

int64_t Workload::elements() const {
  int64_t all = 0;
  for (const IdBatch& batch : batches_) all += ElementsOf(shape_, batch);
  return all / kBatches;
}

int64_t Workload::distinct_elements() const {
  int64_t all = 0;
  for (const Grouping& g : groupings_)
    for (size_t t = 0; t < shape_.rows.size(); ++t)
      all += (g.table_start[t + 1] - g.table_start[t]) * shape_.DimOf(t);
  return all / kBatches;
}

int64_t Workload::output_elements() const {
  return shape_.pooling == PoolingType::kNone ? elements() : shape_.batch * ColumnsOf(shape_);
}
double Workload::LookupBytes() const {
  return static_cast<double>(elements() * SizeOf(shape_.row_type) + 8 * num_ids() +
                             output_elements() * SizeOf(shape_.output_type));
}
double Workload::UpdatedRowBytes(const AnyRule& rule) const {
  int64_t rows = distinct_elements() * SizeOf(shape_.row_type);
  for (const StateSpec& spec : RuleStates(rule))
    rows += SizeOf(spec.counts ? DType::kF32 : shape_.state_type) *
            (spec.per_row ? distinct_rows() : distinct_elements());
  return static_cast<double>(rows);
}
double Workload::UpdateBytes(const AnyRule& rule) const {
  return 2 * UpdatedRowBytes(rule) +
         static_cast<double>(8 * num_ids() + output_elements() * SizeOf(DType::kF32));
}

double Workload::PoolingOperations() const {
  if (shape_.pooling == PoolingType::kNone) return 0;
  const int64_t divided = shape_.pooling == PoolingType::kMean ? output_elements() : 0;
  return static_cast<double>(elements() * (shape_.weighted ? 2 : 1) + divided);
}

double Workload::MeanRow(double bytes_of_distinct) const {
  return bytes_of_distinct / std::max(1.0, static_cast<double>(distinct_rows()));
}

Facts Workload::LookupFacts() const {
  Facts facts = ReuseFacts(static_cast<double>(num_ids()), static_cast<double>(distinct_rows()),
                           MeanRow(ReadRowBytes()));
  facts.emplace_back("operations", PoolingOperations());
  return facts;
}

Facts Workload::UpdateFacts(const AnyRule& rule) const {
  Facts facts = ReuseFacts(static_cast<double>(num_ids()), static_cast<double>(distinct_rows()),
                           MeanRow(UpdatedRowBytes(rule)));
  if (const int64_t operations = OperationsAnElement(rule); operations > 0)
    facts.emplace_back("operations",
                       PoolingOperations() + static_cast<double>(distinct_elements() * operations));
  return facts;
}

Facts Workload::LookupHits(int threads, bool cold) {
  RowReads reads{{}, MeanRow(ReadRowBytes()), threads};
  for (int k = 0; k < kBatches; ++k) reads.calls.push_back(RowsNamed(Lookup(k, false)));
  return CacheHitFacts(reads, cold, DataCaches());
}

Facts Workload::UpdateHits(const AnyRule& rule, int threads, bool cold) {
  RowReads reads{{}, MeanRow(UpdatedRowBytes(rule)), threads};
  for (int k = 0; k < kBatches; ++k)
    reads.calls.push_back(DistinctRows(RowsNamed(Lookup(k, false))));
  return CacheHitFacts(reads, cold, DataCaches());
}

void Workload::AddTable(Grouping& g, const IdBatch& batch, int64_t table) const {
  const bool none = shape_.pooling == PoolingType::kNone;
  const int64_t first = batch.offsets[static_cast<size_t>(table * shape_.batch)];
  std::vector<std::pair<int64_t, int32_t>> pairs;  // a row, and its bag or id in the table
  for (int64_t bag = 0; bag < shape_.batch; ++bag) {
    const auto at = static_cast<size_t>(table * shape_.batch + bag);
    for (int64_t i = batch.offsets[at]; i < batch.offsets[at + 1]; ++i)
      pairs.emplace_back(batch.ids[static_cast<size_t>(i)],
                         static_cast<int32_t>(none ? i - first : bag));
  }
  std::stable_sort(pairs.begin(), pairs.end(), [](auto& a, auto& b) { return a.first < b.first; });
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (i == 0 || pairs[i].first != pairs[i - 1].first) {
      if (!g.grad_rows.empty())
        g.occurrence_start.push_back(static_cast<int64_t>(g.grad_rows.size()));
      g.unique.push_back(pairs[i].first);
    }
    g.grad_rows.push_back(pairs[i].second);
  }
  g.table_start.push_back(static_cast<int64_t>(g.unique.size()));
}

void Workload::AddGrouping(const IdBatch& batch) {
  Grouping g;
  for (int64_t t = 0; t < num_tables(); ++t) AddTable(g, batch, t);
  g.occurrence_start.push_back(static_cast<int64_t>(g.grad_rows.size()));
  groupings_.push_back(std::move(g));
}

// The usual distance, unless another one is clearly faster: a choice that noise makes would differ
// from one run to the next, and with it the limit.
int64_t BestAhead(Context& ctx, const Workload& work, const AnyRule& rule) {
  constexpr int kRounds = 3;
  constexpr int64_t kFlushBytes = 64 << 20;
  constexpr double kClearly = 0.95;
  std::vector<Contender> contenders;
  const std::vector<int64_t> distances = {16, 4, 8, 32, 64};
  for (const int64_t ahead : distances)
    contenders.push_back(
        {"", [&, ahead](int round) { work.RunBareUpdate(ctx, round, rule, ahead); }});
  const std::vector<Timing> timings = TimeCold(ctx, contenders, kRounds, kFlushBytes);
  size_t best = 0;
  for (size_t i = 1; i < timings.size(); ++i)
    if (timings[i].Median() < timings[best].Median()) best = i;
  return timings[best].Median() < kClearly * timings[0].Median() ? distances[best] : distances[0];
}

}  // namespace tessera::bench
