// The backend `nccl`: what is written in nccl_communicator.h, over NCCL's own collectives.
#include <cstdio>
#include <exception>
#include <utility>

#include "comm/blocks.h"
#include "comm/check_exchange.h"
#include "comm/nccl/nccl_communicator_impl.h"
#include "comm/nccl/nccl_id.h"
#include "comm/nccl/nccl_initialize.h"
#include "comm/nccl/nccl_watch.h"
#include "comm/same_calls.h"
#include "runtime/device/cuda_check.h"
#include "runtime/tensor.h"

namespace tessera::internal {
namespace {

// A Send or a Receive that is not started yet.
struct Message {
  bool is_send;
  Tensor tensor;
  int other;
  Event ready;  // when the tensor may be read or written
  std::string what;
  std::shared_ptr<Event> done;
};

size_t Count(const Tensor& tensor) { return static_cast<size_t>(tensor.numel()); }
size_t Bytes(const Tensor& tensor) { return static_cast<size_t>(tensor.nbytes()); }

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(Context& ctx, std::shared_ptr<Communicator> host, NcclComm comm,
                   std::shared_ptr<NcclFamily> family, const NcclOptions& options)
      : Communicator(host->rank(), host->size()),
        host_(std::move(host)),
        options_(options),
        own_({.device = ctx.device(), .pool = ctx.pool()}),
        exceptions_(std::uncaught_exceptions()),
        watch_(std::move(family), comm,
               {own_.device(), options.timeout_seconds, [this] { return host_->abort_reason(); },
                [this](const std::string& reason) { AbortByWatch(reason); }}) {}

  // Finishes started calls, unless an exception leaves the scope: then the other ranks may never
  // come.
  ~NcclCommunicator() override {
    try {
      if (std::uncaught_exceptions() > exceptions_) {
        watch_.AbortComm();
      } else {
        Flush();
        own_.Sync();
      }
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: %s\n", Name().c_str(), error.what());
      watch_.AbortComm();
    }
  }

  std::string_view backend() const override { return "nccl"; }

  std::unique_ptr<Communicator> Split(int color, int key) override {
    const Call call = NewCall("Split", "");
    Flush();
    own_.Sync();  // NCCL asks for it
    std::shared_ptr<Communicator> part_host = host_->Split(color, key);
    NcclComm part = nullptr;
    watch_.Finished(Watched(call, [&] {
      Check(nccl_.comm_split(watch_.comm(), color < 0 ? kNcclNoColor : color, key, &part, nullptr),
            "ncclCommSplit", call);
    }));
    if (!part_host) return nullptr;
    return std::make_unique<NcclCommunicator>(own_, std::move(part_host), part, watch_.family(),
                                              options_);
  }

  Awaitable<std::vector<Tensor>> AllToAllV(Context& ctx, std::vector<Tensor> send,
                                           std::vector<int64_t> receive_counts,
                                           std::string_view what) override {
    return Exchange(ctx, "AllToAllV", std::move(send), std::move(receive_counts), what);
  }

  Awaitable<Tensor> AllGather(Context& ctx, const Tensor& send, std::string_view what) override {
    const Call call = NewCall(ctx, "AllGather", what);
    const Tensor all = Tensor::Empty(ctx, Stacked(send.shape(), size()), send.dtype());
    CountSent(send.nbytes() * (size() - 1));
    return Run(ctx, call, send, all, [&](void* stream) {
      CallNccl("ncclAllGather", call, [&](NcclComm comm) {
        return nccl_.all_gather(send.raw_data(), all.raw_data(), Bytes(send), kNcclBytes, comm,
                                stream);
      });
    });
  }

  Awaitable<Tensor> ReduceScatter(Context& ctx, const Tensor& send,
                                  std::string_view what) override {
    const Call call = NewCall(ctx, "ReduceScatter", what);
    CheckReducible(send.dtype(), what);
    TESSERA_CHECK(send.rank() >= 1 && send.dim(0) == size(),
                  "{}: expected one block a rank, got {} for {} ranks", call, send.shape(), size());
    const Tensor block = Tensor::Empty(ctx, Shape(send.shape().dims().subspan(1)), send.dtype());
    CountSent(block.nbytes() * (size() - 1));
    return Run(ctx, call, send, block, [&](void* stream) {
      CallNccl("ncclReduceScatter", call, [&](NcclComm comm) {
        return nccl_.reduce_scatter(send.raw_data(), block.raw_data(), Count(block),
                                    NcclType(send.dtype()), NcclOp(ReduceOp::kSum), comm, stream);
      });
    });
  }

