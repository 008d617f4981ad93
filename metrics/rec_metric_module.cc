#include "metrics/rec_metric_module.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include "metrics/metric_registry.h"
#include "runtime/base/check.h"
#include "runtime/base/seconds.h"

namespace tessera {
namespace {

constexpr char kCandidatesName[] = "num_candidates", kUpdates[] = "updates";

// The beginning of TorchRec's keys of this metric.
std::string NamespaceOf(const std::string& metric) {
  return metric == "tensor_weighted_avg" ? "weighted_avg" : metric;
}

template <typename T>
std::span<const T> Find(const ModelOutput& output, const std::string& name,
                        const std::string& whose) {
  const auto found = output.find(name);
  TESSERA_CHECK(found != output.end(), "{}: the model's output has no '{}'", whose, name);
  TESSERA_CHECK_EQ(found->second.dtype(), DTypeOf<T>::value, "{}: '{}'", whose, name);
  return found->second.span<T>();
}

// Numbers without their fractions, kept in `cut`; i64 stays as it is.
std::span<const int64_t> Cut(const ModelOutput& output, const std::string& name,
                             const std::string& whose, std::vector<int64_t>& cut) {
  const auto found = output.find(name);
  if (found == output.end() || found->second.dtype() != DType::kF32)
    return Find<int64_t>(output, name, whose);
  for (const float number : found->second.span<float>()) {
    TESSERA_CHECK(std::abs(number) < 0x1p62f, "{}: '{}' has {}, which is no number of a group",
                  whose, name, number);
    cut.push_back(static_cast<int64_t>(number));
  }
  return cut;
}

// The rank in "metrics.<rank>.…"; nullopt for another name.
std::optional<int> RankIn(const std::string& name) {
  if (!name.starts_with(kMetricsPrefix)) return std::nullopt;
  int rank = 0;
  const char* begin = name.data() + std::string_view(kMetricsPrefix).size();
  const auto [end, error] = std::from_chars(begin, name.data() + name.size(), rank);
  if (error != std::errc() || end == name.data() + name.size() || *end != '.') return std::nullopt;
  return rank;
}

std::string StateName(int rank, const std::string& rest) {
  return Format("{}{}.{}", std::string_view(kMetricsPrefix), rank, rest);
}

bool AllZero(std::span<const float> weights) {
  return !weights.empty() &&
         std::all_of(weights.begin(), weights.end(), [](float w) { return w == 0; });
}

// The batch's numbers that a metric needs; null if it needs tensors.
std::span<const int64_t>* NumbersFor(MetricNeeds needs, MetricBatch& batch) {
  switch (needs) {
    case MetricNeeds::kSessions:
      return &batch.sessions;
    case MetricNeeds::kGroupingKeys:
      return &batch.grouping_keys;
    case MetricNeeds::kCandidates:
      return &batch.num_candidates;
    default:
      return nullptr;
  }
}

// The examples of a batch that have a key.
class KeyedExamples {
 public:
  // Leaves examples without a key out of the batch, which then borrows from this. `keys` are the
  // batch's own sessions or grouping keys.
  void LeaveOthersOut(MetricBatch& batch, std::span<const int64_t>& keys) {
    if (std::ranges::count(keys, kNoKey) == 0 || keys.size() != batch.size()) return;
    ScoredExamples& examples = batch.examples;
    CheckSizes(examples);
    examples = {Kept(examples.predictions, keys, predictions_),
                Kept(examples.labels, keys, labels_), Kept(examples.weights, keys, weights_)};
    keys = Kept(keys, keys, keys_);
  }

 private:
  // A column is as long as the keys, or empty.
  template <typename T>
  static std::span<const T> Kept(std::span<const T> column, std::span<const int64_t> keys,
                                 std::vector<T>& kept) {
    for (size_t i = 0; i < column.size(); ++i)
      if (keys[i] != kNoKey) kept.push_back(column[i]);
    return kept;
  }

