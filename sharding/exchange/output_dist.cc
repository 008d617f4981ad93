#include "sharding/exchange/output_dist.h"

#include <algorithm>
#include <map>
#include <utility>

#include "comm/blocks.h"
#include "embedding/lookup/index_array.h"
#include "embedding/update/clamp_gradient.h"
#include "embedding/update/expand_bags.h"
#include "runtime/files/trace.h"
#include "runtime/tensor.h"
#include "sharding/exchange/column_blocks.h"
#include "sharding/exchange/copy_segments.h"
#include "sharding/exchange/float_exchange.h"

// Two ranks; table A lies on rank 0, the rows of table B are split over both; rank 0 has the bags x
// and y, rank 1 the bag z. "B0" are the sums over rank 0's rows of B, "B1" over rank 1's.
//
//   lookup    rank 0   for rank 0: A(x) A(y) B0(x) B0(y)   for rank 1: A(z) B0(z)
//             rank 1   for rank 0: B1(x) B1(y)             for rank 1: B1(z)
//   exchange  each of these four is a message: the lookup wrote it in one piece, so nothing is
//             packed (rows of sequences are: they lie feature after feature)
//   gather    rank 0   | A(x)  B0(x) + B1(x) |             rank 1   | A(z)  B0(z) + B1(z) |
//                      | A(y)  B0(y) + B1(y) |
//
// "Home" is the rank of the bags, "away" the ranks of the rows. Backward spreads the gradient of
// the gathered matrix into the same messages (B0 and B1 get the same columns), and exchanges them
// the other way.
namespace tessera {
namespace {

constexpr int64_t kFloat = sizeof(float);

// One batch between its two ends.
struct OutputExchange {
  std::shared_ptr<const OutputForm> form;
  Communicator* comm = nullptr;
  std::shared_ptr<const SentIds> sent;
  std::shared_ptr<const ReceivedIds> received;
  Tensor offsets;      // of the bags at home
  int64_t stride = 0;  // bags of every key, where they have the same
  bool flat = false;   // keys have batches of their own
  Tensor inverse;      // of all examples, or undefined
  std::vector<internal::DistinctBags> distinct;

  const DistRank& mine() const { return form->layout->ranks[static_cast<size_t>(comm->rank())]; }
  size_t size() const { return static_cast<size_t>(comm->size()); }
  // The rank and the stream that give the rows of a block, of one part.
  std::pair<size_t, size_t> StreamOf(const NodeBlock& block) const {
    const auto r = static_cast<size_t>(block.parts[0].rank);
    const DistBlock& part =
        form->layout->ranks[r].blocks[static_cast<size_t>(block.parts[0].block)];
    return {r, static_cast<size_t>(part.stream)};
  }
  // HomeRows: the rows of a block that return to this rank. AwayRows: those that this one returns
  // to rank q.
  int64_t HomeRows(const NodeBlock& block) const {
    if (!form->sequences) return sent->features[static_cast<size_t>(block.feature)].num_bags;
    const auto [r, stream] = StreamOf(block);
    return sent->ids[r][stream];
  }
  int64_t AwayRows(size_t q, const DistBlock& block) const {
    const auto s = static_cast<size_t>(block.stream);
    return form->sequences ? received->ids[q][s] : received->bags[q][s];
  }
  // HomeShapes: the rows that each node returns to this rank. AwayShapes: those that this one
  // returns to each rank.
  std::vector<MessageShapes> HomeShapes() const {
    std::vector<MessageShapes> shapes(form->nodes.size());
    for (size_t n = 0; n < shapes.size(); ++n)
      for (const NodeBlock& b : form->nodes[n]) shapes[n].push_back({HomeRows(b), b.columns});
    return shapes;
  }
  std::vector<MessageShapes> AwayShapes() const {
    std::vector<MessageShapes> shapes(size());
    for (size_t q = 0; q < size(); ++q)
      for (const DistBlock& b : mine().blocks) shapes[q].push_back({AwayRows(q, b), b.columns});
    return shapes;
  }
};

// ---- at home: where each feature's rows lie

int64_t RowsAtHome(const OutputExchange& x, size_t f) {
  const DistFeature& feature = x.sent->features[f];
  return x.form->sequences ? feature.end - feature.begin : feature.num_bags;
}

// The tensors that blocks are gathered into, or spread from, and the features' places in them.
struct WideRows {
  Tensor pooled;                  // [B, ΣD] or flat
  std::vector<Tensor> sequences;  // [N_f, D]
  std::vector<int64_t> first;     // of pooled: where row 0 of each feature begins
  int64_t columns = 0, elements = 0;