  Awaitable<Tensor> AllReduce(Context& ctx, const Tensor& send, ReduceOp op,
                              std::string_view what) override {
    const Call call = NewCall(ctx, "AllReduce " + ToString(op), what);
    CheckReducible(send.dtype(), what);
    const Tensor sum = Tensor::Empty(ctx, send.shape(), send.dtype());
    CountSent(2 * send.nbytes() / size() * (size() - 1));
    return Run(ctx, call, send, sum, [&](void* stream) {
      CallNccl("ncclAllReduce", call, [&](NcclComm comm) {
        return nccl_.all_reduce(send.raw_data(), sum.raw_data(), Count(send),
                                NcclType(send.dtype()), NcclOp(op), comm, stream);
      });
    });
  }

  Awaitable<Tensor> Broadcast(Context& ctx, const Tensor& tensor, int root,
                              std::string_view what) override {
    const Call call = NewCall(ctx, "Broadcast from " + std::to_string(root), what);
    TESSERA_CHECK(root >= 0 && root < size(), "{}: there are {} ranks", call, size());
    const Tensor result =
        rank() == root ? tensor : Tensor::Empty(ctx, tensor.shape(), tensor.dtype());
    if (rank() == root) CountSent(tensor.nbytes() * (size() - 1));
    return Run(ctx, call, tensor, result, [&](void* stream) {
      CallNccl("ncclBroadcast", call, [&](NcclComm comm) {
        return nccl_.broadcast(tensor.raw_data(), result.raw_data(), Bytes(tensor), kNcclBytes,
                               root, comm, stream);
      });
    });
  }

  Awaitable<void> Barrier(Context& ctx, std::string_view what) override {
    const Call call = NewCall(ctx, "Barrier", what);
    const Tensor number = Tensor::Zeros(ctx, {1}, DType::kI32);
    Awaitable<Tensor> met = Run(ctx, call, number, number, [&](void* stream) {
      CallNccl("ncclAllReduce", call, [&](NcclComm comm) {
        return nccl_.all_reduce(number.raw_data(), number.raw_data(), 1, NcclType(DType::kI32),
                                NcclOp(ReduceOp::kSum), comm, stream);
      });
    });
    return met.Then([this, &ctx, call](const Tensor&) {
      ctx.Sync();
      watch_.CheckAlive(call);
    });
  }

  Awaitable<void> Send(Context& ctx, const Tensor& tensor, int to, std::string_view what) override {
    CheckNotRecorded(ctx, "Send", what);
    CheckOther("Send", to, what);
    CheckTensor(ctx, "Send", tensor);
    CountSent(tensor.nbytes());
    Put(ctx, {true, tensor, to, {}, std::string(what), nullptr});
    return Awaitable<void>([] {});
  }

  Awaitable<Tensor> Receive(Context& ctx, const Shape& shape, DType dtype, int from,
                            std::string_view what) override {
    CheckNotRecorded(ctx, "Receive", what);
    CheckOther("Receive", from, what);
    const Tensor tensor = Tensor::Empty(ctx, shape, dtype);
    auto done = std::make_shared<Event>();
    const Call call = {next_call_, true, "Receive from " + std::to_string(from), std::string(what)};
    Put(ctx, {false, tensor, from, {}, std::string(what), done});
    return Awaitable<Tensor>([this, &ctx, call, tensor, done] {
      Flush();  // nothing, if a later call did it
      watch_.CheckAlive(call);
      done->HoldBack(ctx.stream());
      return tensor;
    });
  }

  std::vector<std::string> GatherStringsSync(const std::string& mine,
                                             std::string_view what) override {
    Flush();
    return host_->GatherStringsSync(mine, what);
  }
  std::vector<std::vector<int64_t>> ExchangeNumbersSync(
      const std::vector<std::vector<int64_t>>& send, std::string_view what) override {
    Flush();
    return host_->ExchangeNumbersSync(send, what);
  }

