#include "serve/export/model_memory.h"

#include <algorithm>

#include "models/ranking_net_size.h"
#include "serve/raw_id_map.h"

namespace tessera::serve {
namespace {

constexpr double kFloat = 4, kNumber = 8;
constexpr double kActivationCopies = 2;  // outputs, and what a product works in
constexpr char kOtherLimit[] = "--memory-limit SIZE sets another limit";

double SlotBytes(int64_t ids) { return static_cast<double>(RawIdMap::BytesFor(ids)); }

double RowsBytes(const TableSpec& table, int64_t rows) {
  return static_cast<double>(rows) * static_cast<double>(RowBytes(table.codec, table.dim));
}

// The bytes that deltas may add to the table, in both copies.
double GrowthBytes(const TableSpec& table) {
  const int64_t more = table.most_stored_rows() - table.stored_rows();
  if (more <= 0) return 0;
  return 2 * (RowsBytes(table, more) + SlotBytes(table.rows + more) - SlotBytes(table.rows));
}

double DenseBytes(const ModelSpec& spec) {
  return kFloat * SizeOfRankingNet(spec.net, spec.PooledFeatures()).parameters;
}

double BatchBytes(const ModelSpec& spec, const ServingLoad& load) {
  const std::vector<PooledFeature> features = spec.PooledFeatures();
  const RankingNetSize net = SizeOfRankingNet(spec.net, features);
  const auto dense = static_cast<double>(spec.net.dense_in);
  double pooled = 0, reads = 0;
  for (const PooledFeature& feature : features) {
    pooled += static_cast<double>(feature.columns());
    reads += static_cast<double>(std::max<int64_t>(1, feature.positions));
  }
  const double example = kFloat * (dense + kActivationCopies * (pooled + net.activations)) +
                         2 * kNumber * reads;  // an id and an offset
  return example * load.calls * static_cast<double>(load.examples);
}

bool HasRawIds(const TrainConfig& config, const EmbeddingBagConfig& table) {
  return config.managed_collision.contains(table.name);
}

}  // namespace

std::vector<MemoryPart> MemoryOfServing(const ModelSpec& spec, const ServingLoad& load) {
  std::vector<MemoryPart> growing;
  for (const TableSpec& table : spec.tables)
    if (const double bytes = GrowthBytes(table); bytes > 0) growing.push_back({table.name, bytes});
  return {{"rows that deltas may add to growing tables", SumOf(growing), LargestText(growing)},
          {"the dense part", DenseBytes(spec)},
          {"batches", BatchBytes(spec, load)}};
}

void CheckServingMemory(const ModelSpec& spec, const ServingLoad& load, const MemoryThere& there) {
  CheckMemory(
      "the model", MemoryOfServing(spec, load), there,
      Format("What would fit: fewer or smaller batches at a time, or tables of raw ids that "
             "may grow less. {}",
             kOtherLimit));
}

std::vector<MemoryPart> MemoryOfWriting(const Checkpoint& checkpoint, const TrainConfig& config,
                                        const WriteModelOptions& options) {
  constexpr double kEntry = 2 * kNumber;  // an id and its row
  std::vector<MemoryPart> pruned, raw;
  double most_rows = 0;  // of a table while it is looked at: a norm or count and an id, each row
  const std::vector<RowSource> sources = RowsOf(checkpoint, config);
  for (size_t t = 0; t < config.tables.size(); ++t) {
    const EmbeddingBagConfig& table = config.tables[t];
    const auto rows = static_cast<double>(sources[t].rows);
    const bool has_raw_ids = HasRawIds(config, table);
    if (!has_raw_ids && !options.prune.any()) continue;
    most_rows = std::max(most_rows, rows);
    if (has_raw_ids)
      raw.push_back({table.name, kEntry * rows + SlotBytes(sources[t].rows)});
    else  // the ids that are kept, twice, their entries, and the remap
      pruned.push_back({table.name, (2 * kNumber + kEntry + kEntry) * rows});
  }
  const ModelSpec spec = MakeSpec(config, options);
  return {{"what pruning knows of rows", SumOf(pruned), LargestText(pruned)},
          {"what is known of raw ids", SumOf(raw), LargestText(raw)},
          {"what a table's rows are chosen by", 2 * kNumber * most_rows},
          {"the dense part", DenseBytes(spec)}};
}

void CheckWritingMemory(const Checkpoint& checkpoint, const TrainConfig& config,
                        const WriteModelOptions& options, const MemoryThere& there) {
  CheckMemory(
      "writing the model", MemoryOfWriting(checkpoint, config, options), there,
      Format("{}{}", options.prune.any() ? "Without --prune and its siblings it takes less. " : "",
             kOtherLimit));
}

}  // namespace tessera::serve
