// The update on a GPU: puts the tables of a call into groups, sorts all occurrences together, sums
// the chunks of long runs, and starts each group's rule.
#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <variant>

#include "embedding/update/executor_table.h"
#include "embedding/update/gradient_sums.cuh"
#include "embedding/update/occurrences_cuda.h"
#include "embedding/update/store_gradient.h"
#include "embedding/update/update_impl.h"
#include "runtime/tensor.h"

namespace tessera::internal {
namespace {

// ---- long runs: rule-independent

// Blocks that a multiprocessor is to hold: unless told, ptxas spills gradients of 16 bits to hold
// more.
constexpr int kChunkBlocksHeld = 4;

// A group of lanes sums a chunk. What is past the row's dim is zero.
template <int kWidth, typename Grad, int kTables, int kFeatures>
__global__ void __launch_bounds__(kUpdateThreads, kChunkBlocksHeld)
    SumChunksKernel(const __grid_constant__ GroupArgs<Grad, kTables, kFeatures> a) {
  const Lanes lanes(a.log_lanes);
  const uint32_t groups = kUpdateThreads >> a.log_lanes,
                 first = blockIdx.x * groups + (threadIdx.x >> a.log_lanes),
                 step = gridDim.x * groups, num_chunks = *a.runs.num_chunks;
  for (uint32_t c = first; c < num_chunks; c += step) {
    const RowChunk chunk = a.runs.chunks[c];
    if (chunk.group != a.index) continue;
    const CudaTable& table = a.tables[TableOf(a, a.runs.Key(chunk.begin))];
    float* out = a.runs.chunk_sums + c * a.runs.chunk_stride;
    const int stride = static_cast<int>(a.runs.chunk_stride);
    for (int d = lanes.lane * kWidth; d < stride; d += lanes.count() * kWidth)
      StoreVector(out + d, d < table.dim ? SumOccurrences<kWidth, kGradsInFlight>(
                                               a, table, chunk.begin, chunk.end, d)
                                         : Vector<kWidth>{});
  }
}

// Adds the chunks of a long run, in order, into the first: a thread a column, so that many chunks
// are on their way at once.
constexpr int kFoldThreads = 128, kChunksInFlight = 16;
__global__ void __launch_bounds__(kFoldThreads) FoldChunksKernel(SortedRuns runs) {
  const uint32_t count = *runs.num_long_runs;
  for (uint32_t l = blockIdx.x; l < count; l += gridDim.x) {
    const LongRun run = runs.long_runs[l];
    for (int64_t d = threadIdx.x; d < runs.chunk_stride; d += kFoldThreads) {
      float* column = runs.chunk_sums + run.first * runs.chunk_stride + d;
      float sum = *column;
      for (uint32_t k = 1; k < run.count; k += kChunksInFlight) {
        float part[kChunksInFlight];
#pragma unroll
        for (uint32_t u = 0; u < kChunksInFlight; ++u)
          if (k + u < run.count) part[u] = column[(k + u) * runs.chunk_stride];
#pragma unroll
        for (uint32_t u = 0; u < kChunksInFlight; ++u)
          if (k + u < run.count) sum = sum + part[u];
      }
      *column = sum;
    }
  }
}

void SumLongRuns(Context& ctx, const SortedRuns& runs, const std::vector<CudaGroup>& groups) {
  const int64_t most_chunks = runs.bound / kChunk + 1;
  for (const CudaGroup& group : groups)
    WithGroupArgs(group, [&]<typename Grad, int kTables, int kFeatures>() {
      GroupArgs<Grad, kTables, kFeatures> args = {};
      FillGroupArgs({&runs, &group}, args);
      const auto kernel = group.width == 4 ? SumChunksKernel<4, Grad, kTables, kFeatures>
                                           : SumChunksKernel<1, Grad, kTables, kFeatures>;
      Launch(ctx, kernel, BlocksForGroups(ctx, most_chunks, kUpdateThreads >> group.log_lanes),
             dim3(kUpdateThreads), 0, args);
    });
  Launch(ctx, FoldChunksKernel, BlocksForGroups(ctx, runs.bound / kShortRun + 1, 1),
         dim3(kFoldThreads), 0, runs);
}

// ---- groups

bool TakesVectors(const LookupArgs& lookup, const UpdateTable& table) {
  bool all =
      table.dim % 4 == 0 && IsAligned(table.weights, 16) && table.rounding.first_column % 4 == 0;
  for (const void* state : table.states) all &= IsAligned(state, 16);
  for (const int f : table.features) {
    const LookupFeature& feature = lookup.features[static_cast<size_t>(f)];
    all &= feature.output_stride % 4 == 0 &&
           IsAligned(feature.output, 4 * SizeOf(feature.output_type));
  }
  return all;
}

int LogLanes(int64_t dim, int width) {
  return std::min(5, static_cast<int>(std::bit_width(static_cast<uint64_t>(dim / width - 1))));
}

// The properties that all tables of one launch share.
struct Kind {
  size_t rule;  // place in AnyRule; each custom rule is a kind of its own
  int custom, width, log_lanes;
  int64_t weight_bytes;
  DType gradient_type;
  auto operator<=>(const Kind&) const = default;
};

constexpr size_t kNoRule = std::variant_npos;

Kind KindOf(const LookupArgs& lookup, const UpdateTable& table, int index) {
  const int width = TakesVectors(lookup, table) ? 4 : 1;
  const bool custom = table.rule != nullptr && std::holds_alternative<CustomRule>(*table.rule);
  return {table.rule != nullptr ? table.rule->index() : kNoRule,
          custom ? index : -1,
          width,
          LogLanes(table.dim, width),
          SizeOf(table.row_type),
          GradientTypeOf(lookup, table)};
}

CudaTable MakeTable(const UpdateTable& table, uint64_t first_key, size_t first_feature) {
  const ExecutorTable rows = MakeExecutorTable(table, 0);
  CudaTable result = {};
  result.weights = rows.weights;
  for (int s = 0; s < kMaxElementStates; ++s)
    result.element_states[s] = rows.element_states[s].data;
  for (int s = 0; s < kMaxRowStates; ++s) {
    result.row_states[s] = rows.row_states[s].data;
    result.row_state_types[s] = rows.row_states[s].type;
  }
  result.row_type = rows.row_type;
  result.element_type = table.state_type;
  result.gradient_scale = table.gradient_scale;
  result.rounding = rows.rounding;
  result.first_key = first_key;
  result.dim = static_cast<int32_t>(table.dim);
  result.first_feature = static_cast<uint16_t>(first_feature);
  result.num_features = static_cast<uint16_t>(table.features.size());
  return result;
}

// How many of the features can have the same id: the depth in which their bags overlap.
int64_t LargestOverlap(const std::vector<CollectedFeature>& features) {
  std::map<int64_t, int64_t> change;
  for (const CollectedFeature& f : features) {
    ++change[f.first_bag];
    --change[f.first_bag + f.num_bags];
  }
  int64_t depth = 0, largest = 0;
  for (const auto& [bag, by] : change) largest = std::max(largest, depth += by);
  return largest;
}

// The tables of a call in the order of their keys.
class Plan {
 public:
  Plan(const LookupArgs& lookup, std::span<const UpdateTable> tables) : lookup_(lookup) {
    occurrences_.offsets = lookup.offsets;
    occurrences_.weights = lookup.weights;
    std::vector<int> order(tables.size());
    std::iota(order.begin(), order.end(), 0);
    std::vector<Kind> kinds;
    for (size_t t = 0; t < tables.size(); ++t)
      kinds.push_back(KindOf(lookup, tables[t], static_cast<int>(t)));
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return kinds[static_cast<size_t>(a)] < kinds[static_cast<size_t>(b)];
    });
    for (size_t i = 0; i < order.size(); ++i) {
      const auto t = static_cast<size_t>(order[i]);
      const bool same = i > 0 && kinds[t] == kinds[static_cast<size_t>(order[i - 1])];
      AddTable(tables[t], order[i], kinds[t], same);
    }
    occurrences_.end_key = next_key_;
    occurrences_.most_ids = lookup.num_ids * LargestOverlap(occurrences_.features);
    for (const CudaGroup& group : groups_) occurrences_.group_keys.push_back(group.first_key);
  }

