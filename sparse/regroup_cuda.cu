// One launch for all outputs, side by side: a thread finds the piece that its column lies in once,
// then goes down the rows.
#include <algorithm>

#include "runtime/launch.cuh"
#include "runtime/tensor.h"
#include "sparse/ops/search.h"
#include "sparse/regroup_impl.h"

namespace tessera::internal {
namespace {

constexpr int kThreads = 256;

// The place where a column block begins, and the step from one row to the next, in elements (or
// wider units).
struct Source {
  int64_t address, row_stride;
};
// Columns from `start` (of all targets side by side) on that one target block has, and what is read
// for them: sources [first, last).
struct Piece {
  int64_t to, row_stride, length, first, last;
};

// A table as the kernels read it.
struct TableView {
  const int64_t* starts;  // of the pieces, rising
  const Piece* pieces;
  const Source* sources;
  int64_t count, columns, rows;
};

class Table {
 public:
  // Adds columns of a target; calls come in the order of columns.
  void AddPiece(const Tensor& target, int64_t column, int64_t length) {
    starts_.push_back(columns_);
    pieces_.push_back({Address(target, column), target.row_stride(), length, 0, 0});
    columns_ += length;
  }
  // Adds a source to the last piece.
  void AddSource(const Tensor& source, int64_t column) {
    sources_.push_back({Address(source, column), source.row_stride()});
  }
  void EndPiece() {
    pieces_.back().first = pieces_.size() > 1 ? pieces_[pieces_.size() - 2].last : 0;
    pieces_.back().last = static_cast<int64_t>(sources_.size());
  }

  // The most elements of `size` bytes (1, 2, 4 …, up to 16 bytes) that divide all moves.
  int64_t Widest(int64_t size) const {
    int64_t elements = 0, bytes = 0;
    for (const Piece& p : pieces_) {
      elements |= p.row_stride | p.length;
      bytes |= p.to;
    }
    for (const Source& s : sources_) {
      elements |= s.row_stride;
      bytes |= s.address;
    }
    int64_t unit = 1;
    while (unit * size < 16 && elements % (2 * unit) == 0 && bytes % (2 * unit * size) == 0)
      unit *= 2;
    return unit;
  }
  // Counts in units of so many elements from now on.
  void Widen(int64_t unit) {
    for (int64_t& start : starts_) start /= unit;
    for (Piece& p : pieces_) p.row_stride /= unit, p.length /= unit;
    for (Source& s : sources_) s.row_stride /= unit;
    columns_ /= unit;
  }

  // fn(view), once the table is on the device.
  template <typename Fn>
  void Upload(Context& ctx, int64_t rows, const Fn& fn) const {
    std::vector<int64_t> all = starts_;
    for (const Piece& p : pieces_)
      all.insert(all.end(), {p.to, p.row_stride, p.length, p.first, p.last});
    for (const Source& s : sources_) all.insert(all.end(), {s.address, s.row_stride});
    const Tensor table = Tensor::From(ctx, all);
    const auto count = static_cast<int64_t>(starts_.size());
    const int64_t *starts = table.data<int64_t>(), *pieces = starts + count,
                  *sources = pieces + 5 * count;
    fn(TableView{starts, reinterpret_cast<const Piece*>(pieces),
                 reinterpret_cast<const Source*>(sources), count, columns_, rows});
  }

 private:
  static int64_t Address(const Tensor& t, int64_t column) {
    return static_cast<int64_t>(reinterpret_cast<intptr_t>(t.raw_data())) +
           column * SizeOf(t.dtype());
  }
  std::vector<int64_t> starts_;
  std::vector<Piece> pieces_;
  std::vector<Source> sources_;
  int64_t columns_ = 0;
};

// The pieces' numbers of this thread's column, or false if there is no such column.
struct Place {
  Piece piece;
  int64_t column;  // inside the piece

