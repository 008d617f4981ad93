#include "sharding/exchange/input_dist.h"

#include <utility>

#include "runtime/element_at.h"
#include "sharding/exchange/copy_segments.h"
#include "sharding/exchange/input_dist_weights.h"
#include "sharding/exchange/row_split.h"

namespace tessera {
namespace {

using internal::ElementAt;

// Types that all messages of an exchange share.
struct WireTypes {
  DType ids = DType::kI64;
  bool weighted = false;
};

// The parts of one message, and where a stream begins in each, in elements.
struct MessageLayout {
  std::vector<int64_t> first_bag = {0}, first_id = {0};  // of each stream, and the ends
  int64_t ids_at = 0, weights_at = 0, bytes = 0;

  MessageLayout(const std::vector<int64_t>& bags, const std::vector<int64_t>& ids,
                const WireTypes& types) {
    for (const int64_t b : bags) first_bag.push_back(first_bag.back() + b);
    for (const int64_t n : ids) first_id.push_back(first_id.back() + n);
    ids_at = Padded(first_bag.back() * 4);
    weights_at = ids_at + Padded(first_id.back() * SizeOf(types.ids));
    bytes = weights_at + (types.weighted ? Padded(first_id.back() * 4) : 0);
  }
};

// Whether they have the same place in two nodes that return rows together, or in one.
bool SamePlace(const DistLayout& layout, int rank, int other) {
  return layout.local_size > 1 && (rank - other) % layout.local_size == 0;
}

// ---- the side of the bags

// One exchange while it is put together.
class Sender {
 public:
  Sender(Context& ctx, const DistLayout& layout, int rank, const KeyedJaggedTensor& kjt,
         SentIds& sent)
      : ctx_(ctx),
        layout_(layout),
        rank_(rank),
        kjt_(kjt),
        sent_(sent),
        lengths_(LengthsOf(ctx, kjt)) {
    types_ = {kjt.values().dtype(), kjt.is_weighted()};
    if (types_.weighted) weights_ = kjt.weights().value().Contiguous(ctx);
    FindRowBlocks();
    CountStreams();
  }

  const WireTypes& types() const { return types_; }

  // The numbers that each rank is told to expect.
  std::vector<std::vector<int64_t>> Counts() const {
    std::vector<std::vector<int64_t>> numbers;
    for (size_t r = 0; r < layout_.ranks.size(); ++r) {
      numbers.push_back({types_.ids == DType::kI64, types_.weighted});
      for (const DistStream& stream : layout_.ranks[r].streams)
        numbers[r].push_back(Feature(stream).num_bags);
      numbers[r].insert(numbers[r].end(), sent_.ids[r].begin(), sent_.ids[r].end());
      if (!SamePlace(layout_, static_cast<int>(r), rank_)) continue;
      for (const DistFeature& feature : sent_.features) numbers[r].push_back(feature.num_bags);
    }
    return numbers;
  }

  std::vector<Tensor> Messages() {
    std::vector<MessageLayout> messages;
    int64_t bytes = 0;
    for (size_t r = 0; r < layout_.ranks.size(); ++r) {
      std::vector<int64_t> bags;
      for (const DistStream& stream : layout_.ranks[r].streams)
        bags.push_back(Feature(stream).num_bags);
      messages.emplace_back(bags, sent_.ids[r], types_);
      bytes += messages.back().bytes;
    }
    const Tensor buffer = Tensor::Empty(ctx_, {bytes}, DType::kU8);
    std::vector<Tensor> views;
    int64_t at = 0;
    for (const MessageLayout& message : messages) {
      views.push_back(buffer.Rows(at, at + message.bytes));
      at += message.bytes;
    }
    Fill(messages, views);
    return views;
  }

 private:
  static Tensor LengthsOf(Context& ctx, const KeyedJaggedTensor& kjt) {
    return kjt.lengths(ctx).To(ctx, DType::kI32);
  }
  const DistFeature& Feature(const DistStream& stream) const {
    return sent_.features[static_cast<size_t>(stream.feature)];
  }

  void FindRowBlocks() {
    for (const DistSplit& split : layout_.splits) {
      const DistFeature& f = sent_.features[static_cast<size_t>(split.feature)];
      split_bags_.push_back(
          {f.ids, f.begin, f.first_bag, f.num_bags, split.rows, split.end, split.parts});
    }
    split_.emplace(ctx_, kjt_.offsets(ctx_), split_bags_);
  }
  static std::pair<size_t, size_t> BlockOf(const DistStream& stream) {
    return {static_cast<size_t>(stream.split), static_cast<size_t>(stream.block)};
  }

  void CountStreams() {
    for (const DistRank& rank : layout_.ranks) {
      std::vector<int64_t> ids;
      for (const DistStream& stream : rank.streams) {
        const DistFeature& feature = Feature(stream);
        if (stream.whole) {
          ids.push_back(feature.end - feature.begin);
        } else {
          const auto [f, block] = BlockOf(stream);
          ids.push_back(split_->count(f, block));
        }
      }
      sent_.ids.push_back(std::move(ids));
    }
  }