  std::vector<float> predictions_, labels_, weights_;
  std::vector<int64_t> keys_;
};

// The parts whose names begin with `prefix`, by the rest of their names.
MetricState PartsUnder(const std::map<std::string, Tensor>& by_name, const std::string& prefix) {
  MetricState parts;
  for (auto at = by_name.lower_bound(prefix); at != by_name.end() && at->first.starts_with(prefix);
       ++at)
    parts[at->first.substr(prefix.size())] = at->second;
  return parts;
}

}  // namespace

// One metric of one task, or the throughput.
struct RecMetricModule::Entry {
  std::string metric, key;  // "<namespace>-<task>"
  RecTask task;
  MetricNeeds needs = MetricNeeds::kNothing;
  std::vector<std::string> tensors = {};
  std::string grouping_keys = {};
  bool cast_keys_to_int = false;
  bool of_examples = true;  // whether it uses the columns that the task names
  std::unique_ptr<RecMetric> value = nullptr;

  std::string state_name() const { return metric + "." + task.name; }
  // The inputs that it needs beside predictions, labels and weights.
  std::vector<std::string> more_inputs() const;
};

std::vector<std::string> RecMetricModule::Entry::more_inputs() const {
  switch (needs) {
    case MetricNeeds::kNothing:
      return {};
    case MetricNeeds::kSessions:
      return {task.session_name};
    case MetricNeeds::kGroupingKeys:
      return {grouping_keys};
    case MetricNeeds::kCandidates:
      return {kCandidatesName};
    case MetricNeeds::kTaskTensor:
      return {task.tensor_name};
    case MetricNeeds::kTensors:
      return tensors;
  }
  TESSERA_FAIL("needs of a metric: {}", static_cast<int>(needs));
}

RecMetricModule::RecMetricModule(const RecMetricsConfig& config,
                                 const RecMetricModuleOptions& options)
    : config_(config), options_(options) {
  TESSERA_CHECK_GT(options.ranks, 0, "ranks of metrics");
  TESSERA_CHECK_GT(config.compute_interval_steps, 0, "compute_interval_steps");
  if (!options_.clock) options_.clock = internal::SteadySeconds;
  interval_steps_ = config.compute_interval_steps;
  adjusts_interval_ = config.min_compute_interval > 0 || std::isfinite(config.max_compute_interval);
  for (const RecMetricDef& def : config_.metrics) {
    if (def.tasks.empty())
      for (const RecTask& task : config_.tasks) Add(def, task);
    for (const std::string& name : def.tasks) Add(def, TaskOf(name, def.name));
  }
  if (!config_.throughput) return;
  Entry throughput{.metric = "throughput",
                   .key = "throughput-throughput",
                   .task = config_.tasks.at(0),
                   .of_examples = false};
  throughput.task.name = "throughput";
  if (!options_.throughput_input.empty()) throughput.task.label_name = options_.throughput_input;
  throughput.value = std::make_unique<Throughput>(*config_.throughput, options_.clock);
  entries_.push_back(std::move(throughput));
}

RecMetricModule::~RecMetricModule() = default;

const RecTask& RecMetricModule::TaskOf(const std::string& name, const std::string& metric) const {
  for (const RecTask& task : config_.tasks)
    if (task.name == name) return task;
  throw Error(Format("metric '{}': no task is called '{}'", metric, name));
}

void RecMetricModule::Add(const RecMetricDef& def, const RecTask& task) {
  TESSERA_CHECK(def.window_size >= options_.batch_size,
                "metric '{}': expected a window of at least a batch, {} examples, got {}", def.name,
                options_.batch_size, def.window_size);
  TESSERA_CHECK(task.name.find('.') == std::string::npos,
                "metrics: expected a task's name without a dot, got '{}'", task.name);
  const MetricKind& kind = FindMetricKind(def.name);
  Entry entry{.metric = def.name,
              .key = NamespaceOf(def.name) + "-" + task.name,
              .task = task,
              .needs = def.options.grouped ? MetricNeeds::kGroupingKeys : kind.needs,
              .tensors = def.options.tensors,
              .grouping_keys = def.options.grouping_keys,
              .cast_keys_to_int = def.options.cast_keys_to_int};
  for (const Entry& other : entries_)
    TESSERA_CHECK(other.key != entry.key, "metrics '{}' and '{}' of task '{}' have one name, '{}'",
                  other.metric, def.name, task.name, entry.key);
  for (const std::string& input : entry.more_inputs())
    TESSERA_CHECK(!input.empty(), "metric '{}': task '{}' has no {}", def.name, task.name,
                  entry.needs == MetricNeeds::kSessions ? "session_name" : "tensor_name");
  const int64_t share = (def.window_size + options_.ranks - 1) / options_.ranks;
  entry.value = kind.make(def.options, share, options_.clock);
  entries_.push_back(std::move(entry));
}

std::vector<std::string> RecMetricModule::RequiredInputs() const {
  std::set<std::string> names;
  for (const Entry& entry : entries_) {
    names.insert(entry.task.label_name);
    if (!entry.of_examples) continue;
    names.insert(entry.task.prediction_name);
    if (!entry.task.weight_name.empty()) names.insert(entry.task.weight_name);
    for (const std::string& input : entry.more_inputs()) names.insert(input);
  }
  return {names.begin(), names.end()};
}

void RecMetricModule::UpdateEntry(Entry& entry, const ModelOutput& output) {
  const RecTask& task = entry.task;
  MetricBatch batch;
  batch.examples.labels = Find<float>(output, task.label_name, entry.key);
  if (!entry.of_examples) return entry.value->Update(batch);
  if (batch.size() == 0) return;
  batch.examples.predictions = Find<float>(output, task.prediction_name, entry.key);
  if (!task.weight_name.empty())
    batch.examples.weights = Find<float>(output, task.weight_name, entry.key);
  if (config_.should_validate_update && AllZero(batch.examples.weights)) return;
  batch.negative_task = task.is_negative_task;
  std::vector<std::span<const float>> tensors;
  std::vector<int64_t> cut;
  KeyedExamples keyed;
  for (const std::string& name : entry.more_inputs())
    if (std::span<const int64_t>* numbers = NumbersFor(entry.needs, batch)) {
      *numbers = entry.cast_keys_to_int ? Cut(output, name, entry.key, cut)
                                        : Find<int64_t>(output, name, entry.key);
      if (entry.needs != MetricNeeds::kCandidates) keyed.LeaveOthersOut(batch, *numbers);
    } else {
      tensors.push_back(Find<float>(output, name, entry.key));
    }
  batch.tensors = tensors;
  if (batch.size() == 0) return;
  entry.value->Update(batch);
}

void RecMetricModule::Update(const ModelOutput& output) {
  for (Entry& entry : entries_) UpdateEntry(entry, output);
  ++updates_;
}

std::vector<MetricState> RecMetricModule::Summaries() const {
  std::vector<MetricState> summaries;
  for (const Entry& entry : entries_) summaries.push_back(entry.value->Summary());
  return summaries;
}

MetricReport RecMetricModule::Report(const std::vector<std::vector<MetricState>>& ranks) const {
  MetricReport report;
  for (size_t e = 0; e < entries_.size(); ++e) {
    std::vector<MetricState> summaries;
    for (const auto& rank : ranks) summaries.push_back(rank.at(e));
    for (const MetricValue& value : entries_[e].value->Values(summaries))
      report[entries_[e].key + "|" + value.name] = value.value;
  }
  return report;
}

int64_t RecMetricModule::StepsAfter(double seconds) const {
  const double low = config_.min_compute_interval, high = config_.max_compute_interval;
  if (seconds >= low && seconds <= high) return interval_steps_;
  // A second of room on the one side, the middle between two.
  const double aim = !std::isfinite(high) ? low + 1
                     : low == 0           ? high - (high <= 1 ? 0 : 1)
                                          : (low + high) / 2;
  const double steps = aim * static_cast<double>(interval_steps_) / seconds;
  return static_cast<int64_t>(std::clamp(steps, 1.0, 0x1p40));
}

void RecMetricModule::AdjustInterval(Communicator* comm) {
  if (!adjusts_interval_) return;
  const double now = options_.clock();
  if (!last_compute_) {
    last_compute_ = now;
    return;
  }
  interval_steps_ = StepsAfter(now - *last_compute_);
  adjusts_interval_ = false;
  if (comm == nullptr) return;
  for (const std::string& steps :
       comm->GatherStringsSync(std::to_string(interval_steps_), "steps between computations"))
    interval_steps_ = std::max<int64_t>(interval_steps_, std::stoll(steps));
}

MetricReport RecMetricModule::Compute() {
  AdjustInterval(nullptr);
  return Report({Summaries()});
}

MetricReport RecMetricModule::Compute(Communicator& comm) {
  AdjustInterval(&comm);
  std::vector<std::vector<MetricState>> ranks;
  for (const std::string& bytes : comm.GatherStringsSync(PackStates(Summaries()), "metrics"))
    ranks.push_back(UnpackStates(bytes));
  return Report(ranks);
}

std::vector<MetricState> RecMetricModule::States() const {
  std::vector<MetricState> states;
  for (const Entry& entry : entries_) states.push_back(entry.value->State());
  states.push_back({{kUpdates, HostTensor(std::vector<int64_t>{updates_})}});
  return states;
}

std::vector<NamedTensor> RecMetricModule::Named(const std::vector<MetricState>& states,
                                                int rank) const {
  TESSERA_CHECK_EQ(states.size(), entries_.size() + 1, "metrics of rank {}", rank);
  std::vector<NamedTensor> named = {{StateName(rank, kUpdates), states.back().at(kUpdates)}};
  for (size_t e = 0; e < entries_.size(); ++e)
    for (const auto& [part, tensor] : states[e])
      named.push_back({StateName(rank, entries_[e].state_name() + "." + part), tensor});
  return named;
}

std::vector<NamedTensor> RecMetricModule::State() const { return Named(States(), 0); }

std::vector<NamedTensor> RecMetricModule::State(Communicator& comm) const {
  std::vector<NamedTensor> all;
  const auto gathered = comm.GatherStringsSync(PackStates(States()), "state of metrics");
  for (size_t r = 0; r < gathered.size(); ++r)
    for (NamedTensor& named : Named(UnpackStates(gathered[r]), static_cast<int>(r)))
      all.push_back(std::move(named));
  return all;
}

// Rank r of R takes over the states of ranks r, r + R, …, so that the sum over all ranks stays the
// same. Where ranks would get unequal numbers of them, their windows are dealt out, as each rank
// keeps no more than its share.
void RecMetricModule::Load(const std::vector<NamedTensor>& state, int rank) {
  std::map<std::string, Tensor> by_name;
  std::set<int> ranks;
  for (const NamedTensor& named : state)
    if (const std::optional<int> saved = RankIn(named.name)) {
      by_name[named.name] = named.tensor;
      ranks.insert(*saved);
    }
  const bool deals = std::ssize(ranks) % options_.ranks != 0;
  for (Entry& entry : entries_) {
    std::vector<MetricState> all, states;
    for (const int saved : ranks) {
      const bool is_own = saved % options_.ranks == rank;
      if (!is_own && !deals) continue;
      MetricState parts = PartsUnder(by_name, StateName(saved, entry.state_name() + "."));
      if (parts.empty()) continue;
      if (is_own) states.push_back(parts);
      if (deals) all.push_back(std::move(parts));
    }
    try {
      entry.value->Load(states);
      if (deals) entry.value->DealWindow(all, rank, options_.ranks);
    } catch (const Error& error) {
      throw Error(Format("metric '{}': {}", entry.key, error.what()));
    }
  }
  updates_ = 0;
  // Ranks update together: the counts of all saved ranks are the same.
  for (const auto& [name, tensor] : by_name)
    if (name.ends_with(Format(".{}", std::string_view(kUpdates))))
      updates_ = std::max(updates_, tensor.ToVector<int64_t>().at(0));
}

}  // namespace tessera
