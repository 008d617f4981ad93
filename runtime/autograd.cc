#include "runtime/autograd.h"

#include <algorithm>
#include <utility>

#include "runtime/accumulation.h"
#include "runtime/device/scratch_pool.h"
#include "runtime/elementwise.h"

namespace tessera {
namespace {

const Tensor& NoTensor() {
  static const Tensor none;
  return none;
}

// a + b in new memory: the operands may be shared with other gradients. 16-bit numbers are added in
// f32 and rounded.
Tensor Sum(Context& ctx, const Tensor& a, const Tensor& b) {
  if (a.dtype() == b.dtype() && (a.dtype() == DType::kF16 || a.dtype() == DType::kBF16))
    return Sum(ctx, a.To(ctx, DType::kF32), b.To(ctx, DType::kF32)).To(ctx, a.dtype());
  const Tensor x = a.Contiguous(ctx), y = b.Contiguous(ctx);
  Tensor sum = Tensor::Empty(ctx, x.shape(), x.dtype());
  internal::Elementwise(ctx, sum.numel(),
                        internal::AddItems{x.data<float>(), y.data<float>(), sum.data<float>()});
  return sum;
}

// Whether numbers of a type can be gradients of those of another one.
bool IsGradientOf(DType grad, DType value) {
  const auto adds = [](DType t) { return IsFloating(t) && SizeOf(t) <= SizeOf(DType::kF32); };
  return grad == value || (adds(grad) && adds(value));
}

// The bytes from a tensor's first element to its last.
std::span<const std::byte> MemoryOf(const Tensor& t) {
  if (t.numel() == 0) return {};
  int64_t last = 0;
  for (int d = 0; d < t.rank(); ++d) last += (t.dim(d) - 1) * t.strides()[d];
  return {static_cast<const std::byte*>(t.raw_data()),
          static_cast<size_t>((last + 1) * SizeOf(t.dtype()))};
}

bool Meet(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

}  // namespace

Variable::Variable(Tensor value, bool requires_grad) {
  if (!value.defined()) return;
  impl_ = MakeScratch<Impl>();
  impl_->value = std::move(value);
  impl_->requires_grad = requires_grad;
  impl_->of_batch = !requires_grad;
}

const Tensor& Variable::value() const { return impl_ ? impl_->value : NoTensor(); }
const Tensor& Variable::grad() const { return impl_ ? impl_->grad : NoTensor(); }
void Variable::ZeroGrad() {
  if (impl_) impl_->grad = {};
}
void Variable::RetainGrad() {
  TESSERA_CHECK(defined(), "RetainGrad of an undefined variable");
  impl_->retain_grad = true;
}

void Variable::AccumulateGrad(Context& ctx, const Tensor& g) {
  TESSERA_CHECK(defined(), "gradient for an undefined variable");
  if (!g.defined() || g.shape() != shape() || !IsGradientOf(g.dtype(), value().dtype()))
    throw Error(
        Format("AccumulateGrad: a variable {} of {} got a gradient {}", shape(), value().dtype(),
               g.defined() ? Format("{} of {}", g.shape(), g.dtype()) : "that is undefined"));
  impl_->grad = impl_->grad.defined() ? Sum(ctx, impl_->grad, g) : g;
}

void Variable::set_value(Tensor value) {
  TESSERA_CHECK(defined(), "set_value of an undefined variable");
  TESSERA_CHECK_EQ(value.shape(), shape(), "set_value");
  TESSERA_CHECK_EQ(value.dtype(), impl_->value.dtype(), "set_value");
  TESSERA_CHECK(value.is_contiguous(), "set_value: a view {} that is not contiguous",
                value.shape());
  impl_->value = std::move(value);
}

Tensor Function::SumOverExamples(size_t input, const std::function<Tensor(const Tensor&)>& extend,
                                 const std::function<Tensor(const Tensor&)>& finish) const {
  if (!needs_grad(input)) return {};
  const auto finished = [&](Tensor sum) { return finish ? finish(sum) : sum; };
  if (accumulation_ == nullptr || !for_all_examples_[input]) return finished(extend({}));
  Tensor& sum = accumulation_->ChainAt({number_, input}, name());
  sum = extend(sum);
  return accumulation_->last() ? finished(std::exchange(sum, {})) : Tensor();
}

Tape::Tape(Context& ctx, Accumulation* accumulation)
    : ctx_(ctx),
      outer_(std::exchange(ctx.tape_, this)),
      accumulation_(accumulation),
      outer_accumulation_(std::exchange(ctx.accumulation_, accumulation)) {}

Tape::~Tape() {
  if (ctx_.tape_ == this) {
    ctx_.tape_ = outer_;
    ctx_.accumulation_ = outer_accumulation_;
  }
  for (Tape* inner = ctx_.tape_; inner != nullptr; inner = inner->outer_)  // that outlives this one
    if (inner->outer_ == this) {
      inner->outer_ = outer_;
      inner->outer_accumulation_ = outer_accumulation_;
    }
}

NoGrad::NoGrad(Context& ctx) : ctx_(ctx), outer_(std::exchange(ctx.tape_, nullptr)) {}
NoGrad::~NoGrad() { ctx_.tape_ = outer_; }

std::vector<Variable> Tape::Add(std::unique_ptr<Function> function, std::vector<Variable> inputs,
                                std::vector<Tensor> outputs, bool of_batch) {
  for (const Variable& input : inputs) {
    function->needs_grad_.push_back(input.requires_grad());
    of_batch = of_batch || (input && input.impl_->of_batch);
  }
  if (accumulation_ != nullptr) {
    function->accumulation_ = accumulation_;
    function->number_ = size();
    for (const Variable& input : inputs)
      function->for_all_examples_.push_back(of_batch && input && !input.impl_->of_batch);
  }
  Node node{std::move(function), std::move(inputs), {}};
  for (Tensor& output : outputs) {
    Variable& variable = node.outputs.emplace_back(std::move(output), /*requires_grad=*/true);
    if (!variable) continue;
    variable.impl_->of_op = true;
    variable.impl_->of_batch = of_batch;
  }
  nodes_.push_back(std::move(node));
  return nodes_.back().outputs;
}

bool Tape::Recorded(const Variable& result) const {
  return std::any_of(nodes_.rbegin(), nodes_.rend(), [&](const Node& node) {
    return std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](const Variable& output) { return output.is(result); });
  });
}

