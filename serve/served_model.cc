#include "serve/served_model.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "embedding/quantized/quantized_lookup.h"
#include "runtime/base/report_text.h"
#include "runtime/files/mapping_faults.h"
#include "serve/id_copy.h"

namespace tessera::serve {

struct ServedModel::PackedBatch {
  int64_t batch = 0;
  Tensor dense;         // [B, dense_in]
  Tensor ids;           // [N] i64, or i32 in large batches; rows that are there, or -1
  Tensor offsets;       // [blocks·B + 1] i64; or the offsets of a whole request
  Tensor weights = {};  // [N] f32, of ids; undefined: all 1
  // The first bag of each block; empty: one block lies after the other.
  std::vector<int64_t> first_bags = {};
};

namespace {

// The bags of one feature of one request, or what lies at one position of them.
struct RequestFeature {
  struct Ids {
    int64_t begin, end;
  };
  IndexArray ids, offsets;
  int64_t first_bag;
  std::optional<int64_t> position;

  Ids Bag(int64_t bag) const {
    const int64_t begin = offsets[bag], end = offsets[bag + 1];
    if (!position) return {begin, end};
    return {std::min(begin + *position, end), std::min(begin + *position + 1, end)};
  }
};

IndexArray Indices(const Tensor& tensor) {
  return {tensor.raw_data(), tensor.dtype() == DType::kI64};
}

RequestFeature FeatureOf(Context& ctx, const PredictRequest& request, const std::string& name,
                         size_t expected_at, std::optional<int64_t> position = {}) {
  const KeyedJaggedTensor& kjt = request.features;
  const bool there = expected_at < kjt.keys().size() && kjt.keys()[expected_at] == name;
  const int64_t at = there ? static_cast<int64_t>(expected_at) : kjt.IndexOf(name);
  return {Indices(kjt.values()), Indices(kjt.offsets(ctx)), at * kjt.stride(), position};
}

void Count(TableCounter& counter, int64_t hits, int64_t misses) {
  counter.hits.fetch_add(hits, std::memory_order_relaxed);
  counter.misses.fetch_add(misses, std::memory_order_relaxed);
}

// Copies the weights of the ids of bags [begin, end) of a request; returns where the next go.
float* CopyWeights(Context& ctx, const PredictRequest& request, const RequestFeature& from,
                   int64_t begin, int64_t end, float* out) {
  const Tensor weights = request.features.weights().value().Contiguous(ctx);
  const float* const weight = weights.data<float>();
  for (int64_t b = begin; b < end; ++b) {
    const auto [first_id, end_id] = from.Bag(b);
    out = std::copy(weight + first_id, weight + end_id, out);
  }
  return out;
}

// Throws Error for a bag of the feature that has more than `most` ids.
void CheckLengthsOf(Context& ctx, const KeyedJaggedTensor& features, const std::string& name,
                    int64_t most) {
  const IndexArray lengths = Indices(features.lengths(ctx));
  const int64_t first = features.IndexOf(name) * features.stride();
  for (int64_t bag = 0; bag < features.stride(); ++bag)
    if (const int64_t length = lengths[first + bag]; length > most)
      throw Error(Format(
          "feature {}, example {}: expected at most {}, as many as the model has positions, got {}",
          name, bag, internal::Counted(most, "id"), length));
}

// Throws Error for a bag that has more ids than its feature may have, if that is in `most`.
void CheckLengths(const KeyedJaggedTensor& features, const std::map<std::string, int64_t>& most) {
  if (most.empty()) return;
  Context ctx({.threads = 1});
  for (const auto& [name, ids] : most) CheckLengthsOf(ctx, features, name, ids);
}

void CheckWeights(const KeyedJaggedTensor& features, bool weighted) {
  if (features.is_weighted() != weighted)
    throw Error(weighted ? "features: expected a weight for each id, got none"
                         : "features: expected none with weights");
  if (weighted && features.weights().value().dtype() != DType::kF32)
    throw Error(
        Format("features: expected weights f32, got {}", features.weights().value().dtype()));
}

void CheckFeatures(const KeyedJaggedTensor& features, int64_t batch) {
  const DType dtype = features.values().dtype();
  if (dtype != DType::kI32 && dtype != DType::kI64)
    throw Error(Format("features: expected ids i32 or i64, got {}", dtype));
  if (features.variable_stride_per_key())
    throw Error("features: expected as many bags for each, got a variable batch");
  if (features.stride() != batch)
    throw Error(Format("features: expected {} bags each, as many as rows of dense, got {}", batch,
                       features.stride()));
}

std::shared_ptr<TableCounter> CounterFor(
    const std::string& table, const std::vector<TableSpec>& before,
    const std::vector<std::shared_ptr<TableCounter>>& counters) {
  for (size_t t = 0; t < before.size(); ++t)
    if (before[t].name == table) return counters[t];
  return std::make_shared<TableCounter>();
}

}  // namespace

std::vector<ServedModel::Block> ServedModel::BlocksOf(const ModelSpec& spec) {
  std::vector<Block> blocks;
  size_t read = 0;
  for (size_t t = 0; t < spec.tables.size(); ++t)
    for (const std::string& feature : spec.tables[t].features) {
      const int64_t positions = PositionsOf(spec.net, feature);
      if (positions == 0) blocks.push_back({feature, read, t});
      for (int64_t p = 0; p < positions; ++p) blocks.push_back({feature, read, t, p});
      ++read;
    }
  return blocks;
}

std::unique_ptr<const DensePart> ServedModel::ReadDensePart(const ModelSpec& spec,
                                                            const MappedTensors& tensors) {
  Context ctx({.threads = 1});
  auto dense = std::make_unique<DensePart>(ctx, spec);
  for (const NamedParameter& parameter : dense->Parameters())
    parameter.variable.value().CopyFrom(
        ctx, tensors.At(parameter.name, spec.dense_type, parameter.variable.shape())
                 .To(ctx, DType::kF32));
  dense->KeepPacked(ctx);
  return dense;
}

std::vector<std::optional<TableRemap>> ServedModel::ReadRemaps(const ModelSpec& spec,
                                                               const MappedTensors& weights) {
  std::vector<std::optional<TableRemap>> remaps;
  for (const TableSpec& table : spec.tables) {
    remaps.emplace_back();
    if (table.pruned()) remaps.back() = ReadTableRemap(weights, table);
  }
  return remaps;
}

ServedModel::ServedModel(ModelSpec spec, std::string digest,
                         std::shared_ptr<const ServedTables> tables,
                         std::vector<std::optional<TableRemap>> remaps,
                         std::unique_ptr<const DensePart> dense,
                         std::chrono::system_clock::time_point written, const ServedModel* before)
    : spec_(std::move(spec)),
      raw_rows_(spec_),
      id_ranges_(spec_),
      digest_(std::move(digest)),
      features_(spec_.Features()),
      outputs_(spec_.Outputs()),
      blocks_(BlocksOf(spec_)),
      tables_(std::move(tables)),
      remaps_(std::move(remaps)),
      dense_(std::move(dense)),
      written_(written) {
  for (const std::string& feature : features_)
    if (const auto most = MaxBagLength(spec_.net, feature)) max_bag_lengths_[feature] = *most;
  for (size_t t = 0; t < spec_.tables.size(); ++t) {
    const TableSpec& table = spec_.tables[t];
    narrow_rows_ = narrow_rows_ && table.stored_rows() <= std::numeric_limits<int32_t>::max();
    layouts_.push_back(LayoutOf(table.codec, table.dim));
    rows_.push_back(tables_->Rows(t));
    counters_.push_back(before == nullptr
                            ? std::make_shared<TableCounter>()
                            : CounterFor(table.name, before->spec_.tables, before->counters_));
  }
  FindMappings();
}

void ServedModel::FindMappings() {
  std::set<const void*> mappings;
  for (size_t t = 0; t < rows_.size(); ++t) {
    mappings.insert(GuardedMappingOf(rows_[t].raw_data()));
    if (remaps_[t]) mappings.insert(GuardedMappingOf(remaps_[t]->data.raw_data()));
    if (const RawIdMap* ids = tables_->ids(t))
      mappings.insert(GuardedMappingOf(ids->slots().raw_data()));
  }
  mappings.erase(nullptr);
  mappings_.assign(mappings.begin(), mappings.end());
}

void ServedModel::Check(const PredictRequest& request) const {
  if (request.reading != 0 && request.reading != raw_rows_.reading())
    throw ReadOtherwise(
        Format("version {} reads rows otherwise than the model that read these: read them again",
               spec_.version));
  const Tensor& dense = request.dense;
  if (!dense.defined() || dense.dtype() != DType::kF32 || dense.rank() != 2 ||
      dense.dim(1) != spec_.net.dense_in)
    throw Error(Format("dense: expected f32 [B, {}], got {}", spec_.net.dense_in,
                       dense.defined() ? Format("{} {}", dense.dtype(), dense.shape()) : "none"));
  if (features_.empty()) return;
  CheckFeatures(request.features, request.size());
  CheckWeights(request.features, spec_.net.weighted);
  if (request.features.keys() != features_)
    for (const std::string& name : features_)
      if (!request.features.Contains(name)) throw Error(Format("feature {} is missing", name));
  CheckLengths(request.features, max_bag_lengths_);
  if (!request.strict) return;
  if (const auto stray = id_ranges_.Find(request.features).first) throw Error(ToString(*stray));
}

Tensor ServedModel::PackDense(Context& ctx, std::span<const Part> parts, int64_t batch) const {
  if (parts.size() == 1) {
    const Part& one = parts.front();
    return one.request->dense.Rows(one.first, one.first + one.count);
  }
  const Tensor dense = Tensor::Empty(ctx, {batch, spec_.net.dense_in});
  int64_t row = 0;
  for (const auto& [request, first, count] : parts) {
    dense.Rows(row, row + count).CopyFrom(ctx, request->dense.Rows(first, first + count));
    row += count;
  }
  return dense;
}

ServedModel::PackedBatch ServedModel::Pack(Context& ctx, std::span<const Part> parts) const {
  PackedBatch packed;
  int64_t most_ids = 0;
  for (const Part& part : parts) {
    packed.batch += part.count;
    for (const Block& block : blocks_) {
      if (block.position.value_or(0) > 0) continue;
      const RequestFeature from = FeatureOf(ctx, *part.request, block.feature, block.read);
      const int64_t bag = from.first_bag + part.first;
      most_ids += from.offsets[bag + part.count] - from.offsets[bag];
    }
  }
  // A large request must not be copied without need.
  constexpr int64_t kMany = 1 << 16;
  if (parts.size() == 1 && most_ids > kMany && IdsAreRows()) return AsItCame(ctx, parts.front());
  packed.dense = PackDense(ctx, parts, packed.batch);
  const bool narrow = most_ids > kMany && narrow_rows_;
  packed.ids = Tensor::Empty(ctx, {most_ids}, narrow ? DType::kI32 : DType::kI64);
  packed.offsets = Tensor::Empty(ctx, {std::ssize(blocks_) * packed.batch + 1}, DType::kI64);
  if (spec_.net.weighted) packed.weights = Tensor::Empty(ctx, {most_ids});
  narrow ? PackIds<int32_t>(ctx, parts, packed) : PackIds<int64_t>(ctx, parts, packed);
  if (dense_->has_position_weights()) PackPositionWeights(ctx, packed);
  return packed;
}

void ServedModel::PackPositionWeights(Context& ctx, PackedBatch& packed) const {
  packed.weights = Tensor::Full(ctx, {packed.ids.numel()}, 1);
  const int64_t* offset = packed.offsets.data<int64_t>();
  for (const Block& block : blocks_) {
    const Tensor of_positions = dense_->position_weights(block.feature);
    const int64_t* const bags = std::exchange(offset, offset + packed.batch);
    if (!of_positions) continue;
    for (int64_t b = 0; b < packed.batch; ++b) {
      const int64_t length = bags[b + 1] - bags[b];  // at most as many: Check
      std::copy_n(of_positions.data<float>(), length, packed.weights.data<float>() + bags[b]);
    }
  }
}

bool ServedModel::IdsAreRows() const {
  return !dense_->has_position_weights() && spec_.net.attention.empty() &&
         std::none_of(spec_.tables.begin(), spec_.tables.end(), [](const TableSpec& table) {
           return table.pruned() || table.raw_ids || table.default_row;
         });
}

ServedModel::PackedBatch ServedModel::AsItCame(Context& ctx, const Part& part) const {
  const KeyedJaggedTensor& kjt = part.request->features;
  PackedBatch batch{.batch = part.count,
                    .dense = PackDense(ctx, std::span(&part, 1), part.count),
                    .ids = kjt.values(),
                    .offsets = kjt.offsets(ctx)};
  if (spec_.net.weighted) batch.weights = kjt.weights().value().Contiguous(ctx);
  for (const Block& block : blocks_) {
    const RequestFeature from = FeatureOf(ctx, *part.request, block.feature, block.read);
    const int64_t bag = from.first_bag + part.first, rows = tables_->Rows(block.table).dim(0),
                  begin = from.offsets[bag], end = from.offsets[bag + part.count];
    int64_t hits = 0;
    for (int64_t i = begin; i < end; ++i) hits += IsRow(from.ids[i], rows) ? 1 : 0;
    if (part.request->counted) Count(*counters_[block.table], hits, end - begin - hits);
    batch.first_bags.push_back(bag);
  }
  return batch;
}

template <typename Row>
void ServedModel::PackIds(Context& ctx, std::span<const Part> parts,
                          const PackedBatch& packed) const {
  Row *const ids = packed.ids.data<Row>(), *next = ids;
  int64_t* offset = packed.offsets.data<int64_t>();
  float* weight = packed.weights ? packed.weights.data<float>() : nullptr;
  *offset++ = 0;
  const bool counted = !parts.empty() && parts.front().request->counted;
  for (const auto& [feature, read, t, position] : blocks_) {
    const IdRows rows{spec_.tables[t], remaps_[t] ? &*remaps_[t] : nullptr, tables_->ids(t)};
    IdCopy<Row> copy(rows, next);
    for (const auto& [request, first, count] : parts) {
      const RequestFeature from = FeatureOf(ctx, *request, feature, read, position);
      const int64_t begin = from.first_bag + first, end = begin + count;
      if (weight != nullptr) weight = CopyWeights(ctx, *request, from, begin, end, weight);
      for (int64_t b = begin; b < end; ++b) {
        const auto [first_id, end_id] = from.Bag(b);
        copy.Append(from.ids, first_id, end_id);
        *offset++ = copy.end() - ids;
      }
    }
    if (counted) Count(*counters_[t], copy.hits(), copy.misses());
    next = copy.end();
  }
}

Tensor ServedModel::Lookup(Context& ctx, const PackedBatch& batch) const {
  int64_t width = 0, column = 0;
  for (const PooledFeature& feature : spec_.PooledFeatures()) width += feature.columns();
  const Tensor pooled = Tensor::Empty(ctx, {batch.batch, width});
  std::vector<QuantizedLookupFeature> lookups(blocks_.size());
  for (size_t f = 0; f < blocks_.size(); ++f) {
    const size_t t = blocks_[f].table;
    QuantizedLookupFeature& lookup = lookups[f];
    lookup.rows = rows_[t].raw_data();
    lookup.num_rows = rows_[t].dim(0);
    lookup.dim = spec_.tables[t].dim;
    lookup.layout = layouts_[t];
    lookup.ids = Indices(batch.ids);
    lookup.first_bag =
        batch.first_bags.empty() ? static_cast<int64_t>(f) * batch.batch : batch.first_bags[f];
    lookup.num_bags = batch.batch;
    lookup.pooling = spec_.tables[t].pooling;
    lookup.output = pooled.data<float>() + column;
    lookup.output_stride = width;
    column += lookup.dim;
  }
  QuantizedLookup(ctx, {.features = lookups,
                        .offsets = Indices(batch.offsets),
                        .weights = batch.weights ? batch.weights.data<float>() : nullptr,
                        .num_ids = batch.ids.numel()});
  return pooled;
}

void ServedModel::PredictParts(Context& ctx, std::span<const Part> parts,
                               std::vector<float>& scores) const {
  const PackedBatch batch = Pack(ctx, parts);
  if (batch.batch == 0) return;
  const Tensor some = dense_->Predict(ctx, batch.dense, Lookup(ctx, batch));
  scores.insert(scores.end(), some.data<float>(), some.data<float>() + some.numel());
}

std::string ServedModel::FileFailure() const {
  try {
    for (const void* mapping : mappings_) CheckMappedFile(mapping);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

std::vector<float> ServedModel::Predict(Context& ctx,
                                        std::span<const PredictRequest* const> requests) const {
  int64_t examples = 0;
  for (const PredictRequest* request : requests) {
    Check(*request);
    examples += request->size();
  }
  std::vector<float> scores;
  scores.reserve(static_cast<size_t>(examples) * outputs_.size());
  std::vector<Part> parts;
  int64_t batch = 0;
  for (const PredictRequest* request : requests)
    for (int64_t first = 0; first < request->size();) {
      const int64_t count = std::min(request->size() - first, kMaxTogether - batch);
      parts.push_back({request, first, count});
      first += count;
      if ((batch += count) < kMaxTogether) continue;
      PredictParts(ctx, parts, scores);
      parts.clear();
      batch = 0;
    }
  PredictParts(ctx, parts, scores);
  // Rows that were read from a file that was cut are wrong.
  if (const std::string failure = FileFailure(); !failure.empty()) throw BrokenModel(failure);
  return scores;
}

}  // namespace tessera::serve
