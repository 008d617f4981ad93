#include <algorithm>
#include <map>
#include <utility>

#include "comm/communicator.h"
#include "comm/nccl/nccl_watch.h"
#include "runtime/base/start_threads.h"
#include "runtime/device/cuda_check.h"

namespace tessera::internal {
namespace {

// How often calls on their way are looked at: far below what a time-out is set to, far above what a
// look costs.
constexpr std::chrono::milliseconds kPeriod(50);

}  // namespace

std::shared_ptr<NcclFamily> NcclFamily::Of(const NcclUniqueId& id) {
  static std::mutex mutex;
  static auto& families = *new std::map<std::string, std::weak_ptr<NcclFamily>>;
  const std::lock_guard lock(mutex);
  std::erase_if(families, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<NcclFamily>& known = families[std::string(id.bytes, sizeof id.bytes)];
  std::shared_ptr<NcclFamily> family = known.lock();
  if (!family) known = family = std::make_shared<NcclFamily>();
  return family;
}

void NcclFamily::Abort(const std::string& reason) noexcept {
  const std::lock_guard lock(mutex_);
  if (!reason_.empty()) return;
  reason_ = reason;
  for (NcclWatch* member : members_) member->AbortComm();
}

std::string NcclFamily::reason() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

void NcclFamily::Join(NcclWatch* watch) {
  const std::lock_guard lock(mutex_);
  members_.push_back(watch);
  if (!reason_.empty()) watch->AbortComm();
}

void NcclFamily::Leave(NcclWatch* watch) {
  const std::lock_guard lock(mutex_);
  std::erase(members_, watch);
}

NcclWatch::NcclWatch(std::shared_ptr<NcclFamily> family, NcclComm comm, NcclWatchOptions options)
    : family_(std::move(family)), options_(std::move(options)), comm_(comm) {
  thread_ = StartThread("watch over NCCL", [this] { Run(); });
  family_->Join(this);
}

NcclWatch::~NcclWatch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
  family_->Leave(this);
  if (!aborted_) (void)nccl_.comm_destroy(comm_);
}

int64_t NcclWatch::Begin(const Call& call) {
  CheckAlive(call);
  int64_t id;
  {
    const std::lock_guard lock(mutex_);
    id = next_id_++;
    flights_.push_back({id, call, true, {}, {}, true, Clock::now()});
  }
  changed_.notify_one();
  return id;
}

void NcclWatch::Queued(int64_t id, Event begun, Event done) {
  const std::lock_guard lock(mutex_);
  for (Flight& f : flights_) {
    if (f.id != id) continue;
    f.in_host = f.running = false;
    f.begun = std::move(begun);
    f.done = std::move(done);
  }
}

void NcclWatch::Finished(int64_t id) {
  const std::lock_guard lock(mutex_);
  std::erase_if(flights_, [&](const Flight& f) { return f.id == id; });
}

void NcclWatch::CheckAlive(const Call& call) const {
  const std::string reason = family_->reason();
  if (!reason.empty()) throw CommunicatorAborted(Format("{}: {}", call, reason));
}

void NcclWatch::AbortComm() noexcept {
  const std::lock_guard lock(comm_mutex_);
  if (!std::exchange(aborted_, true)) (void)nccl_.comm_abort(comm_);
}

void NcclWatch::Run() {
  TESSERA_CUDA_LOG(cudaSetDevice(options_.device.index));  // a thread begins on the first one
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (flights_.empty()) {
      changed_.wait(lock);
      continue;
    }
    std::string failure;
    try {
      failure = Look();
    } catch (const std::exception& error) {  // CUDA's, of an event
      failure = error.what();
    }
    if (failure.empty()) {
      changed_.wait_for(lock, kPeriod);
      continue;
    }
    lock.unlock();
    options_.fail(failure);
    lock.lock();
    flights_.clear();
  }
}

std::string NcclWatch::Look() {
  if (const std::string reason = options_.host_failure(); !reason.empty()) return reason;
  if (const std::string reason = family_->reason(); !reason.empty()) return reason;
  while (!flights_.empty() && !flights_.front().in_host && flights_.front().done.done())
    flights_.pop_front();
  if (flights_.empty()) return {};
  Flight& oldest = flights_.front();
  if (!oldest.running && oldest.begun.done()) {
    oldest.running = true;
    oldest.since = Clock::now();
  }
  const auto found =
      std::find_if(flights_.begin(), flights_.end(), [](const Flight& f) { return f.running; });
  const Flight& running = found == flights_.end() ? oldest : *found;
  if (const std::string error = AsyncError(); !error.empty())
    return Format("{}: NCCL reports: {}", running.call, error);
  const double limit = options_.timeout_seconds;
  const std::chrono::duration<double> waited = Clock::now() - running.since;
  if (limit == 0 || !running.running || waited.count() < limit) return {};
  return Format("{}: no result after {} s", running.call, limit);
}

std::string NcclWatch::AsyncError() {
  const std::lock_guard lock(comm_mutex_);
  int status = 0;
  if (aborted_ || nccl_.comm_get_async_error(comm_, &status) != 0) return {};
  if (status == 0 || status == kNcclInProgress) return {};
  return Format("{} ({})", nccl_.get_error_string(status), nccl_.get_last_error(comm_));
}

}  // namespace tessera::internal