  // Room for the places of ids in each block: [feature][block], of one allocation.
  std::vector<std::vector<Tensor>> EmptyPositions() {
    int64_t total = 0;
    for (size_t f = 0; f < split_bags_.size(); ++f)
      for (size_t b = 0; b < split_bags_[f].rows.size(); ++b) total += split_->count(f, b);
    const Tensor all = Tensor::Empty(ctx_, {total}, DType::kI32);
    std::vector<std::vector<Tensor>> positions(split_bags_.size());
    int64_t at = 0;
    for (size_t f = 0; f < split_bags_.size(); ++f)
      for (size_t b = 0; b < split_bags_[f].rows.size(); ++b) {
        const int64_t n = split_->count(f, b);
        positions[f].push_back(all.Rows(at, at + n));
        at += n;
      }
    return positions;
  }

  void Fill(const std::vector<MessageLayout>& messages, const std::vector<Tensor>& views) {
    std::vector<SegmentCopy> copies, later;
    std::vector<std::vector<SplitPlace>> places;
    const std::vector<std::vector<Tensor>> positions = EmptyPositions();
    for (const SplitBags& bags : split_bags_) places.emplace_back(bags.rows.size());
    for (size_t r = 0; r < messages.size(); ++r) {
      const MessageLayout& message = messages[r];
      auto* begin = static_cast<char*>(views[r].raw_data());
      sent_.positions.emplace_back();
      for (size_t s = 0; s < layout_.ranks[r].streams.size(); ++s) {
        const DistStream& stream = layout_.ranks[r].streams[s];
        const DistFeature& feature = Feature(stream);
        const int64_t n = sent_.ids[r][s], id_bytes = SizeOf(types_.ids);
        char* lengths = begin + message.first_bag[s] * 4;
        char* ids = begin + message.ids_at + message.first_id[s] * id_bytes;
        char* weights = begin + message.weights_at + message.first_id[s] * 4;
        sent_.positions[r].emplace_back();
        if (stream.whole) {
          copies.push_back({ElementAt(lengths_, feature.first_bag), lengths, feature.num_bags * 4});
          copies.push_back({ElementAt(feature.ids, feature.begin), ids, n * id_bytes});
          if (types_.weighted)
            copies.push_back({ElementAt(weights_, feature.begin), weights, n * 4});
          continue;
        }
        const auto [f, block] = BlockOf(stream);
        copies.push_back({split_->lengths(f, block).raw_data(), lengths, feature.num_bags * 4});
        SplitPlace& place = places[f][block];
        const Tensor& of_block = positions[f][block];
        if (place.ids == nullptr) {
          place = {ids, of_block.data<int32_t>(),
                   types_.weighted ? reinterpret_cast<float*>(weights) : nullptr};
        } else {  // column blocks of these rows on another rank
          later.push_back({place.ids, ids, n * id_bytes});
          if (types_.weighted) later.push_back({place.weights, weights, n * 4});
        }
        sent_.positions[r].back() = of_block;
      }
    }
    CopySegments(ctx_, copies);
    std::vector<SplitPlace> flat;
    for (const auto& of_feature : places)
      flat.insert(flat.end(), of_feature.begin(), of_feature.end());
    split_->Place(ctx_, types_.weighted ? weights_.data<float>() : nullptr, flat);
    CopySegments(ctx_, later);
  }