void Tape::Seed(const Variable& root, const Tensor& grad) {
  TESSERA_CHECK(root.requires_grad(),
                "Backward from a variable that depends on nothing that requires a gradient");
  TESSERA_CHECK(!root.impl_->of_op || Recorded(root),
                "Backward from a variable of shape {} that another tape recorded", root.shape());
  TESSERA_CHECK(
      grad.defined() || root.value().numel() == 1,
      "Backward from a variable of shape {}: give its gradient, or reduce it to one element",
      root.shape());
  // A second handle to a given gradient: Give sees that it is not the tape's alone.
  const Tensor seed = grad.defined() ? grad : Tensor::Full(ctx_, root.shape(), 1.0);
  if (grad.defined()) kept_[&grad] = MemoryOf(grad);
  Give(root, seed);
}

// Variables that keep their gradient get one in memory of their own: who writes into it, or into a
// gradient that Backward was given, changes no other. Memory without a second handle is no other's,
// and is looked up nowhere.
void Tape::Give(const Variable& variable, const Tensor& grad) {
  Variable to = variable;
  const bool own = grad.unique(), retained = to.impl_->retain_grad;
  if (!retained && (own || (to.impl_->of_op && Recorded(to)))) return to.AccumulateGrad(ctx_, grad);
  const auto shares = [memory = MemoryOf(grad)](const auto& kept) {
    return Meet(kept.second, memory);
  };
  const bool copied =
      !own && !to.grad().defined() && std::any_of(kept_.begin(), kept_.end(), shares);
  to.AccumulateGrad(ctx_, copied ? grad.Clone(ctx_) : grad);
  kept_[to.impl_.get()] = MemoryOf(to.grad());
}

