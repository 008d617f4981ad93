#include "embedding/plugin_rules.h"

#include <dlfcn.h>
#include <elf.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>
#include <type_traits>
#include <utility>

#include "embedding/plugin_object.h"
#include "optim/rule_options.h"
#include "runtime/base/check.h"
#include "runtime/base/isa.h"
#include "runtime/files/files.h"
#include "runtime/files/sha256.h"
#include "runtime/json/utf8.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using internal::PluginObject;
using internal::PluginOption;
using internal::PluginState;
using internal::RulePluginTable;

constexpr char kCompile[] =
    "g++ -std=c++20 -O3 -march=native -ffp-contract=off -shared -fPIC "
    "$(pkg-config --cflags tessera) RULE.cc -o RULE.so";
constexpr char kRowState[] = " [E]", kElementState[] = " [E, D]", kCounts[] = " counts";

std::vector<std::unique_ptr<RulePlugin>>& Plugins() {
  static std::vector<std::unique_ptr<RulePlugin>> plugins;
  return plugins;
}

[[noreturn]] void Refuse(const std::string& path, const std::string& why) {
  throw Error(Format("--plugin {}: {}", path, why));
}

// Whether this CPU has instructions of this name; true for a name that only its compiler knows.
bool CpuHas(const std::string& name) {
#if defined(__x86_64__)
  if (name == "avx") return __builtin_cpu_supports("avx");
  if (name == "avx2") return __builtin_cpu_supports("avx2");
  if (name == "fma") return __builtin_cpu_supports("fma");
  if (name == "f16c") return CpuHasF16c();
  if (name == "bmi2") return __builtin_cpu_supports("bmi2");
  if (name == "avx512f") return __builtin_cpu_supports("avx512f");
  if (name == "avx512bw") return __builtin_cpu_supports("avx512bw");
  if (name == "avx512dq") return __builtin_cpu_supports("avx512dq");
  if (name == "avx512vl") return __builtin_cpu_supports("avx512vl");
  if (name == "avx512vnni") return __builtin_cpu_supports("avx512vnni");
  if (name == "avx512vbmi2") return __builtin_cpu_supports("avx512vbmi2");
#endif
  static_cast<void>(name);
  return true;
}

