#include "train/ranks.h"

#include <algorithm>
#include <utility>

#include "data/batch_rows.h"
#include "runtime/accumulation.h"
#include "runtime/ops/arithmetic.h"

namespace tessera {
namespace {

int64_t FirstRow(int64_t rows, int rank, int ranks) { return rows * rank / ranks; }

}  // namespace

int64_t RowsOfRank(int64_t rows, int rank, int ranks) {
  return FirstRow(rows, rank + 1, ranks) - FirstRow(rows, rank, ranks);
}

Batch PartOfBatch(Context& ctx, const Communicator& comm, const Batch& batch) {
  const int64_t begin = FirstRow(batch.size(), comm.rank(), comm.size()),
                end = FirstRow(batch.size(), comm.rank() + 1, comm.size());
  Batch part = RowsOfBatch(ctx, batch, begin, end);
  part.rows_of_all = batch.size();
  return part;
}

Variable LossOfPart(Context& ctx, const Communicator& comm, const Variable& outputs, int64_t mine,
                    int64_t rows, const std::function<Variable()>& mean) {
  const int64_t of_step = internal::ItemsOfStep(ctx, mine);
  if (of_step == 0) return Sum(ctx, outputs);  // 0, and its rank still takes part in the backward
  const double share = static_cast<double>(of_step * comm.size()) / static_cast<double>(rows);
  return Scale(ctx, mean(), static_cast<float>(share));
}

double MeanOverRanksSync(Context& ctx, Communicator& comm, const Tensor& loss_of_part) {
  const Tensor sum = comm.AllReduce(ctx, loss_of_part, ReduceOp::kSum, "loss").Wait();
  return static_cast<double>(ReadScalarSync(ctx, sum.data<float>())) / comm.size();
}

std::vector<int64_t> SumOverRanksSync(Context& ctx, Communicator& comm,
                                      const std::vector<int64_t>& mine) {
  return comm.AllReduce(ctx, Tensor::From(ctx, mine), ReduceOp::kSum, "counts")
      .Wait()
      .ToVector<int64_t>();
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
