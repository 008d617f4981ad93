#ifndef TESSERA_TESTS_CONFORMANCE_KJT_CASE_H_
#define TESSERA_TESTS_CONFORMANCE_KJT_CASE_H_
// Jagged containers as case files hold them, and the two halves of the kind `kjt`.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sparse/keyed_jagged_tensor.h"
#include "tests/conformance/case.h"

namespace tessera::conformance {

using Ops = std::map<std::string, std::function<Answer(Context&, const Case&)>>;

// Ops on containers, by attrs.op.
const Ops& ContainerOps();
// torch.ops.fbgemm, by attrs.op: movement of segments; jagged and dense; calibration and unary
// embeddings.
const Ops& SegmentOps();
const Ops& JaggedOps();
const Ops& ScoreOps();

// The KJT `p`: tensors p.values, p.lengths, p.offsets, p.weights, p.inverse_indices and attrs[p].
KeyedJaggedTensor ReadKjt(const Case& c, const std::string& p);
// Adds the KJT's tensors under p, and what attrs.expect[p] would hold to answer->expect[p].
void WriteKjt(Context& ctx, const KeyedJaggedTensor& kjt, const std::string& p, Answer* answer);
JaggedTensor ReadJt(const Case& c, const std::string& p);
void WriteJt(Context& ctx, const JaggedTensor& jt, const std::string& p, Answer* answer);

// name.0, name.1, … as long as there are any.
std::vector<Tensor> ReadList(const Case& c, const std::string& name);
DType ReadDType(const Json& torch_name);

// Runs fn on the named inputs and stores its result under `output`. Where the case has in.grad, it
// goes backward from it and stores grad.<input>.
Answer Differentiate(Context& ctx, const Case& c, const std::vector<std::string>& inputs,
                     const std::string& output,
                     const std::function<Variable(const std::vector<Variable>&)>& fn);

}  // namespace tessera::conformance
#endif  // TESSERA_TESTS_CONFORMANCE_KJT_CASE_H_
