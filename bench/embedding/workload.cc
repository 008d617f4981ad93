#include "bench/embedding/workload.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "bench/harness/cold_rounds.h"
#include "bench/harness/run_bare.h"
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

std::vector<float*> Pointers(const std::vector<Tensor>& tensors) {
  std::vector<float*> pointers;
  for (const Tensor& tensor : tensors) pointers.push_back(tensor.data<float>());
  return pointers;
}

}  // namespace

IdBatches::IdBatches(const Shape& shape, uint64_t seed) : batch_(shape.batch), offsets_{0} {
  for (const int64_t rows : shape.rows)
    streams_.emplace_back(shape.skew, rows, seed, streams_.size());
  const int64_t bags = std::ssize(shape.rows) * shape.batch;
  for (const int64_t length : DrawLengths(shape.lengths, bags, Draws(seed, streams_.size())))
    offsets_.push_back(offsets_.back() + length);
}

std::vector<int64_t> IdBatches::Next() {
  std::vector<int64_t> ids(static_cast<size_t>(offsets_.back()));
  for (size_t t = 0; t < streams_.size(); ++t) {
    const int64_t* bags = offsets_.data() + static_cast<int64_t>(t) * batch_;
    streams_[t].Draw(std::span(ids).subspan(static_cast<size_t>(bags[0]),
                                            static_cast<size_t>(bags[batch_] - bags[0])));
  }
  return ids;
}

IdBatches DrawIdBatches(Context& ctx, const Shape& shape) {
  return {shape, ctx.random().seed() + ctx.random().TakeSequence()};
}

Workload::Workload(Context& ctx, const Shape& shape, int element_states, int row_states)
    : shape_(shape),
      element_states_(static_cast<size_t>(element_states)),
      row_states_(static_cast<size_t>(row_states)) {
  for (const int64_t rows : shape.rows) {
    weights_.push_back(Tensor::Empty(ctx, {rows, shape.dim}));
    FillUniform(ctx, weights_.back(), -0.01f, 0.01f);
    for (auto& states : element_states_) states.push_back(Tensor::Zeros(ctx, {rows, shape.dim}));
    for (auto& states : row_states_) states.push_back(Tensor::Zeros(ctx, {rows}));
  }
  pointers_ = Pointers(weights_);
  for (auto& states : element_states_) element_pointers_.push_back(Pointers(states));
  if (row_states > 0) row_pointers_ = Pointers(row_states_[0]);
  IdBatches batches = DrawIdBatches(ctx, shape);
  offsets_ = batches.offsets();
  output_ = shape.pooling == PoolingType::kNone
                ? Tensor::Zeros(ctx, {num_ids(), shape.dim})
                : Tensor::Zeros(ctx, {shape.batch, num_tables() * shape.dim});
  grad_ = Tensor::Full(ctx, output_.shape(), 1e-3);
  if (shape.weighted) sample_weights_ = Tensor::Full(ctx, {num_ids()}, 0.5);
  for (int k = 0; k < kBatches; ++k) AddBatch(batches.Next());
}

LookupArgs Workload::Lookup(int round, bool gradient) {
  const Tensor& target = gradient ? grad_ : output_;
  const bool none = shape_.pooling == PoolingType::kNone;
  features_.clear();
  for (int64_t t = 0; t < num_tables(); ++t)
    features_.push_back(
        {.rows = pointers_[static_cast<size_t>(t)],
         .num_rows = shape_.rows[static_cast<size_t>(t)],
         .dim = shape_.dim,
         .ids = {ids(round).data(), true},
         .first_bag = t * shape_.batch,
         .num_bags = shape_.batch,
         .pooling = shape_.pooling,
         .output = target.data<float>() +
                   shape_.dim * (none ? offsets_[static_cast<size_t>(t * shape_.batch)] : t),
         .output_stride = none ? shape_.dim : num_tables() * shape_.dim});
  return {features_,
          {offsets_.data(), true},
          sample_weights_ ? sample_weights_.data<float>() : nullptr,
          num_ids()};
}

