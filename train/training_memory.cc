#include "train/training_memory.h"

#include <algorithm>
#include <cmath>

#include "embedding/table/table_start.h"
#include "models/ranking_net_size.h"
#include "optim/dense_state_names.h"
#include "runtime/base/joined.h"
#include "sharding/kernel_location.h"
#include "train/data_sets.h"
#include "train/model_config.h"

namespace tessera {
namespace {

constexpr double kFloat = 4;
constexpr double kDenseCopies = 4;  // parameters, gradients, up to two states
// Outputs, their gradients, what a product works in, and blocks that the allocator keeps.
constexpr double kActivationCopies = 4;
constexpr double kIdBytes = 8 + 16 + 12;  // an id; the update's work on it and on its bag

// Large blocks of host memory are whole huge pages (runtime/device/allocator.cc).
constexpr double kHugePage = 2 << 20;
// Copies of a rank's block of pooled rows, of all examples of its group: partial sums, messages and
// gradients; and of the gradients that replicas exchange. Measured.
constexpr double kExchangeCopies = 6, kReplicaCopies = 3;
// The memory of a batch in an evaluation, as a share of what it takes in training. Measured.
constexpr double kEvaluationShare = 0.45;

double InHugePages(double bytes) {
  return bytes < kHugePage ? bytes : std::ceil(bytes / kHugePage) * kHugePage;
}

// The memory of a table that is filled when it is made.
TableMemory InBlocks(TableMemory memory) {
  memory.rows = InHugePages(memory.rows);
  memory.states = InHugePages(memory.states);
  return memory;
}

int64_t TimesHere(const Shard& shard, const TrainingPlace& place) {
  return std::ranges::count(place.ranks, shard.rank);
}

// The gradient, a whole table, and the states that a dense optimizer keeps of a table.
double DenseTableBytes(const DenseOptimizerConfig& optimizer, int64_t rows, int64_t columns) {
  return static_cast<double>(rows) * (kFloat * static_cast<double>(columns) +
                                      static_cast<double>(DenseStateBytesARow(optimizer, columns)));
}

// The memory of a table, on host and GPU together.
TableMemory MemoryOfRanks(const EmbeddingBagConfig& table, const DenseOptimizerConfig& optimizer,
                          const TrainingPlace& place) {
  const auto of_part = [&](int64_t rows, int64_t columns) {
    TableMemory memory = MemoryOfTable(table, rows, columns);
    if (std::holds_alternative<Dense>(table.optimizer))
      memory.states += DenseTableBytes(optimizer, rows, columns);
    return table.growing || place.memory == MemoryOf::kGpu ? memory : InBlocks(memory);
  };
  if (place.plan == nullptr) return of_part(table.num_embeddings, table.embedding_dim);
  TableMemory memory = {.name = table.name};
  const auto found = place.plan->tables.find(table.name);
  if (found == place.plan->tables.end()) return memory;
  const bool filled = table.location != EmbeddingLocation::kDisk &&
                      !(place.memory == MemoryOf::kHost && internal::CanTakeRowsOnUse(table));
  double cache_copy = 0;  // caches of ranks are copied at the same time
  double making = 0;      // ranks fill their parts at the same time, those of 16 bits as f32 first
  for (const Shard& shard : found->second.shards)
    for (int64_t time = 0; time < TimesHere(shard, place); ++time) {
      const TableMemory part = of_part(shard.rows, shard.columns);
      memory += part;
      cache_copy += part.cache_copy;
      if (table.data_type != DType::kF32 && filled)
        making += kFloat * static_cast<double>(shard.rows) * static_cast<double>(shard.columns);
    }
  memory.making = making;
  memory.cache_copy = cache_copy;
  return memory;
}

// The table where the plan's kernel puts it.
EmbeddingBagConfig Placed(EmbeddingBagConfig table, const TrainingPlace& place) {
  if (place.plan == nullptr) return table;
  if (const auto found = place.plan->tables.find(table.name); found != place.plan->tables.end())
    table.location = LocationUnder(found->second.kernel, table.location);
  return table;
}

TableMemory MemoryHere(const EmbeddingBagConfig& config, const DenseOptimizerConfig& optimizer,
                       const TrainingPlace& place) {
  const EmbeddingBagConfig table = Placed(config, place);
  TableMemory memory = MemoryOfRanks(table, optimizer, place);
  if (place.memory == MemoryOf::kHost) return memory;
  const bool on_gpu = place.memory == MemoryOf::kGpu;
  if ((table.location == EmbeddingLocation::kDevice) != on_gpu)
    memory.rows = memory.states = memory.making = 0;
  if (!on_gpu) memory.cache = memory.cache_copy = 0;
  return memory;
}

// How many memories such as this one the ranks of the whole training have.
double NumMemories(const TrainingPlace& place) {
  const int ranks = place.plan == nullptr ? 1 : place.plan->world_size * place.groups;
  return ranks / static_cast<double>(place.ranks.size());
}

// The examples here of a batch that all ranks share; no more than all synthetic rows.
double ExamplesHere(const TrainConfig& config, int64_t batch, const TrainingPlace& place) {
  auto examples = static_cast<double>(batch);
  if (config.data.rows > 0) examples = std::min(examples, static_cast<double>(config.data.rows));
  return examples / NumMemories(place);
}

// Bytes that ranks here exchange in a batch for each example of a group: every rectangle of a table
// has pooled rows, or parts of them, of all its group's examples.
double ExchangedBytes(const TrainConfig& config, const TrainingPlace& place) {
  if (place.plan == nullptr) return 0;
  double bytes = 0;
  for (const EmbeddingBagConfig& table : config.tables) {
    const auto found = place.plan->tables.find(table.name);
    if (found == place.plan->tables.end()) continue;
    const double copies =
        found->second.type == ShardingType::kDataParallel ? kReplicaCopies : kExchangeCopies;
    for (const Shard& shard : found->second.shards)
      bytes += copies * kFloat * static_cast<double>(shard.columns * TimesHere(shard, place)) *
               static_cast<double>(table.feature_names.size());
  }
  return bytes / place.groups;
}

// The bytes of a step of so many examples of all ranks, which goes through the model in batches.
double BatchBytes(const TrainConfig& config, const TrainingPlace& place,
                  const std::vector<PooledFeature>& features, const RankingNetSize& net,
                  int64_t step, int64_t batch) {
  double rows = 0;
  for (const PooledFeature& feature : features)
    rows += kIdBytes * static_cast<double>(std::max<int64_t>(1, feature.positions)) +
            static_cast<double>(feature.columns()) * kFloat * kActivationCopies;
  const auto dense = static_cast<double>(config.model.dense_in + config.model.num_tasks());
  // Ids, inputs and gradients of pooled rows are kept for a whole step.
  return ExamplesHere(config, step, place) * (rows + dense * kFloat) +
         ExamplesHere(config, batch, place) * net.activations * kActivationCopies * kFloat +
         ExamplesHere(config, batch, {}) * ExchangedBytes(config, place);
}

// The examples of a batch that is evaluated; 0 where nothing is, as far as the configuration says.
int64_t EvaluatedExamples(const TrainConfig& config) {
  if (config.data.rows == 0) return kEvaluationBatch;
  return std::min(kEvaluationBatch, config.data.eval_rows);
}

// The memory of the same training with every table changed.
template <typename Change>
double TotalWith(TrainConfig config, const TrainingPlace& place, Change&& change) {
  for (EmbeddingBagConfig& table : config.tables) change(table);
  return MemoryOfTraining(config, place).total();
}

double TotalWith16Bits(const TrainConfig& config, const TrainingPlace& place) {
  return TotalWith(config, place, [](EmbeddingBagConfig& t) { t.data_type = DType::kBF16; });
}

double TotalAt(EmbeddingLocation location, const TrainConfig& config, const TrainingPlace& place) {
  return TotalWith(config, place, [&](EmbeddingBagConfig& table) {
    if (!std::holds_alternative<Dense>(table.optimizer) && !table.growing)
      table.location = location;
  });
}

std::string Advice(const TrainConfig& config, const TrainingPlace& place,
                   const TrainingMemory& memory, const MemoryThere& there) {
  const bool on_gpu = place.memory == MemoryOf::kGpu;
  double tables = 0;
  for (const TableMemory& table : memory.tables) tables += table.total();
  const double rest = memory.total() - tables, share = (there.left() - rest) / tables;
  std::vector<std::string> ways;
  if (share >= 0.01)
    ways.push_back(Format("{:.0f} % of the tables' rows", std::floor(100 * share)));
  if (const double bytes = TotalWith16Bits(config, place); bytes <= there.left())
    ways.push_back(Format("rows of 16 bits (\"dtype\": \"bf16\", {})", BytesText(bytes)));
  const auto elsewhere = on_gpu ? EmbeddingLocation::kManagedCaching : EmbeddingLocation::kDisk;
  if (const double bytes = TotalAt(elsewhere, config, place); bytes <= there.left())
    ways.push_back(Format("tables {} (\"location\": \"{}\", {})",
                          on_gpu ? "in host memory behind a cache" : "on disk", elsewhere,
                          BytesText(bytes)));
  if (rest < there.left())
    ways.push_back(Format("ranks on {:.0f} such {}",
                          std::ceil(tables * NumMemories(place) / (there.left() - rest)),
                          on_gpu ? "GPUs" : "machines (mpirun)"));
  const std::string text =
      ways.empty() ? "a smaller model or batch" : internal::Joined(ways, ", ", " or ");
  return Format("What would fit: {}{}", text,
                on_gpu ? "" : ". --memory-limit SIZE sets another limit");
}

}  // namespace

double TrainingMemory::making() const {
  double most = 0;
  for (const TableMemory& table : tables) most = std::max({most, table.making, table.cache_copy});
  return most;
}

double TrainingMemory::total() const {
  double sum = ids + dense + batch + making();
  for (const TableMemory& table : tables) sum += table.total();
  return sum;
}

TrainingMemory MemoryOfTraining(const TrainConfig& config, const TrainingPlace& place) {
  TrainingMemory memory;
  const std::vector<EmbeddingBagConfig> tables = RankingModelConfigOf(config).tables;
  const bool on_gpu = place.memory == MemoryOf::kGpu;
  for (const EmbeddingBagConfig& table : tables) {
    memory.tables.push_back(MemoryHere(table, config.dense_optimizer, place));
    if (const auto ids = config.managed_collision.find(table.name);
        !on_gpu && ids != config.managed_collision.end())
      memory.ids += static_cast<double>(MostBytesOfIds(ids->second, table.num_embeddings));
  }
  const std::vector<PooledFeature> features = PooledFeatures(tables, config.model);
  const RankingNetSize net = SizeOfRankingNet(config.model, features);
  memory.dense = net.parameters * kFloat * kDenseCopies * static_cast<double>(place.ranks.size());
  if (on_gpu) return memory;
  memory.dense += BytesOfSlots(config.model) * static_cast<double>(place.ranks.size());
  const auto bytes = [&](int64_t step, int64_t batch) {
    return BatchBytes(config, place, features, net, step, batch);
  };
  const int64_t evaluated = EvaluatedExamples(config);
  memory.batch = std::max(bytes(ExamplesOfStep(config), config.batch_size),
                          kEvaluationShare * bytes(evaluated, evaluated));
  return memory;
}

std::vector<MemoryPart> PartsOf(const TrainingMemory& memory) {
  double rows = 0, states = 0, cache = 0;
  std::vector<MemoryPart> tables;
  for (const TableMemory& table : memory.tables) {
    rows += table.rows;
    states += table.states;
    cache += table.cache;
    tables.push_back({table.name, table.total()});
  }
  return {{"tables' rows", rows, LargestText(tables)},
          {"optimizer states", states},
          {"caches of rows", cache},
          {"copies while tables are filled or caches grow", memory.making()},
          {"what is known of raw ids", memory.ids},
          {"the dense part", memory.dense},
          {"a batch", memory.batch}};
}

void CheckTrainingMemory(const TrainConfig& config, const TrainingPlace& place,
                         const MemoryThere& there) {
  const TrainingMemory memory = MemoryOfTraining(config, place);
  if (memory.total() <= there.left()) return;
  const char* const who = place.memory == MemoryOf::kGpu ? "the training on a GPU" : "the training";
  CheckMemory(who, PartsOf(memory), there, Advice(config, place, memory, there));
}

}  // namespace tessera