template <typename T>
T ReadAt(std::string_view bytes, uint64_t at) {
  T value = {};
  if (at <= bytes.size() && sizeof(T) <= bytes.size() - at)
    std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// Throws Error for an object that ends before its last segment, which would kill the process that
// loads it.
void CheckWhole(const std::string& path, std::string_view bytes) {
  if (!bytes.starts_with(ELFMAG)) return;
  const auto head = ReadAt<Elf64_Ehdr>(bytes, 0);
  for (uint64_t i = 0; i < head.e_phnum; ++i) {
    const auto segment = ReadAt<Elf64_Phdr>(bytes, head.e_phoff + i * head.e_phentsize);
    const uint64_t end = segment.p_offset + segment.p_filesz;
    if (end > bytes.size())
      Refuse(path, Format("expected a shared object of {} bytes or more, got its first {}: copy or "
                          "compile it anew",
                          end, bytes.size()));
  }
}

// The object's table, before anything else of it is used.
const RulePluginTable& TableIn(void* object, const std::string& path) {
  const void* table = dlsym(object, internal::kRulePluginSymbol);
  if (table == nullptr)
    Refuse(path, Format("expected a shared object with a rule, got one without the symbol {}: its "
                        "source needs the line TESSERA_RULE_PLUGIN(Rule), of "
                        "tessera/embedding/rule_plugin.h, outside of any namespace",
                        internal::kRulePluginSymbol));
  return *static_cast<const RulePluginTable*>(table);
}

void CheckVersion(const std::string& path, const RulePluginTable& table) {
  if (std::memcmp(table.magic, internal::kRulePluginMagic, sizeof(table.magic)) != 0)
    Refuse(path, Format("expected a rule for tessera {}, got one for another version: compile it "
                        "against this one's headers, by {}",
                        kVersion, kCompile));
  const bool other = table.version != std::string_view(kVersion);
  if (!other && table.layout == internal::RulePluginLayout()) return;
  Refuse(path,
         Format("expected a rule that was compiled against the headers of tessera {} (layout "
                "{:016x}), got one of {} (layout {:016x}): compile it anew, by {}",
                kVersion, internal::RulePluginLayout(), table.version, table.layout, kCompile));
}

void CheckInstructions(const std::string& path, const RulePluginTable& table) {
  std::istringstream words(table.instructions);
  for (std::string word; words >> word;)
    if (!CpuHas(word))
      Refuse(path, Format("it was compiled for a CPU with {}, which this one lacks: compile it on "
                          "this machine, by {}",
                          word, kCompile));
}

// One that needs what this process lacks is loaded without it, to see whether it is of another
// version.
const RulePluginTable& LoadedTable(const std::string& path, std::string_view bytes) {
  const PluginObject object = internal::LoadPluginObject(path, bytes);
  if (object.handle == nullptr)
    Refuse(path, Format("expected a shared object with a rule, but it cannot be loaded ({}): "
                        "compile the rule anew, by {}",
                        object.lacks, kCompile));
  const RulePluginTable& table = TableIn(object.handle, path);
  CheckVersion(path, table);
  if (!object.lacks.empty())
    Refuse(path, Format("it needs what the command does not have for it ({}): a rule uses its own "
                        "source and the headers that tessera/embedding/rule_plugin.h includes",
                        object.lacks));
  if (object.changed_arithmetic)
    Refuse(path, Format("loading it changes how the whole command rounds, or makes small numbers "
                        "zero, as -Ofast and -ffast-math do: compile it without these flags, by {}",
                        kCompile));
  CheckInstructions(path, table);
  return table;
}

// An error's text without the rule that it begins with.
std::string_view WithoutRule(std::string_view error, const char* rule) {
  const std::string begin = Format("rule {}: ", rule);
  return error.starts_with(begin) ? error.substr(begin.size()) : error;
}

// Calls a function of the object; what it throws becomes an Error that names plugin, rule and step,
// if it is of one.
template <typename Call>
auto CallOf(const std::string& path, const RulePluginTable& table, const Call& call,
            std::optional<int64_t> step = {}) {
  const auto name = [&] {
    return Format("its rule {}{}", table.rule, step ? Format(" in step {}", *step) : "");
  };
  try {
    return call(table);
  } catch (const std::exception& error) {
    Refuse(path, Format("{}: {}", name(), WithoutRule(error.what(), table.rule)));
  } catch (...) {
    Refuse(path, Format("{} threw something that is no std::exception", name()));
  }
}

void CheckName(const std::string& path, const char* name) {
  const std::string rule = name == nullptr ? "" : name;
  if (rule.empty())
    Refuse(path, Format("its rule has {} kName: give it a name, and compile it anew",
                        name == nullptr ? "a null" : "an empty"));
  if (!internal::IsUtf8(rule))
    Refuse(path, Format("its rule has a kName that is no UTF-8 ('{}'): rename it, and compile it "
                        "anew",
                        internal::AsUtf8(rule)));
  const auto odd =
      std::find_if(rule.begin(), rule.end(), [](unsigned char c) { return c <= ' ' || c == 127; });
  if (odd != rule.end())
    Refuse(path, Format("its rule has a kName that goes on after '{}' with a space or a control "
                        "character: rename it, and compile it anew",
                        std::string(rule.begin(), odd)));
  bool known = rule == None::kName;
  ForEachNamedRule([&](const auto& of) { known = known || rule == of.kName; });
  if (known)
    Refuse(path, Format("its rule is called {}, as one of the library's: give it another kName, "
                        "and compile it anew",
                        rule));
  if (const RulePlugin* other = FindRulePlugin(rule))
    Refuse(path, Format("its rule is called {}, as that of --plugin {}: give one of them another "
                        "kName, or leave it out",
                        rule, other->path));
}

// A configuration names options beside two keys of its own.
void CheckOptionNames(const std::string& path, const char* rule,
                      const std::vector<PluginOption>& options) {
  std::set<std::string> taken = {kRuleNameKey, kRulePluginKey, ""};
  for (const PluginOption& option : options) {
    const std::string name = option.name == nullptr ? "" : option.name;
    if (!internal::IsUtf8(name) || !taken.insert(name).second)
      Refuse(path, Format("VisitOptions of rule {} names an option '{}'; expected names that are "
                          "UTF-8, not empty, not given twice, and not {} or {}, which every "
                          "optimizer of a configuration may have",
                          rule, internal::AsUtf8(name), kRuleNameKey, kRulePluginKey));
  }
}

std::vector<PluginOption> OptionsOf(const std::string& path, const RulePluginTable& table) {
  std::vector<PluginOption> options(internal::kMaxPluginOptions);
  options.resize(static_cast<size_t>(
      CallOf(path, table, [&](const auto& of) { return of.options(options.data()); })));
  CheckOptionNames(path, table.rule, options);
  const bool has_rate = std::ranges::any_of(
      options, [](const PluginOption& option) { return option.name == std::string_view("lr"); });
  if (!has_rate)
    Refuse(path, Format("the options of rule {} lack lr: name it in VisitOptions", table.rule));
  return options;
}

}  // namespace

