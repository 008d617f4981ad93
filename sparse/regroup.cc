#include "sparse/regroup.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>

#include "runtime/device/dispatch.h"
#include "sparse/regroup_impl.h"

namespace tessera {
namespace internal {
namespace {

// Rows of a piece: one row may be hundreds of moves.
constexpr int64_t kRows = 64;

void Move(const Tensor& from, const Tensor& to, int64_t begin, int64_t end,
          const ColumnMove& move) {
  const int64_t size = SizeOf(to.dtype()), bytes = move.length * size;
  if (bytes == 0) return;
  const char* in = static_cast<const char*>(from.raw_data()) +
                   (begin * from.row_stride() + move.in_start) * size;
  char* out = static_cast<char*>(to.raw_data()) + (begin * to.dim(1) + move.out_start) * size;
  for (int64_t b = begin; b < end; ++b, in += from.row_stride() * size, out += to.dim(1) * size)
    std::memcpy(out, in, static_cast<size_t>(bytes));
}

void AddBack(const Tensor& grad, const Tensor& sum, int64_t begin, int64_t end,
             const ColumnMove& move) {
  for (int64_t b = begin; b < end; ++b) {
    const float* in = grad.data<float>() + b * grad.dim(1) + move.out_start;
    float* out = sum.data<float>() + b * sum.dim(1) + move.in_start;
    for (int64_t k = 0; k < move.length; ++k) out[k] += in[k];
  }
}

}  // namespace

void MoveColumns(OnCpu, Context& ctx, const RegroupPlan& plan, const std::vector<Tensor>& inputs,
                 const std::vector<Tensor>& outputs) {
  ParallelFor(ctx, inputs[0].dim(0), kRows, [&](int64_t begin, int64_t end) {
    for (const ColumnMove& move : plan.moves)
      Move(inputs[static_cast<size_t>(move.in)], outputs[static_cast<size_t>(move.out)], begin, end,
           move);
  });
}

void AddColumns(OnCpu, Context& ctx, const RegroupPlan& plan, const std::vector<Tensor>& grads,
                const std::vector<Tensor>& sums) {
  int64_t rows = 0;
  for (const Tensor& sum : sums) {
    if (!sum.defined()) continue;
    sum.Fill(ctx, 0);
    rows = sum.dim(0);
  }
  ParallelFor(ctx, rows, kRows, [&](int64_t begin, int64_t end) {
    for (const ColumnMove& move : plan.moves) {
      const Tensor &g = grads[static_cast<size_t>(move.out)],
                   &sum = sums[static_cast<size_t>(move.in)];
      if (g.defined() && sum.defined()) AddBack(g, sum, begin, end, move);
    }
  });
}

}  // namespace internal

namespace {

class RegroupFunction : public Function {
 public:
  RegroupFunction(RegroupPlan plan, int64_t rows, DType dtype)
      : plan_(std::move(plan)), rows_(rows), dtype_(dtype) {}
  std::string_view name() const override { return "Regroup"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    std::vector<Tensor> from, sums;
    for (const Tensor& g : grads)
      from.push_back(g.defined() ? g.To(ctx, DType::kF32).Contiguous(ctx) : g);
    for (size_t i = 0; i < plan_.in_widths.size(); ++i)
      sums.push_back(needs_grad(i) ? Tensor::Empty(ctx, {rows_, plan_.in_widths[i]}) : Tensor());
    DispatchDevice(ctx.device(),
                   [&](auto on) { internal::AddColumns(on, ctx, plan_, from, sums); });
    for (Tensor& sum : sums)
      if (sum.defined()) sum = sum.To(ctx, dtype_);
    return sums;
  }