std::vector<UpdateTable> Workload::Tables(const AnyRule& rule) const {
  std::vector<UpdateTable> tables;
  for (size_t t = 0; t < shape_.rows.size(); ++t) {
    UpdateTable table{pointers_[t], shape_.rows[t], shape_.dim, {static_cast<int>(t)}, &rule};
    size_t element = 0, row = 0;
    for (const StateSpec& spec : RuleStates(rule))
      table.states.push_back(
          (spec.per_row ? row_states_[row++] : element_states_[element++])[t].raw_data());
    tables.push_back(table);
  }
  return tables;
}

BareGather Workload::Gather(int round) const {
  return {pointers_.data(),  num_tables(),    shape_.batch,         shape_.dim,
          ids(round).data(), offsets_.data(), output_.data<float>()};
}

BareUpdate Workload::Bare(int round, const AnyRule& rule, int64_t ahead) const {
  const Grouping& g = groupings_[static_cast<size_t>(round % kBatches)];
  const StateCounts counts = CountStates(rule);
  BareUpdate bare;
  bare.tables = pointers_.data();
  for (int s = 0; s < counts.element; ++s)
    bare.element_states[s] = element_pointers_[static_cast<size_t>(s)].data();
  bare.num_element_states = counts.element;
  if (counts.row > 0) bare.row_states = row_pointers_.data();
  bare.num_tables = num_tables();
  bare.dim = shape_.dim;
  bare.unique = g.unique.data();
  bare.table_start = g.table_start.data();
  bare.occurrence_start = g.occurrence_start.data();
  bare.grad_rows = g.grad_rows.data();
  bare.grad = grad_.data<float>();
  bare.ahead = ahead;
  return bare;
}

int64_t Workload::distinct_rows() const {
  return static_cast<int64_t>(groupings_[0].unique.size());
}
double Workload::LookupBytes() const {
  return 4.0 * static_cast<double>(shape_.dim * (num_ids() + output_.numel() / shape_.dim));
}
double Workload::UpdateBytes(const AnyRule& rule) const {
  const StateCounts counts = CountStates(rule);
  return 8.0 * static_cast<double>(distinct_rows()) *
             static_cast<double>(shape_.dim * (1 + counts.element) + counts.row) +
         4.0 * static_cast<double>(output_.numel());
}

void Workload::AddTable(Grouping& g, std::span<const int64_t> ids, int64_t table) const {
  std::vector<std::pair<int64_t, int32_t>> pairs;
  for (int64_t bag = 0; bag < shape_.batch; ++bag) {
    const auto at = static_cast<size_t>(table * shape_.batch + bag);
    for (int64_t i = offsets_[at]; i < offsets_[at + 1]; ++i)
      pairs.emplace_back(ids[static_cast<size_t>(i)],
                         static_cast<int32_t>(bag * num_tables() + table));
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

void Workload::AddBatch(std::vector<int64_t> ids) {
  Grouping g;
  for (int64_t t = 0; t < num_tables(); ++t) AddTable(g, ids, t);
  g.occurrence_start.push_back(static_cast<int64_t>(g.grad_rows.size()));
  ids_.push_back(std::move(ids));
  groupings_.push_back(std::move(g));
}

int64_t BestAhead(Context& ctx, const Workload& work, const AnyRule& rule) {
  std::vector<Contender> contenders;
  const std::vector<int64_t> distances = {4, 8, 16, 32, 64};
  for (const int64_t ahead : distances)
    contenders.push_back(
        {"", [&, ahead](int round) { RunBare(ctx, work.Bare(round, rule, ahead)); }});
  const std::vector<Timing> timings = TimeCold(ctx, contenders, 3);
  size_t best = 0;
  for (size_t i = 1; i < timings.size(); ++i)
    if (timings[i].Median() < timings[best].Median()) best = i;
  return distances[best];
}

}  // namespace tessera::bench
