// Sorts each table's occurrences, cuts the runs into pieces for the threads, and calls the executor
// of each table's rule.
#include <algorithm>
#include <mutex>
#include <optional>
#include <variant>

#include "embedding/update/executor_table.h"
#include "embedding/update/store_gradient.h"
#include "embedding/update/table_occurrences.h"
#include "embedding/update/update_impl.h"
#include "embedding/update/update_isa.h"
#include "runtime/base/isa.h"
#include "runtime/device/scratch_pool.h"
#include "runtime/tensor.h"

namespace tessera::internal {
namespace {

// Occurrences of a piece: some 100 us of work at D = 128.
constexpr int64_t kPieceOccurrences = 4096;
// A run at least this long is summed chunk by chunk on all threads.
constexpr int64_t kHotRun = 2 * kPieceOccurrences;
// Below this number of occurrences, the calling thread does all.
constexpr int64_t kSerialOccurrences = 256;
// Tables with at most so many ids are each collected, sorted and updated by one thread.
constexpr int64_t kWholeTable = 2 * kPieceOccurrences;

// One table of a call: its sorted occurrences and how to update rows.
struct TableWork {
  ExecutorTable table;
  TableOccurrences occurrences;
  RunSum run_sum = {};

  RowUpdateArgs Args(int64_t begin, int64_t end) const {
    RowUpdateArgs args = occurrences.Args(begin, end);
    args.table = table;
    args.run_sum = &run_sum;
    return args;
  }
};

TableWork MakeWork(Context& ctx, const LookupArgs& lookup, const UpdateTable& table, int64_t step,
                   IsaLevel isa, OccurrenceBuffers& buffers) {
  TableWork work{MakeExecutorTable(table, step), TableOccurrences(ctx, lookup, table, buffers)};
  const RowUpdateArgs args = work.Args(0, 0);
  TESSERA_CALL_ISA(isa, SelectRunSum, args, work.run_sum);
  return work;
}

// Applies a table's rule, as of one step, to a range of its occurrences.
class RuleRunner {
 public:
  RuleRunner(const AnyRule& rule, int64_t step, IsaLevel isa)
      : rule_(rule), step_(step), isa_(isa) {}

  void operator()(const RowUpdateArgs& args) const {
    std::visit([&](const auto& rule) { Run(rule, args); }, rule_);
  }

 private:
  template <typename Rule>
  void Run(const Rule& rule, const RowUpdateArgs& args) const {
    const auto step = rule.AtStep(step_);
    TESSERA_CALL_ISA(isa_, UpdateRows, step, args);
  }
  void Run(const CustomRule& rule, const RowUpdateArgs& args) const {
    rule.executor->Update(rule.lr, step_, args);
  }
  void Run(const Dense&, const RowUpdateArgs&) const {
    TESSERA_FAIL("a dense table has no rule to apply");
  }
  void Run(const None&, const RowUpdateArgs&) const {
    TESSERA_FAIL("a table without a rule is not updated");
  }

  const AnyRule& rule_;
  int64_t step_;
  IsaLevel isa_;
};

struct Piece {
  size_t table;
  int64_t begin, end;
};

// Cuts tables at run boundaries; runs of kHotRun and more go to `hot`.
void CutIntoPieces(const TableOccurrences& occurrences, size_t table, ScratchVector<Piece>& pieces,
                   ScratchVector<Piece>& hot) {
  for (int64_t begin = 0; begin < occurrences.size();) {
    const int64_t end = occurrences.RunStartAt(begin + kPieceOccurrences);
    if (end - begin < kHotRun) {
      pieces.push_back({table, begin, end});
    } else {  // the long run is the last of the piece
      const int64_t row = occurrences.row(end - 1);
      int64_t first = begin + kPieceOccurrences - 1;
      while (first > begin && occurrences.row(first - 1) == row) --first;
      if (first > begin) pieces.push_back({table, begin, first});
      hot.push_back({table, first, end});
    }
    begin = end;
  }
}

// Sums the run's chunks on all threads, adds them in order, applies `run` to the row.
template <typename Runner>
void UpdateHotRow(Context& ctx, const TableWork& work, const Piece& piece, const Runner& run) {
  const int64_t dim = work.table.dim, chunks = (piece.end - piece.begin + kChunk - 1) / kChunk;
  const Tensor sums = Tensor::Empty(ctx, {chunks, dim});
  float* data = sums.data<float>();
  ParallelFor(ctx, chunks, 8, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      const int64_t first = piece.begin + c * kChunk;
      const RowUpdateArgs args = work.Args(first, std::min(first + kChunk, piece.end));
      work.run_sum(args, args.begin, args.end, data + c * dim);
    }
  });
  for (int64_t c = 1; c < chunks; ++c)
    for (int64_t d = 0; d < dim; ++d) data[d] += data[c * dim + d];
  RowUpdateArgs args = work.Args(piece.begin, piece.begin + 1);  // one occurrence names the row
  args.summed = data;
  run(args);
}

// Runs `run(table index)(args)` over every piece of every table.
template <typename RunnerOf>
void RunAll(Context& ctx, const ScratchVector<TableWork>& work, const RunnerOf& runner_of) {
  ScratchVector<Piece> pieces, hot;
  int64_t total = 0;
  for (size_t t = 0; t < work.size(); ++t) {
    CutIntoPieces(work[t].occurrences, t, pieces, hot);
    total += work[t].occurrences.size();
  }
  const int64_t n = static_cast<int64_t>(pieces.size());
  ParallelFor(ctx, n, total < kSerialOccurrences ? n : 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Piece& piece = pieces[static_cast<size_t>(i)];
      runner_of(piece.table)(work[piece.table].Args(piece.begin, piece.end));
    }
  });
  for (const Piece& piece : hot)
    UpdateHotRow(ctx, work[piece.table], piece, runner_of(piece.table));
}

