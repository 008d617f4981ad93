#include "bench/sparse/sparse_topic.h"

#include <cstring>

#include "bench/sparse/sparse_ops.h"
#include "runtime/base/check.h"
#include "runtime/tensor.h"

namespace tessera::bench {
namespace {

// Copies half of `bytes`, so that as many are read and written.
Contender Copy(Context& ctx, double bytes) {
  const auto half = static_cast<int64_t>(bytes / 2);
  if (half == 0) return {};
  const Tensor from = Tensor::Zeros(ctx, {half}, DType::kU8),
               to = Tensor::Zeros(ctx, {half}, DType::kU8);
  return {"memcpy", [&ctx, from, to, half](int) {
            const int64_t parts = ctx.threads().threads();
            ParallelFor(ctx, half, (half + parts - 1) / parts, [&](int64_t begin, int64_t end) {
              std::memcpy(to.data<uint8_t>() + begin, from.data<uint8_t>() + begin,
                          static_cast<size_t>(end - begin));
            });
          }};
}

OpShape ShapeOf(const Point& point) {
  return {point.Int("keys"), point.Int("batch"), point.Int("lmax"),
          point.Text("op") == "regroup" ? point.Int("dim") : 1};
}

Work MakeWork(Context& ctx, const Point& point) {
  const OpCall op = MakeSparseOp(ctx, point.Text("op"), ShapeOf(point));
  Work work;
  work.check = op.check;
  work.contenders = {{"tessera", [call = op.call](int) { call(); }}};
  work.limit = Copy(ctx, op.bytes);
  work.bytes = op.bytes;
  work.items = op.ids;
  return work;
}

Point PeerPoint(const std::string& op, int64_t keys, int64_t batch, int64_t dim) {
  const std::string shape = Format("_K{}_B{}", keys, batch);
  return Point(op + shape + (op == "regroup" ? Format("_D{}", dim) : ""),
               {{"op", op},
                {"keys", std::to_string(keys)},
                {"batch", std::to_string(batch)},
                {"lmax", "20"},
                {"dim", std::to_string(dim)}});
}

std::vector<Point> PeerPoints() {
  std::vector<Point> points;
  const std::pair<int64_t, int64_t> shapes[] = {{26, 4096}, {200, 1024}, {26, 1}};
  for (const auto& [keys, batch] : shapes)
    for (const std::string op : SparseOps())
      if (op != "regroup" || batch > 1) points.push_back(PeerPoint(op, keys, batch, 64));
  return points;
}

std::vector<std::string> OpNames() {
  const auto names = SparseOps();
  return {names.begin(), names.end()};
}

}  // namespace

const Topic& SparseTopic() {
  static const Topic topic{
      .name = "sparse",
      .help = "What is done with a batch of ids before a lookup, and with pooled rows after it.",
      .limit = "a memcpy that moves as many bytes",
      .axes = {{"op", OpNames(), "what is done", OneOf(OpNames())},
               {"keys", {"26"}, "features of the batch", WholeFrom(2)},
               {"batch", {"4096"}, "bags a feature", WholeFrom(1)},
               {"lmax",
                {"20"},
                "ids of the longest bag; lengths are uniform in 1 … lmax",
                WholeFrom(1)},
               {"dim", {"64"}, "columns a feature of pooled rows (regroup)", WholeFrom(1)}},
      .suites = {{"peers", "the cases of the comparison with FBGEMM and TorchRec", PeerPoints()}},
      .make = MakeWork,
      .check = [](const Point& point) { ShapeOf(point); },
      .cold = false};
  return topic;
}

}  // namespace tessera::bench
