#include "sparse/input_combine.h"

#include <algorithm>

#include "runtime/ops/shaping.h"
#include "sparse/ops/cumsum.h"
#include "sparse/ops/segments.h"

namespace tessera {
namespace {

void CheckTables(const std::vector<TableInput>& tables) {
  TESSERA_CHECK(!tables.empty(), "TbeInputCombine of no table");
  for (size_t i = 0; i < tables.size(); ++i) {
    const TableInput& t = tables[i];
    TESSERA_CHECK(t.indices.rank() == 1 && t.bags.rank() == 1,
                  "TbeInputCombine: table {}: indices {} and bags {}; expected one dimension", i,
                  t.indices.shape(), t.bags.shape());
    VisitIndexType(t.indices.dtype(), "TbeInputCombine: indices", []<typename T>() {});
    VisitIndexType(t.bags.dtype(), "TbeInputCombine: bags", []<typename T>() {});
    if (!t.weights) continue;
    TESSERA_CHECK_EQ(t.weights.shape(), t.indices.shape(), "TbeInputCombine: weights of table {}",
                     i);
    TESSERA_CHECK_EQ(t.weights.dtype(), DType::kF32, "TbeInputCombine: weights of table {}", i);
  }
}

// i64 if any part is.
DType WidestOf(const std::vector<Tensor>& parts) {
  const bool wide = std::any_of(parts.begin(), parts.end(),
                                [](const Tensor& t) { return t.dtype() == DType::kI64; });
  return wide ? DType::kI64 : DType::kI32;
}

Tensor Joined(Context& ctx, const std::vector<Tensor>& parts, DType dtype) {
  std::vector<Variable> all;
  for (const Tensor& part : parts) all.emplace_back(part.To(ctx, dtype));
  return Concat(ctx, all, 0).value();
}

Tensor Padded(Context& ctx, size_t table, const Tensor& lengths, int64_t batch_size) {
  if (batch_size == 0) return lengths;
  TESSERA_CHECK(lengths.dim(0) <= batch_size, "TbeInputCombine: table {}: {} bags, batch_size {}",
                table, lengths.dim(0), batch_size);
  const Tensor padded = Tensor::Zeros(ctx, {batch_size}, lengths.dtype());
  padded.Rows(0, lengths.dim(0)).CopyFrom(ctx, lengths);
  return padded;
}

Tensor JoinedWeights(Context& ctx, const std::vector<TableInput>& tables) {
  if (std::none_of(tables.begin(), tables.end(), [](const auto& t) { return bool(t.weights); }))
    return {};
  std::vector<Tensor> weights;
  for (const TableInput& t : tables)
    weights.push_back(t.weights ? t.weights : Tensor::Full(ctx, t.indices.shape(), 1));
  return Joined(ctx, weights, DType::kF32);
}

// The table's input with lengths of its bags, and no padding of ids.
TableInput WithLengths(Context& ctx, const TableInput& t, bool complete) {
  TableInput out = t;
  if (!complete) {
    const Tensor end =
        Tensor::Full(ctx, {1}, static_cast<double>(t.indices.dim(0)), t.bags.dtype());
    out.bags = LengthsFromOffsets(ctx, Joined(ctx, {t.bags, end}, t.bags.dtype()));
    return out;
  }
  const int64_t ids = ToInt64(t.bags.Rows(t.bags.dim(0) - 1, t.bags.dim(0)))[0];
  TESSERA_CHECK(ids >= 0 && ids <= t.indices.dim(0),
                "TbeInputCombine: the last offset is {}, but there are {} ids", ids,
                t.indices.dim(0));
  out.bags = LengthsFromOffsets(ctx, t.bags);
  out.indices = t.indices.Rows(0, ids);
  if (t.weights) out.weights = t.weights.Rows(0, ids);
  return out;
}

}  // namespace

CombinedInput TbeInputCombineWithLength(Context& ctx, const std::vector<TableInput>& tables,
                                        int64_t batch_size) {
  CheckTables(tables);
  std::vector<Tensor> indices, lengths;
  for (size_t i = 0; i < tables.size(); ++i) {
    CheckDevice(ctx, "TbeInputCombine", tables[i].indices, tables[i].bags, tables[i].weights);
    if (ctx.device() == Device::Cpu())
      SegmentsOverLengths(ctx, tables[i].bags, tables[i].indices.dim(0),
                          Format("TbeInputCombine: table {}: lengths", i).c_str());
    indices.push_back(tables[i].indices);
    lengths.push_back(Padded(ctx, i, tables[i].bags, batch_size));
  }
  return {Joined(ctx, indices, WidestOf(indices)), Joined(ctx, lengths, WidestOf(lengths)),
          JoinedWeights(ctx, tables)};
}

CombinedInput TbeInputCombine(Context& ctx, const std::vector<TableInput>& tables,
                              const std::vector<bool>& include_last_offsets, int64_t batch_size) {
  CheckTables(tables);
  TESSERA_CHECK_EQ(include_last_offsets.size(), tables.size(),
                   "TbeInputCombine: include_last_offsets, one a table");
  std::vector<TableInput> of_lengths;
  for (size_t i = 0; i < tables.size(); ++i) {
    TESSERA_CHECK(!include_last_offsets[i] || tables[i].bags.dim(0) > 0,
                  "TbeInputCombine: table {}: complete offsets have one element at least", i);
    of_lengths.push_back(WithLengths(ctx, tables[i], include_last_offsets[i]));
  }
  CombinedInput combined = TbeInputCombineWithLength(ctx, of_lengths, batch_size);
  combined.bags = CompleteCumsum(ctx, combined.bags);
  return combined;
}

}  // namespace tessera
