#include "sparse/ops/cast.h"

namespace tessera {
namespace {

class CastFunction : public Function {
 public:
  explicit CastFunction(DType from) : from_(from) {}
  std::string_view name() const override { return "Cast"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    return {grads[0].To(ctx, from_)};
  }

 private:
  DType from_;
};

}  // namespace

Variable Cast(Context& ctx, const Variable& x, DType dtype) {
  if (!x.defined() || x.value().dtype() == dtype) return x;
  return Record(ctx, std::make_unique<CastFunction>(x.value().dtype()), {x},
                x.value().To(ctx, dtype));
}

}  // namespace tessera
