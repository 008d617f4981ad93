#include "sharding/quantized/sharded_forward.h"

#include <algorithm>
#include <utility>

#include "embedding/lookup/index_array.h"
#include "embedding/quantized/quantized_lookup.h"
#include "runtime/element_at.h"
#include "runtime/tensor.h"
#include "sharding/exchange/column_blocks.h"
#include "sharding/quantized/one_to_all_rows.h"
#include "sparse/ops/cumsum.h"

namespace tessera::internal {
namespace {

// The part of a lookup that depends on the shard alone; the rest says where its ids and outputs
// are.
QuantizedLookupFeature LookupOf(const QuantizedShard& shard, PoolingType pooling, const Tensor& ids,
                                int64_t first_bag, int64_t num_bags) {
  QuantizedLookupFeature feature;
  feature.rows = shard.rows.raw_data();
  feature.num_rows = shard.shard.rows;
  feature.dim = shard.shard.columns;
  feature.layout = shard.layout;
  feature.ids = ArrayOf(ids);
  feature.first_bag = first_bag;
  feature.num_bags = num_bags;
  feature.pooling = pooling;
  return feature;
}

class Forward {
 public:
  Forward(Context& ctx, ShardedQuantizedState& state, const KeyedJaggedTensor& kjt)
      : ctx_(ctx),
        state_(state),
        kjt_(kjt),
        offsets_(kjt.offsets(ctx)),
        weights_(state.home.WeightsOf(ctx, kjt)),
        layout_(Layout()),
        rows_(state.home.RowsOf(ctx, kjt)),
        direct_(state.devices.size()),
        moves_(state.devices.size()),
        answers_(state.devices.size()),
        ended_(state.devices.size()) {}

  QuantizedOutputs Run() {
    MakeOutputs();
    for (const OutputPart& part : layout_.parts()) AddPart(part);
    messages_ = OneToAllRows(
        ctx_,
        {offsets_, sent_.empty() ? Tensor() : kjt_.lengths(ctx_).To(ctx_, DType::kI32), weights_},
        sent_, state_.devices.size());
    MoveMessages();
    RunRanks();
    Merge();
    return std::move(outputs_);
  }

 private:
  // A sequence that one rank makes whole.
  struct Move {
    QuantizedLookupFeature feature;
    int sequence;
    Shape shape;
    Tensor ids, result;
  };

  OutputLayout Layout() {
    state_.home.CheckBatch(ctx_, kjt_, weights_);
    return state_.home.LayoutOfOutputs(kjt_);
  }

  void MakeOutputs() {
    if (layout_.has_pooled())
      outputs_.pooled = Tensor::Empty(ctx_, layout_.distinct_shape(), state_.pooled_type);
    outputs_.sequences.resize(layout_.sequence_shapes().size());
  }

  // ---- what each rank is to do

  void AddPart(const OutputPart& part) {
    const auto f = static_cast<size_t>(part.feature);
    switch (state_.path_of(f)) {
      case AnswerPath::kDirect:
        return AddDirect(part, f);
      case AnswerPath::kMoved:
        return AddMove(part, f);
      case AnswerPath::kAnswers:
        return AddSent(part, f);
    }
  }

  void AddDirect(const OutputPart& part, size_t f) {
    Tensor& output = part.sequence < 0 ? outputs_.pooled : SequenceOf(part);
    if (!output) output = Tensor::Empty(ctx_, ShapeOf(part), state_.home.options.output_type);
    for (const QuantizedShard& shard : state_.shards_of(f).shards) {
      QuantizedLookupFeature feature =
          LookupOf(shard, state_.home.table_of(f).pooling, rows_[f], part.first_bag, part.num_bags);
      feature.output = ElementAt(output, part.at + shard.shard.column_offset);
      feature.output_type = output.dtype();
      feature.output_stride = part.stride;
      direct_[RankOf(shard)].push_back(feature);
    }
  }

  void AddMove(const OutputPart& part, size_t f) {
    const QuantizedShard& shard = state_.shards_of(f).shards.front();
    moves_[RankOf(shard)].push_back(
        {LookupOf(shard, PoolingType::kNone, rows_[f], part.first_bag, part.num_bags),
         part.sequence,
         ShapeOf(part),
         rows_[f],
         {}});
  }

  void AddSent(const OutputPart& part, size_t f) {
    const QuantizedTableShards& table = state_.shards_of(f);
    const auto key = static_cast<size_t>(kjt_.IndexOf(state_.home.features[f].key));
    const bool sequence = part.sequence >= 0;
    if (sequence)
      SequenceOf(part) = table.row_split() ? Tensor::Zeros(ctx_, ShapeOf(part))
                                           : Tensor::Empty(ctx_, ShapeOf(part));
    sent_parts_.push_back(part);
    sent_.push_back({rows_[f], kjt_.offset_per_key()[key], kjt_.offset_per_key()[key + 1],
                     part.first_bag, part.num_bags, &table, sequence});
  }

