#ifndef TESSERA_TRAIN_RANKS_H_
#define TESSERA_TRAIN_RANKS_H_
// Divides batches, losses and predictions among the ranks of one training.
//
// A rank trains on its part of each batch (data/rank_rows.h): its source gives that alone, or
// PartOfBatch takes it. A rank's loss is its part's mean times R·n_r/n, so that the mean over the
// ranks, which is what dense gradients and sharded tables take, is the mean over the batch, however
// unequal the parts.
//
// In sharding groups (2-D parallelism, TorchRec's DMPCollection) every group of G of the R ranks
// holds all tables. Dense gradients are still the mean over all ranks. A group's tables take the
// mean over the group's ranks: R/G times their share of the batch's gradient, so that with a linear
// rule the mean of all groups' tables moves by the batch's whole gradient. Every `sync_interval`
// steps the groups' tables and the states of their rules are set to their mean.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "data/data_source.h"
#include "models/ranking_model.h"
#include "quant/wire_codec.h"
#include "runtime/tensor.h"
#include "sharding/distributed_model_parallel.h"
#include "sharding/exchange/node_routes.h"
#include "sharding/plan/plan.h"

namespace tessera {

struct TrainingRanks {
  Communicator* comm = nullptr;  // which outlives the training
  ShardingPlan plan;             // of all tables, over all ranks or over those of a group
  // Both are those of ShardingOptions.
  WireCodecs codecs = {};
  OutputRoute route = OutputRoute::kAuto;
  // Those of `comm`; null: all ranks are one.
  std::shared_ptr<const TwoDimensionalGroups> groups = nullptr;
  int64_t sync_interval = 1;  // steps

  // The ranks that hold all tables between them.
  Communicator& sharding() const { return groups ? *groups->sharding : *comm; }
  int num_groups() const { return groups ? groups->replicas->size() : 1; }
};

// "2 sharding groups of 2, averaged every 10 steps"; "" without groups.
std::string GroupsText(const TrainingRanks& ranks);

// This rank's part, maybe of no rows; first_row, end_row and fraction stay those of the batch.
// REQUIRES: a batch of the host.
Batch PartOfBatch(Context& ctx, const Communicator& comm, const Batch& batch);

// Returns the scalar that this rank calls backward of: its share of the loss of `rows` rows, of
// which it has `mine`, with the model's `outputs` of these. mean: the loss of these, asked for
// where there are any.
Variable LossOfPart(Context& ctx, const Communicator& comm, const Variable& outputs, int64_t mine,
                    int64_t rows, const std::function<Variable()>& mean);
// The rows of all ranks' parts of a batch of `rows`, in the order of the batch, of which x are this
// rank's; differentiable. Every rank calls.
Variable RowsOfAllRanks(Context& ctx, Communicator& comm, const Variable& x, int64_t rows);
// Number of the first of them that is this rank's.
int64_t FirstRowOfRank(const Communicator& comm, int64_t rows);
// The batch's loss, the same on all ranks. Waits. Every rank calls.
double MeanOverRanksSync(Context& ctx, Communicator& comm, const Tensor& loss_of_part);

// Element by element. Every rank calls.
std::vector<int64_t> SumOverRanksSync(Context& ctx, Communicator& comm,
                                      const std::vector<int64_t>& mine);

// [n], the predictions of all ranks' parts. Every rank calls.
Tensor GatherParts(Context& ctx, Communicator& comm, const Tensor& predictions, int64_t rows);

// Asks `stop` on every rank; true on all if it is on one. Every rank calls.
std::function<bool()> StopTogether(Communicator& comm, std::function<bool()> stop);

}  // namespace tessera
#endif  // TESSERA_TRAIN_RANKS_H_
