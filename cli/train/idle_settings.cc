#include "cli/train/idle_settings.h"

#include <algorithm>
#include <utility>
#include <variant>

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

struct Idle {
  const char *setting, *why;
  auto operator<=>(const Idle&) const = default;
};

std::vector<Idle> IdleOfTable(const EmbeddingBagConfig& table) {
  std::vector<Idle> idle;
  if (table.stochastic_rounding && table.data_type == DType::kF32)
    idle.push_back({"stochastic_rounding", "rows of f32 are not rounded"});
  if (table.state_type != DType::kF32 && RuleStates(table.optimizer).size() == 0)
    idle.push_back({"state_dtype", "the optimizer has no states"});
  if (LeavesDecayOut(table.optimizer))
    idle.push_back({"the optimizer's weight_decay", "its weight_decay_mode is NONE"});
  if (!table.cache.folder.empty() && table.location != EmbeddingLocation::kDisk)
    idle.push_back({"cache.folder", "the location is not DISK"});
  return idle;
}

}  // namespace

std::vector<std::string> IdleSettings(const TrainConfig& config) {
  std::vector<std::pair<Idle, std::vector<std::string>>> found;  // with their tables
  for (const EmbeddingBagConfig& table : config.tables)
    for (const Idle& idle : IdleOfTable(table)) {
      auto at = std::ranges::find(found, idle, &std::pair<Idle, std::vector<std::string>>::first);
      if (at == found.end()) at = found.insert(at, {idle, {}});
      at->second.push_back(table.name);
    }
  std::vector<std::string> sentences;
  for (const auto& [idle, tables] : found)
    sentences.push_back(Format("{} of {} {} changes nothing: {}", idle.setting,
                               tables.size() == 1 ? "table" : "tables",
                               internal::JoinedFirst(tables, 4), idle.why));
  return sentences;
}

}  // namespace tessera::cli
