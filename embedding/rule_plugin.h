#ifndef TESSERA_EMBEDDING_RULE_PLUGIN_H_
#define TESSERA_EMBEDDING_RULE_PLUGIN_H_
// An update rule of your own in the `tessera` command, by a shared object: one source with the
// rule's struct (optim/rules/rule.h) and, outside of any namespace,
//
//   TESSERA_RULE_PLUGIN(MyRule)
//
// compiled by
//
//   g++ -std=c++20 -O3 -march=native -ffp-contract=off -shared -fPIC
//     $(pkg-config --cflags tessera) my_rule.cc -o my_rule.so
//
// and given to the command as --plugin my_rule.so; configurations then name the rule by its kName.
// Its options are lr and those with names that the library's rules have (optim/rule_options.h). A
// rule with others names all of its options in a function that anything may be given to:
//
//   void VisitOptions(auto&& visit) { visit("lr", lr); visit("patience", patience); }
//
// An option is a float, double, bool, int or int64_t. The struct is copied as bytes. A rule of a
// shared object runs on CPUs, and acts in the update alone (custom_rule.h).
#include <algorithm>
#include <iterator>
#include <new>
#include <type_traits>

#include "embedding/custom_rule.h"
#include "embedding/rule_plugin_abi.h"
#include "optim/rule_options.h"
#include "runtime/base/check.h"

namespace tessera::internal {

// The instructions that this file is compiled for, by the names of GCC's __builtin_cpu_supports.
inline constexpr char kPluginInstructions[] =
    ""
#if defined(__AVX__)
    " avx"
#endif
#if defined(__AVX2__)
    " avx2"
#endif
#if defined(__FMA__)
    " fma"
#endif
#if defined(__F16C__)
    " f16c"
#endif
#if defined(__BMI2__)
    " bmi2"
#endif
#if defined(__AVX512F__)
    " avx512f"
#endif
#if defined(__AVX512BW__)
    " avx512bw"
#endif
#if defined(__AVX512DQ__)
    " avx512dq"
#endif
#if defined(__AVX512VL__)
    " avx512vl"
#endif
#if defined(__AVX512VNNI__)
    " avx512vnni"
#endif
#if defined(__AVX512VBMI2__)
    " avx512vbmi2"
#endif
    ;

template <typename Option>
constexpr PluginOptionKind PluginKindOf() {
  if constexpr (std::is_same_v<Option, float>)
    return PluginOptionKind::kFloat;
  else if constexpr (std::is_same_v<Option, double>)
    return PluginOptionKind::kDouble;
  else if constexpr (std::is_same_v<Option, bool>)
    return PluginOptionKind::kBool;
  else if constexpr (std::is_same_v<Option, int>)
    return PluginOptionKind::kInt;
  else {
    static_assert(std::is_same_v<Option, int64_t>,
                  "an option of a plugin's rule is a float, double, bool, int or int64_t");
    return PluginOptionKind::kInt64;
  }
}

// The functions of a rule's table.
template <typename Rule>
struct RulePluginFunctions {
  static_assert(std::is_trivially_copyable_v<Rule> && std::is_default_constructible_v<Rule> &&
                    sizeof(Rule) <= kMaxPluginRuleBytes && alignof(Rule) <= kPluginRuleAlignment,
                "a plugin's rule is plain values, which the command copies as bytes");
  static_assert(std::is_same_v<decltype(Rule::lr), float>, "a rule has a member float lr");
  static_assert(sizeof(CustomExecutor<Rule>) > 0, "which says what the rule may not have or lacks");

  static void Make(void* rule) { new (rule) Rule(); }
  static int Options(PluginOption* options) {
    constexpr auto kBytes = static_cast<int64_t>(sizeof(Rule));
    Rule rule;
    int count = 0;
    const auto add = [&]<typename Option>(const char* name, Option& option) {
      TESSERA_CHECK_LT(count, kMaxPluginOptions, "rule {}: its options: one more is '{}'",
                       Rule::kName, name);
      const int64_t offset = reinterpret_cast<char*>(&option) - reinterpret_cast<char*>(&rule);
      if (offset < 0 || offset + static_cast<int64_t>(sizeof(option)) > kBytes)
        throw Error(
            Format("VisitOptions visits an option '{}' that lies outside of the rule's struct, as "
                   "a static or a copy does; expected a member of the struct",
                   name));
      options[count++] = {name, PluginKindOf<Option>(), static_cast<int32_t>(offset)};
    };
    if constexpr (requires { rule.VisitOptions(add); })
      rule.VisitOptions(add);
    else
      VisitRuleOptions(rule, add);
    return count;
  }
  static int States(const void* rule, PluginState* states) {
    const Rule& of = *static_cast<const Rule*>(rule);
    CheckStates(of);
    int count = 0;
    for (const StateSpec& state : of.States())
      states[count++] = {state.name.data(), static_cast<int64_t>(state.name.size()), state.per_row,
                         state.counts};
    return count;
  }
  // (1 + e)·(1 + e) − (1 + 2e) is 0 where the product was rounded, and e² where it was not.
  static bool Contracts() {
#if defined(__FAST_MATH__)
    return true;  // and worse: sums in any order, reciprocals instead of quotients
#endif
    const volatile float a = 1.0f + 0x1p-12f, c = -(1.0f + 0x1p-11f);
    const float x = a, y = c;
    return x * x + y != 0;
  }
  static void Update(const void* rule, float lr, int64_t step, const RowUpdateArgs& args) {
    Rule now = *static_cast<const Rule*>(rule);
    now.lr = lr;
    TESSERA_ISA::Update(now.AtStep(step), args);
  }
};

// Read before the object's code is known to fit this machine: nothing in it is computed at a start.
template <typename Rule>
constexpr RulePluginTable MakeRulePluginTable() {
  using Functions = RulePluginFunctions<Rule>;
  RulePluginTable table = {{},
                           {},
                           RulePluginLayout(),
                           {},
                           Rule::kName,
                           Functions::Make,
                           Functions::Options,
                           Functions::States,
                           Functions::Contracts,
                           Functions::Update};
  std::copy(std::begin(kRulePluginMagic), std::end(kRulePluginMagic), table.magic);
  std::copy(std::begin(kVersion), std::end(kVersion), table.version);
  std::copy(std::begin(kPluginInstructions), std::end(kPluginInstructions), table.instructions);
  return table;
}

}  // namespace tessera::internal

// Makes the shared object of this source a plugin with this rule.
#define TESSERA_RULE_PLUGIN(Rule)                                                                 \
  extern "C" {                                                                                    \
  [[gnu::visibility("default"),                                                                   \
    gnu::used]] extern constinit const ::tessera::internal::RulePluginTable tessera_rule_plugin = \
      ::tessera::internal::MakeRulePluginTable<Rule>();                                           \
  }

#endif  // TESSERA_EMBEDDING_RULE_PLUGIN_H_
