#include "planner/calibration/measure_collectives.h"

#include <algorithm>
#include <memory>
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
    const int64_t elements = op == CollectiveOp::kAllToAll ? bytes / others / 4 : bytes / 4;
    if (op != CollectiveOp::kAllToAll) {
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

std::vector<CollectivePrices> MeasureGroup(Context& ctx, Communicator& comm,
                                           const MeasureSizes& sizes) {
  Rounds rounds(ctx, comm, sizes.seconds_a_point);
  std::vector<CollectivePrices> all;
  for (const CollectiveOp op : {CollectiveOp::kNumbers, CollectiveOp::kAllToAll,
                                CollectiveOp::kAllGather, CollectiveOp::kAllReduce}) {
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

void MeasureCollectives(Context& ctx, Communicator& comm, const MeasureSizes& sizes,
                        const std::function<void(const std::string&)>& said,
                        MachineProfile& profile) {
  MachineProfile measured;
  for (const int ranks : GroupSizes(comm.size())) {
    said(Format("collectives over {} ranks", ranks));
    const std::unique_ptr<Communicator> group =
        comm.Split(comm.rank() < ranks ? 0 : -1, comm.rank());
    if (group)
      for (CollectivePrices& prices : MeasureGroup(ctx, *group, sizes))
        measured.collectives.push_back(std::move(prices));
  }
  // Rank 0 was in every group.
  const std::vector<std::string> texts =
      comm.GatherStringsSync(MachineProfileToJson(measured), "measured collectives");
  for (CollectivePrices& prices : MachineProfileFromJson(texts[0], "rank 0").collectives)
    profile.collectives.push_back(std::move(prices));
}

}  // namespace tessera
