#include "serve/export/prune_table.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "runtime/tensor.h"

namespace tessera::serve {
namespace {

// Bytes of floats, or of a state, that are in memory at once.
constexpr int64_t kBytesAtOnce = 2 << 20;

int64_t RowsAtOnce(int64_t row_bytes) {
  return std::max<int64_t>(1, kBytesAtOnce / std::max<int64_t>(row_bytes, 1));
}

// Squares of the norms, each a sum in double in the order of the columns.
std::vector<double> SquaredNorms(Context& ctx, const RowSource& source) {
  std::vector<double> norms;
  norms.reserve(static_cast<size_t>(source.rows));
  ForEachBlock(ctx, source, [&](const Tensor& block) {
    const Tensor rows = block.ToHost();
    const float* x = rows.data<float>();
    for (int64_t r = 0; r < rows.dim(0); ++r, x += source.dim) {
      double sum = 0;
      for (int64_t d = 0; d < source.dim; ++d)
        sum += static_cast<double>(x[d]) * static_cast<double>(x[d]);
      norms.push_back(std::isnan(sum) ? std::numeric_limits<double>::infinity() : sum);
    }
  });
  return norms;
}

void MarkTouched(const Checkpoint& checkpoint, const CheckpointEntry& state,
                 std::vector<bool>& touched) {
  const int64_t rows = std::ssize(touched), row_bytes = state.tensor.nbytes() / rows;
  const int64_t step = RowsAtOnce(row_bytes);
  std::vector<char> bytes;
  for (int64_t begin = 0; begin < rows; begin += step) {
    const int64_t end = std::min(begin + step, rows);
    bytes.resize(static_cast<size_t>((end - begin) * row_bytes));
    checkpoint.read_bytes(state, begin * row_bytes, std::ssize(bytes), bytes.data());
    for (int64_t r = begin; r < end; ++r) {
      const char* row = bytes.data() + (r - begin) * row_bytes;
      if (std::any_of(row, row + row_bytes, [](char b) { return b != 0; }))
        touched[static_cast<size_t>(r)] = true;
    }
  }
}

// The rows that were trained, by the optimizer's state of each row.
std::vector<bool> TouchedRows(const Checkpoint& checkpoint, const std::string& parameter,
                              int64_t rows) {
  std::vector<bool> touched(static_cast<size_t>(rows));
  const std::string prefix = OptimizerStateName(parameter, "");
  bool any = false, tells = false;
  for (const CheckpointEntry& entry : checkpoint.tensors) {
    const Shape& shape = entry.tensor.shape;
    if (!entry.name.starts_with(prefix) || shape.rank() == 0 || shape[0] != rows) continue;
    MarkTouched(checkpoint, entry, touched);
    any = true;
    tells |= entry.tensor.dtype != DType::kF16;
  }
  if (any && !tells)
    throw Error(
        Format("{}: {}: its optimizer's states are f16, in which small gradients' squares are 0: "
               "they do not say which rows the training met",
               checkpoint.path, parameter));
  if (!any)
    throw Error(Format("{}: {}: no optimizer state says which rows the training met",
                       checkpoint.path, parameter));
  return touched;
}

// The `count` ids with the largest norms, in no order.
std::vector<int64_t> Largest(const std::vector<double>& norms, int64_t count) {
  std::vector<int64_t> ids(norms.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::nth_element(ids.begin(), ids.begin() + count, ids.end(), [&](int64_t a, int64_t b) {
    const double x = norms[static_cast<size_t>(a)], y = norms[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  });
  ids.resize(static_cast<size_t>(count));
  return ids;
}

}  // namespace

void ForEachBlock(Context& ctx, const RowSource& source,
                  const std::function<void(const Tensor&)>& fn) {
  const int64_t step = RowsAtOnce(4 * source.dim);
  for (int64_t begin = 0; begin < source.rows; begin += step)
    fn(source.read(ctx, begin, std::min(begin + step, source.rows)));
}

RowsKept KeptRows(Context& ctx, const Checkpoint& checkpoint, const std::string& parameter,
                  const RowSource& source, const PruneOptions& options) {
  if (!(options.share >= 0 && options.share <= 1))
    throw Error(Format("pruning: expected a share from 0 to 1, got {}", options.share));
  const std::vector<double> norms = SquaredNorms(ctx, source);
  const auto dropped =
      static_cast<int64_t>(std::floor(options.share * static_cast<double>(source.rows)));
  std::vector<int64_t> ids = Largest(norms, source.rows - dropped);
  const double most = options.max_norm < 0 ? -1 : options.max_norm * options.max_norm;
  const std::vector<bool> touched = options.untouched
                                        ? TouchedRows(checkpoint, parameter, source.rows)
                                        : std::vector<bool>(norms.size(), true);
  std::erase_if(ids, [&](int64_t id) {
    const auto i = static_cast<size_t>(id);
    return norms[i] <= most || !touched[i];
  });
  const bool all_rows_named = ids.empty();
  if (all_rows_named) ids.push_back(std::max_element(norms.begin(), norms.end()) - norms.begin());
  std::sort(ids.begin(), ids.end());
  return {std::move(ids), all_rows_named};
}

RowSource RowsAt(const RowSource& source, std::vector<int64_t> ids) {
  RowSource kept = source;
  kept.rows = std::ssize(ids);
  const auto shared = std::make_shared<const std::vector<int64_t>>(std::move(ids));
  kept.read = [source, shared](Context& ctx, int64_t begin, int64_t end) {
    const std::vector<int64_t>& ids = *shared;
    const int64_t step = RowsAtOnce(4 * source.dim);
    const Tensor rows = Tensor::Empty(ctx, {end - begin, source.dim});
    for (int64_t i = begin; i < end;) {  // rows that lie near each other are read together
      const int64_t first = ids[static_cast<size_t>(i)];
      int64_t next = i;
      while (next < end && ids[static_cast<size_t>(next)] < first + step) ++next;
      const Tensor block = source.read(ctx, first, ids[static_cast<size_t>(next - 1)] + 1);
      for (; i < next; ++i) {
        const int64_t at = ids[static_cast<size_t>(i)] - first;
        rows.Rows(i - begin, i - begin + 1).CopyFrom(ctx, block.Rows(at, at + 1));
      }
    }
    return rows;
  };
  return kept;
}

}  // namespace tessera::serve
