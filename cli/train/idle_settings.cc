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
