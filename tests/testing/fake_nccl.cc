// Stands in for the part of NCCL's C interface that Tessera uses; fake_nccl.h says how.
#include "tests/testing/fake_nccl.h"

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/testing/fake_nccl_comm.h"

namespace {

using namespace fake_nccl;
using namespace tessera::testing;

// ---- faults

struct Fault {
  std::mutex mutex;
  int kind = kFakeNcclNoFault, rank = 0, after = 0;
} fault;

bool TakeFault(int rank, int kind) {
  const std::lock_guard lock(fault.mutex);
  if (fault.kind != kind || fault.rank != rank) return false;
  fault.kind = kFakeNcclNoFault;
  return true;
}

int TakeFault(int rank) {
  const std::lock_guard lock(fault.mutex);
  if (fault.kind == kFakeNcclNoFault || fault.rank != rank || fault.after-- > 0)
    return kFakeNcclNoFault;
  return std::exchange(fault.kind, kFakeNcclNoFault);
}

// Makes the rank's call hang until somebody aborts it.
int Hang(Comm* comm, int async_error) {
  std::unique_lock lock(comm->clique->mutex);
  comm->async_error = async_error;
  (void)comm->WaitUntil(lock, [] { return false; });
  return kSystemError;
}

// ---- what is computed

size_t SizeOf(int type) { return type == 1 ? 1 : type == 2 || type == 7 ? 4 : 8; }

template <typename T>
void ReduceInto(T* sum, const T* x, size_t n, int op) {
  for (size_t i = 0; i < n; ++i) {
    if (op == 2)
      sum[i] = sum[i] < x[i] ? x[i] : sum[i];
    else if (op == 3)
      sum[i] = x[i] < sum[i] ? x[i] : sum[i];
    else
      sum[i] = sum[i] + x[i];
  }
}
void ReduceInto(char* sum, const char* x, size_t n, int type, int op) {
  if (type == 2)
    ReduceInto(reinterpret_cast<int32_t*>(sum), reinterpret_cast<const int32_t*>(x), n, op);
  if (type == 4)
    ReduceInto(reinterpret_cast<int64_t*>(sum), reinterpret_cast<const int64_t*>(x), n, op);
  if (type == 7)
    ReduceInto(reinterpret_cast<float*>(sum), reinterpret_cast<const float*>(x), n, op);
  if (type == 8)
    ReduceInto(reinterpret_cast<double*>(sum), reinterpret_cast<const double*>(x), n, op);
}

// The result of a collective for rank `rank`. Runs on the device.
std::vector<char> ResultOf(const std::vector<PostPtr>& posts, int rank) {
  const Op& op = posts[0]->op;
  const size_t bytes = op.count * SizeOf(op.type);
  const auto from = [&](size_t r) { return static_cast<const char*>(posts[r]->op.from); };
  if (op.kind == Kind::kBroadcast) {
    const char* root = from(static_cast<size_t>(op.other));
    return {root, root + bytes};
  }
  std::vector<char> result;
  if (op.kind == Kind::kAllGather) {
    for (size_t r = 0; r < posts.size(); ++r) result.insert(result.end(), from(r), from(r) + bytes);
    return result;
  }
  const size_t skip = op.kind == Kind::kReduceScatter ? bytes * static_cast<size_t>(rank) : 0;
  result.assign(from(0) + skip, from(0) + skip + bytes);
  for (size_t r = 1; r < posts.size(); ++r)
    ReduceInto(result.data(), from(r) + skip, op.count, op.type, op.other);
  return result;
}

bool Agree(const std::vector<PostPtr>& posts) {
  const Op& a = posts[0]->op;
  for (const PostPtr& post : posts) {
    const Op& b = post->op;
    if (a.kind != b.kind || a.count != b.count || a.type != b.type || a.other != b.other)
      return false;
  }
  return true;
}

// ---- a group

// One operation of a group, from its post to the place where all are done with its buffers.
struct Running {
  PostPtr post;
  std::vector<PostPtr> round;  // of a collective
  std::shared_ptr<std::vector<char>> result;
};

Running PostOp(const Op& op) {
  Comm& comm = *op.comm;
  Running running{std::make_shared<Post>(Post{op, Mark(op.stream), nullptr}), {}, nullptr};
  const std::lock_guard lock(comm.clique->mutex);
  if (op.kind == Kind::kSend) {
    comm.clique->messages[{comm.rank, op.other}].push_back(running.post);
  } else if (op.kind != Kind::kRecv) {
    auto& round = comm.clique->rounds[comm.next_round];
    round.resize(static_cast<size_t>(comm.clique->size));
    round[static_cast<size_t>(comm.rank)] = running.post;
  }
  comm.clique->changed.notify_all();
  return running;
}

void SetDone(Comm& comm, Post& post, Place done) {
  const std::lock_guard lock(comm.clique->mutex);
  post.done = std::move(done);
  comm.clique->changed.notify_all();
}

int RunReceive(Running& running) {
  const Op& op = running.post->op;
  Comm& comm = *op.comm;
  PostPtr sent;
  {
    std::unique_lock lock(comm.clique->mutex);
    auto& queue = comm.clique->messages[{op.other, comm.rank}];
    if (!comm.WaitUntil(lock, [&] { return !queue.empty(); })) return kSystemError;
    sent = queue.front();
    queue.pop_front();
  }
  if (sent->op.count * SizeOf(sent->op.type) != op.count * SizeOf(op.type))
    return Hang(&comm, kInvalidUsage);
  Follow(op.stream, sent->ready);
  (void)cudaMemcpyAsync(op.to, sent->op.from, op.count * SizeOf(op.type), cudaMemcpyDefault,
                        op.stream);
  SetDone(comm, *sent, Mark(op.stream));
  return kSuccess;
}

int RunCollective(Running& running) {
  const Op& op = running.post->op;
  Comm& comm = *op.comm;
  {
    std::unique_lock lock(comm.clique->mutex);
    auto& round = comm.clique->rounds[comm.next_round++];
    const auto complete = [&] {
      for (const PostPtr& post : round)
        if (!post) return false;
      return true;
    };
    if (!comm.WaitUntil(lock, complete)) return kSystemError;
    running.round = round;
  }
  if (!Agree(running.round)) return Hang(&comm, kInvalidUsage);
  for (const PostPtr& post : running.round) Follow(op.stream, post->ready);
  running.result = std::make_shared<std::vector<char>>();
  cuda_emulation::Enqueue(op.stream, [result = running.result, round = running.round,
                                      rank = comm.rank] { *result = ResultOf(round, rank); });
  SetDone(comm, *running.post, Mark(op.stream));
  return kSuccess;
}

// The stream goes on when nobody uses the buffers any more; only then are results written, since
// they may lie where others read.
int Finish(const Running& running) {
  const Op& op = running.post->op;
  Comm& comm = *op.comm;
  if (op.kind == Kind::kRecv) return kSuccess;
  std::vector<PostPtr> readers = running.round;
  if (op.kind == Kind::kSend) readers = {running.post};
  for (const PostPtr& post : readers) {
    std::unique_lock lock(comm.clique->mutex);
    if (!comm.WaitUntil(lock, [&] { return post->done != nullptr; })) return kSystemError;
    Follow(op.stream, post->done);
  }
  if (running.result)
    cuda_emulation::Enqueue(op.stream, [result = running.result, to = op.to] {
      std::memcpy(to, result->data(), result->size());
    });
  return kSuccess;
}

int RunGroup(const std::vector<Op>& ops) {
  if (ops.empty()) return kSuccess;
  Comm* comm = ops[0].comm;
  switch (TakeFault(comm->rank)) {
    case kFakeNcclHang:
      return Hang(comm, kSuccess);
    case kFakeNcclError:
      return kSystemError;
    case kFakeNcclAsyncError:
      return Hang(comm, kRemoteError);
  }
  std::vector<Running> running;
  for (const Op& op : ops) running.push_back(PostOp(op));
  for (Running& r : running) {
    if (r.post->op.kind == Kind::kSend) continue;
    const int status = r.post->op.kind == Kind::kRecv ? RunReceive(r) : RunCollective(r);
    if (status != kSuccess) return status;
  }
  for (const Running& r : running)
    if (const int status = Finish(r); status != kSuccess) return status;
  return kSuccess;
}

thread_local int depth = 0;
thread_local std::vector<Op> group;

std::atomic<int> uses_after_abort = 0;
std::atomic<void (*)()> at_group_start = nullptr;

int Put(const Op& op) {
  if (op.comm != nullptr && op.comm->aborted) ++uses_after_abort;
  if (op.comm == nullptr || op.comm->aborted) return kInvalidArgument;
  group.push_back(op);
  return depth > 0 ? kSuccess : RunGroup(std::exchange(group, {}));
}

struct Id {
  char bytes[128];
};

std::shared_ptr<Clique> CliqueOf(const Id& id, int size) {
  static std::mutex mutex;
  static auto& cliques = *new std::map<std::string, std::shared_ptr<Clique>>;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Clique>& clique = cliques[std::string(id.bytes, sizeof id.bytes)];
  if (!clique) clique = std::make_shared<Clique>();
  clique->size = size;
  return clique;
}

// This rank's place among those of its color: by key, then by rank.
int PlaceOf(const Splitting& splitting, int rank) {
  const auto [color, key] = splitting.wishes.at(rank);
  int place = 0;
  for (const auto& [r, wish] : splitting.wishes)
    if (wish.first == color && std::pair(wish.second, r) < std::pair(key, rank)) ++place;
  return place;
}

}  // namespace

