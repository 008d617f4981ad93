#include "train/pipeline/own_companion.h"

#include <map>
#include <mutex>
#include <set>

#include "runtime/base/check.h"

namespace tessera::internal {
namespace {

// The numbers that are taken, by communicator: ranks may be threads of one process.
class TakenNumbers {
 public:
  int Take(const Communicator& comm) {
    const std::lock_guard lock(mutex_);
    std::set<int>& taken = taken_[&comm];
    int number = 0;
    while (taken.contains(number)) ++number;
    taken.insert(number);
    return number;
  }
  void GiveBack(const Communicator& comm, int number) {
    const std::lock_guard lock(mutex_);
    const auto entry = taken_.find(&comm);
    entry->second.erase(number);
    if (entry->second.empty()) taken_.erase(entry);
  }

 private:
  std::mutex mutex_;
  std::map<const Communicator*, std::set<int>> taken_;
};

TakenNumbers& Numbers() {
  static TakenNumbers numbers;
  return numbers;
}

}  // namespace

OwnCompanion::OwnCompanion(Communicator& comm) : parent_(comm), number_(Numbers().Take(comm)) {
  try {
    companion_ = &comm.Companion(Format("input_dist {}", number_));
  } catch (...) {
    Numbers().GiveBack(comm, number_);
    throw;
  }
}

OwnCompanion::~OwnCompanion() { Numbers().GiveBack(parent_, number_); }

}  // namespace tessera::internal