 private:
  RegroupPlan plan_;
  int64_t rows_;
  DType dtype_;
};

// Fills the last column of permutes, which chains the uses of one block.
void LinkUses(const std::vector<int64_t>& uses, int64_t moves, int32_t* permutes) {
  if (uses.size() < 2) return;
  for (size_t c = 0; c < uses.size(); ++c) {
    const int64_t jump = c + 1 == uses.size() ? -moves : c == 0 ? uses[1] : -uses[c + 1];
    permutes[uses[c] * 6 + 5] = static_cast<int32_t>(jump);
  }
}

Tensor ToInt32(Context& ctx, const std::vector<int64_t>& numbers) {
  return Tensor::From(ctx, std::vector<int32_t>(numbers.begin(), numbers.end()));
}

}  // namespace

RegroupPlan PlanRegroup(const std::vector<std::vector<std::string>>& keys,
                        const std::vector<std::vector<int64_t>>& lengths,
                        const std::vector<std::vector<std::string>>& groups) {
  TESSERA_CHECK_EQ(keys.size(), lengths.size(), "regroup: lists of keys and of lengths");
  RegroupPlan plan;
  std::unordered_map<std::string, ColumnMove> where;
  for (size_t i = 0; i < keys.size(); ++i) {
    TESSERA_CHECK_EQ(keys[i].size(), lengths[i].size(), "regroup: keys and lengths of input {}", i);
    int64_t start = 0;
    for (size_t k = 0; k < keys[i].size(); ++k) {
      TESSERA_CHECK_GE(lengths[i][k], 0, "regroup: length of key \"{}\"", keys[i][k]);
      where[keys[i][k]] = {static_cast<int64_t>(i), 0, start, 0, lengths[i][k]};
      start += lengths[i][k];
    }
    plan.in_widths.push_back(start);
  }
  for (size_t j = 0; j < groups.size(); ++j) {
    int64_t start = 0;
    for (const std::string& key : groups[j]) {
      const auto found = where.find(key);
      TESSERA_CHECK(found != where.end(), "regroup: group {} names key \"{}\", which no input has",
                    j, key);
      ColumnMove move = found->second;
      move.out = static_cast<int64_t>(j);
      move.out_start = start;
      start += move.length;
      plan.moves.push_back(move);
    }
    plan.out_widths.push_back(start);
  }
  return plan;
}

RegroupArguments KtRegroupArguments(Context& ctx, const std::vector<std::vector<std::string>>& keys,
                                    const std::vector<std::vector<int64_t>>& lengths,
                                    const std::vector<std::vector<std::string>>& groups) {
  const RegroupPlan plan = PlanRegroup(keys, lengths, groups);
  const auto count = static_cast<int64_t>(plan.moves.size());
  std::vector<int32_t> permutes(plan.moves.size() * 6);
  std::unordered_map<std::string, std::vector<int64_t>> uses;
  int64_t row = 0;
  for (const auto& group : groups)
    for (const std::string& key : group) {
      const ColumnMove& m = plan.moves[static_cast<size_t>(row)];
      const int64_t fields[] = {m.in, m.out, m.in_start, m.out_start, m.length};
      std::copy(std::begin(fields), std::end(fields), permutes.begin() + row * 6);
      uses[key].push_back(row++);
    }
  for (const auto& [key, rows] : uses) LinkUses(rows, count, permutes.data());
  return {Tensor::From(ctx, {count, 6}, permutes), ToInt32(ctx, plan.in_widths),
          ToInt32(ctx, plan.out_widths), plan.out_widths};
}

std::vector<Variable> Regroup(Context& ctx, const std::vector<Variable>& inputs,
                              const RegroupPlan& plan) {
  TESSERA_CHECK_EQ(inputs.size(), plan.in_widths.size(), "regroup: inputs");
  if (inputs.empty()) return {};
  const int64_t rows = inputs[0].dim(0);
  const DType dtype = inputs[0].value().dtype();
  std::vector<Tensor> from;
  for (size_t i = 0; i < inputs.size(); ++i) {
    CheckDevice(ctx, "regroup", inputs[i]);
    from.push_back(inputs[i].value());
    TESSERA_CHECK_EQ(inputs[i].shape(), (Shape{rows, plan.in_widths[i]}), "regroup: input {}", i);
    TESSERA_CHECK_EQ(inputs[i].value().dtype(), dtype, "regroup: input {}", i);
    TESSERA_CHECK(!inputs[i].requires_grad() || dtype == DType::kF32 || dtype == DType::kF16 ||
                      dtype == DType::kBF16,
                  "regroup: gradients of {}, expected f32, f16 or bf16", dtype);
  }
  std::vector<Tensor> outputs;
  for (int64_t width : plan.out_widths) outputs.push_back(Tensor::Empty(ctx, {rows, width}, dtype));
  DispatchDevice(ctx.device(),
                 [&](auto on) { internal::MoveColumns(on, ctx, plan, from, outputs); });
  return Record(ctx, std::make_unique<RegroupFunction>(plan, rows, dtype), inputs,
                std::move(outputs));
}

Variable PermutePooledEmbs(Context& ctx, const Variable& pooled_embs,
                           const std::vector<int64_t>& offset_dim_list,
                           const std::vector<int64_t>& permute_list) {
  TESSERA_CHECK_EQ(pooled_embs.rank(), 2, "PermutePooledEmbs: pooled_embs {}", pooled_embs.shape());
  TESSERA_CHECK(!offset_dim_list.empty() && offset_dim_list.front() == 0,
                "PermutePooledEmbs: offset_dim_list starts at 0");
  TESSERA_CHECK_EQ(offset_dim_list.back(), pooled_embs.dim(1),
                   "PermutePooledEmbs: the last offset, and columns");
  const auto blocks = static_cast<int64_t>(offset_dim_list.size()) - 1;
  TESSERA_CHECK(std::is_sorted(offset_dim_list.begin(), offset_dim_list.end()),
                "PermutePooledEmbs: offset_dim_list falls");
  RegroupPlan plan{{}, {pooled_embs.dim(1)}, {0}};
  for (size_t i = 0; i < permute_list.size(); ++i) {
    const int64_t p = permute_list[i];
    TESSERA_CHECK(p >= 0 && p < blocks, "PermutePooledEmbs: block {} at position {}, there are {}",
                  p, i, blocks);
    const int64_t start = offset_dim_list[static_cast<size_t>(p)];
    const int64_t length = offset_dim_list[static_cast<size_t>(p) + 1] - start;
    plan.moves.push_back({0, 0, start, plan.out_widths[0], length});
    plan.out_widths[0] += length;
  }
  return Regroup(ctx, {pooled_embs}, plan)[0];
}

}  // namespace tessera