  explicit WideRows(const OutputExchange& x) {
    for (size_t f = 0; f < x.form->features.size(); ++f) {
      const int64_t dim = x.form->features[f].dim;
      first.push_back(x.flat ? elements : columns);
      columns += dim;
      elements += dim * RowsAtHome(x, f);
    }
  }
  Shape PooledShape(const OutputExchange& x) const {
    return x.flat ? Shape{elements} : Shape{x.stride, columns};
  }
  // The address of a feature's row 0, and the number of elements from row to row.
  std::pair<float*, int64_t> Of(const OutputExchange& x, size_t f) const {
    const int64_t dim = x.form->features[f].dim;
    if (x.form->sequences) return {sequences[f].data<float>(), dim};
    return {pooled.data<float>() + first[f], x.flat ? dim : columns};
  }
};

WideRows EmptyWide(Context& ctx, const OutputExchange& x) {
  WideRows wide(x);
  if (!x.form->sequences) {
    wide.pooled = Tensor::Empty(ctx, wide.PooledShape(x));
    return wide;
  }
  // Rows of ids that name none stay 0: no rank sends them.
  for (size_t f = 0; f < x.form->features.size(); ++f)
    wide.sequences.push_back(Tensor::Zeros(ctx, {RowsAtHome(x, f), x.form->features[f].dim}));
  return wide;
}

// The blocks of all nodes in `messages`, and of replicated tables in `replicas`.
std::vector<ColumnBlock> MakeBlocks(const OutputExchange& x, const WideRows& wide,
                                    const std::vector<Tensor>& messages,
                                    const std::vector<Tensor>& replicas) {
  // The key is feature, column and, for sequences, first row: partial sums of one place meet there.
  std::map<std::tuple<int, int64_t, int64_t>, ColumnBlock> blocks;
  std::map<std::tuple<int, int64_t, int64_t>, std::map<int64_t, float*>> parts;
  for (size_t n = 0; n < messages.size(); ++n) {
    int64_t at = 0;
    for (const NodeBlock& b : x.form->nodes[n]) {
      const auto f = static_cast<size_t>(b.feature);
      const std::tuple key(b.feature, b.column, x.form->sequences ? b.row_begin : 0);
      ColumnBlock& block = blocks[key];
      const auto [row, stride] = wide.Of(x, f);
      block.wide = row + b.column;
      block.stride = stride;
      block.num_rows = x.HomeRows(b);
      block.columns = b.columns;
      parts[key][b.row_begin] = messages[n].data<float>() + at;
      if (x.form->sequences) {
        const auto [r, stream] = x.StreamOf(b);
        const Tensor& positions = x.sent->positions[r][stream];
        if (positions) block.rows = positions.data<int32_t>();
      } else if (x.form->features[f].divided) {
        block.offsets = ArrayOf(x.offsets);
        block.first_bag = x.sent->features[f].first_bag;
      }
      at += block.num_rows * b.columns;
    }
  }
  std::vector<ColumnBlock> all;
  for (auto& [key, block] : blocks) {
    for (const auto& [row, part] : parts[key]) block.parts.push_back(part);
    all.push_back(std::move(block));
  }
  int64_t at = 0;
  for (size_t f = 0; f < x.form->features.size(); ++f) {
    const OutputForm::Feature& feature = x.form->features[f];
    if (feature.replica < 0) continue;
    const auto [row, stride] = wide.Of(x, f);
    const int64_t rows = RowsAtHome(x, f);
    float* part = x.form->sequences ? replicas[static_cast<size_t>(feature.replica)].data<float>()
                                    : replicas[0].data<float>() + at;
    all.push_back(
        {.wide = row, .stride = stride, .num_rows = rows, .columns = feature.dim, .parts = {part}});
    if (!x.form->sequences) at += rows * feature.dim;
  }
  return all;
}

// ---- away: between the lookup's tensors and messages

// Copies of sequences' rows into messages, or back.
void CopySequences(Context& ctx, const OutputExchange& x, const std::vector<Tensor>& sequences,
                   const std::vector<Tensor>& messages, bool to_messages) {
  std::vector<SegmentCopy> copies;
  std::vector<int64_t> next(sequences.size());
  for (size_t q = 0; q < messages.size(); ++q) {
    int64_t at = 0;
    for (size_t b = 0; b < sequences.size(); ++b) {
      const DistBlock& block = x.mine().blocks[b];
      const int64_t n = x.AwayRows(q, block) * block.columns;
      float *sequence = sequences[b].data<float>() + next[b],
            *message = messages[q].data<float>() + at;
      if (to_messages)
        copies.push_back({sequence, message, n * kFloat});
      else
        copies.push_back({message, sequence, n * kFloat});
      next[b] += n;
      at += n;
    }
  }
  CopySegments(ctx, copies);
}

// The messages of pooled rows lie rank after rank in the lookup's tensor.
std::vector<Tensor> MessagesOf(Context& ctx, const OutputExchange& x,
                               const EmbeddingOutputs& away) {
  const std::vector<int64_t> sizes = SizesOf(x.AwayShapes());
  if (!x.form->sequences)
    return away.pooled ? internal::CutFlat(away.pooled.value(), sizes) : EmptyMessages(ctx, sizes);
  const std::vector<Tensor> messages = EmptyMessages(ctx, sizes);
  CopySequences(ctx, x, {away.sequences.begin(), away.sequences.end()}, messages, true);
  return messages;
}

// ---- the exchange

Awaitable<std::vector<Tensor>> SendHome(Context& ctx, const OutputExchange& x,
                                        const EmbeddingOutputs& away) {
  const OutputForm& form = *x.form;
  const std::string what = "output_dist, rows, of " + form.layout->tables_text;
  const std::vector<Tensor> messages = MessagesOf(ctx, x, away);
  if (form.by_node)
    return form.by_node->StartHome(ctx, messages, x.received->node_bags, form.codecs.forward,
                                   x.HomeShapes(), what);
  return ExchangeFloats(ctx, *x.comm, form.codecs.forward, messages, x.AwayShapes(), x.HomeShapes(),
                        what);
}

std::vector<Tensor> SentToRows(Context& ctx, const OutputExchange& x,
                               const std::vector<Tensor>& messages) {
  const TraceSpan span("output_dist");
  const OutputForm& form = *x.form;
  const std::string what = "output_dist, gradients, of " + form.layout->tables_text;
  if (form.by_node)
    return form.by_node->ToRows(ctx, messages, x.HomeShapes(), x.received->node_bags,
                                form.codecs.backward, SizesOf(x.AwayShapes()), what);
  return ExchangeFloats(ctx, *x.comm, form.codecs.backward, messages, x.HomeShapes(),
                        x.AwayShapes(), what)
      .Wait();
}

// ---- the way back

class OutputDistBackward final : public Function {
 public:
  // Inputs: away's, then the replicas', then, on a rank without tables, the weights.
  OutputDistBackward(OutputExchange exchange, size_t num_away, std::vector<Shape> replica_shapes,
                     int64_t weights)
      : x_(std::move(exchange)),
        num_away_(num_away),
        replica_shapes_(std::move(replica_shapes)),
        weights_(weights) {}
  std::string_view name() const override { return "output_dist"; }

  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grad_outputs) override {
    const WideRows wide = Incoming(ctx, grad_outputs);
    const std::vector<Tensor> messages = EmptyMessages(ctx, SizesOf(x_.HomeShapes()));
    std::vector<Tensor> replicas;
    for (const Shape& shape : replica_shapes_) replicas.push_back(Tensor::Empty(ctx, shape));
    SpreadBlocks(ctx, MakeBlocks(x_, wide, messages, replicas));
    std::vector<Tensor> grads = AwayGradients(ctx, SentToRows(ctx, x_, messages));
    grads.insert(grads.end(), replicas.begin(), replicas.end());
    if (weights_ >= 0) grads.push_back(Tensor::Zeros(ctx, {weights_}));
    return grads;
  }

