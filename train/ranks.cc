#include "train/ranks.h"

#include <algorithm>
#include <utility>

#include "runtime/ops/arithmetic.h"
#include "runtime/ops/loss.h"

namespace tessera {
namespace {

int64_t FirstRow(int64_t rows, int rank, int ranks) { return rows * rank / ranks; }

KeyedJaggedTensor BagsOf(Context& ctx, const KeyedJaggedTensor& kjt, int64_t begin, int64_t end) {
  std::vector<std::pair<std::string, JaggedTensor>> parts;
  for (const auto& [key, bags] : kjt.ToDict(ctx)) {
    const Tensor lengths = bags.lengths(ctx);
    const std::vector<int64_t> first = bags.offsets(ctx).To(ctx, DType::kI64).ToVector<int64_t>();
    const Tensor values = bags.values().value().Rows(first[static_cast<size_t>(begin)],
                                                     first[static_cast<size_t>(end)]);
    parts.emplace_back(key, JaggedTensor(values, lengths.Rows(begin, end)));
  }
  return KeyedJaggedTensor::FromJtDict(ctx, parts);
}

}  // namespace

int64_t RowsOfRank(int64_t rows, int rank, int ranks) {
  return FirstRow(rows, rank + 1, ranks) - FirstRow(rows, rank, ranks);
}

Batch PartOfBatch(Context& ctx, const Communicator& comm, const Batch& batch) {
  const int64_t begin = FirstRow(batch.size(), comm.rank(), comm.size()),
                end = FirstRow(batch.size(), comm.rank() + 1, comm.size());
  Batch part = batch;
  part.dense = batch.dense.Rows(begin, end);
  part.labels = batch.labels.Rows(begin, end);
  part.features = BagsOf(ctx, batch.features, begin, end);
  return part;
}

Variable LossOfPart(Context& ctx, const Communicator& comm, const Variable& logits,
                    const Tensor& labels, int64_t rows) {
  const int64_t mine = labels.dim(0);
  if (mine == 0) return Sum(ctx, logits);  // 0, and its rank still takes part in the backward
  const double share = static_cast<double>(mine * comm.size()) / static_cast<double>(rows);
  return Scale(ctx, BceWithLogits(ctx, logits, labels), static_cast<float>(share));
}

double MeanOverRanksSync(Context& ctx, Communicator& comm, const Tensor& loss_of_part) {
  const Tensor sum = comm.AllReduce(ctx, loss_of_part, ReduceOp::kSum, "loss").Wait();
  return static_cast<double>(ReadScalarSync(ctx, sum.data<float>())) / comm.size();
}

Tensor GatherParts(Context& ctx, Communicator& comm, const Tensor& predictions, int64_t rows) {
  std::vector<int64_t> counts;
  for (int r = 0; r < comm.size(); ++r) counts.push_back(RowsOfRank(rows, r, comm.size()));
  return comm.AllGatherV(ctx, predictions, std::move(counts), "predictions").Wait();
}

std::function<bool()> StopTogether(Communicator& comm, std::function<bool()> stop) {
  return [&comm, stop = std::move(stop)] {
    const auto answers = comm.GatherStringsSync(stop() ? "stop" : "", "whether to stop");
    return std::any_of(answers.begin(), answers.end(),
                       [](const std::string& answer) { return !answer.empty(); });
  };
}

}  // namespace tessera
