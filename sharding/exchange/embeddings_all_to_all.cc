#include "sharding/exchange/embeddings_all_to_all.h"

#include <algorithm>
#include <utility>

#include "runtime/ops/arithmetic.h"
#include "runtime/ops/shaping.h"
#include "sharding/exchange/column_blocks.h"
#include "sharding/exchange/float_exchange.h"

namespace tessera {
namespace {

// A matrix, and the part of it that belongs to each rank.
struct Side {
  enum class Parts { kRows, kColumns, kWhole };  // kWhole: sent to all, added where they meet
  Parts parts = Parts::kRows;
  std::vector<Shape> shapes;  // by rank
  // The matrices of each rank's part, if a codec must not see its rows as they lie.
  std::vector<MessageShapes> matrices = {};

  Shape WholeShape() const {
    Shape whole = shapes[0];
    for (size_t r = 1; r < shapes.size() && parts != Parts::kWhole; ++r)
      whole[parts == Parts::kRows ? 0 : 1] += shapes[r][parts == Parts::kRows ? 0 : 1];
    return whole;
  }
  std::vector<MessageShapes> Messages() const {
    if (!matrices.empty()) return matrices;
    std::vector<MessageShapes> messages;
    for (const Shape& s : shapes) messages.push_back({s});
    return messages;
  }
};

std::vector<ColumnBlock> MakeBlocks(const Side& side, const Tensor& whole,
                                    const std::vector<Tensor>& messages) {
  std::vector<ColumnBlock> blocks;
  float* at = whole.data<float>();
  for (size_t r = 0; r < messages.size(); ++r) {
    const Shape& shape = side.shapes[r];
    float* part = messages[r].data<float>();
    if (side.parts == Side::Parts::kWhole && r > 0) {
      blocks[0].parts.push_back(part);
      continue;
    }
    blocks.push_back({.wide = at,
                      .stride = whole.dim(1),
                      .num_rows = shape[0],
                      .columns = shape[1],
                      .parts = {part}});
    at += side.parts == Side::Parts::kColumns ? shape[1] : shape.numel();
  }
  std::erase_if(blocks, [](const ColumnBlock& b) { return b.num_rows * b.columns == 0; });
  return blocks;
}

// Cuts a matrix into its parts; they are views if each lies in one piece.
std::vector<Tensor> Cut(Context& ctx, const Side& side, const Tensor& whole) {
  if (side.parts == Side::Parts::kColumns) {
    std::vector<Tensor> messages = EmptyMessages(ctx, SizesOf(side.Messages()));
    SpreadBlocks(ctx, MakeBlocks(side, whole, messages));
    return messages;
  }
  const Tensor flat = whole.Reshape({whole.numel()});
  std::vector<Tensor> messages;
  int64_t at = 0;
  for (const Shape& s : side.shapes) {
    messages.push_back(flat.Rows(at, at + s.numel()));
    if (side.parts == Side::Parts::kRows) at += s.numel();
  }
  return messages;
}

Awaitable<Tensor> Exchange(Context& ctx, Communicator& comm, const WireCodec& codec,
                           const Tensor& whole, const Side& from, const Side& to,
                           std::string_view what) {
  return ExchangeFloats(ctx, comm, codec, Cut(ctx, from, whole), from.Messages(), to.Messages(),
                        what)
      .Then([&ctx, to](std::vector<Tensor> messages) {
        const Tensor joined = Tensor::Empty(ctx, to.WholeShape());
        GatherBlocks(ctx, MakeBlocks(to, joined, messages));
        return joined;
      });
}

// An exchange that is known on both sides; its backward goes from `to` to `from`.
struct Plan {
  std::string_view name;
  Communicator* comm = nullptr;
  EmbeddingsExchangeOptions options;
  Side from, to;
};

class ExchangeBackward final : public Function {
 public:
  explicit ExchangeBackward(Plan plan) : plan_(std::move(plan)) {}
  std::string_view name() const override { return plan_.name; }

  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    // The sent gradient must stay as it is, and its owner is not known here.
    const bool views = plan_.to.parts != Side::Parts::kColumns;
    const Tensor grad = views ? grads[0].Clone(ctx) : grads[0].Contiguous(ctx);
    const Tensor back = Exchange(ctx, *plan_.comm, plan_.options.codecs.backward, grad, plan_.to,
                                 plan_.from, plan_.name)
                            .Wait();
    if (!plan_.options.gradient_division) return {back};
    return {Scale(ctx, back, 1.0f / static_cast<float>(plan_.comm->size())).value()};
  }