 private:
  Tensor Prepared(Context& ctx, const Tensor& grad, const Shape& shape) const {
    if (!grad) return Tensor::Zeros(ctx, shape);
    const float limit = x_.form->max_gradient;
    return limit > 0 ? internal::ClampGradient(ctx, grad, limit)
                     : grad.To(ctx, DType::kF32).Contiguous(ctx);
  }

  WideRows Incoming(Context& ctx, const std::vector<Tensor>& grads) const {
    const OutputForm& form = *x_.form;
    WideRows wide(x_);
    if (form.sequences) {
      for (size_t f = 0; f < form.features.size(); ++f)
        wide.sequences.push_back(
            Prepared(ctx, grads[f], {RowsAtHome(x_, f), form.features[f].dim}));
    } else if (x_.inverse) {
      const Tensor full = Prepared(ctx, grads[0], {x_.inverse.dim(1), wide.columns});
      wide.pooled = internal::FoldBags(ctx, full, x_.distinct, x_.inverse);
    } else {
      wide.pooled = Prepared(ctx, grads[0], wide.PooledShape(x_));
    }
    return wide;
  }

  std::vector<Tensor> AwayGradients(Context& ctx, const std::vector<Tensor>& received) const {
    std::vector<Tensor> grads;
    if (num_away_ == 0) return grads;
    if (x_.form->sequences) {
      for (const DistBlock& block : x_.mine().blocks) {
        int64_t rows = 0;
        for (size_t q = 0; q < x_.size(); ++q) rows += x_.AwayRows(q, block);
        grads.push_back(Tensor::Empty(ctx, {rows, block.columns}));
      }
      CopySequences(ctx, x_, grads, received, false);
      return grads;
    }
    int64_t total = 0;
    for (const Tensor& t : received) total += t.numel();
    grads.push_back(Tensor::Empty(ctx, {total}));
    std::vector<SegmentCopy> copies;
    int64_t at = 0;
    for (const Tensor& t : received) {
      copies.push_back({t.raw_data(), grads[0].data<float>() + at, t.nbytes()});
      at += t.numel();
    }
    CopySegments(ctx, copies);
    return grads;
  }

