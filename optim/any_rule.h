#ifndef TESSERA_OPTIM_ANY_RULE_H_
#define TESSERA_OPTIM_ANY_RULE_H_
// Any rule as a value: what a table's configuration holds. docs/howto/add_an_optimizer.md adds one.
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <variant>

#include "optim/rules/adagrad.h"
#include "optim/rules/adam.h"
#include "optim/rules/adamw.h"
#include "optim/rules/counter_rowwise_adagrad.h"
#include "optim/rules/cowclip_rowwise_adagrad.h"
#include "optim/rules/ema_in_place_rowwise_adagrad.h"
#include "optim/rules/ensemble_rowwise_adagrad.h"
#include "optim/rules/ftrl.h"
#include "optim/rules/global_decay_rowwise_adagrad.h"
#include "optim/rules/lamb.h"
#include "optim/rules/lars_sgd.h"
#include "optim/rules/lion.h"
#include "optim/rules/momentum_sgd.h"
#include "optim/rules/partial_rowwise_adam.h"
#include "optim/rules/partial_rowwise_lamb.h"
#include "optim/rules/rowwise_adagrad.h"
#include "optim/rules/rowwise_rmsprop_ar.h"
#include "optim/rules/sgd.h"

namespace tessera {

class Context;
namespace internal {
struct RowUpdateArgs;  // embedding/update/row_update.h
struct CudaRows;       // embedding/update/update_cuda.h
}  // namespace internal

// No update: the table is an ordinary variable, and backward gives it a dense gradient.
struct Dense {
  float lr = 0;  // the user's own optimizer has it
  static constexpr const char* kName = "dense";
  StateSpecs States() const { return {}; }
};

// No update: backward leaves the touched rows and their summed gradients for the user's own
// optimizer (TableBatchedEmbedding::row_gradients).
struct None {
  float lr = 0;
  static constexpr const char* kName = "none";
  StateSpecs States() const { return {}; }
};

// A rule from outside the library; embedding/custom_rule.h makes one from a struct such as those of
// optim/rules/.
struct CustomRule {
  float lr = 0;
  class Executor {
   public:
    virtual ~Executor() = default;
    virtual const char* name() const = 0;
    virtual StateSpecs States() const = 0;
    // The update of step t with learning rate lr.
    virtual void Update(float lr, int64_t t, const internal::RowUpdateArgs& args) const = 0;
    // Updates rows on a GPU. Throws Error for a rule that was compiled for the CPU alone.
    virtual void UpdateOnCuda(Context& ctx, float lr, int64_t t,
                              const internal::CudaRows& rows) const;
  };
  std::shared_ptr<const Executor> executor;
  StateSpecs States() const { return executor->States(); }
};

using RuleVariant =
    std::variant<Sgd, MomentumSgd, LarsSgd, Adagrad, RowwiseAdagrad, CounterRowwiseAdagrad,
                 CowClipRowwiseAdagrad, GlobalDecayRowwiseAdagrad, EnsembleRowwiseAdagrad,
                 EmaInPlaceRowwiseAdagrad, RowwiseRmspropAr, Adam, AdamW, PartialRowwiseAdam, Lamb,
                 PartialRowwiseLamb, Lion, Ftrl, Dense, None, CustomRule>;

namespace internal {
template <typename Rule, typename Variant>
inline constexpr bool kIsAlternative = false;
template <typename Rule, typename... Rules>
inline constexpr bool kIsAlternative<Rule, std::variant<Rules...>> = (std::is_same_v<Rule, Rules> ||
                                                                      ...);
}  // namespace internal

// A std::variant (std::get_if, std::visit and std::holds_alternative take it) whose copies and
// moves are compiled once, in any_rule.cc, and not by every source that has tables' configurations.
class AnyRule : public RuleVariant {
 public:
  AnyRule();  // Sgd
  // Rule: an alternative of RuleVariant.
  template <typename Rule>
  requires internal::kIsAlternative<Rule, RuleVariant> AnyRule(
      Rule rule);  // NOLINT: a rule is a rule
  AnyRule(const AnyRule& other);
  AnyRule(AnyRule&& other) noexcept;
  AnyRule& operator=(const AnyRule& other);
  AnyRule& operator=(AnyRule&& other) noexcept;
  ~AnyRule();
};

// "rowwise_adagrad", …
const char* RuleName(const AnyRule& rule);
StateSpecs RuleStates(const AnyRule& rule);
float LearningRate(const AnyRule& rule);
void SetLearningRate(AnyRule& rule, float lr);
// Returns what the rule does to whole tables before the forward of step t; for most rules that is
// nothing.
TableSweep SweepAt(const AnyRule& rule, int64_t t);
// Throws Error for options that make no sense (a rate or moment out of range, a mode that the rule
// does not have), saying which.
void CheckRule(const AnyRule& rule);
// Throw Error, which names the rule, for a value that no rule of the library takes as its option of
// this name.
void CheckRuleOption(const char* rule, std::string_view option, double value);
void CheckRuleOption(const char* rule, std::string_view option, int64_t value);
// Throws Error for rows of a dim that the rule does not take: an odd one where rows are two halves.
void CheckDimOfRule(const AnyRule& rule, int64_t dim);

}  // namespace tessera
#endif  // TESSERA_OPTIM_ANY_RULE_H_