void Tape::Backward(const Variable& root, const Tensor& grad) { Backward({&root, 1}, {&grad, 1}); }

void Tape::Backward(std::span<const Variable> roots, std::span<const Tensor> grads) {
  TESSERA_CHECK(!used_,
                "Backward was called before on this tape, and its nodes are freed: make a new Tape "
                "for each step");
  TESSERA_CHECK(!roots.empty(), "Backward from no variable");
  TESSERA_CHECK(grads.empty() || grads.size() == roots.size(),
                "Backward from {} variables: expected as many gradients, got {}", roots.size(),
                grads.size());
  for (const Variable& root : roots)
    TESSERA_CHECK(
        !root || !root.impl_->of_op || !root.grad().defined(),
        "Backward from a result of shape {} that has a gradient already, of another tape: "
        "keep that gradient, call ZeroGrad, and give it to Backward",
        root.shape());
  const NoGrad no_grad(ctx_);
  for (size_t i = 0; i < roots.size(); ++i) Seed(roots[i], grads.empty() ? Tensor() : grads[i]);
  used_ = true;
  if (on_ready_) CountUses();
  while (!nodes_.empty()) {
    Node node = std::move(nodes_.back());
    nodes_.pop_back();
    RunNode(node);
    if (on_ready_) SayReady(node);
  }
  if (accumulation_ != nullptr) accumulation_->EndPass();
}

void Tape::CountUses() {
  for (const Node& node : nodes_)
    for (const Variable& input : node.inputs)
      if (input.requires_grad()) ++uses_[input.impl_.get()];
}

void Tape::SayReady(const Node& node) {
  for (const Variable& input : node.inputs)
    if (input.requires_grad() && --uses_[input.impl_.get()] == 0) on_ready_(input);
}

void Tape::RunNode(Node& node) {
  std::vector<Tensor> grads;
  for (Variable& output : node.outputs) {
    grads.push_back(output.grad());
    if (!output.impl_->retain_grad) output.ZeroGrad();
  }
  if (std::none_of(grads.begin(), grads.end(), [](const Tensor& g) { return g.defined(); })) return;
  const std::vector<Tensor> input_grads = node.function->Backward(ctx_, grads);
  TESSERA_CHECK_EQ(input_grads.size(), node.inputs.size(), "gradients of {}",
                   node.function->name());
  for (size_t i = 0; i < input_grads.size(); ++i) {
    Variable& input = node.inputs[i];
    if (!input.requires_grad() || !input_grads[i].defined()) continue;
    if (accumulation_ != nullptr && !input.impl_->of_op)
      accumulation_->Receive(input, node.function->name());
    Give(input, input_grads[i]);
  }
}

std::vector<Variable> Record(Context& ctx, std::unique_ptr<Function> function,
                             std::vector<Variable> inputs, std::vector<Tensor> outputs,
                             bool always) {
  const bool wanted = always || std::any_of(inputs.begin(), inputs.end(),
                                            [](const Variable& v) { return v.requires_grad(); });
  if (ctx.tape() != nullptr && wanted)
    return ctx.tape()->Add(std::move(function), std::move(inputs), std::move(outputs), always);
  std::vector<Variable> plain;
  for (Tensor& output : outputs) plain.emplace_back(std::move(output));
  return plain;
}

Variable Record(Context& ctx, std::unique_ptr<Function> function, std::vector<Variable> inputs,
                Tensor output, bool always) {
  std::vector<Tensor> outputs;
  outputs.push_back(std::move(output));
  return std::move(
      Record(ctx, std::move(function), std::move(inputs), std::move(outputs), always).front());
}

}  // namespace tessera
