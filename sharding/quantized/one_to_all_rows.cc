#include "sharding/quantized/one_to_all_rows.h"

#include <algorithm>

#include "runtime/element_at.h"
#include "sharding/exchange/copy_segments.h"

namespace tessera::internal {
namespace {

// A stream of one rank.
struct Stream {
  size_t bags, block;
  int64_t first_bag, num_bags, first_id, num_ids;
  bool split;
};

class MessageMaker {
 public:
  MessageMaker(Context& ctx, const BatchBags& batch, const std::vector<SentBags>& bags,
               size_t ranks)
      : ctx_(ctx), batch_(batch), bags_(bags), messages_(ranks), streams_(ranks) {}

  std::vector<RankMessage> Make() {
    SplitRows();
    for (size_t b = 0; b < bags_.size(); ++b)
      for (size_t s = 0; s < bags_[b].table->shards.size(); ++s) AddLookup(b, s);
    Fill();
    return std::move(messages_);
  }

 private:
  void SplitRows() {
    std::vector<SplitBags> split;
    for (const SentBags& b : bags_) {
      split_of_.push_back(split.size());
      if (!b.table->row_split()) continue;
      split.push_back({b.rows, b.first_row_number, b.first_bag, b.num_bags, b.table->row_begins,
                       b.table->row_end});
    }
    places_.resize(split.size());
    positions_.resize(split.size());
    for (size_t s = 0; s < split.size(); ++s) {
      places_[s].resize(split[s].rows.size());
      positions_[s].resize(split[s].rows.size());
    }
    if (!split.empty()) split_.emplace(ctx_, batch_.offsets, std::move(split));
  }

  size_t BlockOf(const SentBags& bags, const Shard& shard) const {
    const std::vector<int64_t>& begins = bags.table->row_begins;
    return static_cast<size_t>(std::lower_bound(begins.begin(), begins.end(), shard.row_offset) -
                               begins.begin());
  }

  // The rank's stream of these bags and this block of rows; a new one if it has none.
  const Stream& StreamOf(size_t rank, size_t bags, size_t block) {
    std::vector<Stream>& streams = streams_[rank];
    for (const Stream& s : streams)
      if (s.bags == bags && s.block == block) return s;
    const SentBags& b = bags_[bags];
    const bool split = b.table->row_split();
    const int64_t num_ids =
        split ? split_->count(split_of_[bags], block) : b.end - b.first_row_number;
    const bool first = streams.empty();
    streams.push_back({bags, block, first ? 0 : streams.back().first_bag + streams.back().num_bags,
                       b.num_bags, first ? 0 : streams.back().first_id + streams.back().num_ids,
                       num_ids, split});
    return streams.back();
  }

  void AddLookup(size_t bags, size_t shard) {
    const Shard& part = bags_[bags].table->shards[shard].shard;
    const auto rank = static_cast<size_t>(part.rank);
    const Stream& stream = StreamOf(rank, bags, BlockOf(bags_[bags], part));
    RankMessage& message = messages_[rank];
    message.lookups.push_back({.bags = bags,
                               .shard = shard,
                               .first_bag = stream.first_bag,
                               .num_bags = stream.num_bags,
                               .num_ids = stream.num_ids,
                               .answer_at = message.answer_elements});
    const SentLookup& lookup = message.lookups.back();
    message.answer_elements += lookup.answer_rows(bags_[bags].sequence) * part.columns;
    if (!stream.split) return;
    Tensor& positions = positions_[split_of_[bags]][stream.block];
    if (!positions) positions = Tensor::Empty(ctx_, {stream.num_ids}, DType::kI32);
    message.lookups.back().positions = positions;
  }

  void Fill() {
    for (size_t r = 0; r < messages_.size(); ++r) {
      if (streams_[r].empty()) continue;
      const Stream& last = streams_[r].back();
      RankMessage& message = messages_[r];
      const int64_t ids = last.first_id + last.num_ids;
      message.ids = Tensor::Empty(ctx_, {ids}, bags_[last.bags].rows.dtype());
      message.lengths = Tensor::Empty(ctx_, {last.first_bag + last.num_bags}, DType::kI32);
      if (batch_.weights) message.weights = Tensor::Empty(ctx_, {ids});
      for (const Stream& stream : streams_[r]) FillStream(message, stream);
    }
    CopySegments(ctx_, copies_);
    if (!split_) return;
    std::vector<SplitPlace> places;
    for (const auto& of_bags : places_) places.insert(places.end(), of_bags.begin(), of_bags.end());
    split_->Place(ctx_, batch_.weights ? batch_.weights.data<float>() : nullptr, places);
    CopySegments(ctx_, later_);
  }

  void FillStream(const RankMessage& message, const Stream& stream) {
    const SentBags& bags = bags_[stream.bags];
    char *const ids = ElementAt(message.ids, stream.first_id), *const weights =
                                                                   message.weights
                                                                       ? ElementAt(message.weights,
                                                                                   stream.first_id)
                                                                       : nullptr;
    const int64_t id_bytes = stream.num_ids * SizeOf(message.ids.dtype());
    const void* lengths = ElementAt(batch_.lengths, bags.first_bag);
    const size_t s = split_of_[stream.bags];
    Tensor split_lengths;
    if (stream.split) {
      split_lengths = split_->lengths(s, stream.block);
      lengths = split_lengths.raw_data();
    }
    copies_.push_back({lengths, ElementAt(message.lengths, stream.first_bag), 4 * stream.num_bags});
    if (!stream.split) {
      Copy(copies_, ElementAt(bags.rows, bags.first_row_number), ids, id_bytes);
      if (weights)
        Copy(copies_, ElementAt(batch_.weights, bags.first_row_number), weights,
             4 * stream.num_ids);
      return;
    }
    SplitPlace& place = places_[s][stream.block];
    if (place.ids == nullptr) {
      place = {ids, positions_[s][stream.block].data<int32_t>(), reinterpret_cast<float*>(weights)};
    } else {  // columns of these rows on another rank
      Copy(later_, place.ids, ids, id_bytes);
      if (weights) Copy(later_, place.weights, weights, 4 * stream.num_ids);
    }
  }

  static void Copy(std::vector<SegmentCopy>& copies, const void* from, void* to, int64_t bytes) {
    copies.push_back({from, to, bytes});
  }

  Context& ctx_;
  const BatchBags& batch_;
  const std::vector<SentBags>& bags_;
  std::vector<RankMessage> messages_;
  std::vector<std::vector<Stream>> streams_;  // of each rank
  std::vector<size_t> split_of_;              // of the bags whose table's rows are split
  std::optional<RowSplit> split_;
  std::vector<std::vector<SplitPlace>> places_;  // of each split and block
  std::vector<std::vector<Tensor>> positions_;
  std::vector<SegmentCopy> copies_, later_;
};

}  // namespace

std::vector<RankMessage> OneToAllRows(Context& ctx, const BatchBags& batch,
                                      const std::vector<SentBags>& bags, size_t ranks) {
  return MessageMaker(ctx, batch, bags, ranks).Make();
}

}  // namespace tessera::internal
