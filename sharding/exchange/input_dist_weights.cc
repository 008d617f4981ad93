#include "sharding/exchange/input_dist_weights.h"

#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "runtime/ops/arithmetic.h"
#include "sharding/exchange/column_blocks.h"
#include "sharding/exchange/copy_segments.h"

namespace tessera::internal {
namespace {

class DistWeights final : public Function {
 public:
  explicit DistWeights(DistWeightsArgs args) : x_(std::move(args)) {}
  std::string_view name() const override { return "input_dist of weights"; }

  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    std::vector<int64_t> expected;
    for (const std::vector<int64_t>& ids : x_.sent->ids) {
      expected.push_back(0);
      for (const int64_t n : ids) expected.back() += n;
    }
    const std::vector<Tensor> received =
        x_.comm
            ->AllToAllV(ctx, ByRank(ctx, grads[0]), expected,
                        "input_dist, gradients of weights, of " + x_.layout->tables_text)
            .Wait();
    return {AddUp(ctx, received)};
  }

 private:
  std::vector<Tensor> ByRank(Context& ctx, const Tensor& grad) const {
    std::vector<Tensor> send;
    std::vector<int64_t> next;
    for (const std::vector<int64_t>& ids : x_.received->ids) {
      int64_t total = 0;
      for (const int64_t n : ids) total += n;
      send.push_back(Tensor::Empty(ctx, {total}));
      next.push_back(0);
    }
    std::vector<SegmentCopy> copies;
    int64_t from = 0;
    for (size_t s = 0; x_.received->ids.size() > 0 && s < x_.received->ids[0].size(); ++s)
      for (size_t q = 0; q < send.size(); ++q) {
        const int64_t n = x_.received->ids[q][s];
        if (n > 0)
          copies.push_back({grad.data<float>() + from, send[q].data<float>() + next[q], n * 4});
        next[q] += n;
        from += n;
      }
    CopySegments(ctx, copies);
    return send;
  }

  // The gradients of one feature that came home for one block of rows, from each rank that holds
  // columns of it.
  struct Reader {
    const DistFeature* feature;
    const Tensor* positions;
    int64_t ids;
    std::vector<float*> parts;
  };
  using Readers = std::map<std::pair<int, int64_t>, Reader>;  // by feature and first row

  Readers ReadersOf(const std::vector<Tensor>& received) const {
    Readers readers;
    for (size_t r = 0; r < received.size(); ++r) {
      int64_t at = 0;
      for (size_t s = 0; s < x_.layout->ranks[r].streams.size(); ++s) {
        const DistStream& stream = x_.layout->ranks[r].streams[s];
        Reader& reader = readers[{stream.feature, stream.row_begin}];
        reader.feature = &x_.sent->features[static_cast<size_t>(stream.feature)];
        reader.positions = &x_.sent->positions[r][s];
        reader.ids = x_.sent->ids[r][s];
        reader.parts.push_back(received[r].data<float>() + at);
        at += reader.ids;
      }
    }
    return readers;
  }

  // Rounds of readers that read different ids. Features that read one key are each in a round of
  // their own.
  static std::vector<std::vector<const Reader*>> Rounds(const Readers& readers) {
    std::map<int64_t, std::set<int>> features;  // by where their ids begin
    for (const auto& [key, reader] : readers) features[reader.feature->begin].insert(key.first);
    std::vector<std::vector<const Reader*>> rounds;
    for (const auto& [key, reader] : readers) {
      const std::set<int>& same = features[reader.feature->begin];
      const auto round = static_cast<size_t>(std::distance(same.begin(), same.find(key.first)));
      if (round >= rounds.size()) rounds.resize(round + 1);
      rounds[round].push_back(&reader);
    }
    return rounds;
  }

  // Adds up gradients: those of a block's columns in the order of the ranks, then those of features
  // that read one key, in their order.
  Tensor AddUp(Context& ctx, const std::vector<Tensor>& received) const {
    const Readers readers = ReadersOf(received);
    Tensor sum;
    for (const std::vector<const Reader*>& round : Rounds(readers)) {
      const Tensor part = Tensor::Zeros(ctx, {x_.num_weights});
      std::vector<ColumnBlock> blocks;
      for (const Reader* reader : round) {
        blocks.push_back({.wide = part.data<float>() + reader->feature->begin,
                          .stride = 1,
                          .num_rows = reader->ids,
                          .columns = 1,
                          .parts = reader->parts});
        if (*reader->positions) blocks.back().rows = reader->positions->data<int32_t>();
      }
      GatherBlocks(ctx, blocks);
      sum = sum ? Add(ctx, sum, part).value() : part;
    }
    return sum ? sum : Tensor::Zeros(ctx, {x_.num_weights});
  }

  DistWeightsArgs x_;
};

}  // namespace

Variable RecordDistWeights(Context& ctx, DistWeightsArgs args, const Variable& weights,
                           Tensor received) {
  return Record(ctx, std::make_unique<DistWeights>(std::move(args)), std::vector<Variable>{weights},
                std::move(received));
}

}  // namespace tessera::internal
