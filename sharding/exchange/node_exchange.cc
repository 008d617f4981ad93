#include "sharding/exchange/node_exchange.h"

#include <utility>

#include "runtime/tensor.h"
#include "sharding/exchange/copy_segments.h"

namespace tessera {
namespace {

// The messages for ranks l, l + L, l + 2 L, … one behind another, for each l below L.
std::vector<Tensor> JoinedByPlace(Context& ctx, const std::vector<Tensor>& of_ranks, size_t local) {
  std::vector<int64_t> sizes(local, 0);
  for (size_t q = 0; q < of_ranks.size(); ++q) sizes[q % local] += of_ranks[q].numel();
  const std::vector<Tensor> joined = EmptyMessages(ctx, sizes);
  std::vector<int64_t> at(local, 0);
  std::vector<SegmentCopy> copies;
  for (size_t q = 0; q < of_ranks.size(); ++q) {
    int64_t& to = at[q % local];
    copies.push_back(
        {of_ranks[q].raw_data(), joined[q % local].data<float>() + to, of_ranks[q].nbytes()});
    to += of_ranks[q].numel();
  }
  CopySegments(ctx, copies);
  return joined;
}

}  // namespace

NodeExchange::NodeExchange(Communicator& comm, std::shared_ptr<const DistLayout> layout)
    : layout_(std::move(layout)),
      inside_(comm.SplitLocal(layout_->local_size)),
      between_(comm.SplitCrossNode(layout_->local_size)) {
  mine_ = BlocksOfNodes(*layout_)[static_cast<size_t>(between_->rank())];
}

std::vector<int64_t> NodeExchange::InsideCounts(const NodeBags& bags) const {
  std::vector<int64_t> counts;
  for (size_t l = 0; l < local_size(); ++l) {
    counts.push_back(0);
    for (const std::vector<int64_t>& of_node : bags)
      for (const DistBlock& b : layout_->ranks[first_rank() + l].blocks)
        counts.back() += of_node[static_cast<size_t>(b.feature)] * b.columns;
  }
  return counts;
}

std::vector<MessageShapes> NodeExchange::BetweenShapes(const NodeBags& bags) const {
  std::vector<MessageShapes> shapes;
  for (const std::vector<int64_t>& of_node : bags) {
    shapes.emplace_back();
    for (const NodeBlock& b : mine_)
      shapes.back().push_back({of_node[static_cast<size_t>(b.feature)], b.columns});
  }
  return shapes;
}

NodeExchange::Parts NodeExchange::PlacesIn(std::vector<Tensor> messages,
                                           const NodeBags& bags) const {
  Parts parts{std::move(messages), {}};
  for (size_t l = 0; l < local_size(); ++l) {
    float* at = parts.messages[l].data<float>();
    parts.blocks.emplace_back();
    for (const std::vector<int64_t>& of_node : bags) {
      parts.blocks.back().emplace_back();
      for (const DistBlock& b : layout_->ranks[first_rank() + l].blocks) {
        parts.blocks.back().back().push_back(at);
        at += of_node[static_cast<size_t>(b.feature)] * b.columns;
      }
    }
  }
  return parts;
}

std::vector<ColumnBlock> NodeExchange::Sums(const std::vector<Tensor>& messages, const Parts& parts,
                                            const NodeBags& bags) const {
  std::vector<ColumnBlock> sums;
  for (size_t m = 0; m < nodes(); ++m) {
    float* at = messages[m].data<float>();
    for (const NodeBlock& block : mine_) {
      ColumnBlock sum = {.wide = at,
                         .stride = block.columns,
                         .num_rows = bags[m][static_cast<size_t>(block.feature)],
                         .columns = block.columns,
                         .parts = {}};
      at += sum.num_rows * sum.columns;
      for (const NodeBlock::Part& part : block.parts)
        sum.parts.push_back(parts.blocks[static_cast<size_t>(part.rank) - first_rank()][m]
                                        [static_cast<size_t>(part.block)]);
      if (sum.num_rows > 0) sums.push_back(std::move(sum));
    }
  }
  return sums;
}

Awaitable<std::vector<Tensor>> NodeExchange::StartHome(Context& ctx,
                                                       const std::vector<Tensor>& away,
                                                       const NodeBags& bags, const WireCodec& codec,
                                                       std::vector<MessageShapes> home,
                                                       const std::string& what) const {
  const Parts parts = PlacesIn(
      inside_->AllToAllV(ctx, JoinedByPlace(ctx, away, local_size()), InsideCounts(bags), what)
          .Wait(),
      bags);
  const std::vector<MessageShapes> shapes = BetweenShapes(bags);
  std::vector<Tensor> messages = EmptyMessages(ctx, SizesOf(shapes));
  GatherBlocks(ctx, Sums(messages, parts, bags));
  return ExchangeFloats(ctx, *between_, codec, std::move(messages), shapes, std::move(home), what);
}

std::vector<Tensor> NodeExchange::ToRows(Context& ctx, std::vector<Tensor> home,
                                         const std::vector<MessageShapes>& shapes,
                                         const NodeBags& bags, const WireCodec& codec,
                                         const std::vector<int64_t>& sizes,
                                         const std::string& what) const {
  const std::vector<Tensor> sums =
      ExchangeFloats(ctx, *between_, codec, std::move(home), shapes, BetweenShapes(bags), what)
          .Wait();
  const Parts parts = PlacesIn(EmptyMessages(ctx, InsideCounts(bags)), bags);
  SpreadBlocks(ctx, Sums(sums, parts, bags));
  std::vector<int64_t> counts(local_size(), 0);
  for (size_t q = 0; q < sizes.size(); ++q) counts[q % local_size()] += sizes[q];
  const std::vector<Tensor> received =
      inside_->AllToAllV(ctx, parts.messages, std::move(counts), what).Wait();
  std::vector<Tensor> rows;
  std::vector<int64_t> at(local_size(), 0);
  for (size_t q = 0; q < sizes.size(); ++q) {
    const size_t l = q % local_size();
    rows.push_back(received[l].Rows(at[l], at[l] + sizes[q]));
    at[l] += sizes[q];
  }
  return rows;
}

}  // namespace tessera
