#include "quant/quantize_table.h"

#include <algorithm>
#include <cmath>

#include "quant/quantize_table_impl.h"
#include "runtime/device/dispatch.h"
#include "runtime/for_each.h"

namespace tessera {
namespace internal {

void ForRows(OnCpu on, Context& ctx, int64_t rows, const MarkNan& fn) {
  ForEach(on, ctx, rows, 256, fn);
}
void ForRows(OnCpu on, Context& ctx, int64_t rows, const CompareRows& fn) {
  ForEach(on, ctx, rows, 256, fn);
}

}  // namespace internal

namespace {

// Floats that are in memory at once: of the size of a second-level cache, so that a block is still
// there when it is measured.
constexpr int64_t kBlockBytes = 2 << 20;

int64_t BlockRows(const RowSource& source) {
  return std::max<int64_t>(1, kBlockBytes / (4 * std::max<int64_t>(source.dim, 1)));
}

// fn(begin, rows f32) for all rows.
template <typename Fn>
void ForEachBlock(Context& ctx, const RowSource& source, const Fn& fn) {
  const int64_t step = BlockRows(source);
  for (int64_t begin = 0; begin < source.rows; begin += step) {
    const int64_t end = std::min(begin + step, source.rows);
    const Tensor rows = source.read(ctx, begin, end);
    TESSERA_CHECK(rows.dtype() == DType::kF32 && rows.shape() == (Shape{end - begin, source.dim}),
                  "table {}: its source gave {} {} for rows {} to {}; expected f32 [{}, {}]",
                  source.table, rows.dtype(), rows.shape(), begin, end, end - begin, source.dim);
    fn(begin, rows.Contiguous(ctx));
  }
}

internal::FloatRows FloatRowsOf(const Tensor& rows) { return {rows.data<float>(), rows.dim(1)}; }

// One byte a row, on the host.
std::vector<uint8_t> RowsWithNan(Context& ctx, const Tensor& rows, bool zero) {
  const Tensor marks = Tensor::Empty(ctx, {rows.dim(0)}, DType::kU8);
  const internal::MarkNan fn{FloatRowsOf(rows), marks.data<uint8_t>(), zero};
  DispatchDevice(ctx.device(), [&](auto on) { internal::ForRows(on, ctx, rows.dim(0), fn); });
  return marks.ToVector<uint8_t>();
}

// Adds a block; rms, value_rms and lost are sums until FinishError, and `compared` counts numbers.
void AddBlock(Context& ctx, const Tensor& rows, const Tensor& decoded, int64_t begin,
              QuantizationError& error, double& compared) {
  const int64_t n = rows.dim(0);
  const Tensor out =
      Tensor::Empty(ctx, {n, sizeof(internal::RowDifference) / sizeof(double)}, DType::kF64);
  const internal::CompareRows fn{FloatRowsOf(rows), FloatRowsOf(decoded),
                                 static_cast<internal::RowDifference*>(out.raw_data())};
  DispatchDevice(ctx.device(), [&](auto on) { internal::ForRows(on, ctx, n, fn); });
  const Tensor host = out.ToHost();
  const auto* all = static_cast<const internal::RowDifference*>(host.raw_data());
  const auto dim = static_cast<double>(rows.dim(1));
  for (int64_t r = 0; r < n; ++r) {
    const internal::RowDifference& row = all[r];
    compared += row.compared;
    error.lost += row.lost;
    error.max = std::max(error.max, row.max);
    error.rms += row.squares;
    error.value_rms += row.value_squares;
    if (row.compared < dim) {
      ++error.not_finite;
      continue;
    }
    const double row_rms = std::sqrt(row.squares / dim);
    ++error.rows;
    if (row_rms > error.worst_row_rms || error.worst_row < 0) {
      error.worst_row = begin + r;
      error.worst_row_rms = row_rms;
    }
  }
}

void FinishError(double compared, QuantizationError& error) {
  error.lost /= std::max(compared + error.lost, 1.0);
  error.rms = std::sqrt(error.rms / std::max(compared, 1.0));
  error.value_rms = std::sqrt(error.value_rms / std::max(compared, 1.0));
}

DType CheckedFloat(const std::string& table, const Shape& shape, DType dtype) {
  TESSERA_CHECK(
      shape.rank() == 2 && (dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16),
      "table {}: {} {}; expected rows [E, D] of f32, f16 or bf16", table, dtype, shape);
  return dtype;
}

}  // namespace

NanPolicy ParseNanPolicy(const std::string& name) {
  if (name == "error") return NanPolicy::kError;
  if (name == "zero") return NanPolicy::kZero;
  throw Error(Format("NaN '{}': expected error or zero", name));
}

RowSource SourceOf(const std::string& table, const Tensor& rows) {
  CheckedFloat(table, rows.shape(), rows.dtype());
  return {table, rows.dim(0), rows.dim(1), [rows](Context& ctx, int64_t begin, int64_t end) {
            return rows.Rows(begin, end).To(ctx, DType::kF32);
          }};
}

RowSource SourceOf(const SafetensorsFile& file, const std::string& entry) {
  const auto found = file.entries().find(entry);
  TESSERA_CHECK(found != file.entries().end(), "table {}: the file has no tensor of that name",
                entry);
  const SafetensorsEntry& e = found->second;
  CheckedFloat(entry, e.shape, e.dtype);
  return {entry, e.shape[0], e.shape[1], [&file, &e](Context& ctx, int64_t begin, int64_t end) {
            const int64_t row = e.shape[1] * SizeOf(e.dtype);
            const Tensor host = Tensor::EmptyHost({end - begin, e.shape[1]}, e.dtype);
            file.ReadBytes(e, begin * row, (end - begin) * row, host.raw_data());
            return host.To(ctx, ctx.device()).To(ctx, DType::kF32);
          }};
}

NanRows FindNan(Context& ctx, const RowSource& source) {
  NanRows found{source.table};
  ForEachBlock(ctx, source, [&](int64_t begin, const Tensor& rows) {
    const std::vector<uint8_t> marks = RowsWithNan(ctx, rows, /*zero=*/false);
    for (size_t r = 0; r < marks.size(); ++r) {
      if (marks[r] == 0) continue;
      if (found.count++ < NanRows::kListed) found.first.push_back(begin + static_cast<int64_t>(r));
    }
  });
  return found;
}

void CheckNoNan(Context& ctx, std::span<const RowSource> sources) {
  std::string all;
  for (const RowSource& source : sources) {
    const NanRows found = FindNan(ctx, source);
    if (found.count == 0) continue;
    all += Format("\n  table {}: {} rows:", found.table, found.count);
    for (const int64_t row : found.first) all += Format(" {}", row);
    if (found.count > NanRows::kListed) all += " …";
  }
  TESSERA_CHECK(all.empty(),
                "NaN in rows that are to be quantized (the option nan=zero stores 0 instead):{}",
                all);
}

QuantizationError QuantizeTable(Context& ctx, const RowSource& source, const RowCodec& codec,
                                const QuantizeOptions& options, const RowSink& sink) {
  const int64_t row_bytes = RowBytes(codec, source.dim);
  if (options.nan == NanPolicy::kError) CheckNoNan(ctx, std::span(&source, 1));
  const Tensor stored = Tensor::Empty(
      ctx, {std::min(BlockRows(source), std::max<int64_t>(source.rows, 1)), row_bytes}, DType::kU8);
  QuantizationError error;
  double compared = 0;
  ForEachBlock(ctx, source, [&](int64_t begin, const Tensor& given) {
    const bool zero = options.nan == NanPolicy::kZero;
    const Tensor rows = zero ? given.Clone(ctx) : given;
    if (zero) RowsWithNan(ctx, rows, /*zero=*/true);
    const Tensor bytes = stored.Rows(0, rows.dim(0));
    EncodeRowsInto(ctx, codec, rows, bytes, options.encode);
    AddBlock(ctx, rows, DecodeRows(ctx, codec, bytes, source.dim), begin, error, compared);
    sink(begin, bytes);
  });
  FinishError(compared, error);
  return error;
}

RowSource DefaultRowOf(const RowSource& rows, const Tensor& default_row) {
  TESSERA_CHECK(default_row.dtype() == DType::kF32 && default_row.shape() == Shape{rows.dim},
                "table {}: a default row of {} {}; expected f32 [{}]", rows.table,
                default_row.dtype(), default_row.shape(), rows.dim);
  return {rows.table + " (default row)", 1, rows.dim,
          [default_row, dim = rows.dim](Context& ctx, int64_t, int64_t) {
            return default_row.Contiguous(ctx).Reshape({1, dim});
          }};
}

Tensor QuantizeDefaultRow(Context& ctx, const RowSource& default_row, const RowCodec& codec,
                          const QuantizeOptions& options, QuantizationError& error) {
  const QuantizedRows quantized = QuantizeTable(ctx, default_row, codec, options);
  error.not_finite += quantized.error.not_finite;
  error.default_row_not_finite = quantized.error.not_finite > 0;
  return quantized.rows;
}

QuantizationError QuantizeTableInto(Context& ctx, const RowSource& source, const RowCodec& codec,
                                    const QuantizeOptions& options, const Tensor& rows) {
  TESSERA_CHECK(rows.dtype() == DType::kU8 &&
                    rows.shape() == (Shape{source.rows, RowBytes(codec, source.dim)}),
                "table {}: stored rows {} {}; expected u8 [{}, {}]", source.table, rows.dtype(),
                rows.shape(), source.rows, RowBytes(codec, source.dim));
  return QuantizeTable(ctx, source, codec, options, [&](int64_t begin, const Tensor& stored) {
    rows.Rows(begin, begin + stored.dim(0)).CopyFrom(ctx, stored);
  });
}

QuantizedRows QuantizeTable(Context& ctx, const RowSource& source, const RowCodec& codec,
                            const QuantizeOptions& options) {
  QuantizedRows result;
  result.rows = Tensor::Empty(ctx, {source.rows, RowBytes(codec, source.dim)}, DType::kU8);
  result.error = QuantizeTableInto(ctx, source, codec, options, result.rows);
  return result;
}

double QuantizationError::relative() const {
  const double compared = value_rms > 0 ? rms / value_rms : 0;
  return std::sqrt((1 - lost) * compared * compared + lost);
}

std::string ToString(const QuantizationError& error) {
  std::string text =
      Format("max {:.3g} rms {:.3g} ({:.2g} % of the values' rms {:.3g}), worst row {} ({:.3g})",
             error.max, error.rms, error.value_rms > 0 ? 100 * error.rms / error.value_rms : 0.0,
             error.value_rms, error.worst_row, error.worst_row_rms);
  if (error.not_finite > 0) text += Format(", {} rows are not finite", error.not_finite);
  return text;
}

}  // namespace tessera