  __device__ bool Find(const TableView& t) {
    const int64_t c = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    if (c >= t.columns) return false;
    const int64_t i = SegmentOf(t.starts, 0, t.count - 1, c);
    piece = t.pieces[i];
    column = c - t.starts[i];
    return true;
  }
};

template <typename Unit>
__global__ void __launch_bounds__(kThreads) CopyKernel(TableView t) {
  Place at;
  if (!at.Find(t)) return;
  const Source source = t.sources[at.piece.first];
  const Unit* from = reinterpret_cast<const Unit*>(source.address) + at.column;
  Unit* to = reinterpret_cast<Unit*>(at.piece.to) + at.column;
  for (int64_t b = blockIdx.y; b < t.rows; b += gridDim.y)
    to[b * at.piece.row_stride] = from[b * source.row_stride];
}

__global__ void __launch_bounds__(kThreads) AddKernel(TableView t) {
  Place at;
  if (!at.Find(t)) return;
  float* to = reinterpret_cast<float*>(at.piece.to) + at.column;
  for (int64_t b = blockIdx.y; b < t.rows; b += gridDim.y) {
    float sum = 0;
    for (int64_t i = at.piece.first; i < at.piece.last; ++i)
      sum += reinterpret_cast<const float*>(
          t.sources[i].address)[b * t.sources[i].row_stride + at.column];
    to[b * at.piece.row_stride] = sum;
  }
}

dim3 GridFor(const TableView& t) {
  dim3 grid = BlocksFor(t.columns, kThreads);
  grid.y = static_cast<unsigned>(std::min<int64_t>((t.rows + 7) / 8, 2048));
  return grid;
}

// Columns [begin, end) of a sum, and the moves that they get their gradient from, in order.
struct Interval {
  int64_t begin, end;
  std::vector<const ColumnMove*> moves;
};

// The columns of an input, cut wherever a move begins or ends.
std::vector<Interval> Intervals(const RegroupPlan& plan, int64_t input) {
  std::vector<const ColumnMove*> moves;
  std::vector<int64_t> cuts = {0, plan.in_widths[static_cast<size_t>(input)]};
  for (const ColumnMove& m : plan.moves)
    if (m.in == input && m.length > 0) {
      moves.push_back(&m);
      cuts.push_back(m.in_start);
      cuts.push_back(m.in_start + m.length);
    }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<Interval> intervals;
  for (size_t i = 0; i + 1 < cuts.size(); ++i) intervals.push_back({cuts[i], cuts[i + 1], {}});
  for (const ColumnMove* m : moves) {
    auto i =
        static_cast<size_t>(std::lower_bound(cuts.begin(), cuts.end(), m->in_start) - cuts.begin());
    for (; i < intervals.size() && intervals[i].begin < m->in_start + m->length; ++i)
      intervals[i].moves.push_back(m);
  }
  return intervals;
}

template <typename Fn>
void VisitUnit(int64_t bytes, const Fn& fn) {
  if (bytes == 16)
    fn.template operator()<uint4>();
  else if (bytes == 8)
    fn.template operator()<uint64_t>();
  else if (bytes == 4)
    fn.template operator()<uint32_t>();
  else if (bytes == 2)
    fn.template operator()<uint16_t>();
  else
    fn.template operator()<uint8_t>();
}

}  // namespace

void MoveColumns(OnCuda, Context& ctx, const RegroupPlan& plan, const std::vector<Tensor>& inputs,
                 const std::vector<Tensor>& outputs) {
  Table table;
  for (const ColumnMove& m : plan.moves) {
    if (m.length == 0) continue;
    table.AddPiece(outputs[static_cast<size_t>(m.out)], m.out_start, m.length);
    table.AddSource(inputs[static_cast<size_t>(m.in)], m.in_start);
    table.EndPiece();
  }
  const int64_t size = SizeOf(inputs[0].dtype()), unit = table.Widest(size);
  table.Widen(unit);
  table.Upload(ctx, inputs[0].dim(0), [&](const TableView& view) {
    VisitUnit(unit * size, [&]<typename Unit>() {
      Launch(ctx, CopyKernel<Unit>, GridFor(view), kThreads, 0, view);
    });
  });
}

void AddColumns(OnCuda, Context& ctx, const RegroupPlan& plan, const std::vector<Tensor>& grads,
                const std::vector<Tensor>& sums) {
  Table table;
  int64_t rows = 0;
  for (size_t i = 0; i < sums.size(); ++i) {
    if (!sums[i].defined()) continue;
    rows = sums[i].dim(0);
    for (const Interval& interval : Intervals(plan, static_cast<int64_t>(i))) {
      table.AddPiece(sums[i], interval.begin, interval.end - interval.begin);
      for (const ColumnMove* m : interval.moves)
        if (const Tensor& g = grads[static_cast<size_t>(m->out)]; g.defined())
          table.AddSource(g, m->out_start + interval.begin - m->in_start);
      table.EndPiece();
    }
  }
  table.Upload(ctx, rows, [&](const TableView& view) {
    Launch(ctx, AddKernel, GridFor(view), kThreads, 0, view);
  });
}

}  // namespace tessera::internal
