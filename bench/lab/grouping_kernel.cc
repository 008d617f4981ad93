// Groupings of a batch's ids by row: the part of an update before rows are read. Ours is the stable
// radix sort of embedding/update/sort_occurrences.h.
#include "bench/lab/grouping_kernel.h"

#include <algorithm>

#include "bench/embedding/shape_axes.h"
#include "bench/harness/run_bare.h"
#include "bench/lab/guarded_bytes.h"
#include "bench/lab/kernel.h"
#include "bench/lab/occurrence_lists.h"
#include "bench/limits/stream_loops.h"
#include "embedding/update/sort_occurrences.h"
#include "runtime/base/check.h"
#include "runtime/tensor.h"

namespace tessera::bench {
namespace {

// One table's occurrences, and what a grouping makes of them.
class Occurrences {
 public:
  explicit Occurrences(OccurrenceList list)
      : given_(std::move(list)), expected_(given_.occurrences) {
    for (GuardedBytes& room : rooms_) room = GuardedBytes(size() * int64_t{sizeof(RowOccurrence)});
  }

  // The order of the batch again.
  GroupingTable Restore() {
    std::copy(given_.occurrences.begin(), given_.occurrences.end(), rooms_[0].as<RowOccurrence>());
    return {rooms_[0].as<RowOccurrence>(), rooms_[1].as<RowOccurrence>(), size(), given_.num_rows};
  }
  // Throws Error, beginning with `what`, where `grouped` is not what a grouping may leave, or
  // something beside it changed.
  void Check(const GroupingTable& grouped, const std::string& what) const {
    expected_.Check(grouped.all(), what);
    for (const GuardedBytes& room : rooms_) room.CheckGuards(what);
  }
  int64_t size() const { return std::ssize(given_.occurrences); }

 private:
  OccurrenceList given_;
  ExpectedRuns expected_;
  GuardedBytes rooms_[2];
};

// The tables of a batch.
class Batch {
 public:
  explicit Batch(std::vector<OccurrenceList> lists) {
    for (OccurrenceList& list : lists) tables_.emplace_back(std::move(list));
  }
  GroupingArgs Restore() {
    args_.clear();
    for (Occurrences& table : tables_) args_.push_back(table.Restore());
    return Args();
  }
  GroupingArgs Args() { return {args_}; }
  void RunAndCheck(Context& ctx, const KernelFunction<GroupingArgs>& run) {
    run(ctx, Restore());
    for (size_t t = 0; t < tables_.size(); ++t) tables_[t].Check(args_[t], Format("table {}", t));
  }
  int64_t num_ids() const {
    int64_t ids = 0;
    for (const Occurrences& table : tables_) ids += table.size();
    return ids;
  }

 private:
  std::vector<Occurrences> tables_;
  std::vector<GroupingTable> args_;
};

// Tables side by side while there are enough for the threads, as in an update.
void Ours(Context& ctx, const GroupingArgs& args) {
  const auto sort = [&](GroupingTable& table) {
    RowOccurrence* sorted = internal::SortOccurrences(ctx, table.occurrences, table.scratch,
                                                      table.size, table.num_rows);
    if (sorted != table.occurrences) std::swap(table.occurrences, table.scratch);
  };
  if (std::ssize(args.tables) >= ctx.threads().threads()) return ForEachTable(ctx, args, sort);
  for (GroupingTable& table : args.tables) sort(table);
}

struct Data {
  std::vector<Batch> batches;
  Tensor from, to;  // for the bare copy
  Batch& at(int round) { return batches[static_cast<size_t>(round) % batches.size()]; }
};

std::vector<Axis> Axes() { return GroupingAxes(/*files=*/true); }

std::shared_ptr<Data> MakeData(Context& ctx, const Shape& shape) {
  constexpr int kBatches = 4;
  const auto data = std::make_shared<Data>();
  IdBatches drawn = DrawIdBatches(ctx, shape);
  for (int i = 0; i < kBatches; ++i) data->batches.emplace_back(OccurrencesOf(shape, drawn.Next()));
  const int64_t floats = data->at(0).num_ids() * int64_t{sizeof(RowOccurrence) / sizeof(float)};
  data->from = Tensor::Zeros(ctx, {floats});
  data->to = Tensor::Zeros(ctx, {floats});
  return data;
}

KernelPoint<GroupingArgs> Make(Context& ctx, const Point& point) {
  const auto data = MakeData(ctx, ShapeOf(point));
  const auto hard = std::make_shared<Batch>(HardOccurrences());
  const Tensor from = data->from, to = data->to;
  return {
      .ours = Ours,
      .args = [data](int round) { return data->at(round).Args(); },
      .before = [data](int round) { data->at(round).Restore(); },
      .check_hard = [hard](Context& c, const auto& run, bool) { hard->RunAndCheck(c, run); },
      .check_timed = [data](Context& c, const auto& run, bool) { data->at(0).RunAndCheck(c, run); },
      .limit = {"bare copy",
                [&ctx, data, from, to](int) {
                  RunBare(ctx, StreamCopy{from.data<float>(), to.data<float>(), from.numel()});
                }},
      .bytes = static_cast<double>(from.nbytes() + to.nbytes()),
      .items = data->at(0).num_ids()};
}

const RegisterKernel<GroupingArgs> kGrouping({.name = "grouping",
                                              .limit = "a copy of the ids, 8 bytes each",
                                              .axes = Axes,
                                              .make = Make,
                                              .memory = nullptr});

}  // namespace
}  // namespace tessera::bench
