#ifndef TESSERA_RUNTIME_AUTOGRAD_H_
#define TESSERA_RUNTIME_AUTOGRAD_H_
// Reverse-mode differentiation.
//
//   Tape tape(ctx);                              // ops on ctx record themselves from here on
//   Variable loss = Mean(ctx, Linear(ctx, x, w, b));
//   tape.Backward(loss);                         // w.grad(), b.grad()
//
// An op computes its output and hands the tape a Function that turns gradients of the output into
// those of the inputs. Without a Tape nothing is recorded, and prediction costs no memory. Nodes
// hold variables, variables hold no nodes: destroying the tape frees what it kept. They keep the
// forward's tensors, not copies: writing into one before Backward changes gradients, and no error
// says so. The gradients that Backward is given and those that it leaves share no memory.
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/tensor.h"

namespace tessera {

class Accumulation;

// A tensor that may have a gradient. A handle: copies are the same variable. A Tensor converts to
// it implicitly, so that ops take plain tensors too.
class Variable {
 public:
  Variable() = default;                                // undefined: "none"
  Variable(Tensor value, bool requires_grad = false);  // NOLINT: made to be implicit

  bool defined() const { return impl_ != nullptr; }
  explicit operator bool() const { return defined(); }
  const Tensor& value() const;
  operator const Tensor&() const { return value(); }  // NOLINT: made to be implicit
  const Shape& shape() const { return value().shape(); }
  int64_t dim(int i) const { return value().dim(i); }
  int rank() const { return value().rank(); }

  bool requires_grad() const { return impl_ != nullptr && impl_->requires_grad; }
  // d root / d this, summed over all backward passes since ZeroGrad; undefined where none arrived.
  // Kept for variables that are not results of ops on the tape of the backward pass, and for those
  // results on which RetainGrad was called before it.
  const Tensor& grad() const;
  void ZeroGrad();
  void RetainGrad();
  // grad += g (g is kept, not copied, when it is the first). Throws Error unless g has the
  // value's shape, and its type or one as good for a gradient: f32, f16 and bf16 go together.
  void AccumulateGrad(Context& ctx, const Tensor& g);
  // Replaces the value. REQUIRES: same shape and dtype, contiguous. Who else holds the old value
  // keeps it: a table of the rule Dense needs CopyFrom into its variable's value.
  void set_value(Tensor value);
  // Whether both are the same variable.
  bool is(const Variable& other) const { return impl_ == other.impl_; }

 private:
  friend class Tape;
  struct Impl {
    Tensor value, grad;
    bool requires_grad = false, retain_grad = false;
    bool of_op = false;  // the result of one
    // Whether it may depend on the batch's examples: they themselves, and results computed from
    // them.
    bool of_batch = false;
  };
  std::shared_ptr<Impl> impl_;
};

// The backward of one op. It may keep tensors of the forward as members.
class Function {
 public:
  virtual ~Function() = default;
  // The op's name, for messages.
  virtual std::string_view name() const = 0;
  // The gradient of each input, in the order given to Record; undefined for inputs that need none.
  // grad_outputs has one entry an output, undefined where no gradient arrived (never all). Called
  // at most once.
  virtual std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grad_outputs) = 0;

 protected:
  bool needs_grad(size_t input) const { return needs_grad_[input]; }
  // Returns the gradient of an input that all examples share, such as a weight: a sum over them.
  // extend(so_far) adds this pass's examples to the sum of the passes before, which is undefined in
  // the first. In a step of several passes (Accumulation) the result is undefined but in the last.
  // `finish`, if given, turns the whole sum into the gradient. Undefined if the input needs none.
  Tensor SumOverExamples(size_t input, const std::function<Tensor(const Tensor& so_far)>& extend,
                         const std::function<Tensor(const Tensor& sum)>& finish = nullptr) const;

 private:
  friend class Tape;
  std::vector<bool> needs_grad_;
  // Set where a step has several passes: the step, this op's number in its pass, and the inputs
  // that all examples share.
  Accumulation* accumulation_ = nullptr;
  int64_t number_ = 0;
  std::vector<bool> for_all_examples_;
};

// A record of what was computed, in order. The innermost live Tape of a context records. Tapes of a
// context may end in any order, but a NoGrad ends before every tape that lived when it began.
class Tape {
 public:
  // `accumulation`: a step of several passes, whose newest pass this tape records; null: the tape
  // records a whole step.
  explicit Tape(Context& ctx, Accumulation* accumulation = nullptr);
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // Adds d root / d v to the grad of every variable v that root was computed from and that requires
  // it. Frees each node after use: a second Backward is an error, and so is a root that another
  // tape recorded. REQUIRES: root has one element, or `grad` (shaped like root) is given. The
  // backward of an inner tape adds a gradient to an outer one's result, which stays there until the
  // outer tape's Backward uses it; a root that has one is an error.
  void Backward(const Variable& root, const Tensor& grad = {});
  // Differentiates several losses at once, in one pass: Σ grads[i]·roots[i], as
  // torch.autograd.backward does. `grads`: none, or one a root, which may be undefined.
  void Backward(std::span<const Variable> roots, std::span<const Tensor> grads = {});
  // Backward calls fn for each variable that requires a gradient as soon as its grad is complete
  // (or is known to stay undefined), while those of earlier ops are still to be computed.
  void OnGradientReady(std::function<void(const Variable&)> fn) { on_ready_ = std::move(fn); }
  int64_t size() const { return static_cast<int64_t>(nodes_.size()); }

  // Used by ops, through Record below.
  std::vector<Variable> Add(std::unique_ptr<Function> function, std::vector<Variable> inputs,
                            std::vector<Tensor> outputs, bool of_batch);

 private:
  struct Node {
    std::unique_ptr<Function> function;
    std::vector<Variable> inputs, outputs;
  };
  bool Recorded(const Variable& result) const;
  void Seed(const Variable& root, const Tensor& grad);
  void Give(const Variable& variable, const Tensor& grad);
  void RunNode(Node& node);
  void CountUses();
  void SayReady(const Node& node);

  Context& ctx_;
  Tape* outer_;
  Accumulation *accumulation_, *outer_accumulation_;
  std::vector<Node> nodes_;
  bool used_ = false;
  std::function<void(const Variable&)> on_ready_;
  std::unordered_map<const void*, int64_t> uses_;  // of variables, by nodes that have not run
  // The memory of gradients that Backward was given, and of those that it leaves to variables.
  std::unordered_map<const void*, std::span<const std::byte>> kept_;
};

// Nothing is recorded on ctx while it lives. REQUIRES: it ends before every Tape and NoGrad of ctx
// that lived when it began.
class NoGrad {
 public:
  explicit NoGrad(Context& ctx);
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  Context& ctx_;
  Tape* outer_;
};

// Returns the output(s) of an op as variables. They require a gradient, and `function` is put on
// the tape, if a tape records and some input requires a gradient (or `always`: functions that act
// in backward, as an embedding update does).
std::vector<Variable> Record(Context& ctx, std::unique_ptr<Function> function,
                             std::vector<Variable> inputs, std::vector<Tensor> outputs,
                             bool always = false);
Variable Record(Context& ctx, std::unique_ptr<Function> function, std::vector<Variable> inputs,
                Tensor output, bool always = false);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_AUTOGRAD_H_
