#include "train/ranks.h"

#include <algorithm>
#include <utility>

#include "data/batch_rows.h"
#include "data/rank_rows.h"
#include "runtime/accumulation.h"
#include "runtime/base/report_text.h"
#include "runtime/ops/arithmetic.h"

namespace tessera {
namespace {

std::vector<int64_t> RowsOfEach(int64_t rows, int ranks) {
  std::vector<int64_t> counts;
  for (int r = 0; r < ranks; ++r) counts.push_back(RowsOfRank(rows, r, ranks).size());
  return counts;
}

// The gradient of a rank's rows is the sum of what all ranks have for them.
class GatherRowsFunction final : public Function {
 public:
  GatherRowsFunction(Communicator& comm, std::vector<int64_t> counts)
      : comm_(comm), counts_(std::move(counts)) {}
  std::string_view name() const override { return "GatherRows"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    return {comm_.ReduceScatterV(ctx, grads[0].Contiguous(ctx), counts_, "gradients of candidates")
                .Wait()};
  }

 private:
  Communicator& comm_;
  std::vector<int64_t> counts_;
};

}  // namespace

std::string GroupsText(const TrainingRanks& ranks) {
  if (!ranks.groups) return "";
  return Format("{} of {}, averaged every {}",
                internal::Counted(ranks.num_groups(), "sharding group"), ranks.sharding().size(),
                ranks.sync_interval == 1 ? "step" : internal::Counted(ranks.sync_interval, "step"));
}

Variable RowsOfAllRanks(Context& ctx, Communicator& comm, const Variable& x, int64_t rows) {
  std::vector<int64_t> counts = RowsOfEach(rows, comm.size());
  const Tensor all = comm.AllGatherV(ctx, x.value().Contiguous(ctx), counts, "candidates").Wait();
  return Record(ctx, std::make_unique<GatherRowsFunction>(comm, std::move(counts)), {x}, all);
}

int64_t FirstRowOfRank(const Communicator& comm, int64_t rows) {
  return RowsOfRank(rows, comm.rank(), comm.size()).begin;
}

Batch PartOfBatch(Context& ctx, const Communicator& comm, const Batch& batch) {
  const RankRows mine = RowsOfRank(batch.size(), comm.rank(), comm.size());
  Batch part = RowsOfBatch(ctx, batch, mine.begin, mine.end);
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
  return comm
      .AllGatherV(ctx, predictions.Contiguous(ctx), RowsOfEach(rows, comm.size()), "predictions")
      .Wait();
}

std::function<bool()> StopTogether(Communicator& comm, std::function<bool()> stop) {
  return [&comm, stop = std::move(stop)] {
    const auto answers = comm.GatherStringsSync(stop() ? "stop" : "", "whether to stop");
    return std::any_of(answers.begin(), answers.end(),
                       [](const std::string& answer) { return !answer.empty(); });
  };
}

}  // namespace tessera
