#include "train/verify/training_digest.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "embedding/config/placement.h"
#include "runtime/base/check.h"
#include "runtime/tensor.h"
#include "sharding/kernel_location.h"

namespace tessera {
namespace {

uint64_t Mixed(uint64_t hash, uint64_t next) { return hash * 0x9e3779b97f4a7c15u + next; }

// Mixes the bytes of the bags of a feature into the hashes of their examples.
void MixBags(const Tensor& values, const int64_t* offsets, std::vector<uint64_t>& hashes) {
  const auto* data = static_cast<const char*>(values.raw_data());
  const int64_t size = SizeOf(values.dtype());
  for (size_t e = 0; e < hashes.size(); ++e)
    hashes[e] = Mixed(hashes[e],
                      HashOfBytes(data + offsets[e] * size, (offsets[e + 1] - offsets[e]) * size));
}

// Mixes the bytes of a tensor with a row for each example into their hashes.
void MixRows(const Tensor& rows, std::vector<uint64_t>& hashes) {
  if (!rows || hashes.empty()) return;
  const auto* data = static_cast<const char*>(rows.raw_data());
  const int64_t bytes = rows.nbytes() / std::ssize(hashes);
  for (size_t e = 0; e < hashes.size(); ++e)
    hashes[e] = Mixed(hashes[e], HashOfBytes(data + static_cast<int64_t>(e) * bytes, bytes));
}

[[noreturn]] void Refuse(const std::string& what) {
  throw Error("--verify reads the rows of tables in memory of their process: not beside " + what);
}

}  // namespace

void CheckCanDigest(const TrainConfig& config, Device device, int groups) {
  if (groups > 1) Refuse("--sharding-group-size, whose groups have tables of their own");
  if (device != Device::Cpu()) Refuse(Format("--device {}", device));
  if (!config.managed_collision.empty())
    Refuse(Format("managed_collision of table {}, whose raw ids find their rows inside a step",
                  config.managed_collision.begin()->first));
  for (const EmbeddingBagConfig& table : config.tables)
    if (IsCached(table.location))
      Refuse(Format("location {} of table {}", ToString(table.location), table.name));
}

void CheckCanDigest(const TrainConfig& config, const ShardingPlan& plan) {
  for (const EmbeddingBagConfig& table : config.tables) {
    if (IsCached(LocationIn(&plan, table.name, table.location)))
      Refuse(Format("kernel {} of table {} in the plan",
                    ToString(plan.tables.at(table.name).kernel), table.name));
    if (std::holds_alternative<tessera::Dense>(table.optimizer))
      throw Error(
          Format("--verify beside ranks does not know the rows of table {}: its rule dense leaves "
                 "them to the optimizer of the dense part",
                 table.name));
  }
}

TrainingDigest::TrainingDigest(Trainer& trainer) : trainer_(trainer) {
  CheckCanDigest(trainer.config(), trainer.context().device(), trainer.num_groups());
  if (trainer.ranks()) CheckCanDigest(trainer.config(), trainer.ranks()->plan);
  trainer.model().sharded() == nullptr ? FindTables() : FindShardedTables();
  NameTensorsSync();
  uint64_t place = 0;
  for (Table& table : tables_) {
    table.first_place = place;
    place += table.tensors.size() * static_cast<uint64_t>(table.rows);
  }
}

void TrainingDigest::FindTables() {
  const TableBatchedEmbedding& tables = trainer_.model().embedding_bag_collection().tables();
  for (int t = 0; t < tables.num_tables(); ++t) {
    tables_.push_back({tables.table_name(t), tables.table(t).num_embeddings});
    parts_.push_back({.table = t, .held = &tables, .index = t});
  }
  features_ = tables.features();
}

void TrainingDigest::FindShardedTables() {
  const ShardedTables& tables = trainer_.model().sharded()->tables();
  for (const BaseEmbeddingConfig& table : tables.tables())
    tables_.push_back({table.name, table.num_embeddings});
  for (const HeldShard& held : tables.shards()) {
    const auto table = std::ranges::find(tables_, held.table, &Table::name);
    parts_.push_back({static_cast<int>(table - tables_.begin()), held.tables, held.index,
                      held.shard.row_offset, held.shard.column_offset, held.replicated});
  }
  features_ = tables.features();
}

void TrainingDigest::NameTensorsSync() {
  std::string mine;
  for (const Part& part : parts_) {
    std::vector<std::string>& tensors = tables_[static_cast<size_t>(part.table)].tensors;
    if (!tensors.empty()) continue;
    const TableRows rows = part.held->rows();
    for (int p = 0; p < rows.num_parts(part.index); ++p) {
      tensors.push_back(rows.part(part.index, p).name);
      mine += Format("{} {}\n", part.table, tensors.back());
    }
  }
  Communicator* const comm = trainer_.comm();
  if (comm == nullptr) return;
  for (const std::string& theirs : comm->GatherStringsSync(mine, "tensors of --verify")) {
    std::vector<Table> named(tables_.size());
    std::istringstream lines(theirs);
    size_t table = 0;
    for (std::string name; lines >> table >> name;) named.at(table).tensors.push_back(name);
    for (size_t t = 0; t < named.size(); ++t)
      if (tables_[t].tensors.empty()) tables_[t].tensors = named[t].tensors;
  }
}

std::vector<RowItems> TrainingDigest::ItemsOf(const Part& part) const {
  const Table& table = tables_[static_cast<size_t>(part.table)];
  const TableRows rows = part.held->rows();
  std::vector<RowItems> items;
  for (int p = 0; p < rows.num_parts(part.index); ++p)
    items.push_back({.tensor = rows.part(part.index, p).tensor,
                     .first_row = part.first_row,
                     .first_column = part.first_column,
                     .first_place = table.first_place + static_cast<uint64_t>(p * table.rows)});
  return items;
}

std::vector<DenseItems> TrainingDigest::Dense() const {
  std::vector<NamedTensor> tensors;
  for (const NamedParameter& parameter : trainer_.model().Parameters())
    tensors.push_back({parameter.name, parameter.variable.value()});
  for (NamedTensor& state : trainer_.RestOfState()) tensors.push_back(std::move(state));
  std::vector<DenseItems> all;
  uint64_t place = 0;
  for (const NamedTensor& tensor : tensors) {
    all.push_back({.name = tensor.name, .tensor = tensor.tensor, .first_place = place});
    place += static_cast<uint64_t>(all.back().count());
  }
  return all;
}

LocatedSum TrainingDigest::OfDense() const {
  LocatedSum sum;
  for (const DenseItems& items : Dense()) items.AddAll(sum);
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

void TrainingDigest::AddNamedRows(const KeyedJaggedTensor& features, PartDigest& digest) const {
  std::vector<std::vector<int64_t>> ids;
  for (const EmbeddingFeature& feature : features_) {
    const JaggedTensor bags = features.At(trainer_.context(), feature.key);
    const Tensor of_feature = bags.values().value().To(trainer_.context(), DType::kI64);
    const std::span<const int64_t> values = of_feature.span<int64_t>();
    ids.emplace_back(values.begin(), values.end());
  }
  ids = ListsOfRanksSync(trainer_.comm(), std::move(ids));
  for (const Part& part : parts_) {
    LocatedSum& sum = part.is_copy ? digest.copied_rows : digest.rows;
    for (const RowItems& items : ItemsOf(part))
      for (size_t f = 0; f < features_.size(); ++f)
        if (features_[f].table == part.table)
          for (const int64_t id : ids[f]) items.Add(id, sum);
  }
}

std::vector<StepDigest> TrainingDigest::OfStepSync(const Batch& part) const {
  PartDigest digest{
      .examples = static_cast<uint64_t>(part.size()), .batch = OfBatch(part), .dense = OfDense()};
  AddNamedRows(part.features, digest);
  return DigestsOfRanksSync(trainer_.comm(), digest);
}

std::vector<StepDigest> TrainingDigest::OfStateSync() const {
  PartDigest digest{.dense = OfDense()};
  for (const Part& part : parts_)
    for (const RowItems& items : ItemsOf(part))
      items.AddAll(trainer_.context().threads(), part.is_copy ? digest.copied_rows : digest.rows);
  return DigestsOfRanksSync(trainer_.comm(), digest);
}

std::string TrainingDigest::NameInBatch(uint64_t place) {
  return Format("example {} of the batch", place);
}

std::string TrainingDigest::RanksWith(const Table& table, int64_t row) const {
  if (!trainer_.ranks() || trainer_.comm()->size() == 1) return "";
  const TableSharding& sharding = trainer_.ranks()->plan.tables.at(table.name);
  if (sharding.type == ShardingType::kDataParallel) return "";
  std::string ranks;
  for (const Shard& shard : sharding.shards)
    if (row >= shard.row_offset && row < shard.row_offset + shard.rows)
      ranks += Format("{}{}", ranks.empty() ? "" : ", ", shard.rank);
  return Format(" (of rank {})", ranks);
}

std::string TrainingDigest::NameInRows(uint64_t place) const {
  size_t t = tables_.size() - 1;
  while (t > 0 && tables_[t].first_place > place) --t;
  const Table& table = tables_[t];
  const uint64_t rows = std::max<uint64_t>(1, static_cast<uint64_t>(table.rows)),
                 tensor = (place - table.first_place) / rows;
  TESSERA_CHECK_LT(tensor, table.tensors.size(), "verify: place {} of no row", place);
  const auto row = static_cast<int64_t>((place - table.first_place) % rows);
  return Format("table {}, row {}, {}{}", table.name, row, table.tensors[tensor],
                RanksWith(table, row));
}

std::string TrainingDigest::NameInDense(uint64_t place) const {
  const std::vector<DenseItems> all = Dense();
  const auto after = std::ranges::upper_bound(all, place, {}, &DenseItems::first_place);
  TESSERA_CHECK(after != all.begin(), "verify: place {} of no item", place);
  return std::prev(after)->NameOf(place);
}

}  // namespace tessera
