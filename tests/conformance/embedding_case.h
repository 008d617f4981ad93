#ifndef TESSERA_TESTS_CONFORMANCE_EMBEDDING_CASE_H_
#define TESSERA_TESTS_CONFORMANCE_EMBEDDING_CASE_H_
// The part that the kinds lookup and train share: tables, features and KJTs as their READMEs define
// them.
#include <string>
#include <vector>

#include "embedding/table_batched_embedding.h"
#include "tests/conformance/case.h"

namespace tessera::conformance {

// `{"name": "adam", "lr": …}` as a rule. Throws Unsupported for rules and options that the library
// does not have yet.
AnyRule ParseRule(const Json& optimizer);

// The pooling of the entry `table` of attrs.tables.
PoolingType PoolingOf(const Case& c, const Json& table);

// The tables of a case, filled with in.table.<i>, and its features in output order. Rules: one a
// table.
TableBatchedEmbedding MakeTables(Context& ctx, const Case& c, const std::vector<AnyRule>& rules,
                                 TableBatchedEmbeddingOptions options);

// in.<prefix>.values, .lengths, .offsets, .weights, .inverse_indices with attrs.<prefix>. Weights
// require a gradient if `weights_grad`.
KeyedJaggedTensor ReadKjt(const Case& c, const std::string& prefix, bool weights_grad);

// The forward's output under <prefix>pooled or <prefix>sequence.<feature>, and its variables.
std::vector<Variable> Forward(Context& ctx, const Case& c, TableBatchedEmbedding& tables,
                              const KeyedJaggedTensor& kjt, const std::string& prefix,
                              Tensors& answer);
// Runs the backward pass of those variables with in.<prefix>grad (pooled) or
// in.<prefix>grad.<feature>.
void Backward(Context& ctx, const Case& c, Tape& tape, const TableBatchedEmbedding& tables,
              const std::vector<Variable>& outputs, const std::string& prefix);

bool IsSequence(const Case& c);

}  // namespace tessera::conformance
#endif  // TESSERA_TESTS_CONFORMANCE_EMBEDDING_CASE_H_