  void Abort(const std::string& reason) noexcept override {
    try {
      watch_.family()->Abort(Format("rank {} aborted: {}", rank(), reason));
    } catch (...) {
    }
    host_->Abort(reason);
  }
  std::string abort_reason() const override { return watch_.family()->reason(); }

 protected:
  Awaitable<std::vector<Tensor>> Exchange(Context& ctx, std::string_view op,
                                          std::vector<Tensor> send,
                                          std::vector<int64_t> receive_counts,
                                          std::string_view what) override {
    const Call call = NewCall(ctx, op, what);
    CheckExchange(*this, ctx, send, receive_counts, call);
    std::vector<Tensor> received = send;  // the own block is handed back; the others are new
    std::vector<int64_t> counts;
    std::vector<Tensor> used;
    for (int r = 0; r < size(); ++r) {
      const auto i = static_cast<size_t>(r);
      counts.push_back(send[i].numel());
      if (r == rank()) continue;
      received[i] = Tensor::Empty(ctx, {receive_counts[i]}, send[i].dtype());
      CountSent(send[i].nbytes());
      used.insert(used.end(), {send[i], received[i]});
    }
    CheckCalls(call, send[0].dtype(), counts, receive_counts);
    const Event done = Start(ctx, call, used, [&](void* stream) {
      for (int r = 0; r < size(); ++r) {
        if (r == rank()) continue;
        StartMessage({true, send[static_cast<size_t>(r)], r, {}, {}, nullptr}, call, stream);
        StartMessage({false, received[static_cast<size_t>(r)], r, {}, {}, nullptr}, call, stream);
      }
    });
    return Awaitable<std::vector<Tensor>>([this, &ctx, call, received, done] {
      watch_.CheckAlive(call);
      done.HoldBack(ctx.stream());
      return received;
    });
  }

 private:
  std::string Name() const { return Format("rank {} of {} (nccl)", rank(), size()); }
  Call NewCall(std::string_view op, std::string_view what) {
    return {next_call_++, false, std::string(op), std::string(what)};
  }
  Call NewCall(Context& ctx, std::string_view op, std::string_view what) {
    CheckNotRecorded(ctx, op, what);
    return NewCall(op, what);
  }
  // A recording would take in the stream of the exchanges, which the watch looks at.
  void CheckNotRecorded(Context& ctx, std::string_view op, std::string_view what) const {
    TESSERA_CHECK(ctx.stream().capture() == nullptr,
                  "{}: {} \"{}\": exchanges over NCCL cannot be part of a CUDA graph: record what "
                  "lies before and after them",
                  Name(), op, what);
  }

  void Check(int status, const char* function, const Call& call) {
    if (status == 0 || status == kNcclInProgress) return;
    watch_.CheckAlive(call);
    const char* last = nccl_.get_last_error(watch_.comm());
    TESSERA_FAIL("{}: {}: {}: {} ({})", Name(), call, function, nccl_.get_error_string(status),
                 last == nullptr ? "" : last);
  }
  // A call that only puts something into the open group.
  template <typename Fn>
  void CallNccl(const char* function, const Call& call, const Fn& fn) {
    Check(watch_.WithComm(call, fn), function, call);
  }
  static void CheckTensor(Context& ctx, const char* op, const Tensor& tensor) {
    CheckDevice(ctx, op, tensor);
    TESSERA_CHECK(tensor.is_contiguous(), "{}: a tensor {} that is not contiguous", op,
                  tensor.shape());
  }
  void CheckOther(const char* op, int other, std::string_view what) const {
    TESSERA_CHECK(other >= 0 && other < size() && other != rank(),
                  "{} \"{}\": rank {} names rank {} of {}", op, what, rank(), other, size());
  }
  // counts: elements sent to each rank, and expected from it.
  void CheckCalls(const Call& call, DType dtype, const std::vector<int64_t>& sent,
                  const std::vector<int64_t>& expected) {
    if (options_.check_calls) CheckSameCalls(*host_, call, dtype, sent, expected);
  }

  // Calls NCCL by fn(), under watch; the watch's number of it.
  template <typename Fn>
  int64_t Watched(const Call& call, const Fn& fn) {
    UseDevice(own_.device());
    const int64_t id = watch_.Begin(call);
    try {
      fn();
    } catch (...) {
      watch_.Finished(id);
      throw;
    }
    return id;
  }