  OutputExchange x_;
  size_t num_away_;
  std::vector<Shape> replica_shapes_;
  int64_t weights_;
};

// ---- forward

void TakeShape(Context& ctx, const KeyedJaggedTensor& kjt, OutputExchange& x) {
  x.offsets = kjt.offsets(ctx);
  x.stride = kjt.stride();
  x.flat = kjt.variable_stride_per_key();
  const InverseIndices* inverse = kjt.inverse_indices_or_none();
  if (inverse == nullptr || x.form->sequences) return;
  x.flat = true;
  x.inverse = inverse->indices;
  int64_t at = 0;
  for (size_t f = 0; f < x.form->features.size(); ++f) {
    const OutputForm::Feature& feature = x.form->features[f];
    const auto row = std::find(inverse->keys.begin(), inverse->keys.end(), feature.key);
    TESSERA_CHECK(row != inverse->keys.end(), "key {} has no inverse indices", feature.key);
    const int64_t bags = x.sent->features[f].num_bags;
    x.distinct.push_back({bags, feature.dim, at, row - inverse->keys.begin()});
    at += bags * feature.dim;
  }
}

std::vector<Tensor> ValuesOf(const EmbeddingOutputs& outputs) {
  std::vector<Tensor> values(outputs.sequences.begin(), outputs.sequences.end());
  if (outputs.pooled) values.push_back(outputs.pooled.value());
  return values;
}

std::vector<Tensor> Outputs(Context& ctx, const OutputExchange& x, const WideRows& wide) {
  std::vector<Tensor> outputs = wide.sequences;
  if (!x.form->sequences)
    outputs.push_back(x.inverse ? internal::ExpandBags(ctx, wide.pooled, x.distinct, x.inverse)
                                : wide.pooled);
  for (Tensor& t : outputs) t = t.To(ctx, x.form->output_type);
  return outputs;
}

}  // namespace

Awaitable<std::vector<Variable>> StartOutputDist(Context& ctx,
                                                 std::shared_ptr<const OutputForm> form,
                                                 Communicator& comm, const InputDist& input,
                                                 const KeyedJaggedTensor& kjt,
                                                 EmbeddingOutputs away, EmbeddingOutputs replicas) {
  OutputExchange x;
  x.form = std::move(form);
  x.comm = &comm;
  x.sent = input.shared_sent();
  x.received = input.shared_received();
  TakeShape(ctx, kjt, x);
  auto sent = SendHome(ctx, x, away);
  const bool weights = x.mine().blocks.empty() && x.received->kjt.is_weighted();
  return std::move(sent).Then([&ctx, x = std::move(x), away = std::move(away), weights,
                               replicas = std::move(replicas)](std::vector<Tensor> messages) {
    const WideRows wide = EmptyWide(ctx, x);
    const std::vector<Tensor> local = ValuesOf(replicas);
    GatherBlocks(ctx, MakeBlocks(x, wide, messages, local));
    std::vector<Tensor> outputs = Outputs(ctx, x, wide);
    std::vector<Variable> inputs = away.sequences;
    if (away.pooled) inputs.push_back(away.pooled);
    const size_t num_away = inputs.size();
    inputs.insert(inputs.end(), replicas.sequences.begin(), replicas.sequences.end());
    if (replicas.pooled) inputs.push_back(replicas.pooled);
    if (weights) inputs.push_back(x.received->kjt.weights());
    std::vector<Shape> shapes;
    for (const Tensor& t : local) shapes.push_back(t.shape());
    return Record(
        ctx, std::make_unique<OutputDistBackward>(x, num_away, std::move(shapes), weights ? 0 : -1),
        std::move(inputs), std::move(outputs), /*always=*/ctx.tape() != nullptr);
  });
}

}  // namespace tessera