extern "C" {

void fakeNcclInject(int kind, int rank, int after) {
  const std::lock_guard lock(fault.mutex);
  fault.kind = kind;
  fault.rank = rank;
  fault.after = after;
}

void fakeNcclAtGroupStart(void (*hook)()) { at_group_start = hook; }
int fakeNcclUsesAfterAbort() { return uses_after_abort; }

int ncclGetVersion(int* version) {
  *version = 22100;
  return kSuccess;
}
const char* ncclGetErrorString(int status) {
  switch (status) {
    case kSystemError:
      return "unhandled system error";
    case kInvalidArgument:
      return "invalid argument";
    case kInvalidUsage:
      return "invalid usage";
    case kRemoteError:
      return "remote process exited or there was a network error";
  }
  return "no error";
}
const char* ncclGetLastError(Comm*) { return "from the fake NCCL"; }

int ncclGetUniqueId(Id* id) {
  static std::mutex mutex;
  static int64_t next = 0;
  const std::lock_guard lock(mutex);
  *id = {};
  std::memcpy(id->bytes, &++next, sizeof next);
  return kSuccess;
}
int ncclCommInitRank(Comm** comm, int ranks, Id id, int rank) {
  const std::shared_ptr<Clique> clique = CliqueOf(id, ranks);
  *comm = NewComm(clique, rank);
  std::unique_lock lock(clique->mutex);
  if (TakeFault(rank, kFakeNcclNoInit)) clique->changed.wait(lock, [] { return false; });
  ++clique->joined;
  clique->changed.notify_all();
  clique->changed.wait(lock, [&] { return clique->joined == ranks; });
  return kSuccess;
}
int ncclCommSplit(Comm* comm, int color, int key, Comm** part, void*) {
  Clique& clique = *comm->clique;
  std::unique_lock lock(clique.mutex);
  Splitting& splitting = clique.splittings[comm->next_split++];
  splitting.wishes[comm->rank] = {color, key};
  clique.changed.notify_all();
  const auto all = [&] { return static_cast<int>(splitting.wishes.size()) == clique.size; };
  if (!comm->WaitUntil(lock, all)) return kSystemError;
  *part = nullptr;
  if (color < 0) return kSuccess;
  std::shared_ptr<Clique>& members = splitting.parts[color];
  if (!members) members = std::make_shared<Clique>();
  members->size = 0;
  for (const auto& [rank, wish] : splitting.wishes) members->size += wish.first == color;
  *part = NewComm(members, PlaceOf(splitting, comm->rank));
  return kSuccess;
}
int ncclCommDestroy(Comm* comm) { return comm->aborted ? kInvalidArgument : kSuccess; }
int ncclCommAbort(Comm* comm) {
  const std::lock_guard lock(comm->clique->mutex);
  comm->aborted = true;
  comm->clique->changed.notify_all();
  return kSuccess;
}
int ncclCommGetAsyncError(Comm* comm, int* status) {
  const std::lock_guard lock(comm->clique->mutex);
  *status = comm->async_error;
  return kSuccess;
}

int ncclGroupStart() {
  if (void (*hook)() = at_group_start.exchange(nullptr)) hook();
  ++depth;
  return kSuccess;
}
int ncclGroupEnd() { return --depth > 0 ? kSuccess : RunGroup(std::exchange(group, {})); }

int ncclSend(const void* from, size_t count, int type, int to, Comm* comm, cudaStream_t stream) {
  return Put({Kind::kSend, from, nullptr, count, type, to, comm, stream});
}
int ncclRecv(void* to, size_t count, int type, int from, Comm* comm, cudaStream_t stream) {
  return Put({Kind::kRecv, nullptr, to, count, type, from, comm, stream});
}
int ncclAllReduce(const void* from, void* to, size_t count, int type, int op, Comm* comm,
                  cudaStream_t stream) {
  return Put({Kind::kAllReduce, from, to, count, type, op, comm, stream});
}
int ncclReduceScatter(const void* from, void* to, size_t count, int type, int op, Comm* comm,
                      cudaStream_t stream) {
  return Put({Kind::kReduceScatter, from, to, count, type, op, comm, stream});
}
int ncclAllGather(const void* from, void* to, size_t count, int type, Comm* comm,
                  cudaStream_t stream) {
  return Put({Kind::kAllGather, from, to, count, type, 0, comm, stream});
}
int ncclBroadcast(const void* from, void* to, size_t count, int type, int root, Comm* comm,
                  cudaStream_t stream) {
  return Put({Kind::kBroadcast, from, to, count, type, root, comm, stream});
}

}  // extern "C"
