#include "train/verify/training_digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "embedding/config/placement.h"
#include "runtime/base/check.h"
#include "runtime/tensor.h"

namespace tessera {
namespace {

constexpr int64_t kDenseItem = 4096;  // bytes of a dense tensor that are one item

uint64_t Hash(const char* data, int64_t bytes) {
  return XXH3_64bits(data, static_cast<size_t>(bytes));
}

uint64_t Mixed(uint64_t hash, uint64_t next) { return hash * 0x9e3779b97f4a7c15u + next; }

// Mixes the bytes of the bags of a feature into the hashes of their examples.
void MixBags(const Tensor& values, const int64_t* offsets, std::vector<uint64_t>& hashes) {
  const auto* data = static_cast<const char*>(values.raw_data());
  const int64_t size = SizeOf(values.dtype());
  for (size_t e = 0; e < hashes.size(); ++e)
    hashes[e] =
        Mixed(hashes[e], Hash(data + offsets[e] * size, (offsets[e + 1] - offsets[e]) * size));
}

// Mixes the bytes of a tensor with a row for each example into their hashes.
void MixRows(const Tensor& rows, std::vector<uint64_t>& hashes) {
  if (!rows || hashes.empty()) return;
  const auto* data = static_cast<const char*>(rows.raw_data());
  const int64_t bytes = rows.nbytes() / std::ssize(hashes);
  for (size_t e = 0; e < hashes.size(); ++e)
    hashes[e] = Mixed(hashes[e], Hash(data + static_cast<int64_t>(e) * bytes, bytes));
}

}  // namespace

void CheckCanDigest(const TrainConfig& config, Device device, int ranks) {
  const auto refuse = [](const std::string& what) {
    throw Error("--verify reads the rows of tables in this process's memory: not beside " + what);
  };
  if (ranks > 1) refuse(Format("{} ranks", ranks));
  if (device != Device::Cpu()) refuse(Format("--device {}", device));
  if (!config.managed_collision.empty())
    refuse(Format("managed_collision of table {}, whose raw ids find their rows inside a step",
                  config.managed_collision.begin()->first));
  for (const EmbeddingBagConfig& table : config.tables)
    if (IsCached(table.location))
      refuse(Format("location {} of table {}", ToString(table.location), table.name));
}

void TrainingDigest::Items::Add(int64_t item, LocatedSum& to) const {
  const int64_t begin = item * item_bytes;
  to.Add(first_place + static_cast<uint64_t>(item),
         Hash(static_cast<const char*>(tensor.raw_data()) + begin,
              std::min(item_bytes, tensor.nbytes() - begin)));
}

void TrainingDigest::Items::AddAll(LocatedSum& to) const {
  for (int64_t item = 0; item < count(); ++item) Add(item, to);
}

TrainingDigest::TrainingDigest(Trainer& trainer) : trainer_(trainer) {
  CheckCanDigest(trainer.config(), trainer.context().device(),
                 trainer.comm() == nullptr ? 1 : trainer.comm()->size());
  trainer.model().sharded() == nullptr ? FindTables() : FindShardedTables();
}

void TrainingDigest::FindTables() {
  const TableBatchedEmbedding& tables = trainer_.model().embedding_bag_collection().tables();
  for (int t = 0; t < tables.num_tables(); ++t) tables_.push_back({&tables, t});
  features_ = tables.features();
}

void TrainingDigest::FindShardedTables() {
  const ShardedTables& tables = trainer_.model().sharded()->tables();
  const auto refuse = [](const std::string& what) {
    throw Error("--verify beside --ranks 1 compares the bits of a training without ranks: not " +
                what);
  };
  if (tables.options().sharding.codecs != WireCodecs{}) refuse("with --wire-codecs");
  std::string last;
  for (const HeldShard& held : tables.shards()) {
    if (held.table == last) refuse(Format("where table {} is cut into blocks of columns", last));
    if (std::holds_alternative<tessera::Dense>(held.tables->rule(held.index)))
      refuse(Format("where table {} has the rule dense", held.table));
    tables_.push_back({held.tables, held.index});
    last = held.table;
  }
  features_ = tables.features();
}

std::vector<std::vector<TrainingDigest::Items>> TrainingDigest::Tables() const {
  std::vector<std::vector<Items>> all;
  uint64_t place = 0;
  for (const auto& [tables, t] : tables_) {
    const TableRows rows = tables->rows();
    std::vector<Items>& of_table = all.emplace_back();
    for (int p = 0; p < rows.num_parts(t); ++p) {
      const NamedTensor part = rows.part(t, p);
      const int64_t bytes = part.tensor.nbytes();
      of_table.push_back(
          {.name = part.name,
           .tensor = part.tensor,
           .item_bytes = std::max<int64_t>(1, bytes / std::max<int64_t>(1, part.tensor.dim(0))),
           .element_bytes = SizeOf(part.tensor.dtype()),
           .first_place = place});
      place += static_cast<uint64_t>(tables->table(t).num_embeddings);
    }
  }
  return all;
}

std::vector<TrainingDigest::Items> TrainingDigest::Dense() const {
  std::vector<NamedTensor> tensors;
  for (const NamedParameter& parameter : trainer_.model().Parameters())
    tensors.push_back({parameter.name, parameter.variable.value()});
  for (NamedTensor& state : trainer_.RestOfState()) tensors.push_back(std::move(state));
  std::vector<Items> all;
  uint64_t place = 0;
  for (const NamedTensor& tensor : tensors) {
    all.push_back({.name = tensor.name,
                   .tensor = tensor.tensor,
                   .item_bytes = kDenseItem,
                   .element_bytes = SizeOf(tensor.tensor.dtype()),
                   .first_place = place});
    place += static_cast<uint64_t>(all.back().count());
  }
  return all;
}

LocatedSum TrainingDigest::OfDense() const {
  LocatedSum sum;
  for (const Items& items : Dense()) items.AddAll(sum);
  return sum;
}

LocatedSum TrainingDigest::OfBatch(const Batch& batch) const {
  std::vector<uint64_t> hashes(static_cast<size_t>(batch.size()));
  for (const Tensor* rows : {&batch.dense, &batch.labels, &batch.weights, &batch.time})
    MixRows(*rows, hashes);
  const KeyedJaggedTensor& features = batch.features;
  const Tensor offsets = features.offsets(trainer_.context()).To(trainer_.context(), DType::kI64);
  for (int64_t key = 0; key < features.num_keys(); ++key) {
    const int64_t* const of_key = offsets.data<int64_t>() + key * features.stride();
    MixBags(features.values(), of_key, hashes);
    if (features.is_weighted()) MixBags(features.weights().value(), of_key, hashes);
  }
  LocatedSum sum;
  for (size_t e = 0; e < hashes.size(); ++e) sum.Add(e, hashes[e]);
  return sum;
}

LocatedSum TrainingDigest::OfNamedRows(const KeyedJaggedTensor& features) const {
  const std::vector<std::vector<Items>> all = Tables();
  LocatedSum sum;
  for (const EmbeddingFeature& feature : features_) {
    const JaggedTensor bags = features.At(trainer_.context(), feature.key);
    const Tensor ids = bags.values().value().To(trainer_.context(), DType::kI64);
    for (const Items& part : all[static_cast<size_t>(feature.table)])
      for (const int64_t id : ids.span<int64_t>())
        if (id >= 0 && id < part.count()) part.Add(id, sum);
  }
  return sum;
}

StepDigest TrainingDigest::OfStep(const Batch& batch) const {
  return {OfBatch(batch), OfNamedRows(batch.features), OfDense()};
}

StepDigest TrainingDigest::OfState() const {
  LocatedSum rows;
  for (const std::vector<Items>& table : Tables())
    for (const Items& part : table) part.AddAll(rows);
  return {LocatedSum(), rows, OfDense()};
}

std::string TrainingDigest::NameInBatch(uint64_t place) {
  return Format("example {} of the batch", place);
}

const TrainingDigest::Items& TrainingDigest::ItemsAt(const std::vector<Items>& all,
                                                     uint64_t place) {
  const auto after = std::ranges::upper_bound(all, place, {}, &Items::first_place);
  TESSERA_CHECK(after != all.begin(), "verify: place {} of no item", place);
  return *std::prev(after);
}

std::string TrainingDigest::NameInRows(uint64_t place) const {
  const std::vector<std::vector<Items>> all = Tables();
  size_t t = all.size() - 1;
  while (t > 0 && all[t].front().first_place > place) --t;
  const Items& part = ItemsAt(all[t], place);
  return Format("table {}, row {}, {}", tables_[t].tables->table_name(tables_[t].index),
                place - part.first_place, part.name);
}

std::string TrainingDigest::NameInDense(uint64_t place) const {
  const std::vector<Items> all = Dense();
  const Items& items = ItemsAt(all, place);
  const int64_t per_item = kDenseItem / items.element_bytes,
                first = static_cast<int64_t>(place - items.first_place) * per_item,
                end = std::min(first + per_item, items.tensor.numel());
  return Format("{}, elements {} to {}", items.name, first, end - 1);
}

}  // namespace tessera