 private:
  Plan plan_;
};

Awaitable<Variable> StartPlan(Context& ctx, const Variable& embeddings, Plan plan) {
  TESSERA_CHECK_EQ(embeddings.value().dtype(), DType::kF32, "{}: embeddings", plan.name);
  TESSERA_CHECK_EQ(embeddings.shape(), plan.from.WholeShape(), "{}: embeddings", plan.name);
  auto sent = Exchange(ctx, *plan.comm, plan.options.codecs.forward,
                       embeddings.value().Contiguous(ctx), plan.from, plan.to, plan.name);
  return std::move(sent).Then([&ctx, embeddings, plan = std::move(plan)](Tensor joined) {
    return Record(ctx, std::make_unique<ExchangeBackward>(plan), std::vector<Variable>{embeddings},
                  std::move(joined));
  });
}

// The side whose parts are [rows_r, columns].
Side RowsOf(const std::vector<int64_t>& rows, int64_t columns) {
  Side side;
  for (const int64_t n : rows) side.shapes.push_back({n, columns});
  return side;
}

// A side on which all ranks have this shape.
Side Same(Side::Parts parts, const Communicator& comm, const Shape& shape) {
  return {parts, std::vector<Shape>(static_cast<size_t>(comm.size()), shape)};
}

int64_t Mine(const Communicator& comm, const std::vector<int64_t>& numbers) {
  return numbers[static_cast<size_t>(comm.rank())];
}

void CheckPerRank(const Communicator& comm, const std::vector<int64_t>& numbers,
                  std::string_view what) {
  TESSERA_CHECK_EQ(static_cast<int64_t>(numbers.size()), comm.size(), "{}, one a rank", what);
  for (size_t r = 0; r < numbers.size(); ++r)
    TESSERA_CHECK_GE(numbers[r], 0, "{} of rank {}", what, r);
}

int64_t ColumnsOf(const Variable& embeddings, std::string_view what) {
  TESSERA_CHECK_EQ(embeddings.rank(), 2, "{}: rank of embeddings {}", what, embeddings.shape());
  return embeddings.dim(1);
}

constexpr std::string_view kVariableBatch = "VariableBatchPooledEmbeddingsAllToAll";

// Adds a rank's part: flat, of matrices [batches[f], dims[f]].
void AppendMatrices(Side& side, const std::vector<int64_t>& batches,
                    const std::vector<int64_t>& dims) {
  const size_t rank = side.shapes.size();
  TESSERA_CHECK_EQ(batches.size(), dims.size(), "{}: batches of the features of rank {}",
                   kVariableBatch, rank);
  MessageShapes matrices;
  int64_t elements = 0;
  for (size_t f = 0; f < dims.size(); ++f) {
    TESSERA_CHECK_GE(batches[f], 0, "{}: batch of feature {} of rank {}", kVariableBatch, f, rank);
    TESSERA_CHECK_GE(dims[f], 0, "{}: dim of feature {} of rank {}", kVariableBatch, f, rank);
    matrices.push_back({batches[f], dims[f]});
    elements += matrices.back().numel();
  }
  side.shapes.push_back({elements, 1});
  side.matrices.push_back(std::move(matrices));
}

}  // namespace

PooledEmbeddingsAllToAll::PooledEmbeddingsAllToAll(Communicator& comm, std::vector<int64_t> dims,
                                                   EmbeddingsExchangeOptions options)
    : comm_(comm), dims_(std::move(dims)), options_(options) {
  CheckPerRank(comm, dims_, "PooledEmbeddingsAllToAll: columns");
}

Awaitable<Variable> PooledEmbeddingsAllToAll::Start(Context& ctx, const Variable& embeddings,
                                                    const std::vector<int64_t>& batches) const {
  CheckPerRank(comm_, batches, "PooledEmbeddingsAllToAll: batches");
  Side to{Side::Parts::kColumns, {}};
  for (const int64_t dim : dims_) to.shapes.push_back({Mine(comm_, batches), dim});
  return StartPlan(ctx, embeddings,
                   {"PooledEmbeddingsAllToAll", &comm_, options_,
                    RowsOf(batches, Mine(comm_, dims_)), std::move(to)});
}

VariableBatchPooledEmbeddingsAllToAll::VariableBatchPooledEmbeddingsAllToAll(
    Communicator& comm, std::vector<std::vector<int64_t>> dims, EmbeddingsExchangeOptions options)
    : comm_(comm), dims_(std::move(dims)), options_(options) {
  TESSERA_CHECK_EQ(static_cast<int64_t>(dims_.size()), comm.size(), "{}: dims, one list a rank",
                   kVariableBatch);
}

