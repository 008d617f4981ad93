#include "cli/train/idle_settings.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "embedding/plugin_rules.h"
#include "optim/any_rule.h"
#include "runtime/base/check.h"
#include "runtime/base/joined.h"

namespace tessera::cli {
namespace {

// A weight_decay that the rule's mode leaves out.
bool LeavesDecayOut(const AnyRule& rule) {
  return std::visit(
      [](const auto& r) {
        if constexpr (requires { r.weight_decay_mode; })
          return r.weight_decay != 0 && r.weight_decay_mode == WeightDecayMode::kNone;
        return false;
      },
      rule);
}

// Steps that are clipped to nothing.
bool ClipsAll(const AnyRule& rule) {
  const auto* clipped = std::get_if<CowClipRowwiseAdagrad>(&rule);
  return clipped != nullptr && clipped->weight_norm_coefficient == 0 && clipped->lower_bound == 0;
}

struct Idle {
  const char *setting, *why;
  auto operator<=>(const Idle&) const = default;
};

constexpr char kNoDecay[] = "its weight_decay is 0";

// Whether ADAGRADW takes the step from the row's count, whatever learning_rate_mode says.
bool StepsByCount(const CounterRowwiseAdagrad& rule) {
  return rule.weight_decay_mode == WeightDecayMode::kAdagradW &&
         (rule.counter_halflife == -1 || rule.counter_halflife == -2);
}

// A weight_decay_mode of no weight_decay.
bool HasIdleDecayMode(const AnyRule& rule) {
  if (const auto* counter = std::get_if<CounterRowwiseAdagrad>(&rule);
      counter != nullptr && StepsByCount(*counter))
    return false;
  return std::visit(
      [](const auto& r) {
        if constexpr (requires { r.weight_decay_mode; })
          return r.weight_decay == 0 && r.weight_decay_mode != WeightDecayMode::kNone;
        return false;
      },
      rule);
}

// Settings of rows above tail_id_threshold, whose steps are those of other rows.
void AddIdleTail(const CounterRowwiseAdagrad& rule, const char* why, std::vector<Idle>& idle) {
  const CounterRowwiseAdagrad defaults;
  const bool by_mode = rule.weight_decay_mode != WeightDecayMode::kNone;
  const bool decays = by_mode && (rule.weight_decay != 0 || StepsByCount(rule));
  const bool bounds_step = StepsByCount(rule) && rule.counter_halflife == -2;
  if (rule.tail_id_threshold != defaults.tail_id_threshold)
    idle.push_back({"the optimizer's tail_id_threshold", why});
  if (rule.tail_id_threshold_is_ratio)
    idle.push_back({"the optimizer's tail_id_threshold_is_ratio", why});
  if (rule.adjustment_ub != defaults.adjustment_ub && !bounds_step)
    idle.push_back({"the optimizer's adjustment_ub", why});
  if (rule.adjustment_iter != defaults.adjustment_iter && !decays)
    idle.push_back({"the optimizer's adjustment_iter", why});
}

void AddIdleMaxCounter(const CounterRowwiseAdagrad& rule, const char* why,
                       std::vector<Idle>& idle) {
  const CounterRowwiseAdagrad defaults;
  if (rule.max_counter != defaults.max_counter)
    idle.push_back({"the optimizer's max_counter", why});
  if (rule.max_counter_update_freq != defaults.max_counter_update_freq)
    idle.push_back({"the optimizer's max_counter_update_freq", why});
}

template <typename Rule>
void AddIdleOfRule(const Rule&, std::vector<Idle>&) {}
void AddIdleOfRule(const CounterRowwiseAdagrad& rule, std::vector<Idle>& idle) {
  const char* const why = StepsByCount(rule) ? "its weight_decay_mode ADAGRADW takes the step from "
                                               "the row's count"
                                             : "its learning_rate_mode is EQUAL";
  const bool is_equal = rule.learning_rate_mode == CounterRateMode::kEqual;
  if (StepsByCount(rule) && !is_equal) idle.push_back({"the optimizer's learning_rate_mode", why});
  if (StepsByCount(rule) || is_equal) {
    AddIdleTail(rule, why, idle);
    AddIdleMaxCounter(rule, why, idle);
  } else if (rule.learning_rate_mode == CounterRateMode::kCounterSgd &&
             !rule.tail_id_threshold_is_ratio) {
    AddIdleMaxCounter(rule, "its learning_rate_mode is COUNTER_SGD", idle);
  }
}
void AddIdleOfRule(const RowwiseRmspropAr& rule, std::vector<Idle>& idle) {
  const float least = rule.min_shrinkage;
  if (rule.ar_alpha == 0 && least != RowwiseRmspropAr().min_shrinkage && least <= 1)
    idle.push_back({"the optimizer's min_shrinkage", "its ar_alpha is 0"});
}
void AddIdleOfRule(const GlobalDecayRowwiseAdagrad& rule, std::vector<Idle>& idle) {
  if (rule.weight_decay != 0) return;
  const GlobalDecayRowwiseAdagrad defaults;
  if (rule.start_iter != defaults.start_iter)
    idle.push_back({"the optimizer's start_iter", kNoDecay});
  if (rule.lower_bound != defaults.lower_bound && rule.lower_bound <= 1)
    idle.push_back({"the optimizer's lower_bound", kNoDecay});
}

void AddIdle(const GrowingIndexOptions& options, std::vector<Idle>& idle) {
  if (options.sketch_bytes != 0 && options.admit_after == 1)
    idle.push_back({"managed_collision.sketch_bytes", "admit_after is 1, which counts no ids"});
}
void AddIdle(const MchConfig& config, std::vector<Idle>& idle) {
  if (config.decay_exponent != MchConfig().decay_exponent &&
      config.eviction != MchEviction::kDistanceLfu)
    idle.push_back({"managed_collision.decay_exponent", "the eviction is not DISTANCE_LFU"});
}
void AddIdle(const HashZchOptions& options, std::vector<Idle>& idle) {
  const bool opts_in = options.opt_in_prob != -1;
  if (options.percent_reserved_slots != 0 && !opts_in)
    idle.push_back({"managed_collision.percent_reserved_slots", "opt_in_prob is -1"});
  if (options.disable_fallback && opts_in)
    idle.push_back({"managed_collision.disable_fallback",
                    "with opt_in_prob, ids without a slot read reserved ones"});
  if (options.clock == HashZchClock::kHours && options.eviction == HashZchEviction::kNone)
    idle.push_back({"managed_collision.clock", "the eviction is NONE"});
}

std::vector<Idle> IdleOfTable(const TrainConfig& config, const EmbeddingBagConfig& table) {
  std::vector<Idle> idle;
  if (table.stochastic_rounding && table.data_type == DType::kF32)
    idle.push_back({"stochastic_rounding", "rows of f32 are not rounded"});
  if (table.state_type != DType::kF32 && RuleStates(table.optimizer).size() == 0)
    idle.push_back({"state_dtype", "the optimizer has no states"});
  if (LeavesDecayOut(table.optimizer))
    idle.push_back({"the optimizer's weight_decay", "its weight_decay_mode is NONE"});
  if (HasIdleDecayMode(table.optimizer))
    idle.push_back({"the optimizer's weight_decay_mode", kNoDecay});
  std::visit([&](const auto& rule) { AddIdleOfRule(rule, idle); }, table.optimizer);
  if (ClipsAll(table.optimizer))
    idle.push_back({"the optimizer cowclip_rowwise_adagrad",
                    "weight_norm_coefficient and lower_bound are 0, to which every gradient is "
                    "clipped; CowClip's authors take 1 and 1e-5"});
  if (!table.cache.folder.empty() && table.location != EmbeddingLocation::kDisk)
    idle.push_back({"cache.folder", "the location is not DISK"});
  const auto managed = config.managed_collision.find(table.name);
  if (managed != config.managed_collision.end())
    std::visit([&](const auto& options) { AddIdle(options, idle); }, managed->second.module);
  return idle;
}

// Settings of no table.
std::vector<Idle> IdleOfDense(const TrainConfig& config) {
  std::vector<Idle> idle;
  const GradientClippingOptions &clipping = config.gradient_clipping, defaults;
  const bool clips = clipping.mode != GradientClipping::kNone;
  if (!clips && clipping.max_gradient != defaults.max_gradient)
    idle.push_back({"optimizer.gradient_clipping.max_gradient", "the mode is none"});
  if (clipping.mode != GradientClipping::kNorm && clipping.norm_type != defaults.norm_type)
    idle.push_back({"optimizer.gradient_clipping.norm_type", "the mode is not norm"});
  if (config.dense_optimizer.dampening != 0 && config.dense_optimizer.momentum == 0)
    idle.push_back({"optimizer.dense.dampening", "the momentum is 0"});
  return idle;
}

bool HasRuleOf(const RulePlugin& plugin, const EmbeddingBagConfig& table) {
  const PluginRule* rule = PluginRuleIn(table.optimizer);
  return rule != nullptr && &rule->plugin() == &plugin;
}

}  // namespace

std::string TablesText(const std::vector<std::string>& names) {
  return (names.size() == 1 ? "table " : "tables ") + internal::JoinedFirst(names, 4);
}

std::vector<std::string> IdleSettings(const TrainConfig& config) {
  std::vector<std::pair<Idle, std::vector<std::string>>> found;  // with their tables
  for (const EmbeddingBagConfig& table : config.tables)
    for (const Idle& idle : IdleOfTable(config, table)) {
      auto at = std::ranges::find(found, idle, &std::pair<Idle, std::vector<std::string>>::first);
      if (at == found.end()) at = found.insert(at, {idle, {}});
      at->second.push_back(table.name);
    }
  std::vector<std::string> sentences;
  for (const auto& [setting, why] : IdleOfDense(config))
    sentences.push_back(Format("{} changes nothing: {}", setting, why));
  if (const DataSchema* schema = config.data.schema.get())
    for (const FeatureEntry& feature : schema->features)
      if (feature.keep_last && !feature.max_length)
        sentences.push_back(
            Format("data.features: keep of feature '{}' changes nothing: it has no max_length",
                   feature.name));
  for (const auto& [idle, tables] : found)
    sentences.push_back(
        Format("{} of {} changes nothing: {}", idle.setting, TablesText(tables), idle.why));
  for (const RulePlugin* plugin : LoadedRulePlugins())
    if (std::ranges::none_of(config.tables,
                             [&](const auto& table) { return HasRuleOf(*plugin, table); }))
      sentences.push_back(Format("--plugin {} changes nothing: no table has its rule {}",
                                 plugin->path, plugin->rule()));
  return sentences;
}

}  // namespace tessera::cli