  const OccurrencePlan& occurrences() const { return occurrences_; }
  const std::vector<CudaGroup>& groups() const { return groups_; }

 private:
  void AddTable(const UpdateTable& table, int index, const Kind& kind, bool same_kind) {
    TESSERA_CHECK(table.features.size() <= static_cast<size_t>(kMaxFeatures),
                  "update of a table that {} features read; on a GPU at most {}",
                  table.features.size(), kMaxFeatures);
    TESSERA_CHECK(table.dim < int64_t{1} << 20, "update of a table of dim {}", table.dim);
    const bool fits =
        same_kind && groups_.back().tables.size() < static_cast<size_t>(kMaxTables) &&
        groups_.back().features.size() + table.features.size() <= static_cast<size_t>(kMaxFeatures);
    if (!fits) {
      groups_.emplace_back();
      groups_.back().index = static_cast<uint32_t>(groups_.size() - 1);
      groups_.back().first_key = next_key_;
      groups_.back().width = kind.width;
      groups_.back().log_lanes = kind.log_lanes;
      groups_.back().gradient_type = kind.gradient_type;
    }
    CudaGroup& group = groups_.back();
    group.tables.push_back(MakeTable(table, next_key_, group.features.size()));
    group.table_of.push_back(index);
    group.max_dim = std::max(group.max_dim, static_cast<int32_t>(table.dim));
    for (const int f : table.features) AddFeature(group, lookup_.features[static_cast<size_t>(f)]);
    next_key_ += static_cast<uint64_t>(table.num_rows);
    group.end_key = next_key_;
    occurrences_.chunk_stride = std::max(occurrences_.chunk_stride, (table.dim + 3) / 4 * 4);
  }