// Some tables of a call, and where their occurrences lie.
struct CollectedTables {
  explicit CollectedTables(size_t n) : buffers(n) {}
  ScratchVector<OccurrenceBuffers> buffers;
  ScratchVector<TableWork> work;
};

// Tables side by side while there are enough for the threads; a table alone is sorted by all of
// them.
CollectedTables CollectTables(Context& ctx, const UpdateArgs& args,
                              const ScratchVector<size_t>& tables, IsaLevel isa) {
  CollectedTables collected(tables.size());
  ScratchVector<std::optional<TableWork>> made(tables.size());
  const int64_t n = static_cast<int64_t>(made.size()), threads = ctx.threads().threads();
  ParallelFor(ctx, n, n >= threads ? 1 : n, [&](int64_t begin, int64_t end) {
    for (auto t = static_cast<size_t>(begin); t < static_cast<size_t>(end); ++t)
      made[t].emplace(
          MakeWork(ctx, args.lookup, args.tables[tables[t]], args.step, isa, collected.buffers[t]));
  });
  for (std::optional<TableWork>& one : made) collected.work.push_back(std::move(*one));
  return collected;
}

// Collects one table, whose rule is not used.
CollectedTables CollectOne(Context& ctx, const LookupArgs& lookup, const UpdateTable& table) {
  CollectedTables collected(1);
  collected.work.push_back(
      MakeWork(ctx, lookup, WithoutRule(table), 0, ChosenIsa(), collected.buffers[0]));
  return collected;
}

// Buffers for the tables that are updated at the same time: they are taken in turn, so that what a
// table leaves in the caches serves the next.
class BufferPool {
 public:
  OccurrenceBuffers Take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return {};
    OccurrenceBuffers buffers = std::move(free_.back());
    free_.pop_back();
    return buffers;
  }
  void GiveBack(OccurrenceBuffers buffers) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(buffers));
  }

 private:
  std::mutex mutex_;
  ScratchVector<OccurrenceBuffers> free_;
};

// Updates each of these tables by one thread, from its ids to its rows.
void UpdateWholeTables(Context& ctx, const UpdateArgs& args, const ScratchVector<size_t>& tables,
                       int64_t ids, IsaLevel isa) {
  BufferPool pool;
  const auto n = static_cast<int64_t>(tables.size());
  ParallelFor(ctx, n, ids < kSerialOccurrences ? n : 1, [&](int64_t begin, int64_t end) {
    OccurrenceBuffers buffers = pool.Take();
    for (int64_t t = begin; t < end; ++t) {
      const UpdateTable& table = args.tables[tables[static_cast<size_t>(t)]];
      const TableWork work = MakeWork(ctx, args.lookup, table, args.step, isa, buffers);
      if (work.occurrences.size() > 0)
        RuleRunner(*table.rule, args.step, isa)(work.Args(0, work.occurrences.size()));
    }
    pool.GiveBack(std::move(buffers));
  });
}

// Leaves the summed gradients of one table in the rows of `to`.
void StoreGradients(Context& ctx, ScratchVector<TableWork>& work, const Tensor& to) {
  work[0].table.weights = to.data<float>();
  const IsaLevel isa = ChosenIsa();
  const StoreGradient::Step step;
  const auto store = [&](const RowUpdateArgs& args) {
    TESSERA_CALL_ISA(isa, UpdateRows, step, args);
  };
  RunAll(ctx, work, [&](size_t) { return store; });
}

}  // namespace

void Update(OnCpu, Context& ctx, const UpdateArgs& args) {
  const IsaLevel isa = ChosenIsa();
  const bool one_thread = ctx.threads().threads() == 1;
  ScratchVector<size_t> whole, shared;
  int64_t ids_of_whole = 0;
  for (size_t t = 0; t < args.tables.size(); ++t) {
    const int64_t ids = CountIds(args.lookup, args.tables[t]);
    const bool is_whole = one_thread || ids <= kWholeTable;
    if (ids > 0) (is_whole ? whole : shared).push_back(t);
    if (is_whole) ids_of_whole += ids;
  }
  UpdateWholeTables(ctx, args, whole, ids_of_whole, isa);
  if (shared.empty()) return;
  const CollectedTables collected = CollectTables(ctx, args, shared, isa);
  RunAll(ctx, collected.work,
         [&](size_t t) { return RuleRunner(*args.tables[shared[t]].rule, args.step, isa); });
}

RowGradients ComputeRowGradients(OnCpu, Context& ctx, const LookupArgs& lookup,
                                 const UpdateTable& table) {
  CollectedTables collected = CollectOne(ctx, lookup, table);
  const std::vector<int64_t> rows = collected.work[0].occurrences.CompactRows();
  RowGradients result{Tensor::From(ctx, rows),
                      Tensor::Empty(ctx, {static_cast<int64_t>(rows.size()), table.dim})};
  StoreGradients(ctx, collected.work, result.grads);
  return result;
}

Tensor ComputeDenseGradient(OnCpu, Context& ctx, const LookupArgs& lookup,
                            const UpdateTable& table) {
  Tensor gradient = Tensor::Zeros(ctx, {table.num_rows, table.dim});
  CollectedTables collected = CollectOne(ctx, lookup, table);
  StoreGradients(ctx, collected.work, gradient);
  return gradient;
}

}  // namespace tessera::internal
