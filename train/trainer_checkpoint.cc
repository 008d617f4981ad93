// Saves a trainer's state in a checkpoint, and loads it to go on from there.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "comm/leader.h"
#include "metrics/state/metric_state.h"
#include "models/item_frequencies.h"
#include "runtime/tensor.h"
#include "sharding/checkpoint/save_checkpoint.h"
#include "sharding/managed_collision/managed_collision_checkpoint.h"
#include "sharding/table_checkpoint.h"
#include "train/checkpoint/model_checkpoint.h"
#include "train/checkpoint/whole_tables.h"
#include "train/dense_parts.h"
#include "train/trainer.h"

namespace tessera {
namespace {

constexpr char kWarmupState[] = "warmup";
constexpr char kFrequenciesKey[] = "__item_frequencies";

// The names that an unsharded checkpoint would have, without tables' weights.
std::vector<std::string> NamesIn(const CheckpointIndex& index) {
  std::vector<std::string> names;
  for (const auto& [name, stored] : index.whole) names.push_back(name);
  for (const CheckpointTable& table : index.info.tables)
    for (const StoredState& state : index.tables.at(table.shape.name).states)
      names.push_back(OptimizerStateName(table.parameter, state.name));
  return names;
}

bool RemembersAnything(const DenseOptimizerConfig& config) {
  return config.name != "sgd" || config.momentum != 0;
}

// Whether anything that a checkpoint keeps as optimizer state has some after a step.
bool RemembersAnything(const TrainConfig& config) {
  return RemembersAnything(config.dense_optimizer) || !config.warmup.empty() ||
         config.model.sampling_correction ||
         std::any_of(config.tables.begin(), config.tables.end(),
                     [](const auto& table) { return RuleStates(table.optimizer).size() > 0; });
}

// Optimizers that remember anything go on from their state and its place in a training together.
bool GoesOn(const std::optional<TrainingProgress>& progress, bool has_state, bool remembers) {
  if (!progress || has_state) return progress.has_value();
  return !remembers || (progress->step == 0 && progress->iter == 0);
}

// The first of the elements that is no finite number.
std::optional<float> NotFinite(Context& ctx, const Tensor& tensor) {
  constexpr int64_t kAtOnce = 1 << 20;  // a parameter may be a table
  const Tensor all = tensor.Contiguous(ctx).Reshape({-1});
  for (int64_t begin = 0; begin < all.numel(); begin += kAtOnce) {
    const Tensor part =
        all.Rows(begin, std::min(begin + kAtOnce, all.numel())).To(ctx, DType::kF32).ToHost();
    const auto values = part.span<float>();
    const auto bad = std::ranges::find_if_not(values, [](float x) { return std::isfinite(x); });
    if (bad != values.end()) return *bad;
  }
  return std::nullopt;
}

Checkpoint WithoutStates(Checkpoint checkpoint) {
  std::erase_if(checkpoint.tensors,
                [](const auto& entry) { return entry.name.starts_with(kOptimizerPrefix); });
  return checkpoint;
}

}  // namespace

std::vector<NamedTensor> Trainer::State() const {
  std::vector<NamedTensor> state = model_.StateDict();
  if (model_.sharded() != nullptr) return state;
  const TableBatchedEmbedding& tables = model_.embedding_bag_collection().tables();
  for (int t = 0; t < tables.num_tables(); ++t) {
    const std::string parameter = RankingModel::TableParameterName(tables.table_name(t));
    for (int p = 1; p < tables.rows().num_parts(t); ++p) {
      NamedTensor part = tables.rows().part(t, p);
      part.name = OptimizerStateName(parameter, part.name);
      state.push_back(std::move(part));
    }
  }
  return state;
}

std::vector<NamedTensor> Trainer::RestOfState() const {
  std::vector<NamedTensor> rest;
  OptimizerStateDict remembered = dense_->StateDict();
  for (const DensePart& part : model_.DenseParts()) remembered.erase(part.parameter.name);
  for (const auto& [parameter, states] : remembered)
    for (const auto& [name, tensor] : states)
      rest.push_back({OptimizerStateName(parameter, name), tensor});
  if (warmup_) rest.push_back({OptimizerStateName(kWarmupKey, kWarmupState), warmup_->Position()});
  if (frequencies_)
    for (const auto& [name, tensor] : frequencies_->State())
      rest.push_back({OptimizerStateName(kFrequenciesKey, name), tensor});
  return rest;
}

void Trainer::CheckConverges() {
  for (const NamedParameter& parameter : model_.Parameters())
    if (const auto bad = NotFinite(ctx_, parameter.variable.value()))
      throw Error(
          Format("{} has {} after step {}, and is not saved: the training diverged; try smaller "
                 "learning rates",
                 parameter.name, *bad, progress_.step));
}

std::vector<NamedTensor> Trainer::SavedState(const std::vector<NamedTensor>& metrics) {
  if (!ranks_) model_.embedding_bag_collection().tables().caches().Flush(ctx_);
  std::vector<NamedTensor> state = State();
  for (NamedTensor& named : RestOfState()) state.push_back(std::move(named));
  if (!ranks_)  // each saves what it knows of ids
    for (NamedTensor& named : model_.IdStateDict(ctx_)) state.push_back(std::move(named));
  state.insert(state.end(), metrics.begin(), metrics.end());
  return state;
}

void Trainer::OnFirstGroup(const std::function<void()>& fn) {
  if (!ranks_->groups) return fn();
  GatherResultsSync(*comm(), "the first sharding group", [&] {
    if (ranks_->groups->replicas->rank() == 0) fn();
    return std::string();
  });
}

void Trainer::Save(const std::string& path, const std::vector<NamedTensor>& metrics) {
  AverageGroups();
  CheckConverges();
  const std::vector<NamedTensor> state = SavedState(metrics);
  const TrainingProgress saved = progress();
  if (!ranks_) return WriteCheckpoint(ctx_, path, state, saved, ToJson(config_));
  ShardedTables& tables = model_.sharded()->tables();
  tables.Flush(ctx_);
  std::vector<NamedTensor> own;
  const std::vector<ShardTensors> shards = MyShards(own);
  const CheckpointInfo info = CheckpointInfoOf(tables, RankingModel::kTablePrefix,
                                               CheckpointMetadata(saved, ToJson(config_)));
  OnFirstGroup(
      [&] { SaveShardedCheckpoint(ctx_, ranks_->sharding(), path, info, shards, state, own); });
}

std::vector<ShardTensors> Trainer::MyShards(std::vector<NamedTensor>& own) {
  std::vector<ShardTensors> shards = ShardTensorsOf(model_.sharded()->tables());
  own = TakeDenseStates(model_, dense_->StateDict(), shards);
  for (NamedTensor& ids : model_.IdStateDict(ctx_)) own.push_back(std::move(ids));
  return shards;
}

// After training, every dense parameter has state, and so has a schedule.
void Trainer::CheckStateIsThere(const std::string& path,
                                const std::vector<std::string>& names) const {
  const auto check = [&](const std::string& parameter) {
    const std::string prefix = OptimizerStateName(parameter, "");
    if (std::none_of(names.begin(), names.end(),
                     [&](const std::string& name) { return name.starts_with(prefix); }))
      throw Error(Format("{}: it lacks '{}*', which this model has", path, prefix));
  };
  if (warmup_) check(kWarmupKey);
  if (frequencies_) check(kFrequenciesKey);
  if (!RemembersAnything(config_.dense_optimizer)) return;
  for (const std::string& parameter : DenseOptimizerKeys()) check(parameter);
}

std::vector<std::string> Trainer::DenseOptimizerKeys() const {
  const std::set<std::string> tables = ShardedDenseTables(model_);
  std::vector<std::string> keys(tables.begin(), tables.end());
  for (const NamedParameter& p : model_.Parameters()) keys.push_back(p.name);
  return keys;
}

void Trainer::LoadRest(const std::vector<NamedTensor>& rest, bool with_optimizer) {
  std::vector<NamedTensor> optimizer, metrics, ids;
  for (const NamedTensor& named : rest) {
    if (IsIdState(named.name))
      ids.push_back(named);
    else
      (named.name.starts_with(kMetricsPrefix) ? metrics : optimizer).push_back(named);
  }
  OptimizerStateDict states;
  internal::AddOptimizerStates(optimizer, states);
  const auto schedule = warmup_ ? states.extract(kWarmupKey) : OptimizerStateDict::node_type();
  const auto frequencies =
      frequencies_ ? states.extract(kFrequenciesKey) : OptimizerStateDict::node_type();
  if (with_optimizer) dense_->CheckStateDict(states);
  if (with_optimizer && frequencies) frequencies_->CheckState(frequencies.mapped());
  model_.LoadIdStateDict(ctx_, ids);
  if (with_optimizer && warmup_) {
    const bool known = schedule && schedule.mapped().contains(kWarmupState);
    warmup_->SetPosition(known ? schedule.mapped().at(kWarmupState) : Tensor());
  }
  if (with_optimizer) dense_->LoadStateDict(ctx_, states);
  if (with_optimizer && frequencies) frequencies_->LoadState(frequencies.mapped());
  for (NamedTensor& named : metrics) named.tensor = named.tensor.ToHost();
  loaded_metrics_ = std::move(metrics);
}

void Trainer::GoOnFrom(const TrainingProgress& progress) {
  progress_ = progress;
  groups_differ_ = false;
  const auto tell = [&](auto& tables) {
    tables.set_iter(progress.iter);
    for (size_t t = 0; t < config_.tables.size(); ++t)
      tables.set_max_counter(static_cast<int>(t), progress.max_counter_of(config_.tables[t].name));
  };
  if (model_.sharded() != nullptr)
    tell(model_.sharded()->tables());
  else
    tell(model_.embedding_bag_collection().tables());
  ctx_.random() = Random(progress.seed, progress.random_next_sequence);
}

std::vector<int64_t> Trainer::RowsAfter(const Checkpoint& checkpoint) const {
  const TableBatchedEmbedding& tables = model_.embedding_bag_collection().tables();
  std::vector<int64_t> rows;
  for (int t = 0; t < tables.num_tables(); ++t) {
    const int64_t before = tables.rows().in_use(t);
    rows.push_back(before);
    if (!tables.table(t).growing) continue;
    const std::string name = RankingModel::TableParameterName(tables.table_name(t));
    for (const CheckpointEntry& entry : checkpoint.tensors)
      if (entry.name == name && entry.tensor.shape.rank() == 2) rows.back() = entry.tensor.shape[0];
    const int64_t most = tables.table(t).num_embeddings, least = was_tracking_ ? before : 0;
    if (rows.back() < least || rows.back() > most)
      throw Error(Format("{}: '{}': expected {} to {} rows, got {}", checkpoint.path, name, least,
                         most, rows.back()));
  }
  return rows;
}

std::vector<NamedTensor> Trainer::StateOfRows(const std::vector<int64_t>& rows) const {
  const TableBatchedEmbedding& tables = model_.embedding_bag_collection().tables();
  std::map<std::string, int64_t> rows_of;
  for (int t = 0; t < tables.num_tables(); ++t) {
    if (!tables.table(t).growing) continue;
    const std::string parameter = RankingModel::TableParameterName(tables.table_name(t));
    rows_of[parameter] = rows[static_cast<size_t>(t)];
    for (int p = 1; p < tables.rows().num_parts(t); ++p)
      rows_of[OptimizerStateName(parameter, tables.rows().part(t, p).name)] = rows_of[parameter];
  }
  std::vector<NamedTensor> state = State();
  for (auto& [name, tensor, stored] : state) {
    const auto found = rows_of.find(name);
    if (found == rows_of.end() || found->second == tensor.dim(0)) continue;
    std::vector<int64_t> dims(tensor.shape().dims().begin(), tensor.shape().dims().end());
    dims[0] = found->second;
    tensor = Tensor::Borrow(nullptr, Shape(std::span<const int64_t>(dims)), tensor.dtype());
  }
  return state;
}

void Trainer::ShowRows(const std::vector<int64_t>& rows) {
  TableBatchedEmbedding& tables = model_.embedding_bag_collection().tables();
  for (int t = 0; t < tables.num_tables(); ++t)
    if (tables.table(t).growing) tables.rows().SetInUse(ctx_, t, rows[static_cast<size_t>(t)]);
}

bool Trainer::LoadAlone(const Checkpoint& given) {
  TableBatchedEmbedding& tables = model_.embedding_bag_collection().tables();
  const bool goes_on =
      GoesOn(given.progress, given.has_optimizer_state(), RemembersAnything(config_));
  const Checkpoint checkpoint = goes_on ? given : WithoutStates(given);
  if (goes_on && checkpoint.progress->step > 0) {
    std::vector<std::string> names;
    for (const CheckpointEntry& entry : checkpoint.tensors) names.push_back(entry.name);
    CheckStateIsThere(checkpoint.path, names);
  }
  const std::vector<int64_t> rows = RowsAfter(checkpoint);
  tables.caches().Flush(ctx_);
  tables.caches().Reset(ctx_);
  Restore(
      ctx_, checkpoint, StateOfRows(rows),
      [&](const std::vector<NamedTensor>& rest) {
        LoadRest(rest, checkpoint.has_optimizer_state());
      },
      [&] {
        changes_.clear();
        ShowRows(rows);
        return State();
      });
  if (goes_on) GoOnFrom(*checkpoint.progress);
  return goes_on;
}

std::vector<NamedTensor> Trainer::IdsIn(ShardedCheckpoint& checkpoint) {
  std::vector<std::string> prefixes;
  for (const auto& [table, config] : config_.managed_collision)
    prefixes.push_back(model_.IdPrefix(table) + "_");
  for (const auto& [name, stored] : checkpoint.index().whole) {
    const bool known = std::any_of(prefixes.begin(), prefixes.end(),
                                   [&](const auto& prefix) { return name.starts_with(prefix); });
    if (IsIdState(name) && !known)
      throw Error(Format("{}: it has state of raw ids, which this model's tables do not take: '{}'",
                         checkpoint.folder(), name));
  }
  ShardedManagedCollisionModules* const modules = model_.sharded_modules();
  if (modules == nullptr) return {};
  return ReadManagedParts(ctx_, checkpoint, *modules,
                          [&](const std::string& table) { return model_.IdPrefix(table); });
}

bool Trainer::LoadParts(ShardedCheckpoint& checkpoint) {
  const std::optional<TrainingProgress> progress = ParseProgress(checkpoint.info().metadata);
  const bool has_state = HasOptimizerState(checkpoint.index()),
             goes_on = GoesOn(progress, has_state, RemembersAnything(config_)),
             with_state = goes_on && has_state;
  std::vector<NamedTensor> weights, rest;
  const std::vector<std::string> names = NamesIn(checkpoint.index());
  const std::set<std::string> dense_tables = ShardedDenseTables(model_);
  for (const auto& [name, stored] : checkpoint.index().whole) {
    if (IsIdState(name) || dense_tables.contains(ParameterOfState(name))) continue;
    (IsRunState(name) ? rest : weights).push_back({name, checkpoint.ReadWhole(ctx_, name)});
  }
  for (NamedTensor& of_part : ReadDenseStates(ctx_, checkpoint, model_))
    rest.push_back(std::move(of_part));
  for (NamedTensor& of_ids : IdsIn(checkpoint)) rest.push_back(std::move(of_ids));
  if (goes_on && progress->step > 0) CheckStateIsThere(checkpoint.folder(), names);
  changes_.clear();
  model_.LoadStateDict(ctx_, weights);
  LoadRest(rest, with_state);
  LoadTables(ctx_, checkpoint, model_.sharded()->tables(), with_state);
  if (goes_on) GoOnFrom(*progress);
  return goes_on;
}

}  // namespace tessera
