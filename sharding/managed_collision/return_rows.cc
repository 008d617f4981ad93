// Returns the rows that ids became to the ranks of the ids: each rank sends, for each of its
// streams that were remapped, the rows of the ids that every rank had sent. Where ids travelled
// once a node, rows do so, too: to the rank in the middle, and from there to the ranks of its node.
#include <utility>

#include "runtime/tensor.h"
#include "sharding/exchange/copy_segments.h"
#include "sharding/exchange/dedup.h"
#include "sharding/exchange/node/node_dedup.h"
#include "sharding/managed_collision/place_rows.h"
#include "sharding/managed_collision/sharded_managed_collision_modules.h"
#include "sparse/ops/row_runs.h"

namespace tessera {
namespace {

// Whether raw ids travel on each stream of a rank.
std::vector<bool> Remapped(const DistLayout& layout, const DistRank& rank) {
  std::vector<bool> remapped(rank.streams.size(), false);
  for (const DistBlock& block : rank.blocks)
    remapped[static_cast<size_t>(block.stream)] =
        layout.HasParts(rank.tables[static_cast<size_t>(block.table)].table);
  return remapped;
}

// A message to each rank. rows: of all ids that came, in their places.
std::vector<Tensor> Messages(Context& ctx, const DistLayout& layout, int rank,
                             const ReceivedIds& away, const Tensor& rows) {
  const DistRank& mine = layout.ranks[static_cast<size_t>(rank)];
  const std::vector<bool> remapped = Remapped(layout, mine);
  std::vector<Tensor> messages;
  std::vector<SegmentCopy> copies;
  std::vector<int64_t> next;  // of each stream: what is not yet sent
  for (size_t s = 0; s < mine.streams.size(); ++s) next.push_back(away.kjt.offset_per_key()[s]);
  for (const std::vector<int64_t>& from : away.ids) {
    int64_t count = 0, at = 0;
    for (size_t s = 0; s < remapped.size(); ++s) count += remapped[s] ? from[s] : 0;
    messages.push_back(Tensor::Empty(ctx, {count}, DType::kI64));
    for (size_t s = 0; s < remapped.size(); ++s) {
      if (!remapped[s]) continue;
      copies.push_back(
          {rows.data<int64_t>() + next[s], messages.back().data<int64_t>() + at, from[s] * 8});
      at += from[s];
      next[s] += from[s];
    }
  }
  CopySegments(ctx, copies);
  return messages;
}

std::vector<int64_t> CountsToReceive(const DistLayout& layout, const SentIds& home) {
  std::vector<int64_t> counts;
  for (size_t r = 0; r < layout.ranks.size(); ++r) {
    const std::vector<bool> remapped = Remapped(layout, layout.ranks[r]);
    counts.push_back(0);
    for (size_t s = 0; s < remapped.size(); ++s) counts.back() += remapped[s] ? home.ids[r][s] : 0;
  }
  return counts;
}

// The ids that were sent, with rows in place of raw ids.
Tensor PlacedAtHome(Context& ctx, const DistLayout& layout, const SentIds& home,
                    const std::vector<Tensor>& messages, const Tensor& sent) {
  const Tensor values = sent.dtype() == DType::kI64 ? sent.Clone(ctx) : sent.To(ctx, DType::kI64);
  std::vector<PlacedRows> placed;
  for (size_t r = 0; r < layout.ranks.size(); ++r) {
    const std::vector<bool> remapped = Remapped(layout, layout.ranks[r]);
    const int64_t* rows = messages[r].data<int64_t>();
    for (size_t s = 0; s < remapped.size(); ++s) {
      if (!remapped[s]) continue;
      const DistStream& stream = layout.ranks[r].streams[s];
      const Tensor& positions = home.positions[r][s];
      placed.push_back(
          {home.ids[r][s], rows, positions.defined() ? positions.data<int32_t>() : nullptr,
           stream.row_begin,
           values.data<int64_t>() + home.features[static_cast<size_t>(stream.feature)].begin});
      rows += home.ids[r][s];
    }
  }
  PlaceRows(ctx, placed);
  return values;
}

// Spreads the rows of distinct ids to all ids.
Tensor Spread(Context& ctx, const DistLayout& layout, const std::vector<EmbeddingFeature>& features,
              const DedupedIds& distinct, const Tensor& rows, const KeyedJaggedTensor& kjt) {
  const Tensor& ids = kjt.values();
  const Tensor values = ids.dtype() == DType::kI64 ? ids.Clone(ctx) : ids.To(ctx, DType::kI64);
  for (size_t f = 0; f < features.size(); ++f) {
    if (!layout.HasParts(features[f].table)) continue;
    const auto t = static_cast<size_t>(features[f].table);
    const auto key = static_cast<size_t>(kjt.IndexOf(features[f].key));
    const DedupedIds::Reader& reader = distinct.readers[f];
    const Tensor of_table = rows.Rows(distinct.features[t].begin, distinct.features[t].end);
    const Tensor places = distinct.places[t].Reshape({-1}).Rows(reader.begin, reader.end);
    values.Rows(kjt.offset_per_key()[key], kjt.offset_per_key()[key + 1])
        .CopyFrom(ctx, TakeRows(ctx, of_table, places));
  }
  return values;
}

// One exchange, the way back of an input_dist: from the rows of all ids that came by it to the rows
// of all ids that were sent, in the place of `sent`.
Awaitable<Tensor> StartReturn(Context& ctx, Communicator& comm, const DistLayout& layout,
                              const InputDist& input, const Tensor& rows, const Tensor& sent) {
  return comm
      .AllToAllV(ctx, Messages(ctx, layout, comm.rank(), input.received(), rows),
                 CountsToReceive(layout, input.sent()), "remapped ids of " + layout.tables_text)
      .Then([&ctx, &layout, input, sent](const std::vector<Tensor>& messages) {
        return PlacedAtHome(ctx, layout, input.sent(), messages, sent);
      });
}

// The rows of all ids that came from the ranks of this node. Waits.
Tensor ReturnedToNode(Context& ctx, Communicator& between, const NodeIds& node,
                      const InputDist& input) {
  const Tensor rows = StartReturn(ctx, between, *node.between_layout, input,
                                  input.received().kjt.values(), node.distinct.kjt.values())
                          .Wait();
  const KeyedJaggedTensor& came = node.inside.received().kjt;
  const Tensor spread = Tensor::Empty(ctx, {came.values().numel()}, DType::kI64);
  for (size_t s = 0; s < node.distinct.places.size(); ++s) {
    const DistFeature& distinct = node.distinct.features[s];
    spread.Rows(came.offset_per_key()[s], came.offset_per_key()[s + 1])
        .CopyFrom(ctx, TakeRows(ctx, rows.Rows(distinct.begin, distinct.end),
                                node.distinct.places[s].Reshape({-1})));
  }
  return spread;
}

Awaitable<Tensor> StartReturnToRanks(Context& ctx, Communicator& comm, const DistLayout& layout,
                                     const InputDist& input, const Tensor& sent) {
  const auto node = input.node_ids();
  if (!node) return StartReturn(ctx, comm, layout, input, input.received().kjt.values(), sent);
  const auto local_size = static_cast<int>(node->inside_layout->ranks.size());
  const Tensor rows = ReturnedToNode(ctx, comm.CrossNodeCompanion(local_size), *node, input);
  return StartReturn(ctx, comm.LocalCompanion(local_size), *node->inside_layout, node->inside, rows,
                     sent);
}

}  // namespace

Awaitable<KeyedJaggedTensor> StartReturnRows(Context& ctx, Communicator& comm,
                                             const DistLayout& layout,
                                             const std::vector<EmbeddingFeature>& features,
                                             const InputDist& input, const KeyedJaggedTensor& kjt) {
  const auto distinct = input.deduped();
  return StartReturnToRanks(ctx, comm, layout, input,
                            distinct ? distinct->kjt.values() : kjt.values())
      .Then([&ctx, &layout, &features, distinct, kjt](Tensor rows) {
        if (distinct) rows = Spread(ctx, layout, features, *distinct, rows, kjt);
        return kjt.WithValues(rows);
      });
}

}  // namespace tessera
