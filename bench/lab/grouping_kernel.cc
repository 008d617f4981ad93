// Groupings of a batch's ids by row: the part of an update before rows are read. Ours is the stable
// radix sort of embedding/update/sort_occurrences.h.
#include "bench/lab/grouping_kernel.h"

#include <algorithm>
#include <random>
#include <set>

#include "bench/embedding/shape_axes.h"
#include "bench/harness/run_bare.h"
#include "bench/lab/guarded_bytes.h"
#include "bench/lab/kernel.h"
#include "bench/limits/stream_loops.h"
#include "embedding/update/sort_occurrences.h"
#include "runtime/base/check.h"
#include "runtime/tensor.h"

namespace tessera::bench {
namespace {

bool ByRow(const RowOccurrence& a, const RowOccurrence& b) { return a.row < b.row; }

// One table's occurrences, and what a grouping makes of them.
class Occurrences {
 public:
  Occurrences(std::vector<RowOccurrence> given, int64_t num_rows)
      : given_(std::move(given)), sorted_(given_), num_rows_(num_rows) {
    std::stable_sort(sorted_.begin(), sorted_.end(), ByRow);
    for (GuardedBytes& room : rooms_) room = GuardedBytes(size() * int64_t{sizeof(RowOccurrence)});
  }

  // The order of the batch again.
  GroupingTable Restore() {
    std::copy(given_.begin(), given_.end(), rooms_[0].as<RowOccurrence>());
    return {rooms_[0].as<RowOccurrence>(), rooms_[1].as<RowOccurrence>(), size(), num_rows_};
  }
  // Throws Error, beginning with `what`, where `grouped` is not what a grouping may leave, or
  // something beside it changed.
  void Check(const GroupingTable& grouped, const std::string& what) const;
  int64_t size() const { return std::ssize(given_); }

 private:
  std::vector<RowOccurrence> given_, sorted_;
  int64_t num_rows_;
  GuardedBytes rooms_[2];
};

// Each row's run is the one that a stable sort gives; so many runs in so many places are all.
void Occurrences::Check(const GroupingTable& grouped, const std::string& what) const {
  const RowOccurrence* got = grouped.occurrences;
  std::set<uint32_t> rows;
  for (int64_t i = 0; i < size();) {
    const uint32_t row = got[i].row;
    const auto [begin, end] =
        std::equal_range(sorted_.begin(), sorted_.end(), RowOccurrence{row, 0}, ByRow);
    TESSERA_CHECK(begin != end, "{}: no occurrence names row {}", what, row);
    TESSERA_CHECK(rows.insert(row).second, "{}: row {} lies in two runs", what, row);
    TESSERA_CHECK(i + (end - begin) <= size(), "{}: the last run, of row {}, is too short", what,
                  row);
    for (auto expected = begin; expected != end; ++expected, ++i)
      TESSERA_CHECK(got[i].row == row && got[i].payload == expected->payload,
                    "{}: place {}: occurrence {} of row {} is expected, got {} of row {}", what, i,
                    expected->payload, row, got[i].payload, got[i].row);
  }
  for (const GuardedBytes& room : rooms_) room.CheckGuards(what);
}

// The tables of a batch.
class Batch {
 public:
  void Add(std::vector<RowOccurrence> given, int64_t num_rows) {
    lists_.emplace_back(std::move(given), num_rows);
  }
  GroupingArgs Restore() {
    tables_.clear();
    for (Occurrences& list : lists_) tables_.push_back(list.Restore());
    return Args();
  }
  GroupingArgs Args() { return {tables_}; }
  void RunAndCheck(Context& ctx, const KernelFunction<GroupingArgs>& run) {
    run(ctx, Restore());
    for (size_t t = 0; t < lists_.size(); ++t) lists_[t].Check(tables_[t], Format("table {}", t));
  }
  int64_t num_ids() const {
    int64_t ids = 0;
    for (const Occurrences& list : lists_) ids += list.size();
    return ids;
  }

 private:
  std::vector<Occurrences> lists_;
  std::vector<GroupingTable> tables_;
};

// No, one and many occurrences; one row alone, and rows at both ends of large tables.
Batch HardBatch() {
  struct Case {
    int64_t size, num_rows;
  };
  Batch batch;
  std::mt19937 random(11);
  for (const Case& c : {Case{0, 7},
                        {1, 1},
                        {300, 1},
                        {2000, 3},
                        {12'000, 70'000},
                        {5000, (int64_t{1} << 32) - 1}}) {
    std::vector<RowOccurrence> list;
    for (int64_t i = 0; i < c.size; ++i) {
      const auto any = static_cast<int64_t>(random()) % c.num_rows;
      const int64_t row = i % 8 == 0 ? c.num_rows - 1 : i % 8 == 1 ? 0 : any;
      list.push_back({static_cast<uint32_t>(row), static_cast<uint32_t>(i)});
    }
    batch.Add(std::move(list), c.num_rows);
  }
  return batch;
}

// Each id's bag is its payload.
Batch DrawnBatch(const Shape& shape, const IdBatch& drawn) {
  Batch batch;
  for (size_t t = 0; t < shape.rows.size(); ++t) {
    std::vector<RowOccurrence> list;
    const int64_t* offsets = drawn.offsets.data() + static_cast<int64_t>(t) * shape.batch;
    for (int64_t bag = 0; bag < shape.batch; ++bag)
      for (int64_t i = offsets[bag]; i < offsets[bag + 1]; ++i)
        list.push_back(
            {static_cast<uint32_t>(drawn.ids[static_cast<size_t>(i)]), static_cast<uint32_t>(bag)});
    batch.Add(std::move(list), shape.rows[t]);
  }
  return batch;
}

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

std::vector<Axis> Axes() {
  std::vector<Axis> axes;
  for (Axis& axis : ShapeAxes({.rows = false}))
    if (axis.name != "dim" && axis.name != "mode" && axis.name != "weighted")
      axes.push_back(std::move(axis));
  return axes;
}

std::shared_ptr<Data> MakeData(Context& ctx, const Shape& shape) {
  constexpr int kBatches = 4;
  const auto data = std::make_shared<Data>();
  IdBatches drawn = DrawIdBatches(ctx, shape);
  for (int i = 0; i < kBatches; ++i) data->batches.push_back(DrawnBatch(shape, drawn.Next()));
  const int64_t floats = data->at(0).num_ids() * int64_t{sizeof(RowOccurrence) / sizeof(float)};
  data->from = Tensor::Zeros(ctx, {floats});
  data->to = Tensor::Zeros(ctx, {floats});
  return data;
}

KernelPoint<GroupingArgs> Make(Context& ctx, const Point& point) {
  const auto data = MakeData(ctx, ShapeOf(point));
  const auto hard = std::make_shared<Batch>(HardBatch());
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
