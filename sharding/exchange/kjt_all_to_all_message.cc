#include "sharding/exchange/kjt_all_to_all_message.h"

#include <numeric>
#include <optional>
#include <utility>

#include "comm/blocks.h"
#include "sharding/exchange/copy_segments.h"

namespace tessera::internal {
namespace {

int64_t Sum(const std::vector<int64_t>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), int64_t{0});
}

// Types that all messages of an exchange share.
struct KjtTypes {
  DType lengths = DType::kI32, values = DType::kF32;
  std::optional<DType> weights = {};
  bool variable = false;
  friend bool operator==(const KjtTypes&, const KjtTypes&) = default;
};

std::string ToString(const KjtTypes& t) {
  return Format("lengths {}, values {}, weights {}, strides {}", t.lengths, t.values,
                t.weights ? tessera::ToString(*t.weights) : "none",
                t.variable ? "variable" : "the same");
}

// The description of a message, which is sent before it.
struct Header {
  KjtTypes types;
  bool differentiable = false;  // weights want their gradient
  int64_t num_values = 0, stride = 0;
  std::vector<int64_t> bags;  // of each key

  std::vector<int64_t> Numbers() const {
    std::vector<int64_t> numbers = {static_cast<int64_t>(types.lengths),
                                    static_cast<int64_t>(types.values),
                                    types.weights ? static_cast<int64_t>(*types.weights) : -1,
                                    types.variable,
                                    differentiable,
                                    num_values,
                                    stride};
    numbers.insert(numbers.end(), bags.begin(), bags.end());
    return numbers;
  }
  static Header Of(const std::vector<int64_t>& numbers) {
    Header h;
    h.types.lengths = static_cast<DType>(numbers[0]);
    h.types.values = static_cast<DType>(numbers[1]);
    if (numbers[2] >= 0) h.types.weights = static_cast<DType>(numbers[2]);
    h.types.variable = numbers[3] != 0;
    h.differentiable = numbers[4] != 0;
    h.num_values = numbers[5];
    h.stride = numbers[6];
    h.bags.assign(numbers.begin() + kFixed, numbers.end());
    return h;
  }
  static constexpr int64_t kFixed = 7;

  int64_t values_at() const { return Padded(Sum(bags) * SizeOf(types.lengths)); }
  int64_t weights_at() const { return values_at() + Padded(num_values * SizeOf(types.values)); }
  int64_t bytes() const {
    return weights_at() + (types.weights ? Padded(num_values * SizeOf(*types.weights)) : 0);
  }
  // The parts of its message.
  Tensor Lengths(const Tensor& message) const {
    return message.Reinterpret(0, {Sum(bags)}, types.lengths);
  }
  Tensor Values(const Tensor& message) const {
    return message.Reinterpret(values_at(), {num_values}, types.values);
  }
  Tensor Weights(const Tensor& message) const {
    return message.Reinterpret(weights_at(), {num_values}, *types.weights);
  }
};

// ---- the side that sends

std::vector<Header> MakeHeaders(Context& ctx, const KeyedJaggedTensor& kjt,
                                const std::vector<int64_t>& key_splits) {
  KjtTypes types{kjt.lengths(ctx).dtype(), kjt.values().dtype(), {}, kjt.variable_stride_per_key()};
  bool differentiable = false;
  if (kjt.is_weighted()) {
    types.weights = kjt.weights().value().dtype();
    differentiable = kjt.weights().requires_grad();
  }
  const auto values = kjt.DistSplits(key_splits)[1];
  std::vector<Header> headers;
  auto bags = kjt.stride_per_key().begin();
  for (size_t r = 0; r < key_splits.size(); ++r) {
    headers.push_back(
        {types, differentiable, values[r], kjt.stride(), {bags, bags + key_splits[r]}});
    bags += key_splits[r];
  }
  return headers;
}

std::vector<Tensor> MakeMessages(Context& ctx, const KeyedJaggedTensor& kjt,
                                 const std::vector<Header>& headers) {
  std::vector<Tensor> messages;
  int64_t bag = 0, value = 0;
  for (const Header& h : headers) {
    const Tensor message = Tensor::Empty(ctx, {h.bytes()}, DType::kU8);
    const int64_t bags = Sum(h.bags), end = value + h.num_values;
    h.Lengths(message).CopyFrom(ctx, kjt.lengths(ctx).Rows(bag, bag + bags));
    h.Values(message).CopyFrom(ctx, kjt.values().Rows(value, end));
    if (h.types.weights) h.Weights(message).CopyFrom(ctx, kjt.weights().value().Rows(value, end));
    messages.push_back(message);
    bag += bags;
    value = end;
  }
  return messages;
}

// ---- the side that receives

std::vector<Header> TakeHeaders(const std::vector<std::vector<int64_t>>& numbers,
                                const KjtExchange& exchange) {
  std::vector<Header> headers;
  for (const int q : exchange.senders) {
    const std::vector<int64_t>& n = numbers[static_cast<size_t>(q)];
    TESSERA_CHECK_EQ(n.size(), Header::kFixed + exchange.keys.size(),
                     "{}: numbers from rank {}, whose key splits are others", exchange.what, q);
    headers.push_back(Header::Of(n));
    TESSERA_CHECK(headers.back().types == headers[0].types, "{}: rank {} sends {}, rank {} {}",
                  exchange.what, q, ToString(headers.back().types), exchange.senders[0],
                  ToString(headers[0].types));
  }
  return headers;
}

