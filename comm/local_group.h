#ifndef TESSERA_COMM_LOCAL_GROUP_H_
#define TESSERA_COMM_LOCAL_GROUP_H_
// A mailbox a rank, in memory that the threads of a group share. Putting a message never waits;
// taking sleeps until the messages of all senders are there.
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/call.h"
#include "runtime/device/stream.h"
#include "runtime/tensor.h"

namespace tessera::internal {

struct LocalMessage {
  Call call;
  Content content;
  Tensor tensor;
  Event written;  // when the tensor's elements are there
  std::string bytes;
};

class LocalGroup;

// A group and all that were split from it: they fail together.
class LocalFamily : public std::enable_shared_from_this<LocalFamily> {
 public:
  std::shared_ptr<LocalGroup> NewGroup(int size);
  // Returns one new group to each of its `size` members that asks by this name. Throws
  // CommunicatorAborted after an Abort.
  std::shared_ptr<LocalGroup> JoinGroup(const std::string& name, int size);
  // The first reason counts.
  void Abort(const std::string& reason);
  // Empty while nobody aborted.
  std::string reason() const;

 private:
  struct Forming {
    std::shared_ptr<LocalGroup> group;
    int missing;
  };
  std::shared_ptr<LocalGroup> NewGroupLocked(int size);

  mutable std::mutex mutex_;
  std::string reason_;
  int64_t next_id_ = 0;
  std::vector<std::weak_ptr<LocalGroup>> groups_;
  std::map<std::string, Forming> forming_;
};

class LocalGroup {
 public:
  LocalGroup(std::shared_ptr<LocalFamily> family, int64_t id, int size);

  LocalFamily& family() { return *family_; }
  int64_t id() const { return id_; }  // in the family
  int size() const { return static_cast<int>(boxes_.size()); }

  void Put(int from, int to, LocalMessage message);
  // Returns, by rank, the messages that the other ranks sent to `rank` under this call's number;
  // for a call of two ranks, that of rank `from` alone. Throws CommunicatorAborted if the family
  // was aborted, or if a rank has left that did not send.
  std::vector<std::optional<LocalMessage>> Take(int rank, const Call& call, int from = -1);
  // Rank `rank` sends no more.
  void Leave(int rank);
  void WakeAll();

 private:
  // Collectives by number alone, messages of two ranks by sender and number.
  using Key = std::pair<int, int64_t>;
  struct Slot {
    std::vector<std::optional<LocalMessage>> from;
    int present = 0;
  };
  struct Mailbox {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<Key, Slot> slots;
    std::vector<bool> left;
  };
  static Key KeyOf(const Call& call, int from) { return {call.two_ranks ? from : -1, call.number}; }
  int Expected(const Call& call) const { return call.two_ranks ? 1 : size() - 1; }
  void CheckComing(const Mailbox& box, const Call& call, int from);

  std::shared_ptr<LocalFamily> family_;
  int64_t id_;
  std::vector<std::unique_ptr<Mailbox>> boxes_;
};

}  // namespace tessera::internal
#endif  // TESSERA_COMM_LOCAL_GROUP_H_