void LoadRulePlugin(const std::string& path) {
  if (!fs::is_regular_file(path))
    Refuse(path, fs::exists(path) ? "expected a shared object, got no regular file"
                                  : "there is no such file");
  const std::string bytes = ReadTextFile(path);
  std::string sha256 = Sha256(bytes);
  for (const auto& plugin : Plugins())
    if (plugin->sha256 == sha256 && fs::equivalent(plugin->path, path)) return;
  CheckWhole(path, bytes);
  const RulePluginTable& table = LoadedTable(path, bytes);
  CheckName(path, table.rule);
  auto plugin = std::make_unique<RulePlugin>(
      RulePlugin{path, std::move(sha256), &table, OptionsOf(path, table)});
  const AnyRule rule = MakePluginRule(*plugin);
  RuleStates(rule);  // what the object's code throws has the path already
  try {
    CheckRule(rule);
    PluginRuleIn(rule)->CheckOptions();
  } catch (const Error& error) {  // of its states' names, or the defaults of its options
    Refuse(path, error.what());
  }
  Plugins().push_back(std::move(plugin));
}

std::vector<const RulePlugin*> LoadedRulePlugins() {
  std::vector<const RulePlugin*> loaded;
  for (const auto& plugin : Plugins()) loaded.push_back(plugin.get());
  return loaded;
}

const RulePlugin* FindRulePlugin(std::string_view rule) {
  for (const auto& plugin : Plugins())
    if (plugin->rule() == rule) return plugin.get();
  return nullptr;
}

PluginRule::PluginRule(const RulePlugin& plugin) : plugin_(plugin) {
  CallOf(plugin.path, *plugin.table, [&](const auto& table) { table.make(bytes_.data()); });
}

void PluginRule::CheckOptions() const {
  PluginRule copy = *this;
  copy.VisitOptions([&]<typename Option>(const char* name, const Option& option) {
    if (!IsRuleOption(name)) return;
    if constexpr (std::is_floating_point_v<Option>)
      CheckRuleOption(this->name(), name, double{option});
    else
      CheckRuleOption(this->name(), name, int64_t{option});
  });
}

StateSpecs PluginRule::States() const {
  std::array<PluginState, kMaxElementStates + kMaxRowStates> states;
  const auto count =
      static_cast<size_t>(CallOf(plugin_.path, *plugin_.table, [&](const auto& table) {
        return table.states(bytes_.data(), states.data());
      }));
  StateSpecs specs;
  for (size_t i = 0; i < count; ++i)
    specs.push_back({{states[i].name, static_cast<size_t>(states[i].name_length)},
                     states[i].per_row,
                     states[i].counts});
  return specs;
}

void PluginRule::Update(float lr, int64_t t, const internal::RowUpdateArgs& args) const {
  CallOf(
      plugin_.path, *plugin_.table,
      [&](const auto& table) { table.update(bytes_.data(), lr, t, args); }, t);
}

void PluginRule::UpdateOnCuda(Context&, float, int64_t, const internal::CudaRows&) const {
  throw Error(Format("--plugin {}: its rule {} runs on CPUs alone, not on a GPU", plugin_.path,
                     plugin_.rule()));
}

AnyRule MakePluginRule(std::shared_ptr<PluginRule> rule) {
  float lr = 0;
  rule->VisitOptions([&]<typename Option>(std::string_view name, Option& option) {
    if (name == "lr") lr = static_cast<float>(option);
  });
  return CustomRule{lr, std::move(rule)};
}

AnyRule MakePluginRule(const RulePlugin& plugin) {
  return MakePluginRule(std::make_shared<PluginRule>(plugin));
}

AbsentRule::AbsentRule(std::string name, std::vector<std::string> states, std::string json)
    : name_(std::move(name)), states_(std::move(states)), json_(std::move(json)) {}

StateSpecs AbsentRule::States() const {
  StateSpecs specs;
  for (const std::string& text : states_)
    specs.push_back({std::string_view(text).substr(0, text.find(' ')),
                     text.find(kElementState) == std::string::npos, text.ends_with(kCounts)});
  return specs;
}

void AbsentRule::Update(float, int64_t, const internal::RowUpdateArgs&) const {
  throw Error(
      Format("the rule {} is that of a plugin: give the shared object, by --plugin FILE", name_));
}

std::string StateText(const StateSpec& state) {
  return std::string(state.name) + (state.per_row ? kRowState : kElementState) +
         (state.counts ? kCounts : "");
}

const PluginRule* PluginRuleIn(const AnyRule& rule) {
  const auto* custom = std::get_if<CustomRule>(&rule);
  return custom == nullptr ? nullptr : dynamic_cast<const PluginRule*>(custom->executor.get());
}

const AbsentRule* AbsentRuleIn(const AnyRule& rule) {
  const auto* custom = std::get_if<CustomRule>(&rule);
  return custom == nullptr ? nullptr : dynamic_cast<const AbsentRule*>(custom->executor.get());
}

}  // namespace tessera