using PartOf = Tensor (Header::*)(const Tensor&) const;

// A part of all messages, joined.
Tensor Joined(Context& ctx, const std::vector<Header>& headers, const std::vector<Tensor>& messages,
              PartOf part) {
  std::vector<Tensor> parts;
  int64_t total = 0;
  for (size_t i = 0; i < headers.size(); ++i) {
    parts.push_back((headers[i].*part)(messages[i]));
    total += parts.back().numel();
  }
  return internal::Join(ctx, parts, {total});
}

// Weights' gradients go back to the ranks that the weights came from.
class KjtWeightsBackward final : public Function {
 public:
  // sent, received: numbers of weights, by rank.
  KjtWeightsBackward(Communicator& comm, std::vector<int64_t> sent, std::vector<int64_t> received)
      : comm_(comm), sent_(std::move(sent)), received_(std::move(received)) {}
  std::string_view name() const override { return "all-to-all of weights"; }

  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    const std::vector<Tensor> home =
        comm_
            .AllToAllV(ctx, internal::CutFlat(grads[0].Clone(ctx), received_), sent_,
                       "gradients of per-sample weights")
            .Wait();
    return {internal::Join(ctx, home, {Sum(sent_)})};
  }

 private:
  Communicator& comm_;
  std::vector<int64_t> sent_, received_;
};

// One exchange on its way.
struct Underway {
  std::vector<std::string> keys;
  std::vector<int> senders;
  int64_t stagger = 1;
  std::vector<Header> headers;  // of the senders
  std::vector<int64_t> sent;    // values, by rank
  Variable weights;             // that were sent, or undefined
};

Variable WeightsOf(Context& ctx, Communicator& comm, const Underway& u,
                   const std::vector<Tensor>& messages) {
  std::vector<int64_t> received(u.sent.size());
  bool differentiable = false;
  for (size_t i = 0; i < u.headers.size(); ++i) {
    received[static_cast<size_t>(u.senders[i])] = u.headers[i].num_values;
    differentiable = differentiable || u.headers[i].differentiable;
  }
  const Tensor joined = Joined(ctx, u.headers, messages, &Header::Weights);
  const Variable input = u.weights ? u.weights : Variable(Tensor::Empty(ctx, {0}, joined.dtype()));
  return Record(ctx, std::make_unique<KjtWeightsBackward>(comm, u.sent, std::move(received)),
                std::vector<Variable>{input}, joined,
                /*always=*/differentiable && ctx.tape() != nullptr);
}

KeyedJaggedTensor Received(Context& ctx, Communicator& comm, const Underway& u,
                           std::vector<Tensor> messages) {
  std::vector<Tensor> from_senders;
  for (const int q : u.senders) from_senders.push_back(messages[static_cast<size_t>(q)]);
  KeyedJaggedTensorDistArgs args{.keys = u.keys,
                                 .variable_stride_per_key = u.headers[0].types.variable,
                                 .ranks = static_cast<int64_t>(u.senders.size()),
                                 .stagger = u.stagger};
  args.tensors = {Joined(ctx, u.headers, from_senders, &Header::Lengths),
                  Joined(ctx, u.headers, from_senders, &Header::Values)};
  if (args.variable_stride_per_key) {
    std::vector<int64_t> strides;
    for (const Header& h : u.headers) strides.insert(strides.end(), h.bags.begin(), h.bags.end());
    args.tensors.push_back(Tensor::From(ctx, strides));
  }
  for (const Header& h : u.headers) args.stride_per_rank.push_back(h.stride);
  if (u.headers[0].types.weights) args.tensors.push_back(WeightsOf(ctx, comm, u, from_senders));
  return KeyedJaggedTensorFromDist(ctx, args);
}

}  // namespace

Awaitable<KeyedJaggedTensor> StartKjtExchange(Context& ctx, Communicator& comm,
                                              const KjtExchange& exchange) {
  const auto ranks = static_cast<size_t>(comm.size());
  Underway u{exchange.keys, exchange.senders, exchange.stagger, {}, {}, {}};
  std::vector<std::vector<int64_t>> numbers(ranks);
  std::vector<Tensor> send(ranks, Tensor::Empty(ctx, {0}, DType::kU8));
  u.sent.resize(ranks);
  std::vector<Header> mine;
  if (exchange.kjt != nullptr) {
    mine = MakeHeaders(ctx, *exchange.kjt, exchange.key_splits);
    u.weights = exchange.kjt->weights_or_none();
  }
  for (size_t r = 0; r < mine.size(); ++r) {
    numbers[r] = mine[r].Numbers();
    u.sent[r] = mine[r].num_values;
  }
  u.headers = TakeHeaders(comm.ExchangeNumbersSync(numbers, exchange.what), exchange);
  if (exchange.kjt != nullptr) send = MakeMessages(ctx, *exchange.kjt, mine);
  std::vector<int64_t> counts(ranks);
  for (size_t i = 0; i < u.headers.size(); ++i)
    counts[static_cast<size_t>(u.senders[i])] = u.headers[i].bytes();
  return comm.AllToAllV(ctx, std::move(send), std::move(counts), exchange.what)
      .Then([&ctx, &comm, u = std::move(u)](std::vector<Tensor> messages) {
        return Received(ctx, comm, u, std::move(messages));
      });
}

}  // namespace tessera::internal