  void AddFeature(CudaGroup& group, const LookupFeature& f) {
    const bool slot_an_id = f.pooling == PoolingType::kNone;
    const int64_t slots = slot_an_id ? lookup_.num_ids : f.num_bags;
    TESSERA_CHECK(next_slot_ + slots < int64_t{1} << 32,
                  "update: more than 2^32 rows of gradients in one step");
    const auto slot = static_cast<uint32_t>(next_slot_);
    occurrences_.features.push_back({f.ids, f.num_rows, f.first_bag, next_key_, slot,
                                     static_cast<uint32_t>(f.num_bags), slot_an_id});
    occurrences_.total_bags += f.num_bags;
    group.features.push_back(
        {f.output, f.output_stride, f.first_bag, slot, f.pooling == PoolingType::kMean});
    next_slot_ += slots;
  }

  const LookupArgs& lookup_;
  std::vector<CudaGroup> groups_;
  OccurrencePlan occurrences_;
  uint64_t next_key_ = 0;
  int64_t next_slot_ = 0;
};

// ---- rules

// Starts the rule of a group's tables.
class GroupUpdater {
 public:
  GroupUpdater(Context& ctx, const UpdateArgs& args, CudaRows rows)
      : ctx_(ctx), args_(args), rows_(std::move(rows)) {
    if (!args.step_of_launch) return;
    rows_.step_of_launch = args.step_of_launch;
    for (size_t t = 0; t < rows_.group->tables.size(); ++t) rows_.rules.push_back(&RuleAt(t));
  }

  void operator()() const {
    std::visit([&](const auto& rule) { Run(rule); }, RuleAt(0));
  }

