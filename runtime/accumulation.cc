#include "runtime/accumulation.h"

#include <algorithm>

namespace tessera {

Accumulation::Accumulation(int64_t examples, int passes) : examples_(examples), passes_(passes) {
  TESSERA_CHECK(examples >= 0 && passes >= 1, "a step of {} examples in {} passes", examples,
                passes);
}

void Accumulation::Begin(int64_t examples) {
  TESSERA_CHECK(passes_begun_ < passes_, "pass {} of a step of {}", passes_begun_ + 1, passes_);
  TESSERA_CHECK(examples >= 0 && examples_begun_ + examples <= examples_,
                "a pass of {} examples, of which the step has {} left", examples,
                examples_ - examples_begun_);
  const int64_t begun = examples_begun_ + examples;
  TESSERA_CHECK(examples % kExamples == 0 || begun == examples_,
                "a micro-batch of {} examples that is not the last of its step; expected a "
                "multiple of {}, since gradients are summed in chunks that divide it",
                examples, kExamples);
  TESSERA_CHECK(passes_begun_ + 1 < passes_ || begun == examples_,
                "the passes of a step have {} examples, not its {}", begun, examples_);
  examples_begun_ = begun;
  ++passes_begun_;
  examples_of_pass_ = examples;
  received_before_.insert(received_before_.end(), received_.begin(), received_.end());
  received_.clear();
}

int64_t Accumulation::ItemsOfStep(int64_t items) const {
  if (items == 0 || examples_of_pass_ == 0) return items;
  TESSERA_CHECK(items % examples_of_pass_ == 0,
                "an op of {} rows in a micro-batch of {} examples: gradients are accumulated where "
                "each example has as many rows",
                items, examples_of_pass_);
  return items / examples_of_pass_ * examples_;
}

Tensor& Accumulation::ChainAt(const Place& place, std::string_view function) {
  Chain& chain = chains_[place];
  if (chain.function.empty()) chain.function = function;
  TESSERA_CHECK(chain.function == function,
                "op {} of a micro-batch is {}, but it was {} before: the passes of a step run the "
                "same ops",
                place.first, function, chain.function);
  return chain.sum;
}

void Accumulation::Receive(const Variable& variable, std::string_view function) {
  const auto is = [&](const Variable& other) { return other.is(variable); };
  TESSERA_CHECK(std::none_of(received_before_.begin(), received_before_.end(), is),
                "{} gives a parameter of shape {} its gradient in each micro-batch of a step, so "
                "the sum would not have the bits of one batch; it does not take part in gradient "
                "accumulation",
                function, variable.shape());
  received_.push_back(variable);
}

void Accumulation::EndPass() {
  if (!last()) return;
  for (const auto& [place, chain] : chains_)
    TESSERA_CHECK(!chain.sum.defined(),
                  "{}, op {} of a micro-batch, got no gradient in the last one, but did before",
                  chain.function, place.first);
}

namespace internal {
int64_t ItemsOfStep(const Context& ctx, int64_t items) {
  return ctx.accumulation() == nullptr ? items : ctx.accumulation()->ItemsOfStep(items);
}
}  // namespace internal

}  // namespace tessera
