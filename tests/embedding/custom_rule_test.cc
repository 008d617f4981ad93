// Rules from outside the library: what is refused before it runs, and the check against a formula.
#include "embedding/custom_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "embedding/check_rule.h"
#include "optim/rule_options.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Momentum whose States() can be made to disagree with Step.
struct Momentum {
  float lr = 0.5f;
  StateSpecs states = {{"sum"}};
  static constexpr const char* kName = "my_momentum";
  StateSpecs States() const { return states; }
  struct Step {
    static constexpr int kStatistics = 0, kElementStates = 1, kRowStates = 1;
    float lr;
    struct Row {};
    TESSERA_HD Row BeginRow(const float*, int64_t, float*) const { return {}; }
    template <typename Real>
    TESSERA_HD void Update(const Row&, RowElement<Real>& x, Real* state) const {
      state[0] = Real(0.75f) * state[0] + x.g;
      x.w = x.w - Real(lr) * state[0];
    }
  };
  Step AtStep(int64_t) const { return {lr}; }
};

TEST(CustomRule, StatesAndStepMustAgree) {
  EXPECT_NO_THROW(MakeCustomRule(Momentum{}));
  EXPECT_NO_THROW(MakeCustomRule(Momentum{.states = {{"sum"}, {"seen", true}}}));
  EXPECT_THAT([] { MakeCustomRule(Momentum{.states = {}}); },
              ThrowsMessage<Error>(AllOf(HasSubstr("my_momentum"), HasSubstr("0 states of an"),
                                         HasSubstr("kElementStates = 1"))));
  EXPECT_THROW(MakeCustomRule(Momentum{.states = {{"sum"}, {"more"}}}), Error);
  EXPECT_THROW(MakeCustomRule(Momentum{.states = {{"sum"}, {"a", true}, {"b", true}}}), Error);
}

std::string RefusalOf(const StateSpecs& states) {
  try {
    CheckRule(MakeCustomRule(Momentum{.states = states}));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

struct Unnamed : Momentum {
  static constexpr const char* kName = "";
};

TEST(CustomRule, NamesAreThoseThatATableCanBeSavedBy) {
  EXPECT_EQ(RefusalOf({{"sum"}, {"seen_2", true}}), "");
  EXPECT_THAT(RefusalOf({{"sum"}, {"sum", true}}),
              HasSubstr("rule my_momentum: States() names two states 'sum'"));
  for (const char* taken : {"weight", "iter", "max_counter"})
    EXPECT_THAT(RefusalOf({{taken}}), AllOf(HasSubstr("rule my_momentum"), HasSubstr(taken),
                                            HasSubstr("something else of a table is saved")));
  for (const char* odd : {"", "a b", "a.b", "a/b"})
    EXPECT_THAT(RefusalOf({{odd}}), HasSubstr("expected letters, digits and '_'")) << odd;
  EXPECT_THAT([] { CheckRule(MakeCustomRule(Unnamed{})); },
              ThrowsMessage<Error>(HasSubstr("an empty kName")));
}

TEST(CustomRule, RulesOfTheLibraryKeepToTheSame) {
  ForEachNamedRule([](const auto& rule) {
    EXPECT_NO_THROW(CheckRule(rule));
    if constexpr (requires { rule.AtStep(1); } && !internal::SweepsTables<decltype(rule)>) {
      EXPECT_NO_THROW(internal::CheckStates(rule));
    }
  });
}

// MakeCustomRule does not compile for a rule of which one of these holds.
static_assert(internal::SweepsTables<EnsembleRowwiseAdagrad>);
static_assert(internal::SweepsTables<EmaInPlaceRowwiseAdagrad>);
static_assert(internal::OwesDecay<GlobalDecayRowwiseAdagrad>);
static_assert(!internal::SweepsTables<Momentum> && !internal::OwesDecay<Momentum>);

// Arguments in an order of their own.
struct Swapped {
  struct Row {};
  template <typename Real>
  void Update(const Row&, Real* state, RowElement<Real>& x) const {
    x.w = state[0];
  }
  template <typename Real>
  void Statistics(Real* terms, RowElement<Real> x) const {
    terms[0] = x.g;
  }
  template <typename Real>
  void LateStatistics(const Row&, RowElement<Real> x, Real* terms, const Real*) const {
    terms[0] = x.g;
  }
};
// Weight and gradient as bare numbers, which can be taken for each other.
struct Bare {
  struct Row {};
  template <typename Real>
  void Update(const Row&, Real& w, Real g, Real*) const {
    w = w - g;
  }
};
static_assert(internal::UpdatesElements<Momentum::Step, float>);
static_assert(!internal::UpdatesElements<Swapped, float>);
static_assert(!internal::SumsStatistics<Swapped, float>);
static_assert(!internal::SumsLateStatistics<Swapped, float>);
static_assert(!internal::UpdatesElements<Bare, float>);

// Momentum in double.
class Formula {
 public:
  void operator()(double, std::vector<double>& w, const std::vector<double>& g) {
    for (size_t d = 0; d < w.size(); ++d) {
      m_[d] = 0.75 * m_[d] + g[d];
      w[d] -= 0.5 * m_[d];
    }
  }

 private:
  std::vector<double> m_ = std::vector<double>(RuleCheck().dim);
};

// Leaves rows alone where several elements come together.
struct ByPack {
  float lr = 0.5f;
  static constexpr const char* kName = "by_pack";
  StateSpecs States() const { return {}; }
  struct Step {
    static constexpr int kStatistics = 0, kElementStates = 0, kRowStates = 0;
    float lr;
    struct Row {};
    TESSERA_HD Row BeginRow(const float*, int64_t, float*) const { return {}; }
    template <typename Real>
    TESSERA_HD void Update(const Row&, RowElement<Real>& x, Real*) const {
      if constexpr (sizeof(Real) == sizeof(float)) x.w = x.w - Real(lr) * x.g;
    }
  };
  Step AtStep(int64_t) const { return {lr}; }
};

TEST(CheckRule, HoldsARuleAgainstItsFormula) {
  EXPECT_NO_THROW(CheckRule(Momentum{}, Formula()));
  EXPECT_THAT(
      [] { CheckRule(Momentum{.lr = 0.501f}, Formula()); },
      ThrowsMessage<Error>(AllOf(HasSubstr("my_momentum, step 1"), HasSubstr("by the formula"))));
}

TEST(CheckRule, RefusesToCheckNothing) {
  EXPECT_THAT([] { CheckRule(Momentum{.lr = 7}, Formula(), {.dim = 0}); },
              ThrowsMessage<Error>(HasSubstr("a RuleCheck's dim")));
  EXPECT_THAT([] { CheckRule(Momentum{.lr = 7}, Formula(), {.steps = 0}); },
              ThrowsMessage<Error>(HasSubstr("a RuleCheck's steps")));
  EXPECT_THAT([] { CheckRule(Momentum{.states = {{"weight"}}}, Formula()); },
              ThrowsMessage<Error>(HasSubstr("weight")));
}

TEST(CheckRule, SeesAStepThatDependsOnHowManyElementsComeTogether) {
  const auto sgd = [](double, std::vector<double>& w, const std::vector<double>& g) {
    for (size_t d = 0; d < w.size(); ++d) w[d] -= 0.5 * g[d];
  };
  EXPECT_THAT([&] { CheckRule(ByPack{}, sgd); }, ThrowsMessage<Error>(HasSubstr("over packs")));
}

}  // namespace
}  // namespace tessera
