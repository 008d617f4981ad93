#include "sharding/exchange/node_routes.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "runtime/base/names.h"

namespace tessera {
namespace {

// Columns of a feature that several blocks share: feature, first column, columns.
using Columns = std::tuple<int, int64_t, int64_t>;

Columns ColumnsOf(const DistBlock& block) { return {block.feature, block.column, block.columns}; }

int64_t RowBegin(const DistRank& rank, const DistBlock& block) {
  return rank.streams[static_cast<size_t>(block.stream)].row_begin;
}

// How many blocks there are of each, on all ranks.
std::map<Columns, size_t> CountBlocks(const DistLayout& layout) {
  std::map<Columns, size_t> counts;
  for (const DistRank& rank : layout.ranks)
    for (const DistBlock& block : rank.blocks) ++counts[ColumnsOf(block)];
  return counts;
}

// The blocks of ranks [begin, end), each by itself.
std::vector<NodeBlock> BlocksOf(const DistLayout& layout, size_t begin, size_t end) {
  std::vector<NodeBlock> blocks;
  for (size_t r = begin; r < end; ++r) {
    const DistRank& rank = layout.ranks[r];
    for (size_t b = 0; b < rank.blocks.size(); ++b) {
      const DistBlock& block = rank.blocks[b];
      blocks.push_back({block.feature,
                        RowBegin(rank, block),
                        block.column,
                        block.columns,
                        {{static_cast<int>(r), static_cast<int>(b)}}});
    }
  }
  return blocks;
}

// Blocks of the same columns become one, unless `counts` says that another node has some of them.
std::vector<NodeBlock> Summed(std::vector<NodeBlock> blocks,
                              const std::map<Columns, size_t>& counts) {
  std::map<Columns, std::vector<size_t>> same;
  for (size_t b = 0; b < blocks.size(); ++b)
    same[{blocks[b].feature, blocks[b].column, blocks[b].columns}].push_back(b);
  std::vector<NodeBlock> summed;
  for (size_t b = 0; b < blocks.size(); ++b) {
    const Columns columns = {blocks[b].feature, blocks[b].column, blocks[b].columns};
    std::vector<size_t>& together = same.at(columns);
    if (together.size() < 2 || together.size() < counts.at(columns)) {
      summed.push_back(std::move(blocks[b]));
      continue;
    }
    if (together.front() != b) continue;  // it went with the first of them
    std::stable_sort(together.begin(), together.end(),
                     [&](size_t x, size_t y) { return blocks[x].row_begin < blocks[y].row_begin; });
    NodeBlock sum = blocks[together.front()];
    sum.parts.clear();
    for (const size_t i : together) sum.parts.push_back(blocks[i].parts.front());
    summed.push_back(std::move(sum));
  }
  return summed;
}

std::vector<std::vector<NodeBlock>> BlocksOfNodes(const DistLayout& layout, size_t local_size) {
  const std::map<Columns, size_t> counts = CountBlocks(layout);
  std::vector<std::vector<NodeBlock>> nodes;
  for (size_t r = 0; r < layout.ranks.size(); r += local_size) {
    nodes.push_back(BlocksOf(layout, r, r + local_size));
    if (local_size > 1) nodes.back() = Summed(std::move(nodes.back()), counts);
  }
  return nodes;
}

constexpr const char* kRouteNames[] = {"auto", "direct", "by_node"};

}  // namespace

std::string ToString(OutputRoute route) { return kRouteNames[static_cast<int>(route)]; }
OutputRoute ParseOutputRoute(const std::string& name) {
  return internal::ParseName<OutputRoute>(name, "route", kRouteNames);
}

std::vector<std::vector<NodeBlock>> BlocksOfNodes(const DistLayout& layout) {
  return BlocksOfNodes(layout, static_cast<size_t>(layout.local_size));
}

bool PaysByNode(const DistLayout& layout, int local_size) {
  double parts = 0, sums = 0;
  for (const auto& node : BlocksOfNodes(layout, static_cast<size_t>(local_size)))
    for (const NodeBlock& block : node) {
      sums += static_cast<double>(block.columns);
      parts += static_cast<double>(block.columns) * static_cast<double>(block.parts.size());
    }
  return PaysByNode(parts, sums, static_cast<int>(layout.ranks.size()), local_size);
}

bool PaysByNode(double parts, double sums, int world_size, int local_size) {
  constexpr double kInsidePerBetween = 4;
  const int nodes = world_size / local_size;
  // A block goes from its node to the bags of all the others. Inside, a rank gives its node's other
  // ranks the parts of their own bags; by node, those of the bags of all nodes.
  const double saved = (parts - sums) * (world_size - local_size);
  const double more_inside = parts * (local_size - 1) * (nodes - 1);
  return saved * kInsidePerBetween > more_inside;
}

}  // namespace tessera
