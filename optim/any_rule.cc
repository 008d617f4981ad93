#include "optim/any_rule.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

#include "optim/rule_options.h"
#include "runtime/base/check.h"
#include "runtime/context.h"

namespace tessera {

static_assert(
    std::is_same_v<Dense,
                   std::variant_alternative_t<std::variant_size_v<RuleVariant> - 3, RuleVariant>>,
    "a rule that updates rows stands before Dense, None and CustomRule in RuleVariant");

namespace {

template <typename Rule>
void CheckModes(const Rule& r) {
  if constexpr (requires { r.weight_decay_mode; })
    TESSERA_CHECK(r.weight_decay_mode != WeightDecayMode::kAdagradW ||
                      (std::is_same_v<Rule, CounterRowwiseAdagrad>),
                  "{}: weight_decay_mode ADAGRADW is for counter_rowwise_adagrad alone", r.kName);
}

template <typename Rule>
void CheckOptions(const Rule& rule) {
  CheckRuleOption(rule.kName, "lr", rule.lr);
  VisitRuleOptions(rule, []<typename Option>(const char* option, const Option& value) {
    if constexpr (std::is_floating_point_v<Option> || std::is_same_v<Option, int64_t>)
      CheckRuleOption(Rule::kName, option, value);
  });
  CheckModes(rule);
}

// Names by which a table's weights, and the numbers of a fused optimizer, are saved.
constexpr std::string_view kTakenNames[] = {"weight", "iter", "max_counter"};

bool IsNameOfState(std::string_view name) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  return !name.empty() && name.find_first_not_of(kLetters) == std::string_view::npos;
}

void CheckStateNames(const AnyRule& rule) {
  const StateSpecs states = RuleStates(rule);
  for (const StateSpec* state = states.begin(); state != states.end(); ++state) {
    TESSERA_CHECK(IsNameOfState(state->name),
                  "rule {}: States() names a state '{}'; expected letters, digits and '_'",
                  RuleName(rule), state->name);
    TESSERA_CHECK(std::ranges::find(kTakenNames, state->name) == std::end(kTakenNames),
                  "rule {}: States() names a state '{}', as which something else of a table is "
                  "saved: give it another name",
                  RuleName(rule), state->name);
    TESSERA_CHECK(std::none_of(states.begin(), state,
                               [&](const StateSpec& other) { return other.name == state->name; }),
                  "rule {}: States() names two states '{}': give one of them another name",
                  RuleName(rule), state->name);
  }
}

}  // namespace

void CustomRule::Executor::UpdateOnCuda(Context&, float, int64_t, const internal::CudaRows&) const {
  TESSERA_FAIL(
      "the rule {} was compiled for the CPU only: make it with MakeCudaCustomRule in a .cu "
      "file that includes embedding/custom_rule.cuh",
      name());
}

AnyRule::AnyRule() = default;
AnyRule::AnyRule(const AnyRule& other) = default;
AnyRule::AnyRule(AnyRule&& other) noexcept = default;
AnyRule& AnyRule::operator=(const AnyRule& other) = default;
AnyRule& AnyRule::operator=(AnyRule&& other) noexcept = default;
AnyRule::~AnyRule() = default;

template <typename Rule>
requires internal::kIsAlternative<Rule, RuleVariant> AnyRule::AnyRule(Rule rule)
    : RuleVariant(std::move(rule)) {}

// One for each alternative of RuleVariant.
template AnyRule::AnyRule(Sgd);
template AnyRule::AnyRule(MomentumSgd);
template AnyRule::AnyRule(LarsSgd);
template AnyRule::AnyRule(Adagrad);
template AnyRule::AnyRule(RowwiseAdagrad);
template AnyRule::AnyRule(CounterRowwiseAdagrad);
template AnyRule::AnyRule(CowClipRowwiseAdagrad);
template AnyRule::AnyRule(GlobalDecayRowwiseAdagrad);
template AnyRule::AnyRule(EnsembleRowwiseAdagrad);
template AnyRule::AnyRule(EmaInPlaceRowwiseAdagrad);
template AnyRule::AnyRule(RowwiseRmspropAr);
template AnyRule::AnyRule(Adam);
template AnyRule::AnyRule(AdamW);
template AnyRule::AnyRule(PartialRowwiseAdam);
template AnyRule::AnyRule(Lamb);
template AnyRule::AnyRule(PartialRowwiseLamb);
template AnyRule::AnyRule(Lion);
template AnyRule::AnyRule(Ftrl);
template AnyRule::AnyRule(Dense);
template AnyRule::AnyRule(None);
template AnyRule::AnyRule(CustomRule);

const char* RuleName(const AnyRule& rule) {
  if (const auto* custom = std::get_if<CustomRule>(&rule)) return custom->executor->name();
  return std::visit(
      [](const auto& r) -> const char* {
        if constexpr (requires { r.kName; })
          return r.kName;
        else
          return "";
      },
      rule);
}

StateSpecs RuleStates(const AnyRule& rule) {
  return std::visit([](const auto& r) { return r.States(); }, rule);
}

float LearningRate(const AnyRule& rule) {
  return std::visit([](const auto& r) { return r.lr; }, rule);
}

void SetLearningRate(AnyRule& rule, float lr) {
  CheckRuleOption(RuleName(rule), "lr", lr);
  std::visit([&](auto& r) { r.lr = lr; }, rule);
}

TableSweep SweepAt(const AnyRule& rule, int64_t t) {
  return std::visit(
      [&](const auto& r) -> TableSweep {
        if constexpr (requires { r.SweepAt(t); })
          return r.SweepAt(t);
        else
          return {};
      },
      rule);
}

void CheckRuleOption(const char* rule, std::string_view option, double value) {
  if (IsDecay(option))
    TESSERA_CHECK(value >= 0 && value < 1, "{}: {} {}; expected at least 0, below 1", rule, option,
                  value);
  TESSERA_CHECK(value >= 0 && std::isfinite(value),
                "{}: {} {}; expected a finite number, at least 0", rule, option, value);
  TESSERA_CHECK(value > 0 || option != "max_counter", "{}: {} {}; expected above 0", rule, option,
                value);
}

void CheckRuleOption(const char* rule, std::string_view option, int64_t value) {
  TESSERA_CHECK(value >= 1 || (option != "step_ema" && option != "step_swap"),
                "{}: {} {}; expected at least 1", rule, option, value);
}

void CheckRule(const AnyRule& rule) {
  std::visit(
      [](const auto& r) {
        if constexpr (requires { r.kName; }) CheckOptions(r);
        if constexpr (requires { r.executor; })
          TESSERA_CHECK(r.executor != nullptr, "a custom rule without an executor");
      },
      rule);
  const char* name = RuleName(rule);
  TESSERA_CHECK(name != nullptr && *name != '\0',
                "a custom rule with an empty kName; expected a name");
  CheckRuleOption(name, "lr", LearningRate(rule));
  CheckStateNames(rule);
}

void CheckDimOfRule(const AnyRule& rule, int64_t dim) {
  TESSERA_CHECK(!std::holds_alternative<EmaInPlaceRowwiseAdagrad>(rule) || dim % 2 == 0,
                "{}: its rows are two halves: expected an even dim, got {}", RuleName(rule), dim);
}

}  // namespace tessera