 private:
  const AnyRule& RuleAt(size_t table) const {
    return *args_.tables[static_cast<size_t>(rows_.group->table_of[table])].rule;
  }
  template <typename Rule>
  void Run(const Rule&) const {
    std::vector<typename Rule::Step> steps;
    for (size_t t = 0; t < rows_.group->tables.size(); ++t)
      steps.push_back(std::get<Rule>(RuleAt(t)).AtStep(args_.step));
    if (!rows_.step_of_launch) return UpdateRowsOnCuda(ctx_, rows_, steps);
    UpdateRowsOnCuda<typename Rule::Step>(ctx_, rows_, steps, [rules = rows_.rules](int64_t t) {
      std::vector<typename Rule::Step> at;
      for (const AnyRule* rule : rules) at.push_back(std::get<Rule>(*rule).AtStep(t));
      return at;
    });
  }
  void Run(const CustomRule& rule) const {
    rule.executor->UpdateOnCuda(ctx_, rule.lr, args_.step, rows_);
  }
  void Run(const Dense&) const { TESSERA_FAIL("a dense table has no rule to apply"); }
  void Run(const None&) const { TESSERA_FAIL("a table without a rule is not updated"); }

  Context& ctx_;
  const UpdateArgs& args_;
  CudaRows rows_;
};

// Leaves the summed gradients of one table in the rows of target.weights.
void StoreGradients(Context& ctx, const OccurrencesOnCuda& occurrences, const Plan& plan, float* to,
                    bool compact) {
  CudaGroup group = plan.groups()[0];
  group.tables[0].weights = to;
  if (occurrences.may_have_long_runs()) SumLongRuns(ctx, occurrences.runs(), {group});
  UpdateRowsOnCuda(ctx, {&occurrences.runs(), &group, 0, compact},
                   std::vector<StoreGradient::Step>(1));
}

// Row numbers of the runs.
struct RowOfRun {
  SortedRuns runs;
  int64_t* rows;
  TESSERA_HD void operator()(int64_t r) const {
    rows[r] = static_cast<int64_t>(runs.Key(runs.starts[r]));
  }
};

}  // namespace

void Update(OnCuda, Context& ctx, const UpdateArgs& args) {
  const Plan plan(args.lookup, args.tables);
  if (plan.occurrences().most_ids == 0) return;
  const OccurrencesOnCuda occurrences(ctx, plan.occurrences());
  if (occurrences.may_have_long_runs()) SumLongRuns(ctx, occurrences.runs(), plan.groups());
  for (const CudaGroup& group : plan.groups())
    GroupUpdater(ctx, args, {&occurrences.runs(), &group, args.step})();
}

RowGradients ComputeRowGradients(OnCuda, Context& ctx, const LookupArgs& lookup,
                                 const UpdateTable& table) {
  const UpdateTable target = WithoutRule(table);
  const Plan plan(lookup, {&target, 1});
  if (plan.occurrences().most_ids == 0)
    return {Tensor::Empty(ctx, {0}, DType::kI64), Tensor::Empty(ctx, {0, table.dim})};
  const OccurrencesOnCuda occurrences(ctx, plan.occurrences());
  const SortedRuns& runs = occurrences.runs();
  // The last run may be that of ids that name no row.
  int64_t count = ReadScalarSync(ctx, reinterpret_cast<const int32_t*>(runs.num_runs));
  Tensor rows = Tensor::Empty(ctx, {count}, DType::kI64);
  ForEach(ctx, count, RowOfRun{runs, rows.data<int64_t>()});
  const int64_t last = ReadScalarSync(ctx, rows.data<int64_t>() + count - 1);
  if (last < 0 || last >= table.num_rows) rows = rows.Rows(0, --count).Clone(ctx);
  RowGradients result{rows, Tensor::Empty(ctx, {count, table.dim})};
  StoreGradients(ctx, occurrences, plan, result.grads.data<float>(), /*compact=*/true);
  return result;
}

Tensor ComputeDenseGradient(OnCuda, Context& ctx, const LookupArgs& lookup,
                            const UpdateTable& table) {
  Tensor gradient = Tensor::Zeros(ctx, {table.num_rows, table.dim});
  const UpdateTable target = WithoutRule(table);
  const Plan plan(lookup, {&target, 1});
  if (plan.occurrences().most_ids == 0) return gradient;
  const OccurrencesOnCuda occurrences(ctx, plan.occurrences());
  StoreGradients(ctx, occurrences, plan, gradient.data<float>(), /*compact=*/false);
  return gradient;
}

}  // namespace tessera::internal
