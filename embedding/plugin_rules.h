#ifndef TESSERA_EMBEDDING_PLUGIN_RULES_H_
#define TESSERA_EMBEDDING_PLUGIN_RULES_H_
// Rules of shared objects (embedding/rule_plugin.h) in the process that loads them. Objects are
// loaded before work begins, by one thread, and stay until the process ends.
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "embedding/rule_plugin_abi.h"
#include "optim/any_rule.h"
#include "runtime/context.h"

namespace tessera {

// Keys of a rule in a configuration beside its options: its name, and what a saved configuration
// says of its plugin.
inline constexpr char kRuleNameKey[] = "name", kRulePluginKey[] = "plugin";

// A shared object that is loaded.
struct RulePlugin {
  std::string path;    // as it was given
  std::string sha256;  // of the file
  const internal::RulePluginTable* table;
  std::vector<internal::PluginOption> options;

  std::string rule() const { return table->rule; }
};

// Loads the object in the file; one that is loaded already is not loaded again. Throws Error, which
// says what to do, for a file that is no plugin, was compiled for another version or for
// instructions that this CPU lacks, or whose rule has the name of another one, none, options or
// states that cannot be told apart by their names, options that are no members of its struct, or
// defaults of them that the library's rules refuse.
void LoadRulePlugin(const std::string& path);

// In the order in which they were loaded.
std::vector<const RulePlugin*> LoadedRulePlugins();
// The plugin with the rule of this name; null where none is loaded.
const RulePlugin* FindRulePlugin(std::string_view rule);

// A rule of a plugin with its options.
class PluginRule final : public CustomRule::Executor {
 public:
  // The options have their defaults.
  explicit PluginRule(const RulePlugin& plugin);

  const RulePlugin& plugin() const { return plugin_; }
  const char* name() const override { return plugin_.table->rule; }
  StateSpecs States() const override;
  // Throws Error for an option with the name of one that the library's rules have, and a value that
  // these do not take.
  void CheckOptions() const;
  void Update(float lr, int64_t t, const internal::RowUpdateArgs& args) const override;
  void UpdateOnCuda(Context& ctx, float lr, int64_t t,
                    const internal::CudaRows& rows) const override;

  // Calls visit(name, option) for each option, as VisitRuleOptions does; what it changes is kept.
  template <typename Visit>
  void VisitOptions(Visit&& visit) {
    using Kind = internal::PluginOptionKind;
    for (const internal::PluginOption& option : plugin_.options) {
      if (option.kind == Kind::kFloat) VisitOption<float>(option, visit);
      if (option.kind == Kind::kDouble) VisitOption<double>(option, visit);
      if (option.kind == Kind::kBool) VisitOption<bool>(option, visit);
      if (option.kind == Kind::kInt) VisitOption<int>(option, visit);
      if (option.kind == Kind::kInt64) VisitOption<int64_t>(option, visit);
    }
  }

 private:
  template <typename Option>
  void VisitOption(const internal::PluginOption& option, auto& visit) {
    Option value;
    std::memcpy(&value, bytes_.data() + option.offset, sizeof(value));
    visit(option.name, value);
    std::memcpy(bytes_.data() + option.offset, &value, sizeof(value));
  }

  const RulePlugin& plugin_;
  alignas(internal::kPluginRuleAlignment)
      std::array<unsigned char, internal::kMaxPluginRuleBytes> bytes_ = {};  // the rule's struct
};

// The rule of a plugin as a value; its learning rate is the option "lr" of `rule`.
AnyRule MakePluginRule(std::shared_ptr<PluginRule> rule);
// With the defaults of its options.
AnyRule MakePluginRule(const RulePlugin& plugin);

// A rule whose plugin is not loaded, as a saved configuration describes it: enough to read what was
// trained by it, not to train.
class AbsentRule final : public CustomRule::Executor {
 public:
  // states: as StateText writes them. `json`: what the configuration says of it.
  AbsentRule(std::string name, std::vector<std::string> states, std::string json);

  const std::string& json() const { return json_; }
  const char* name() const override { return name_.c_str(); }
  StateSpecs States() const override;
  // Throws Error.
  void Update(float lr, int64_t t, const internal::RowUpdateArgs& args) const override;

 private:
  const std::string name_;
  const std::vector<std::string> states_;
  const std::string json_;
};

// "momentum1 [E, D]", "prev_iter [E] counts": a state as the guide's table of rules has it.
std::string StateText(const StateSpec& state);

// The plugin's rule in `rule`, or the absent one; null for any other.
const PluginRule* PluginRuleIn(const AnyRule& rule);
const AbsentRule* AbsentRuleIn(const AnyRule& rule);

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_PLUGIN_RULES_H_
