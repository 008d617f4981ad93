#include "runtime/ops/shaping.h"

#include <algorithm>
#include <numeric>

namespace tessera {
namespace {

// The number of parts, of n, that are copied together. Small ones: as many as have a megabyte, so
// that threads share the work. Otherwise all, one after another: threads share the copy of each.
int64_t PartsOfPiece(const Context& ctx, int64_t n, int64_t bytes) {
  constexpr int64_t kPieceBytes = 1 << 20;
  const bool small = ctx.device() == Device::Cpu() && bytes < n * kPieceBytes;
  return small ? std::max<int64_t>(kPieceBytes * n / std::max<int64_t>(bytes, 1), 1) : n;
}

// `parts` side by side along `dim`; an undefined part stands for zeros.
Tensor Joined(Context& ctx, const std::vector<Tensor>& parts, Shape shape, DType dtype, int dim,
              const std::vector<int64_t>& sizes) {
  Tensor out = Tensor::Empty(ctx, shape, dtype);
  std::vector<int64_t> starts(sizes.size());
  std::exclusive_scan(sizes.begin(), sizes.end(), starts.begin(), int64_t{0});
  const auto join = [&](size_t i) {
    const Tensor slot = out.Narrow(dim, starts[i], sizes[i]);
    if (parts[i])
      slot.CopyFrom(ctx, parts[i]);
    else
      slot.Fill(ctx, 0);
  };
  const int64_t n = std::ssize(sizes);
  ParallelFor(ctx, n, PartsOfPiece(ctx, n, out.nbytes()), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) join(static_cast<size_t>(i));
  });
  return out;
}

class ConcatFunction final : public Function {
 public:
  ConcatFunction(int dim, std::vector<int64_t> sizes) : dim_(dim), sizes_(std::move(sizes)) {}
  std::string_view name() const override { return "Concat"; }
  std::vector<Tensor> Backward(Context&, const std::vector<Tensor>& grads) override {
    std::vector<Tensor> result;
    int64_t start = 0;
    for (size_t i = 0; i < sizes_.size(); start += sizes_[i++])
      result.push_back(needs_grad(i) ? grads[0].Narrow(dim_, start, sizes_[i]) : Tensor());
    return result;
  }

 private:
  int dim_;
  std::vector<int64_t> sizes_;
};

class SplitFunction final : public Function {
 public:
  SplitFunction(Shape shape, DType dtype, int dim, std::vector<int64_t> sizes)
      : shape_(shape), dtype_(dtype), dim_(dim), sizes_(std::move(sizes)) {}
  std::string_view name() const override { return "Split"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    return {Joined(ctx, grads, shape_, dtype_, dim_, sizes_)};
  }

 private:
  Shape shape_;
  DType dtype_;
  int dim_;
  std::vector<int64_t> sizes_;
};

class NarrowFunction final : public Function {
 public:
  NarrowFunction(Shape shape, int dim, int64_t start) : shape_(shape), dim_(dim), start_(start) {}
  std::string_view name() const override { return "Narrow"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    Tensor dx = Tensor::Zeros(ctx, shape_, grads[0].dtype());
    dx.Narrow(dim_, start_, grads[0].dim(dim_)).CopyFrom(ctx, grads[0]);
    return {dx};
  }

 private:
  Shape shape_;
  int dim_;
  int64_t start_;
};

class ReshapeFunction final : public Function {
 public:
  explicit ReshapeFunction(Shape shape) : shape_(shape) {}
  std::string_view name() const override { return "Reshape"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    return {grads[0].Contiguous(ctx).Reshape(shape_)};
  }

 private:
  Shape shape_;
};

}  // namespace

Variable Concat(Context& ctx, const std::vector<Variable>& parts, int dim) {
  TESSERA_CHECK(!parts.empty(), "Concat of no tensors");
  for (size_t i = 0; i < parts.size(); ++i)
    if (!parts[i]) throw Error(Format("Concat: part {} is undefined", i));
  TESSERA_CHECK(dim >= 0 && dim < parts[0].rank(), "Concat along dimension {} of tensors {}", dim,
                parts[0].value().shape());
  Shape shape = parts[0].shape();
  shape[dim] = 0;
  std::vector<Tensor> values;
  std::vector<int64_t> sizes;
  for (const Variable& part : parts) {
    CheckDevice(ctx, "Concat", part);
    Shape rest = part.value().shape();
    if (rest.rank() != shape.rank())
      throw Error(Format("Concat: part {} has the shape {}, and the first {}", values.size(), rest,
                         parts[0].shape()));
    TESSERA_CHECK_EQ(part.value().dtype(), parts[0].value().dtype(),
                     "Concat: type of part {}, and of the first", values.size());
    sizes.push_back(rest[dim]);
    rest[dim] = shape[dim];
    TESSERA_CHECK_EQ(rest, shape, "Concat along dimension {}: part {}, that dimension aside", dim,
                     values.size());
    shape[dim] += sizes.back();
    values.push_back(part.value());
  }
  Tensor out = Joined(ctx, values, shape, values[0].dtype(), dim, sizes);
  return Record(ctx, std::make_unique<ConcatFunction>(dim, sizes), parts, std::move(out));
}

std::vector<Variable> Split(Context& ctx, const Variable& x, int dim,
                            const std::vector<int64_t>& sizes) {
  if (!x || dim < 0 || dim >= x.rank())
    throw Error(Format("Split along dimension {} of {}", dim,
                       x ? Format("a tensor {}", x.shape()) : "an undefined tensor"));
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (int64_t size : sizes) {
    if (size < 0 || size > x.dim(dim) - start)
      throw Error(Format("Split of a tensor {} along dimension {}: part {} from {} on has size {}",
                         x.shape(), dim, parts.size(), start, size));
    parts.push_back(x.value().Narrow(dim, start, size));
    start += size;
  }
  TESSERA_CHECK(!sizes.empty(), "Split into no parts");
  TESSERA_CHECK_EQ(start, x.dim(dim), "Split of {} along dimension {}: sum of the sizes", x.shape(),
                   dim);
  return Record(ctx, std::make_unique<SplitFunction>(x.shape(), x.value().dtype(), dim, sizes), {x},
                std::move(parts));
}

Variable Narrow(Context& ctx, const Variable& x, int dim, int64_t start, int64_t length) {
  if (!x) throw Error("Narrow of an undefined tensor");
  Tensor view = x.value().Narrow(dim, start, length);
  return Record(ctx, std::make_unique<NarrowFunction>(x.shape(), dim, start), {x}, std::move(view));
}

Variable Reshape(Context& ctx, const Variable& x, const Shape& shape) {
  TESSERA_CHECK(x, "Reshape of an undefined tensor");
  Tensor y = x.value().Contiguous(ctx).Reshape(shape);
  return Record(ctx, std::make_unique<ReshapeFunction>(x.shape()), {x}, std::move(y));
}

}  // namespace tessera
