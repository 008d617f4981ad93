#include "sharding/exchange/node/node_dedup.h"

#include <numeric>
#include <utility>

#include "runtime/base/check.h"
#include "sharding/exchange/node_routes.h"

// Two nodes of two ranks; the table's rows lie on rank 3, the second of its node. Ranks 0 and 1
// have the ids x y and y z.
//
//   inside    rank 0 sends x y to rank 1, which has the place of rank 3 and gets x y | y z
//             rank 1 makes x y z of it
//   between   rank 1 sends x y z to rank 3
//   rows      rank 3 returns r(x) r(y) r(z); rank 1 makes r(x) r(y) | r(y) r(z) of it, and sends
//             the first half to rank 0
//   back      rank 0 sends g0(x) g0(y) to rank 1; rank 1 sends g0(x), g0(y) + g1(y), g1(z)
//
// Both exchanges are input_dist and output_dist over a part of the ranks, with a layout of their
// own. Inside, a rank stands for the ranks of all nodes that have its place. Between, a feature is
// a block of columns that a rank returns.
namespace tessera {
namespace {

void Append(DistRank& to, const DistRank& from) {
  const int first_stream = static_cast<int>(to.streams.size());
  const int first_table = static_cast<int>(to.tables.size());
  for (DistBlock block : from.blocks) {
    block.stream += first_stream;
    block.table += first_table;
    to.blocks.push_back(block);
  }
  to.streams.insert(to.streams.end(), from.streams.begin(), from.streams.end());
  to.tables.insert(to.tables.end(), from.tables.begin(), from.tables.end());
}

// The layout of one node, whose rank l stands for ranks l, l + L, l + 2 L, … of `all`.
std::shared_ptr<const DistLayout> InsideLayout(const DistLayout& all, size_t local_size) {
  auto inside = std::make_shared<DistLayout>(all);
  inside->tables_text += " (inside a node)";
  inside->ranks.assign(local_size, {});
  for (size_t r = 0; r < all.ranks.size(); ++r) Append(inside->ranks[r % local_size], all.ranks[r]);
  return inside;
}

// The layout of the ranks with one place, a feature for each of their blocks. Row numbers are those
// of the shards, as they come from inside the node.
std::shared_ptr<const DistLayout> BetweenLayout(const DistLayout& all, size_t local_size,
                                                size_t place) {
  auto between = std::make_shared<DistLayout>(all);
  between->tables_text += " (between nodes)";
  between->splits.clear();
  between->ranks.clear();
  int feature = 0;
  for (size_t r = place; r < all.ranks.size(); r += local_size) {
    DistRank rank = all.ranks[r];
    for (DistStream& s : rank.streams) s = {.row_end = s.row_end - s.row_begin};
    for (DistBlock& block : rank.blocks) {
      rank.streams[static_cast<size_t>(block.stream)].feature = feature;
      block.feature = feature++;
      block.column = 0;
    }
    between->ranks.push_back(std::move(rank));
  }
  return between;
}

std::shared_ptr<OutputForm> FormOf(std::shared_ptr<const DistLayout> layout) {
  auto form = std::make_shared<OutputForm>();
  form->nodes = BlocksOfNodes(*layout);
  form->layout = std::move(layout);
  form->sequences = true;
  return form;
}

// The distinct ids of each stream that came from the ranks of the node.
DedupedIds DistinctOf(Context& ctx, const KeyedJaggedTensor& came) {
  std::vector<DistFeature> streams;
  for (const std::string& key : came.keys()) streams.push_back(FeatureOfKey(came, key));
  std::vector<int> tables(streams.size());
  std::iota(tables.begin(), tables.end(), 0);
  return DedupIds(ctx, streams, tables, streams.size());
}

// For SpreadRows of each block's rows to all ids of its stream.
std::shared_ptr<const DedupedIds> SpreadOf(const DedupedIds& distinct,
                                           const std::vector<DistBlock>& blocks) {
  auto spread = std::make_shared<DedupedIds>(distinct);
  spread->places.clear();
  spread->readers.clear();
  for (const DistBlock& block : blocks) {
    const auto stream = static_cast<size_t>(block.stream);
    DedupedIds::Reader reader = distinct.readers[stream];
    reader.table = static_cast<int>(spread->places.size());
    spread->readers.push_back(reader);
    spread->places.push_back(distinct.places[stream]);
  }
  return spread;
}

const std::vector<DistBlock>& BlocksInside(const DistLayout& inside, int place) {
  return inside.ranks[static_cast<size_t>(place)].blocks;
}

}  // namespace

NodeDedup::NodeDedup(Communicator& comm, const OutputForm& form, int local_size)
    : comm_(comm), local_size_(local_size) {
  TESSERA_CHECK(form.sequences && !form.by_node,
                "ids once a node: expected sequences, whose rows return directly");
  PrepareInputDist(comm);
  const auto local = static_cast<size_t>(local_size);
  const int place = comm.rank() % local_size;
  const auto inside = FormOf(InsideLayout(*form.layout, local));
  inside->features = form.features;
  const auto between = FormOf(BetweenLayout(*form.layout, local, static_cast<size_t>(place)));
  between->codecs = form.codecs;
  for (const DistBlock& block : BlocksInside(*inside->layout, place))
    between->features.push_back({std::to_string(between->features.size()), block.columns});
  inside_ = inside;
  between_ = between;
}

void NodeDedup::PrepareInputDist(Communicator& comm) const {
  comm.LocalCompanion(local_size_);
  comm.CrossNodeCompanion(local_size_);
}

Awaitable<InputDist> NodeDedup::StartInputDist(Context& ctx, Communicator& comm,
                                               std::shared_ptr<const DedupedIds> ids) const {
  Communicator& inside = comm.LocalCompanion(local_size_);
  auto node = std::make_shared<NodeIds>();
  node->inside_layout = inside_->layout;
  node->between_layout = between_->layout;
  node->inside = InputDist::Start(ctx, inside_->layout, inside, ids->kjt, ids->features).Wait();
  node->distinct = DistinctOf(ctx, node->inside.received().kjt);
  std::vector<DistFeature> features;
  for (const DistBlock& block : BlocksInside(*inside_->layout, inside.rank()))
    features.push_back(node->distinct.features[static_cast<size_t>(block.stream)]);
  return InputDist::Start(ctx, between_->layout, comm.CrossNodeCompanion(local_size_),
                          node->distinct.kjt, std::move(features))
      .Then([ids = std::move(ids), node = std::move(node)](InputDist dist) {
        dist.set_deduped(ids);
        dist.set_node_ids(node);
        return dist;
      });
}

Awaitable<std::vector<Variable>> NodeDedup::StartOutputDist(Context& ctx, const InputDist& input,
                                                            EmbeddingOutputs away,
                                                            EmbeddingOutputs replicas) const {
  const NodeIds& node = *input.node_ids();
  Communicator& inside = comm_.LocalCompanion(local_size_);
  std::vector<Variable> rows =
      tessera::StartOutputDist(ctx, between_, comm_.CrossNodeCompanion(local_size_), input,
                               node.distinct.kjt, std::move(away), {})
          .Wait();
  const auto spread = SpreadOf(node.distinct, BlocksInside(*inside_->layout, inside.rank()));
  EmbeddingOutputs of_ranks{{}, SpreadRows(ctx, spread, std::move(rows), {})};
  return tessera::StartOutputDist(ctx, inside_, inside, node.inside, input.deduped()->kjt,
                                  std::move(of_ranks), std::move(replicas));
}

}  // namespace tessera
