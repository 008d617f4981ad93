#include "comm/communicator.h"

#include <numeric>
#include <utility>

#include "comm/blocks.h"

namespace tessera {
namespace {

int64_t Total(const std::vector<int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

void CheckRows(const Communicator& comm, const Tensor& send, size_t num_counts, const char* op,
               std::string_view what) {
  TESSERA_CHECK_GE(send.rank(), 1, "{} {}", op, what);
  TESSERA_CHECK_EQ(static_cast<int64_t>(num_counts), comm.size(), "{} {}: one count a rank", op,
                   what);
}

}  // namespace

Communicator::~Communicator() = default;

std::unique_ptr<Communicator> Communicator::SplitLocal(int local_size) {
  TESSERA_CHECK(local_size > 0 && size() % local_size == 0,
                "SplitLocal: {} ranks are no nodes of {} ranks", size(), local_size);
  return Split(rank() / local_size, rank());
}

std::unique_ptr<Communicator> Communicator::SplitCrossNode(int local_size) {
  TESSERA_CHECK(local_size > 0 && size() % local_size == 0,
                "SplitCrossNode: {} ranks are no nodes of {} ranks", size(), local_size);
  return Split(rank() % local_size, rank());
}

Communicator& Communicator::CompanionOf(const std::string& name, const MakeGroup& make) {
  std::unique_ptr<Communicator>& companion = companions_[name];
  if (!companion) companion = make();
  return *companion;
}

Communicator& Communicator::Companion(const std::string& name) {
  return CompanionOf("all: " + name, [&] { return Split(0, rank()); });
}
Communicator& Communicator::LocalCompanion(int local_size) {
  return CompanionOf(Format("inside nodes of {}", local_size),
                     [&] { return SplitLocal(local_size); });
}
Communicator& Communicator::CrossNodeCompanion(int local_size) {
  return CompanionOf(Format("between nodes of {}", local_size),
                     [&] { return SplitCrossNode(local_size); });
}

Awaitable<std::vector<Tensor>> Communicator::Exchange(Context& ctx, std::string_view,
                                                      std::vector<Tensor> send,
                                                      std::vector<int64_t> receive_counts,
                                                      std::string_view what) {
  return AllToAllV(ctx, std::move(send), std::move(receive_counts), what);
}

Awaitable<Tensor> Communicator::AllToAll(Context& ctx, const Tensor& send, std::string_view what) {
  TESSERA_CHECK_GE(send.rank(), 1, "AllToAll {}", what);
  TESSERA_CHECK_EQ(send.dim(0), size(), "AllToAll {}: one block a rank", what);
  const std::vector<int64_t> counts(static_cast<size_t>(size()), send.numel() / size());
  return Exchange(ctx, "AllToAll", internal::CutFlat(send, counts), counts, what)
      .Then([&ctx, shape = send.shape()](std::vector<Tensor> received) {
        return internal::Join(ctx, received, shape);
      });
}

Awaitable<Tensor> Communicator::GatherRows(Context& ctx, std::string_view op, const Tensor& send,
                                           const std::vector<int64_t>& counts, const Shape& shape,
                                           std::string_view what) {
  const std::vector<Tensor> to_all(static_cast<size_t>(size()), internal::Flat(send));
  return Exchange(ctx, op, to_all, counts, what).Then([&ctx, shape](std::vector<Tensor> received) {
    return internal::Join(ctx, received, shape);
  });
}

Awaitable<Tensor> Communicator::AllGatherV(Context& ctx, const Tensor& send,
                                           std::vector<int64_t> counts, std::string_view what) {
  CheckRows(*this, send, counts.size(), "AllGatherV", what);
  const int64_t mine = counts[static_cast<size_t>(rank())];
  TESSERA_CHECK_EQ(send.dim(0), mine, "AllGatherV {}: rows of rank {}", what, rank());
  Shape shape = send.shape();
  shape[0] = 1;
  const int64_t row = shape.numel();
  shape[0] = Total(counts);
  for (int64_t& count : counts) count *= row;
  return GatherRows(ctx, "AllGatherV", send, counts, shape, what);
}

Awaitable<Tensor> Communicator::AllGather(Context& ctx, const Tensor& send, std::string_view what) {
  const std::vector<int64_t> counts(static_cast<size_t>(size()), send.numel());
  return GatherRows(ctx, "AllGather", send, counts, internal::Stacked(send.shape(), size()), what);
}

Awaitable<Tensor> Communicator::ReduceRows(Context& ctx, std::string_view op, const Tensor& send,
                                           const std::vector<int64_t>& counts, const Shape& shape,
                                           std::string_view what) {
  CheckReducible(send.dtype(), what);
  const int64_t mine = counts[static_cast<size_t>(rank())];
  return Exchange(ctx, op, internal::CutFlat(send, counts),
                  std::vector<int64_t>(static_cast<size_t>(size()), mine), what)
      .Then([&ctx, shape](std::vector<Tensor> received) {
        return ReduceInOrder(ctx, received, ReduceOp::kSum).Reshape(shape);
      });
}

Awaitable<Tensor> Communicator::ReduceScatterV(Context& ctx, const Tensor& send,
                                               std::vector<int64_t> counts, std::string_view what) {
  CheckRows(*this, send, counts.size(), "ReduceScatterV", what);
  TESSERA_CHECK_EQ(send.dim(0), Total(counts), "ReduceScatterV {}: rows of all ranks", what);
  Shape shape = send.shape();
  shape[0] = 1;
  const int64_t row = shape.numel();
  shape[0] = counts[static_cast<size_t>(rank())];
  for (int64_t& count : counts) count *= row;
  return ReduceRows(ctx, "ReduceScatterV", send, counts, shape, what);
}

Awaitable<Tensor> Communicator::ReduceScatter(Context& ctx, const Tensor& send,
                                              std::string_view what) {
  TESSERA_CHECK_GE(send.rank(), 1, "ReduceScatter {}", what);
  TESSERA_CHECK_EQ(send.dim(0), size(), "ReduceScatter {}: one block a rank", what);
  const std::vector<int64_t> counts(static_cast<size_t>(size()), send.numel() / size());
  return ReduceRows(ctx, "ReduceScatter", send, counts, Shape(send.shape().dims().subspan(1)),
                    what);
}

Awaitable<Tensor> Communicator::AllReduce(Context& ctx, const Tensor& send, ReduceOp op,
                                          std::string_view what) {
  CheckReducible(send.dtype(), what);
  // The others may read what they are sent after this rank has its result: they get a copy.
  const Tensor kept = size() == 1 ? send : send.Clone(ctx);
  const std::vector<Tensor> to_all(static_cast<size_t>(size()), internal::Flat(kept));
  const std::vector<int64_t> counts(static_cast<size_t>(size()), send.numel());
  return Exchange(ctx, "AllReduce " + ToString(op), to_all, counts, what)
      .Then([&ctx, op, shape = send.shape()](std::vector<Tensor> received) {
        return ReduceInOrder(ctx, received, op).Reshape(shape);
      });
}

Awaitable<Tensor> Communicator::Broadcast(Context& ctx, const Tensor& tensor, int root,
                                          std::string_view what) {
  TESSERA_CHECK(root >= 0 && root < size(), "Broadcast {} from rank {} of {}", what, root, size());
  const auto n = static_cast<size_t>(size()), from = static_cast<size_t>(root);
  const Tensor flat = internal::Flat(tensor);
  std::vector<Tensor> send(n, rank() == root ? flat : flat.Narrow(0, 0, 0));
  std::vector<int64_t> counts(n, 0);
  counts[from] = flat.numel();
  return Exchange(ctx, "Broadcast from " + std::to_string(root), std::move(send), counts, what)
      .Then([from, shape = tensor.shape()](std::vector<Tensor> received) {
        return received[from].Reshape(shape);
      });
}

Awaitable<void> Communicator::Barrier(Context& ctx, std::string_view what) {
  const auto n = static_cast<size_t>(size());
  const std::vector<Tensor> nothing(n, Tensor::Empty(ctx, {0}, DType::kU8));
  return Exchange(ctx, "Barrier", nothing, std::vector<int64_t>(n, 0), what)
      .Then([](std::vector<Tensor>) {});
}

}  // namespace tessera