Awaitable<Variable> VariableBatchPooledEmbeddingsAllToAll::Start(
    Context& ctx, const Variable& embeddings, const std::vector<std::vector<int64_t>>& batches,
    const std::vector<int64_t>& own_batches) const {
  TESSERA_CHECK_EQ(static_cast<int64_t>(batches.size()), comm_.size(),
                   "{}: batches, one list a rank", kVariableBatch);
  Side from, to;
  size_t feature = 0;
  for (size_t r = 0; r < dims_.size(); ++r) {
    AppendMatrices(from, batches[r], dims_[static_cast<size_t>(comm_.rank())]);
    const size_t end = std::min(feature + dims_[r].size(), own_batches.size());
    AppendMatrices(to,
                   {own_batches.begin() + static_cast<int64_t>(feature),
                    own_batches.begin() + static_cast<int64_t>(end)},
                   dims_[r]);
    feature = end;
  }
  TESSERA_CHECK_EQ(feature, own_batches.size(), "{}: features of all ranks", kVariableBatch);
  return StartPlan(ctx, Reshape(ctx, embeddings, {embeddings.value().numel(), 1}),
                   {kVariableBatch, &comm_, options_, std::move(from), std::move(to)})
      .Then([&ctx](const Variable& joined) {
        return Reshape(ctx, joined, {joined.value().numel()});
      });
}

Awaitable<Variable> PooledEmbeddingsReduceScatter::Start(
    Context& ctx, const Variable& embeddings, const std::vector<int64_t>& batches) const {
  constexpr std::string_view kName = "PooledEmbeddingsReduceScatter";
  CheckPerRank(comm_, batches, "PooledEmbeddingsReduceScatter: batches");
  const int64_t columns = ColumnsOf(embeddings, kName);
  return StartPlan(ctx, embeddings,
                   {kName, &comm_, options_, RowsOf(batches, columns),
                    Same(Side::Parts::kWhole, comm_, {Mine(comm_, batches), columns})});
}

Awaitable<Variable> PooledEmbeddingsAllGather::Start(Context& ctx, const Variable& embeddings,
                                                     const std::vector<int64_t>& batches) const {
  constexpr std::string_view kName = "PooledEmbeddingsAllGather";
  CheckPerRank(comm_, batches, "PooledEmbeddingsAllGather: batches");
  const int64_t columns = ColumnsOf(embeddings, kName);
  return StartPlan(
      ctx, embeddings,
      {kName, &comm_, options_, Same(Side::Parts::kWhole, comm_, {Mine(comm_, batches), columns}),
       RowsOf(batches, columns)});
}

Awaitable<Variable> SequenceEmbeddingsAllToAll::Start(Context& ctx, const Variable& embeddings,
                                                      const std::vector<int64_t>& send,
                                                      const std::vector<int64_t>& receive) const {
  constexpr std::string_view kName = "SequenceEmbeddingsAllToAll";
  CheckPerRank(comm_, send, "SequenceEmbeddingsAllToAll: rows to send");
  CheckPerRank(comm_, receive, "SequenceEmbeddingsAllToAll: rows to receive");
  const int64_t columns = ColumnsOf(embeddings, kName);
  return StartPlan(ctx, embeddings,
                   {kName, &comm_, options_, RowsOf(send, columns), RowsOf(receive, columns)});
}

EmbeddingsAllToOne::EmbeddingsAllToOne(Communicator& comm, std::vector<int64_t> rows,
                                       std::vector<int64_t> columns, int join_dim, int root,
                                       EmbeddingsExchangeOptions options)
    : comm_(comm),
      rows_(std::move(rows)),
      columns_(std::move(columns)),
      join_dim_(join_dim),
      root_(root),
      options_(options) {
  CheckPerRank(comm, rows_, "EmbeddingsAllToOne: rows");
  CheckPerRank(comm, columns_, "EmbeddingsAllToOne: columns");
  TESSERA_CHECK(root >= 0 && root < comm.size(), "EmbeddingsAllToOne: root {} of {} ranks", root,
                comm.size());
  TESSERA_CHECK(join_dim == 0 || join_dim == 1, "EmbeddingsAllToOne: join_dim {}; expected 0 or 1",
                join_dim);
  const std::vector<int64_t>& same = join_dim == 1 ? rows_ : columns_;
  for (size_t r = 1; r < same.size(); ++r)
    TESSERA_CHECK_EQ(same[r], same[0], "EmbeddingsAllToOne: {} of rank {}",
                     join_dim == 1 ? "rows" : "columns", r);
}

Awaitable<Variable> EmbeddingsAllToOne::Start(Context& ctx, const Variable& embeddings) const {
  const int64_t columns = Mine(comm_, columns_);
  Side from = Same(Side::Parts::kRows, comm_, {0, columns}), to = from;
  from.shapes[static_cast<size_t>(root_)][0] = Mine(comm_, rows_);
  if (comm_.rank() == root_) {
    to.parts = join_dim_ == 1 ? Side::Parts::kColumns : Side::Parts::kRows;
    for (size_t r = 0; r < rows_.size(); ++r) to.shapes[r] = {rows_[r], columns_[r]};
  }
  return StartPlan(ctx, embeddings,
                   {"EmbeddingsAllToOne", &comm_, options_, std::move(from), std::move(to)});
}

}  // namespace tessera