  static size_t RankOf(const QuantizedShard& shard) {
    return static_cast<size_t>(shard.shard.rank);
  }
  Tensor& SequenceOf(const OutputPart& part) {
    return outputs_.sequences[static_cast<size_t>(part.sequence)];
  }
  const Shape& ShapeOf(const OutputPart& part) const {
    return layout_.sequence_shapes()[static_cast<size_t>(part.sequence)];
  }

  // ---- the ranks

  // Moves messages from a GPU to ranks of the host, which could not wait for home's stream.
  void MoveMessages() {
    if (state_.home_device == Device::Cpu()) return;
    Tensor host_offsets;
    for (size_t r = 0; r < messages_.size(); ++r) {
      if (state_.devices[r] != Device::Cpu()) continue;
      RankMessage& message = messages_[r];
      for (Tensor* t : {&message.ids, &message.lengths, &message.weights})
        *t = t->To(ctx_, Device::Cpu());
      for (Move& move : moves_[r]) move.ids = move.ids.To(ctx_, Device::Cpu());
      if (!moves_[r].empty() && !host_offsets) host_offsets = offsets_.To(ctx_, Device::Cpu());
    }
    host_offsets_ = host_offsets;
  }

  void RunRanks() {
    const Event ready = Event::Record(ctx_.stream());
    std::vector<RankTask> tasks(state_.devices.size());
    for (size_t r = 0; r < tasks.size(); ++r) {
      if (direct_[r].empty() && moves_[r].empty() && messages_[r].lookups.empty()) continue;
      tasks[r] = [this, r, &ready](Context& rank) {
        ready.HoldBack(rank.stream());
        LookUpDirect(rank, r);
        LookUpMoves(rank, r);
        LookUpMessage(rank, r);
        ended_[r] = Event::Record(rank.stream());
      };
    }
    try {
      state_.workers.Run(tasks);
    } catch (...) {
      AwaitRanks();  // others may still read what belongs to this stream
      throw;
    }
    AwaitRanks();
  }
  void AwaitRanks() const {
    for (const Event& end : ended_) end.HoldBack(ctx_.stream());
  }

  void LookUpDirect(Context& rank, size_t r) {
    if (direct_[r].empty()) return;
    QuantizedLookup(rank, {direct_[r], ArrayOf(offsets_),
                           weights_ ? weights_.data<float>() : nullptr, kjt_.values().numel()});
  }

  void LookUpMoves(Context& rank, size_t r) {
    if (moves_[r].empty()) return;
    const Tensor offsets = OnRank(rank, host_offsets_ && OnHost(rank) ? host_offsets_ : offsets_);
    std::vector<QuantizedLookupFeature> features;
    std::vector<Tensor> ids;
    for (Move& move : moves_[r]) {
      ids.push_back(OnRank(rank, move.ids));
      move.result = Tensor::Empty(rank, move.shape, state_.home.options.output_type);
      QuantizedLookupFeature feature = move.feature;
      feature.ids = ArrayOf(ids.back());
      feature.output = move.result.raw_data();
      feature.output_type = move.result.dtype();
      feature.output_stride = move.shape[1];
      features.push_back(feature);
    }
    QuantizedLookup(rank, {features, ArrayOf(offsets), nullptr, kjt_.values().numel()});
    for (Move& move : moves_[r]) move.result = HomeFromGpu(rank, move.result);
  }

  void LookUpMessage(Context& rank, size_t r) {
    const RankMessage& message = messages_[r];
    if (message.lookups.empty()) return;
    const Tensor ids = OnRank(rank, message.ids), weights = OnRank(rank, message.weights);
    const Tensor offsets =
        CompleteCumsum(rank, OnRank(rank, message.lengths).To(rank, DType::kI64));
    answers_[r] = Tensor::Empty(rank, {message.answer_elements});
    std::vector<QuantizedLookupFeature> features;
    for (const SentLookup& lookup : message.lookups) {
      const QuantizedShard& shard = ShardOf(lookup);
      QuantizedLookupFeature feature =
          LookupOf(shard, PoolingOf(lookup), ids, lookup.first_bag, lookup.num_bags);
      feature.output = answers_[r].data<float>() + lookup.answer_at;
      feature.output_stride = shard.shard.columns;
      features.push_back(feature);
    }
    QuantizedLookup(
        rank, {features, ArrayOf(offsets), weights ? weights.data<float>() : nullptr, ids.numel()});
    answers_[r] = HomeFromGpu(rank, answers_[r]);
  }

  const QuantizedShard& ShardOf(const SentLookup& lookup) const {
    return sent_[lookup.bags].table->shards[lookup.shard];
  }
  // The pooling on the ranks: a MEAN over split rows divides at home, by the whole bag's length.
  PoolingType PoolingOf(const SentLookup& lookup) const {
    const auto f = static_cast<size_t>(sent_parts_[lookup.bags].feature);
    const PoolingType pooling = state_.home.table_of(f).pooling;
    const bool split = sent_[lookup.bags].table->row_split();
    return split && pooling == PoolingType::kMean ? PoolingType::kSum : pooling;
  }

