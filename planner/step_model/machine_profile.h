#ifndef TESSERA_PLANNER_STEP_MODEL_MACHINE_PROFILE_H_
#define TESSERA_PLANNER_STEP_MODEL_MACHINE_PROFILE_H_
// Measured times of one rank of a machine for the pieces of a training step. Plain data;
// calibrate.h measures it, planner/step_model prices steps with it. Times are seconds.
//
// Row prices have two axes: the bytes of a row, and its *working set*: the bytes of rows (with
// states) that a rank and its neighbours name between two uses of the row, over 1 − 1/e, so that
// the uniform use of one table of S bytes has the working set S.
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "planner/step_model/cost_curve.h"
#include "quant/wire_codec.h"
#include "runtime/numbers/dtype.h"
#include "sharding/plan/plan.h"

namespace tessera {

// The forward of a TableBatchedEmbedding: call + features + Σ bags + Σ ids.
struct LookupPrices {
  double call = 0, feature = 0;
  CostCurve bag;                        // by the bytes of a pooled row
  std::map<DType, RowPriceTable> rows;  // an id, by the type of its row

  friend bool operator==(const LookupPrices&, const LookupPrices&) = default;
};

// Its backward: call + tables + Σ ids' sort + Σ distinct rows, each with its first occurrence, + Σ
// occurrences after the first.
struct UpdatePrices {
  double call = 0, table = 0;
  RowPriceTable occurrence;                   // by the bytes of a gradient's row and of all of them
  CostCurve sort;                             // an id, by the rows of its table
  std::map<std::string, RowPriceTable> rows;  // a distinct row of f32, by the rule's name
  std::map<DType, double> row_type;           // factor for rows of another type

  friend bool operator==(const UpdatePrices&, const UpdatePrices&) = default;
};

// Work of a rank around the exchange of ids, and how often. Times are one array, counts another.
enum InputItem {
  kInputCalls,
  kInputSegments,  // streams sent, and received from each rank
  kCheckedIds,     // ids of the rank's own bags
  kMovedIds,       // copied into or out of messages
  kSplitSegments,  // features that are sorted into blocks of rows
  kSplitIds,       // their ids
  kSplitBags,      // bags times blocks of rows
  kMovedBags,      // lengths of bags, copied
  kInputItems
};
// Around the exchange of rows: blocks of columns that are gathered into the output, or spread from
// its gradient.
enum OutputItem {
  kOutputCalls,
  kOutputBlocks,
  kBlockRows,         // bags times blocks
  kOutputBlockBytes,  // of f32
  kReturnedBytes,     // of gradients that came from other ranks, put together
  kOutputItems
};
using InputCounts = std::array<double, kInputItems>;
using OutputCounts = std::array<double, kOutputItems>;
const std::array<std::string, kInputItems>& InputItemNames();
const std::array<std::string, kOutputItems>& OutputItemNames();

// The last two are an all-to-all of the ranks of one node, and of those that have the same place in
// every node; of all places at a time. Where they were not measured, they take as long as any.
enum class CollectiveOp {
  kNumbers,
  kAllToAll,
  kAllGather,
  kAllReduce,
  kAllToAllInside,
  kAllToAllBetween
};
// "numbers", "all_to_all", "all_gather", "all_reduce", "all_to_all_inside", "all_to_all_between".
std::string ToString(CollectiveOp op);
// The inverse. Throws Error, which lists the names, for anything else.
CollectiveOp ParseCollectiveOp(const std::string& name);

// Time of one call by its bytes: those a rank sends to others (all-to-alls, numbers), or gives
// (all_gather, all_reduce).
struct CollectivePrices {
  CollectiveOp op = CollectiveOp::kAllToAll;
  int ranks = 1;
  CostCurve by_bytes;

  friend bool operator==(const CollectivePrices&, const CollectivePrices&) = default;
};

// An element of f32, on its way into bytes and back.
struct CodecPrices {
  double encode = 0, decode = 0;

  friend bool operator==(const CodecPrices&, const CodecPrices&) = default;
};

// Lookup and update of a table that lies elsewhere than in its device's memory take so many seconds
// more for each table of a call, each id, and each row that moves between the two, and its bytes
// (tier_moves.h). Bytes of a disk were measured while measuring_ranks ranks read at a time.
struct TierPrices {
  double table = 0, id = 0, row = 0, byte = 0;

  friend bool operator==(const TierPrices&, const TierPrices&) = default;
};

// Time of whole steps, compared with the sum of their pieces: phases take caches from each other,
// ranks have to be woken, and linear layers, which compute, suffer less than the work of tables.
//   step = seconds + factor · work of tables + dense_factor · linear layers + waiting
struct StepOverhead {
  int ranks = 1;
  double seconds = 0, factor = 1, dense_factor = 1;

  friend bool operator==(const StepOverhead&, const StepOverhead&) = default;
};

struct MachineProfile {
  std::string machine;         // "AMD EPYC, 2 cores"
  std::string device = "cpu";  // "cuda"
  std::string backend = "local";
  int ranks = 1;            // that were measured
  int threads = 1;          // of each rank
  int cores = 1;            // of the node; 0: ranks have processors of their own
  int measuring_ranks = 1;  // at a time, for all but collectives
  LookupPrices lookup;
  UpdatePrices update;
  InputCounts input_dist = {};
  OutputCounts output_dist = {}, gradient_dist = {};
  std::vector<CollectivePrices> collectives;
  std::map<WireType, CodecPrices> codecs;     // fp32 costs nothing
  std::map<ComputeKernel, TierPrices> tiers;  // those that were measured
  std::vector<StepOverhead> steps;            // by the number of ranks
  CostCurve dense;  // a flop of a linear layer's forward and backward, by the flops of both

  friend bool operator==(const MachineProfile&, const MachineProfile&) = default;
};

// The codec whose work the profile has no price of, if there is one among them.
std::optional<WireCodec> UnpricedCodec(const MachineProfile& profile, const WireCodecs& codecs);

template <size_t n>
double Price(const std::array<double, n>& prices, const std::array<double, n>& counts) {
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += prices[i] * counts[i];
  return sum;
}

// A linear layer's forward and backward of so many flops: straight between those that were
// measured, beyond them as between the last two.
double DenseSeconds(const MachineProfile& profile, double flops);

// A call over `ranks`; from the nearest number of ranks that was measured, latency in proportion to
// the other ranks where there are more than ever were. 0 for one rank or where nothing was
// measured.
double CollectiveSeconds(const MachineProfile& profile, CollectiveOp op, int ranks, double bytes);
// Returns the seconds that one more byte adds to a large message.
double CollectiveSlope(const MachineProfile& profile, CollectiveOp op, int ranks);

// Returns the overhead of the nearest number of ranks that was measured; none where nothing was.
StepOverhead OverheadOf(const MachineProfile& profile, int ranks);

}  // namespace tessera
#endif  // TESSERA_PLANNER_STEP_MODEL_MACHINE_PROFILE_H_