  Context& ctx_;
  const DistLayout& layout_;
  int rank_;
  const KeyedJaggedTensor& kjt_;
  SentIds& sent_;
  Tensor lengths_, weights_;
  WireTypes types_;
  std::vector<SplitBags> split_bags_;
  std::optional<RowSplit> split_;
};

// ---- the side of the rows

// Takes the numbers that each rank announced: bags and ids of my streams, and of ranks with my
// place their bags of all features.
void TakeCounts(const std::vector<std::vector<int64_t>>& numbers, const DistLayout& layout,
                int rank, size_t features, const WireTypes& types, ReceivedIds& from) {
  const size_t streams = layout.ranks[static_cast<size_t>(rank)].streams.size();
  for (size_t q = 0; q < numbers.size(); ++q) {
    const std::vector<int64_t>& n = numbers[q];
    const bool peer = SamePlace(layout, static_cast<int>(q), rank);
    TESSERA_CHECK_EQ(n.size(), 2 + 2 * streams + (peer ? features : 0),
                     "input_dist: numbers from rank {}, whose plan is another", q);
    TESSERA_CHECK((n[0] != 0) == (types.ids == DType::kI64) && (n[1] != 0) == types.weighted,
                  "input_dist: rank {} sends ids of {} bits {} weights, this rank {} bits {}", q,
                  n[0] != 0 ? 64 : 32, n[1] != 0 ? "with" : "without",
                  types.ids == DType::kI64 ? 64 : 32, types.weighted ? "with" : "without");
    const auto ids = n.begin() + 2 + static_cast<int64_t>(streams);
    const auto all_bags = ids + static_cast<int64_t>(streams);
    from.bags.emplace_back(n.begin() + 2, ids);
    from.ids.emplace_back(ids, all_bags);
    if (peer) from.node_bags.emplace_back(all_bags, n.end());
  }
}

std::vector<int64_t> BytesToReceive(const ReceivedIds& from, const WireTypes& types) {
  std::vector<int64_t> bytes;
  for (size_t q = 0; q < from.bags.size(); ++q)
    bytes.push_back(MessageLayout(from.bags[q], from.ids[q], types).bytes);
  return bytes;
}

struct ReceivedKjt {
  Tensor lengths, ids, weights;
};

// Reorders messages, which lie rank after rank, stream after stream.
ReceivedKjt Sorted(Context& ctx, const ReceivedIds& from, const std::vector<Tensor>& messages,
                   const WireTypes& types, size_t streams) {
  std::vector<MessageLayout> layouts;
  int64_t bags = 0, ids = 0;
  for (size_t q = 0; q < messages.size(); ++q) {
    layouts.emplace_back(from.bags[q], from.ids[q], types);
    bags += layouts[q].first_bag.back();
    ids += layouts[q].first_id.back();
  }
  ReceivedKjt to = {
      Tensor::Empty(ctx, {bags}, DType::kI32), Tensor::Empty(ctx, {ids}, types.ids), {}};
  if (types.weighted) to.weights = Tensor::Empty(ctx, {ids});
  std::vector<SegmentCopy> copies;
  int64_t bag = 0, id = 0;
  const int64_t id_bytes = SizeOf(types.ids);
  for (size_t s = 0; s < streams; ++s)
    for (size_t q = 0; q < messages.size(); ++q) {
      const MessageLayout& layout = layouts[q];
      const int64_t b = from.bags[q][s], n = from.ids[q][s];
      const char* message = ElementAt(messages[q], 0);
      copies.push_back({message + layout.first_bag[s] * 4, ElementAt(to.lengths, bag), b * 4});
      copies.push_back({message + layout.ids_at + layout.first_id[s] * id_bytes,
                        ElementAt(to.ids, id), n * id_bytes});
      if (types.weighted)
        copies.push_back({message + layout.weights_at + layout.first_id[s] * 4,
                          ElementAt(to.weights, id), n * 4});
      bag += b;
      id += n;
    }
  CopySegments(ctx, copies);
  return to;
}

KeyedJaggedTensor MakeKjt(const ReceivedIds& from, ReceivedKjt received, Variable weights,
                          size_t streams) {
  KeyedJaggedTensorArgs args{
      .keys = {}, .values = std::move(received.ids), .weights = std::move(weights)};
  args.lengths = std::move(received.lengths);
  for (size_t s = 0; s < streams; ++s) {
    args.keys.push_back(std::to_string(s));
    args.stride_per_key_per_rank.emplace_back();
    for (const std::vector<int64_t>& bags : from.bags)
      args.stride_per_key_per_rank.back().push_back(bags[s]);
    args.length_per_key.push_back(0);
    for (const std::vector<int64_t>& ids : from.ids) args.length_per_key.back() += ids[s];
  }
  return KeyedJaggedTensor(std::move(args));
}

}  // namespace

DistFeature FeatureOfKey(const KeyedJaggedTensor& kjt, const std::string& key) {
  const auto k = static_cast<size_t>(kjt.IndexOf(key));
  return {kjt.values(), kjt.offset_per_key()[k], kjt.offset_per_key()[k + 1],
          kjt.lengths_offset_per_key()[k], kjt.stride_per_key()[k]};
}

Awaitable<InputDist> InputDist::Start(Context& ctx, std::shared_ptr<const DistLayout> layout,
                                      Communicator& comm, const KeyedJaggedTensor& kjt,
                                      std::vector<DistFeature> features) {
  InputDist dist;
  dist.sent_->features = std::move(features);
  const size_t streams = layout->ranks[static_cast<size_t>(comm.rank())].streams.size();
  Sender sender(ctx, *layout, comm.rank(), kjt, *dist.sent_);
  const WireTypes types = sender.types();
  TakeCounts(
      comm.ExchangeNumbersSync(sender.Counts(), "input_dist, counts, of " + layout->tables_text),
      *layout, comm.rank(), dist.sent_->features.size(), types, *dist.received_);
  auto sent = comm.AllToAllV(ctx, sender.Messages(), BytesToReceive(*dist.received_, types),
                             "input_dist, ids, of " + layout->tables_text);
  return std::move(sent).Then(
      [&ctx, &comm, dist, layout, kjt, types, streams](std::vector<Tensor> messages) {
        ReceivedKjt received = Sorted(ctx, *dist.received_, messages, types, streams);
        Variable weights = received.weights;
        if (types.weighted)
          weights = internal::RecordDistWeights(
              ctx, {layout, &comm, dist.sent_, dist.received_, kjt.values().numel()}, kjt.weights(),
              received.weights);
        dist.received_->kjt =
            MakeKjt(*dist.received_, std::move(received), std::move(weights), streams);
        return dist;
      });
}

}  // namespace tessera