  static bool OnHost(const Context& rank) { return rank.device() == Device::Cpu(); }
  static Tensor OnRank(Context& rank, const Tensor& tensor) {
    return tensor.To(rank, rank.device());
  }
  // The answer for home; on a home that is the host it is complete when the rank has ended.
  Tensor HomeFromGpu(Context& rank, const Tensor& answer) const {
    return state_.home_device == Device::Cpu() ? answer.To(rank, Device::Cpu()) : answer;
  }

  // ---- home again

  Tensor AtHome(const Tensor& answer) const {
    if (answer.device() != Device::Cpu()) answer.RecordStream(ctx_);
    return answer.To(ctx_, ctx_.device());
  }

  void Merge() {
    for (const auto& moves : moves_)
      for (const Move& move : moves)
        outputs_.sequences[static_cast<size_t>(move.sequence)] = AtHome(move.result);
    for (Tensor& answer : answers_)
      if (answer) answer = AtHome(answer);
    std::vector<ColumnBlock> blocks;
    for (size_t b = 0; b < sent_.size(); ++b)
      if (!sent_[b].sequence) AddPooledBlocks(b, blocks);
    AddSequenceBlocks(blocks);
    GatherBlocks(ctx_, blocks);
    const DType type = state_.home.options.output_type;
    for (Tensor& sequence : outputs_.sequences) sequence = sequence.To(ctx_, type);
    if (layout_.has_pooled())
      outputs_.pooled = layout_.Expand(ctx_, outputs_.pooled.To(ctx_, type));
  }

  float* AnswerOf(size_t rank, const SentLookup& lookup) const {
    return answers_[rank].data<float>() + lookup.answer_at;
  }

  // Adds a block for each column block of a table, with the answers of its row blocks.
  void AddPooledBlocks(size_t bags, std::vector<ColumnBlock>& blocks) {
    const SentBags& sent = sent_[bags];
    const OutputPart& part = sent_parts_[bags];
    const auto f = static_cast<size_t>(part.feature);
    const bool divides =
        sent.table->row_split() && state_.home.table_of(f).pooling == PoolingType::kMean;
    const std::vector<QuantizedShard>& shards = sent.table->shards;
    for (size_t s = 0; s < shards.size(); ++s) {
      const Shard& shard = shards[s].shard;
      if (s == 0 || shard.column_offset != shards[s - 1].shard.column_offset)
        blocks.push_back({.wide = outputs_.pooled.data<float>() + part.at + shard.column_offset,
                          .stride = part.stride,
                          .num_rows = part.num_bags,
                          .columns = shard.columns,
                          .parts = {},
                          .offsets = divides ? ArrayOf(offsets_) : IndexArray{},
                          .first_bag = part.first_bag});
      blocks.back().parts.push_back(AnswerOf(RankOf(shards[s]), LookupFor(bags, s)));
    }
  }

  const SentLookup& LookupFor(size_t bags, size_t shard) const {
    const QuantizedShard& part = sent_[bags].table->shards[shard];
    const std::vector<SentLookup>& lookups = messages_[RankOf(part)].lookups;
    return *std::find_if(lookups.begin(), lookups.end(),
                         [&](const SentLookup& l) { return l.bags == bags && l.shard == shard; });
  }

  // Adds blocks that copy the rows of each shard to the places of their ids.
  void AddSequenceBlocks(std::vector<ColumnBlock>& blocks) {
    for (size_t r = 0; r < messages_.size(); ++r)
      for (const SentLookup& lookup : messages_[r].lookups) {
        if (!sent_[lookup.bags].sequence) continue;
        const OutputPart& part = sent_parts_[lookup.bags];
        const Shard& shard = ShardOf(lookup).shard;
        blocks.push_back({.wide = SequenceOf(part).data<float>() + shard.column_offset,
                          .stride = part.stride,
                          .num_rows = lookup.num_ids,
                          .columns = shard.columns,
                          .parts = {AnswerOf(r, lookup)},
                          .rows = lookup.positions ? lookup.positions.data<int32_t>() : nullptr});
      }
  }

  Context& ctx_;
  ShardedQuantizedState& state_;
  const KeyedJaggedTensor& kjt_;
  const Tensor offsets_, weights_;
  const OutputLayout layout_;
  const std::vector<Tensor> rows_;  // of each feature, of the whole KJT
  QuantizedOutputs outputs_;
  std::vector<std::vector<QuantizedLookupFeature>> direct_;  // of each rank, as what follows
  std::vector<std::vector<Move>> moves_;
  std::vector<RankMessage> messages_;
  std::vector<Tensor> answers_;
  std::vector<Event> ended_;
  std::vector<SentBags> sent_;
  std::vector<OutputPart> sent_parts_;  // of each of these
  Tensor host_offsets_;
};

}  // namespace

QuantizedOutputs ShardedForward(Context& ctx, ShardedQuantizedState& state,
                                const KeyedJaggedTensor& kjt) {
  return Forward(ctx, state, kjt).Run();
}

}  // namespace tessera::internal
