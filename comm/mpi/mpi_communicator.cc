#include "comm/mpi/mpi_communicator.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "comm/message_communicator.h"
#include "comm/mpi/mpi_engine.h"
#include "comm/mpi/mpi_transfer.h"
#include "runtime/staging.h"
#include "runtime/tensor.h"

namespace tessera {
namespace internal {
namespace {

int NumberOf(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

// Who started this process: Open MPI's mpirun, one that speaks PMI, or srun --mpi=pmix (processes
// of a batch script are no ranks).
enum class Launcher { kNone, kOpenMpi, kPmi, kSlurm };

Launcher TheLauncher() {
  if (NumberOf("OMPI_COMM_WORLD_SIZE") > 0) return Launcher::kOpenMpi;
  if (NumberOf("PMI_SIZE") > 0) return Launcher::kPmi;
  const bool of_slurm = std::getenv("PMIX_RANK") != nullptr && NumberOf("SLURM_STEP_NUM_TASKS") > 0;
  return of_slurm ? Launcher::kSlurm : Launcher::kNone;
}

// The number that the launcher tells by its variable; 0 if it does not.
int Told(const char* open_mpi, const char* pmi, const char* slurm) {
  switch (TheLauncher()) {
    case Launcher::kNone:
      return 0;
    case Launcher::kOpenMpi:
      return NumberOf(open_mpi);
    case Launcher::kPmi:
      return NumberOf(pmi);
    case Launcher::kSlurm:
      return NumberOf(slurm);
  }
  return 0;
}

// SLURM_STEP_TASKS_PER_NODE has the ranks of each node: "4(x2),3".
int SlurmLocalSize() {
  const char* text = std::getenv("SLURM_STEP_TASKS_PER_NODE");
  int node = NumberOf("SLURM_NODEID");
  std::istringstream groups(text == nullptr ? "" : text);
  for (std::string group; std::getline(groups, group, ',');) {
    int ranks = 0, nodes = 1;
    if (std::sscanf(group.c_str(), "%d(x%d)", &ranks, &nodes) < 1) return 0;
    if (node < nodes) return ranks;
    node -= nodes;
  }
  return 0;
}

class MpiCommunicator final : public MessageCommunicator {
 public:
  MpiCommunicator(std::shared_ptr<MpiEngine> engine, MpiGroup group)
      : MessageCommunicator(group.rank, static_cast<int>(group.job_ranks.size())),
        engine_(std::move(engine)),
        group_(std::move(group)) {}

  std::string_view backend() const override { return "mpi"; }
  std::unique_ptr<Communicator> Split(int color, int key) override;
  void Abort(const std::string& reason) noexcept override { engine_->Abort(reason); }
  MpiEngine& engine() { return *engine_; }

 protected:
  Awaitable<std::vector<Tensor>> StartExchange(Context& ctx, const Call& call,
                                               std::vector<Tensor> send,
                                               std::vector<int64_t> receive_counts) override;
  Awaitable<void> StartSend(Context& ctx, const Call& call, const Tensor& flat, int to) override;
  Awaitable<Tensor> StartReceive(Context& ctx, const Call& call, int64_t count, DType dtype,
                                 int from) override;
  std::vector<std::string> ExchangeBytes(const Call& call, std::vector<std::string> send) override;

 private:
  std::shared_ptr<MpiTransfer> Start(const Call& call, std::vector<MpiOutgoing> out,
                                     std::vector<MpiIncoming> in) {
    auto transfer = std::make_shared<MpiTransfer>(group_, engine_->options(), call, std::move(out),
                                                  std::move(in));
    for (const MpiOutgoing& message : transfer->out()) CountSent(message.payload.nbytes());
    engine_->Submit(transfer);
    return transfer;
  }

  std::shared_ptr<MpiEngine> engine_;
  MpiGroup group_;
};

// Messages of tensors. What several ranks are sent is copied to the host once.
class Outgoing {
 public:
  explicit Outgoing(Context& ctx) : ctx_(ctx) {}
  void Add(int to, const Tensor& tensor) {
    std::optional<HostCopy> host_copy;
    if (tensor.device() != Device::Cpu()) {
      const bool same = !messages_.empty() && SameView(messages_.back().payload, tensor);
      host_copy = same ? messages_.back().host_copy : HostCopy(ctx_, tensor);
    }
    messages_.push_back({to, {tensor.dtype(), tensor.numel()}, tensor, std::move(host_copy)});
  }
  std::vector<MpiOutgoing> Take() { return std::move(messages_); }

 private:
  static bool SameView(const Tensor& a, const Tensor& b) {
    return a.raw_data() == b.raw_data() && a.numel() == b.numel() && a.dtype() == b.dtype();
  }
  Context& ctx_;
  std::vector<MpiOutgoing> messages_;
};

// The host memory in which a message arrives, also one for a GPU.
MpiIncoming Expect(Context& ctx, int from, const Content& content) {
  return {from, content, Tensor::EmptyPinned(ctx, {content.count}, content.dtype)};
}

// A message that came to the host, on ctx's device.
Tensor OnDevice(Context& ctx, const Tensor& host) {
  return ctx.device() == Device::Cpu() ? host : host.Clone(ctx);
}

Awaitable<std::vector<Tensor>> MpiCommunicator::StartExchange(Context& ctx, const Call& call,
                                                              std::vector<Tensor> send,
                                                              std::vector<int64_t> receive_counts) {
  Outgoing out(ctx);
  std::vector<MpiIncoming> in;
  const DType dtype = send[0].dtype();
  for (int i = 1; i < size(); ++i) {
    // Each rank begins with another partner.
    const int to = (rank() + i) % size(), from = (rank() + size() - i) % size();
    out.Add(to, send[static_cast<size_t>(to)]);
    in.push_back(Expect(ctx, from, {dtype, receive_counts[static_cast<size_t>(from)]}));
  }
  auto transfer = Start(call, out.Take(), std::move(in));
  return Awaitable<std::vector<Tensor>>(
      [this, &ctx, transfer, own = send[static_cast<size_t>(rank())]] {
        if (size() > 1) engine_->Wait(transfer);
        std::vector<Tensor> received(static_cast<size_t>(size()));
        received[static_cast<size_t>(rank())] = own;
        for (const MpiIncoming& message : transfer->in())
          received[static_cast<size_t>(message.from)] = OnDevice(ctx, message.payload);
        return received;
      });
}

Awaitable<void> MpiCommunicator::StartSend(Context& ctx, const Call& call, const Tensor& flat,
                                           int to) {
  Outgoing out(ctx);
  out.Add(to, flat);
  return Awaitable<void>(
      [this, transfer = Start(call, out.Take(), {})] { engine_->Wait(transfer); });
}

Awaitable<Tensor> MpiCommunicator::StartReceive(Context& ctx, const Call& call, int64_t count,
                                                DType dtype, int from) {
  auto transfer = Start(call, {}, {Expect(ctx, from, {dtype, count})});
  return Awaitable<Tensor>([this, &ctx, transfer] {
    engine_->Wait(transfer);
    return OnDevice(ctx, transfer->in()[0].payload);
  });
}

std::vector<std::string> MpiCommunicator::ExchangeBytes(const Call& call,
                                                        std::vector<std::string> send) {
  std::vector<MpiOutgoing> out;
  std::vector<MpiIncoming> in;
  for (int r = 0; r < size(); ++r) {
    if (r == rank()) continue;
    const auto bytes = std::make_shared<std::string>(std::move(send[static_cast<size_t>(r)]));
    const auto count = static_cast<int64_t>(bytes->size());
    out.push_back({r,
                   {DType::kU8, count, false},
                   Tensor::Borrow(bytes->data(), {count}, DType::kU8, bytes),
                   {}});
    in.push_back({r, {DType::kU8, 0, false}, {}});
  }
  const auto transfer = Start(call, std::move(out), std::move(in));
  if (size() > 1) engine_->Wait(transfer);
  for (const MpiIncoming& message : transfer->in())
    send[static_cast<size_t>(message.from)].assign(
        static_cast<const char*>(message.payload.raw_data()),
        static_cast<size_t>(message.payload.numel()));
  return send;
}

// All ranks of the group have come to the exchange in GroupOf, so none waits long in
// MPI_Comm_split.
std::unique_ptr<Communicator> MpiCommunicator::Split(int color, int key) {
  const std::vector<int> members = GroupOf(color, key);
  MpiGroup group;
  engine_->Run([&] {
    const int mpi_color = members.empty() ? MPI_UNDEFINED : color;
    TESSERA_MPI_CHECK(MPI_Comm_split(group_.comm, mpi_color, PlaceIn(members), &group.comm));
    if (!members.empty()) TESSERA_MPI_CHECK(MPI_Comm_set_errhandler(group.comm, MPI_ERRORS_RETURN));
  });
  if (members.empty()) return nullptr;
  group.rank = PlaceIn(members);
  for (const int member : members)
    group.job_ranks.push_back(group_.job_ranks[static_cast<size_t>(member)]);
  return std::make_unique<MpiCommunicator>(engine_, std::move(group));
}

}  // namespace
}  // namespace internal

bool UnderMpirun() { return MpiSize() > 0; }

int MpiSize() { return internal::Told("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"); }

int MpiRank() { return internal::Told("OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"); }

int MpiLocalSize() {
  if (internal::TheLauncher() == internal::Launcher::kSlurm) return internal::SlurmLocalSize();
  return internal::Told("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "");
}

int MpiLocalRank() {
  return internal::Told("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID");
}

std::unique_ptr<Communicator> MakeMpiCommunicator(const MpiOptions& options) {
  static std::atomic<bool> made = false;
  TESSERA_CHECK(!made.exchange(true),
                "MakeMpiCommunicator: MPI starts once in a process; make other groups by Split");
  auto engine = std::make_shared<internal::MpiEngine>(options);
  internal::MpiGroup all = {MPI_COMM_WORLD, engine->rank(), {}};
  all.job_ranks.resize(static_cast<size_t>(engine->size()));
  std::iota(all.job_ranks.begin(), all.job_ranks.end(), 0);
  return std::make_unique<internal::MpiCommunicator>(std::move(engine), std::move(all));
}

int RunMpiRank(const MpiOptions& options, const std::function<int(Communicator&)>& fn) {
  const std::unique_ptr<Communicator> comm = MakeMpiCommunicator(options);
  std::string failure, line;
  bool of_all = false;  // the others need not be told
  try {
    return fn(*comm);
  } catch (const ErrorOfAllRanks& error) {
    of_all = true;
    if (comm->rank() == 0)
      line = options.line_of_all ? options.line_of_all(error) : error.what() + std::string("\n");
  } catch (const std::exception& error) {
    failure = error.what();
    line = Format("rank {}: {}\n", comm->rank(), failure);
  } catch (...) {
    failure = "an exception that is no std::exception";
    line = Format("rank {}: {}\n", comm->rank(), failure);
  }
  // One write, so that lines of several ranks stay whole.
  std::fwrite(line.data(), 1, line.size(), stderr);
  if (!of_all) comm->Abort(failure);
  static_cast<internal::MpiCommunicator&>(*comm).engine().EndJob();
}

}  // namespace tessera
