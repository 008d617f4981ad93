#ifndef TESSERA_EMBEDDING_TABLE_FUSED_STATES_H_
#define TESSERA_EMBEDDING_TABLE_FUSED_STATES_H_
// State dict entries of a fused table, cut over ranks or not: which rules are updated inside
// backward, their options, and the numbers that they remember for a table.
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "optim/any_rule.h"
#include "optim/state_dict.h"
#include "runtime/tensor.h"

namespace tessera::internal {

// Not so for the rules Dense and None.
bool IsUpdatedInBackward(const AnyRule& rule);

// "lr" first; modes by their numbers.
std::vector<std::pair<std::string, double>> FusedOptionsOf(const AnyRule& rule);

// The max_counter of a CounterRowwiseAdagrad; 1 of another rule, where setting it does nothing.
float MaxCounterOf(const AnyRule& rule);
// Throws Error unless it is above 0.
void SetMaxCounter(AnyRule& rule, float max_counter);

// `iter`, and with CounterRowwiseAdagrad `max_counter`: states of a table that are no tensors of
// it.
std::map<std::string, Tensor> FusedNumbersOf(const AnyRule& rule, int64_t iter);

// Throws Error, naming `what`, for steps that cannot be counted on from: below 0, or above 2^62.
void CheckIter(int64_t iter, const std::string& what);
int64_t IterOf(const std::map<std::string, Tensor>& states);
// 1 for a rule that has none.
float MaxCounterOf(const std::map<std::string, Tensor>& states);

// Throws Error, naming `key`, unless the states are those expected and their numbers can be.
void CheckFusedStates(const std::string& key, const std::map<std::string, Tensor>& states,
                      std::span<const ExpectedState> expected);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_TABLE_FUSED_STATES_H_
