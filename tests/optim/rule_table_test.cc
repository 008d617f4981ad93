// The table of docs/guide/optimizers.md (rules, options, states) must agree with the code: this
// writes it and compares.
#include <cxxabi.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <typeinfo>

#include "optim/rule_options.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

std::string ValueOf(float value) { return Format("{:g}", value); }
std::string ValueOf(double value) { return Format("{}", value); }
std::string ValueOf(bool value) { return value ? "true" : "false"; }
std::string ValueOf(int64_t value) { return std::to_string(value); }
template <typename Mode>
requires std::is_enum_v<Mode> std::string ValueOf(Mode value) { return ToString(value); }

std::string Describe(const StateSpec& spec) {
  return Format("`{}` {}{}", spec.name, spec.per_row ? "[E]" : "[E, D]",
                spec.counts ? " counts" : "");
}

// Its states, and those that a flag adds.
template <typename Rule>
std::string StatesOf(const Rule& rule) {
  std::string text;
  std::set<std::string> known;
  const auto add = [&](const StateSpec& spec, const std::string& when) {
    if (known.emplace(spec.name).second) text += (text.empty() ? "" : ", ") + Describe(spec) + when;
  };
  for (const StateSpec& spec : rule.States()) add(spec, "");
  Rule flagged = rule;
  VisitRuleOptions(flagged, [&](const char* name, auto& option) {
    if constexpr (std::is_same_v<std::decay_t<decltype(option)>, bool>) {
      option = true;
      for (const StateSpec& spec : flagged.States()) add(spec, Format(" with {}", name));
    }
  });
  return text.empty() ? "none" : text;
}

template <typename Rule>
std::string TypeName() {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(typeid(Rule).name(), nullptr, nullptr, &status), std::free);
  const std::string full = name.get();
  return full.substr(full.rfind(':') + 1);
}

std::string Table() {
  std::string table = "| rule | in C++ | options and their defaults | state |\n|---|---|---|---|\n";
  ForEachNamedRule([&](auto rule) {
    std::string options;
    VisitRuleOptions(rule, [&](const char* name, const auto& option) {
      options += Format("{}{} {}", options.empty() ? "" : ", ", name, ValueOf(option));
    });
    table += Format("| `{}` | `{}` | {} | {} |\n", rule.kName, TypeName<decltype(rule)>(),
                    options.empty() ? "none" : options, StatesOf(rule));
  });
  return table;
}

TEST(RuleTable, IsInTheGuide) {
  std::ifstream file("docs/guide/optimizers.md");
  ASSERT_TRUE(file) << "no docs/guide/optimizers.md beside the test";
  std::stringstream page;
  page << file.rdbuf();
  const std::string text = page.str(), table = Table();
  std::string lacking;
  std::istringstream rows(table);
  for (std::string row; std::getline(rows, row);)
    if (text.find("\n" + row + "\n") == std::string::npos) lacking += row + "\n";
  ASSERT_TRUE(lacking.empty()) << "docs/guide/optimizers.md lacks these rows:\n" << lacking;
  EXPECT_NE(text.find(table), std::string::npos)
      << "docs/guide/optimizers.md has a row of no rule, or rows in another order than RuleVariant "
      << "(optim/any_rule.h)";
}

// Converts to any option.
struct AnyOption {
  template <typename Option>
  operator Option() const;  // never called
};

// How many fields the struct has.
template <typename Rule, typename... Options>
constexpr size_t CountFields() {
  if constexpr (requires { Rule{Options{}..., AnyOption{}}; })
    return CountFields<Rule, Options..., AnyOption>();
  else
    return sizeof...(Options);
}

TEST(RuleTable, HasEveryFieldOfTheStructs) {
  static_assert(CountFields<MomentumSgd>() == 4);
  ForEachNamedRule([](auto rule) {
    using Rule = decltype(rule);
    if constexpr (std::is_same_v<Rule, Dense>) return;  // its lr is the user's own
    std::string options;
    size_t count = 0;
    VisitRuleOptions(rule, [&](const char* name, const auto&) {
      options += Format("{}{}", options.empty() ? "" : ", ", name);
      ++count;
    });
    EXPECT_EQ(count, CountFields<Rule>())
        << rule.kName << ": each field of its struct needs its line in VisitRuleOptions "
        << "(optim/rule_options.h), which has " << options;
  });
}

// Whoever writes MomentumSgd{0.1f, 0.9f, …} reads the order in the guide.
TEST(RuleTable, HasOptionsInTheOrderOfTheStructs) {
  ForEachNamedRule([](auto rule) {
    const void* last = nullptr;
    VisitRuleOptions(rule, [&](const char* name, const auto& option) {
      EXPECT_LT(last, static_cast<const void*>(&option)) << rule.kName << ": " << name;
      last = &option;
    });
  });
}

}  // namespace
}  // namespace tessera
