#ifndef TESSERA_TRAIN_PIPELINE_COLLECTION_OUTPUTS_H_
#define TESSERA_TRAIN_PIPELINE_COLLECTION_OUTPUTS_H_
// The outputs of collections as lists of variables and back: an overload of each function for each
// type of output.
#include <utility>
#include <vector>

#include "embedding/embedding_collection.h"
#include "runtime/context.h"
#include "sparse/keyed_tensor.h"

namespace tessera::internal {

// Those that gradients flow into, in order.
inline std::vector<Variable> VariablesOf(const KeyedTensor& rows) { return {rows.values()}; }
inline std::vector<Variable> VariablesOf(const NamedSequences& rows) {
  std::vector<Variable> variables;
  for (const auto& [name, feature] : rows) variables.push_back(feature.values());
  return variables;
}

// Returns the rows with other variables in their places.
inline KeyedTensor WithVariables(const KeyedTensor& rows, std::vector<Variable> variables) {
  return {rows.keys(), rows.length_per_key(), std::move(variables[0]), rows.key_dim()};
}
inline NamedSequences WithVariables(const NamedSequences& rows, std::vector<Variable> variables) {
  NamedSequences result;
  for (size_t f = 0; f < rows.size(); ++f) {
    const auto& [name, feature] = rows[f];
    result.emplace_back(name, JaggedTensor(std::move(variables[f]), feature.lengths_or_none(),
                                           feature.offsets_or_none(), feature.weights_or_none()));
  }
  return result;
}

// Tells all tensors that they are used on ctx's stream, too.
inline void RecordStream(const KeyedTensor& rows, const Context& ctx) {
  rows.values().value().RecordStream(ctx);
}
inline void RecordStream(const NamedSequences& rows, const Context& ctx) {
  for (const auto& [name, feature] : rows) {
    feature.values().value().RecordStream(ctx);
    feature.lengths_or_none().RecordStream(ctx);
    feature.offsets_or_none().RecordStream(ctx);
    if (feature.is_weighted()) feature.weights().value().RecordStream(ctx);
  }
}

// Keeps what managed collision returns beside its rows.
template <typename Output>
requires requires(const Output& output) { output.embeddings; }
std::vector<Variable> VariablesOf(const Output& output) { return VariablesOf(output.embeddings); }
template <typename Output>
requires requires(const Output& output) { output.embeddings; }
Output WithVariables(Output output, std::vector<Variable> variables) {
  output.embeddings = WithVariables(output.embeddings, std::move(variables));
  return output;
}
template <typename Output>
requires requires(const Output& output) { output.embeddings; }
void RecordStream(const Output& output, const Context& ctx) {
  RecordStream(output.embeddings, ctx);
}

}  // namespace tessera::internal
#endif  // TESSERA_TRAIN_PIPELINE_COLLECTION_OUTPUTS_H_
