#include "planner/calibration/measure_collectives.h"

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "planner/calibration/group_sizes.h"
#include "planner/calibration/machine_profile_json.h"
#include "planner/calibration/rounds.h"
#include "runtime/base/check.h"
#include "runtime/tensor.h"

namespace tessera {
namespace {

// Calls are timed one after another: a rank that is late once is not late for all of them.
constexpr int kCalls = 4;

void CallNumbers(Context&, Communicator& comm, int64_t bytes) {
  const auto numbers = static_cast<size_t>(bytes / comm.size() / 8);
  comm.ExchangeNumbersSync(std::vector<std::vector<int64_t>>(static_cast<size_t>(comm.size()),
                                                             std::vector<int64_t>(numbers)),
                           "measurement of numbers");
}

// Tensors of a collective are made before it is timed.
class Collective {
 public:
  Collective(Context& ctx, Communicator& comm, CollectiveOp op, int64_t bytes)
      : ctx_(ctx), comm_(comm), op_(op), bytes_(bytes) {
    if (op == CollectiveOp::kNumbers) return;
    const int64_t others = std::max(1, comm.size() - 1);
    const bool to_each = op != CollectiveOp::kAllGather && op != CollectiveOp::kAllReduce;
    const int64_t elements = to_each ? bytes / others / 4 : bytes / 4;
    if (!to_each) {
      whole_ = Tensor::Zeros(ctx, {elements});
      return;
    }
    for (int r = 0; r < comm.size(); ++r) parts_.push_back(Tensor::Zeros(ctx, {elements}));
    counts_.assign(static_cast<size_t>(comm.size()), elements);
  }

  void Call() {
    switch (op_) {
      case CollectiveOp::kNumbers:
        return CallNumbers(ctx_, comm_, bytes_);
      case CollectiveOp::kAllToAll:
      case CollectiveOp::kAllToAllInside:
      case CollectiveOp::kAllToAllBetween:
        comm_.AllToAllV(ctx_, parts_, counts_, "measurement of all_to_all").Wait();
        return;
      case CollectiveOp::kAllGather:
        comm_.AllGather(ctx_, whole_, "measurement of all_gather").Wait();
        return;
      case CollectiveOp::kAllReduce:
        comm_.AllReduce(ctx_, whole_, ReduceOp::kSum, "measurement of all_reduce").Wait();
        return;
    }
  }

 private:
  Context& ctx_;
  Communicator& comm_;
  CollectiveOp op_;
  int64_t bytes_;
  Tensor whole_;
  std::vector<Tensor> parts_;
  std::vector<int64_t> counts_;
};

std::vector<int64_t> SizesOf(CollectiveOp op, int64_t largest) {
  if (op == CollectiveOp::kNumbers) return {512};
  std::vector<int64_t> sizes;
  for (int64_t bytes = int64_t{4} << 10; bytes <= largest; bytes *= 16) sizes.push_back(bytes);
  return sizes;
}

// The ranks of other groups may call at the same time.
std::vector<CollectivePrices> MeasureGroup(Context& ctx, Communicator& comm,
                                           std::span<const CollectiveOp> ops,
                                           const MeasureSizes& sizes) {
  Rounds rounds(ctx, comm, sizes.seconds_a_point);
  std::vector<CollectivePrices> all;
  for (const CollectiveOp op : ops) {
    CollectivePrices prices{op, comm.size(), {}};
    for (const int64_t bytes : SizesOf(op, sizes.largest_message_bytes)) {
      Collective collective(ctx, comm, op, bytes);
      const double seconds = rounds.Median([&] {
        for (int i = 0; i < kCalls; ++i) collective.Call();
      });
      // A message that measured faster than a smaller one gets the smaller one's time.
      const double least = prices.by_bytes.empty() ? 0 : prices.by_bytes.back().seconds;
      prices.by_bytes.push_back({static_cast<double>(bytes), std::max(seconds / kCalls, least)});
    }
    all.push_back(std::move(prices));
  }
  return all;
}

}  // namespace

void MeasureCollectives(Context& ctx, Communicator& comm, int local_size, const MeasureSizes& sizes,
                        const std::function<void(const std::string&)>& said,
                        MachineProfile& profile) {
  MachineProfile measured;
  const auto measure = [&](Communicator& group, std::span<const CollectiveOp> ops) {
    for (CollectivePrices& prices : MeasureGroup(ctx, group, ops, sizes))
      measured.collectives.push_back(std::move(prices));
  };
  constexpr CollectiveOp kOps[] = {CollectiveOp::kNumbers, CollectiveOp::kAllToAll,
                                   CollectiveOp::kAllGather, CollectiveOp::kAllReduce};
  for (const int ranks : GroupSizes(comm.size())) {
    said(Format("collectives over {} ranks", ranks));
    const std::unique_ptr<Communicator> group =
        comm.Split(comm.rank() < ranks ? 0 : -1, comm.rank());
    if (group) measure(*group, kOps);
  }
  if (local_size > 1 && local_size < comm.size()) {
    said("links inside nodes and between them");
    constexpr CollectiveOp kInside[] = {CollectiveOp::kAllToAllInside},
                           kBetween[] = {CollectiveOp::kAllToAllBetween};
    measure(*comm.SplitLocal(local_size), kInside);
    measure(*comm.SplitCrossNode(local_size), kBetween);
  }
  // Rank 0 was in every group.
  const std::vector<std::string> texts =
      comm.GatherStringsSync(MachineProfileToJson(measured), "measured collectives");
  for (CollectivePrices& prices : MachineProfileFromJson(texts[0], "rank 0").collectives)
    profile.collectives.push_back(std::move(prices));
}

}  // namespace tessera