  // Calls enqueue(stream) within a group; what it puts on the stream uses these tensors of ctx's.
  // The place after it.
  template <typename Fn>
  Event Start(Context& ctx, const Call& call, const std::vector<Tensor>& used, const Fn& enqueue) {
    Flush();
    own_.WaitFor(ctx);
    return StartGroup(call, used, enqueue);
  }
  template <typename Fn>
  Event StartGroup(const Call& call, const std::vector<Tensor>& used, const Fn& enqueue) {
    for (const Tensor& tensor : used) tensor.RecordStream(own_);
    Event begun, done;
    const int64_t id = Watched(call, [&] {
      begun = Event::Record(own_.stream());
      Check(nccl_.group_start(), "ncclGroupStart", call);
      try {
        enqueue(own_.stream().handle());
      } catch (...) {
        (void)nccl_.group_end();
        throw;
      }
      Check(nccl_.group_end(), "ncclGroupEnd", call);
      done = Event::Record(own_.stream());
    });
    watch_.Queued(id, begun, done);
    return done;
  }

  // A collective that every rank gives as many elements; none at all is nothing to do.
  template <typename Fn>
  Awaitable<Tensor> Run(Context& ctx, const Call& call, const Tensor& send, const Tensor& result,
                        const Fn& enqueue) {
    CheckTensor(ctx, call.op.c_str(), send);
    const std::vector<int64_t> counts(static_cast<size_t>(size()), send.numel());
    CheckCalls(call, send.dtype(), counts, counts);
    if (send.numel() == 0) return Awaitable<Tensor>([result] { return result; });
    const Event done = Start(ctx, call, {send, result}, enqueue);
    return Awaitable<Tensor>([this, &ctx, call, result, done] {
      watch_.CheckAlive(call);
      done.HoldBack(ctx.stream());
      return result;
    });
  }

  void Put(Context& ctx, Message message) {
    message.ready = Event::Record(ctx.stream());
    messages_.push_back(std::move(message));
  }
  void StartMessage(const Message& m, const Call& call, void* stream) {
    const size_t bytes = Bytes(m.tensor);
    if (bytes == 0) return;
    CallNccl(m.is_send ? "ncclSend" : "ncclRecv", call, [&](NcclComm comm) {
      void* data = m.tensor.raw_data();
      return m.is_send ? nccl_.send(data, bytes, kNcclBytes, m.other, comm, stream)
                       : nccl_.recv(data, bytes, kNcclBytes, m.other, comm, stream);
    });
  }
  // Starts the messages that were put, as one group.
  void Flush() {
    if (messages_.empty()) return;
    const std::vector<Message> messages = std::exchange(messages_, {});
    std::string names;
    std::vector<Tensor> used;
    for (const Message& m : messages) {
      m.ready.HoldBack(own_.stream());
      used.push_back(m.tensor);
      names += Format("{}{} {}", names.empty() ? "" : ", ", m.is_send ? "Send to" : "Receive from",
                      m.other);
    }
    const Call call = {next_call_, true, names, messages[0].what};
    const Event done = StartGroup(call, used, [&](void* stream) {
      for (const Message& m : messages) StartMessage(m, call, stream);
    });
    for (const Message& m : messages)
      if (m.done) *m.done = done;
  }

  void AbortByWatch(const std::string& reason) {
    std::fprintf(stderr, "%s: %s\n", Name().c_str(), reason.c_str());
    Abort(reason);
  }

  const NcclFunctions& nccl_ = Nccl();
  std::shared_ptr<Communicator> host_;
  NcclOptions options_;
  Context own_;     // whose stream the exchanges run on
  int exceptions_;  // on their way when this was made
  int64_t next_call_ = 0;
  std::vector<Message> messages_;
  NcclWatch watch_;
};

}  // namespace

std::unique_ptr<Communicator> MakeNcclCommunicator(OnCuda, Context& ctx,
                                                   std::shared_ptr<Communicator> host,
                                                   const NcclOptions& options) {
  const NcclUniqueId id = AgreeOnNcclId(*host);
  const NcclComm comm = InitializeComm(ctx, *host, id, options);
  return std::make_unique<NcclCommunicator>(ctx, std::move(host), comm, NcclFamily::Of(id),
                                            options);
}

}  // namespace tessera::internal
