// Sorts each table's occurrences, cuts the runs into pieces for the threads, and calls the executor
// of each table's rule.
#include <algorithm>
#include <optional>
#include <variant>

#include "embedding/row_table.h"
#include "embedding/store_gradient.h"
#include "embedding/table_occurrences.h"
#include "embedding/update_impl.h"
#include "embedding/update_isa.h"
#include "runtime/isa.h"

namespace tessera::internal {
namespace {

// Occurrences of a piece: some 100 us of work at D = 128.
constexpr int64_t kPieceOccurrences = 4096;
// A run at least this long is summed chunk by chunk on all threads.
constexpr int64_t kHotRun = 2 * kPieceOccurrences;
// Below this the calling thread does all.
constexpr int64_t kSerialOccurrences = 256;

// One table of a call: its sorted occurrences and how to update rows.
struct TableWork {
  RowTable table;
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
                   IsaLevel isa) {
  TableWork work{MakeRowTable(table, step), TableOccurrences(ctx, lookup, table)};
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
void CutIntoPieces(const TableOccurrences& occurrences, size_t table, std::vector<Piece>& pieces,
                   std::vector<Piece>& hot) {
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
  RowUpdateArgs args = work.Args(piece.begin, piece.end);
  args.summed = data;
  run(args);
}

// Runs `run(table index)(args)` over every piece of every table.
template <typename RunnerOf>
void RunAll(Context& ctx, const std::vector<TableWork>& work, const RunnerOf& runner_of) {
  std::vector<Piece> pieces, hot;
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

// Tables side by side while there are enough for the threads; a table alone is sorted by all of
// them.
std::vector<TableWork> CollectTables(Context& ctx, const UpdateArgs& args, IsaLevel isa) {
  std::vector<std::optional<TableWork>> made(args.tables.size());
  const int64_t n = static_cast<int64_t>(made.size()), threads = ctx.threads().threads();
  ParallelFor(ctx, n, n >= threads ? 1 : n, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const auto i = static_cast<size_t>(t);
      made[i].emplace(MakeWork(ctx, args.lookup, args.tables[i], args.step, isa));
    }
  });
  std::vector<TableWork> work;
  for (std::optional<TableWork>& one : made) work.push_back(std::move(*one));
  return work;
}

// One table, whose rule is not used.
std::vector<TableWork> CollectOne(Context& ctx, const LookupArgs& lookup,
                                  const UpdateTable& table) {
  std::vector<TableWork> work;
  work.push_back(MakeWork(ctx, lookup, WithoutRule(table), 0, SparseIsa()));
  return work;
}

// Leaves the summed gradients of one table in the rows of `to`.
void StoreGradients(Context& ctx, std::vector<TableWork>& work, const Tensor& to) {
  work[0].table.weights = to.data<float>();
  const IsaLevel isa = SparseIsa();
  const StoreGradient::Step step;
  const auto store = [&](const RowUpdateArgs& args) {
    TESSERA_CALL_ISA(isa, UpdateRows, step, args);
  };
  RunAll(ctx, work, [&](size_t) { return store; });
}

}  // namespace

void Update(OnCpu, Context& ctx, const UpdateArgs& args) {
  const IsaLevel isa = SparseIsa();
  RunAll(ctx, CollectTables(ctx, args, isa),
         [&](size_t table) { return RuleRunner(*args.tables[table].rule, args.step, isa); });
}

RowGradients ComputeRowGradients(OnCpu, Context& ctx, const LookupArgs& lookup,
                                 const UpdateTable& table) {
  std::vector<TableWork> work = CollectOne(ctx, lookup, table);
  const std::vector<int64_t> rows = work[0].occurrences.CompactRows();
  RowGradients result{Tensor::From(ctx, rows),
                      Tensor::Empty(ctx, {static_cast<int64_t>(rows.size()), table.dim})};
  StoreGradients(ctx, work, result.grads);
  return result;
}

Tensor ComputeDenseGradient(OnCpu, Context& ctx, const LookupArgs& lookup,
                            const UpdateTable& table) {
  Tensor gradient = Tensor::Zeros(ctx, {table.num_rows, table.dim});
  std::vector<TableWork> work = CollectOne(ctx, lookup, table);
  StoreGradients(ctx, work, gradient);
  return gradient;
}

}  // namespace tessera::internal
