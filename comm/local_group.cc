#include "comm/local_group.h"

#include <algorithm>
#include <utility>

#include "comm/communicator.h"
#include "comm/exchange_time.h"

namespace tessera::internal {

std::shared_ptr<LocalGroup> LocalFamily::NewGroup(int size) {
  const std::lock_guard lock(mutex_);
  return NewGroupLocked(size);
}

std::shared_ptr<LocalGroup> LocalFamily::NewGroupLocked(int size) {
  auto group = std::make_shared<LocalGroup>(shared_from_this(), next_id_++, size);
  std::erase_if(groups_, [](const auto& other) { return other.expired(); });
  groups_.push_back(group);
  return group;
}

std::shared_ptr<LocalGroup> LocalFamily::JoinGroup(const std::string& name, int size) {
  const std::lock_guard lock(mutex_);
  if (!reason_.empty()) throw CommunicatorAborted("Split: " + reason_);
  Forming& forming = forming_[name];
  if (!forming.group) forming = {NewGroupLocked(size), size};
  std::shared_ptr<LocalGroup> group = forming.group;
  if (--forming.missing == 0) forming_.erase(name);
  return group;
}

void LocalFamily::Abort(const std::string& reason) {
  std::vector<std::shared_ptr<LocalGroup>> groups;
  std::map<std::string, Forming> forming;
  {
    const std::lock_guard lock(mutex_);
    forming.swap(forming_);
    if (reason_.empty()) reason_ = reason;
    for (const auto& group : groups_)
      if (auto alive = group.lock()) groups.push_back(std::move(alive));
  }
  for (const auto& group : groups) group->WakeAll();
}

std::string LocalFamily::reason() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

LocalGroup::LocalGroup(std::shared_ptr<LocalFamily> family, int64_t id, int size)
    : family_(std::move(family)), id_(id) {
  for (int r = 0; r < size; ++r) {
    boxes_.push_back(std::make_unique<Mailbox>());
    boxes_.back()->left.assign(static_cast<size_t>(size), false);
  }
}

void LocalGroup::Put(int from, int to, LocalMessage message) {
  Mailbox& box = *boxes_[static_cast<size_t>(to)];
  const int expected = Expected(message.call);
  const std::lock_guard lock(box.mutex);
  Slot& slot = box.slots[KeyOf(message.call, from)];
  slot.from.resize(boxes_.size());
  slot.from[static_cast<size_t>(from)] = std::move(message);
  if (++slot.present == expected) box.changed.notify_one();
}

std::vector<std::optional<LocalMessage>> LocalGroup::Take(int rank, const Call& call, int from) {
  const ExchangeTime time;
  Mailbox& box = *boxes_[static_cast<size_t>(rank)];
  std::unique_lock lock(box.mutex);
  const Key key = KeyOf(call, from);
  while (box.slots[key].present < Expected(call)) {
    CheckComing(box, call, from);
    box.changed.wait(lock);
  }
  auto messages = std::move(box.slots[key].from);
  box.slots.erase(key);
  messages.resize(boxes_.size());
  return messages;
}

void LocalGroup::CheckComing(const Mailbox& box, const Call& call, int from) {
  if (const std::string reason = family_->reason(); !reason.empty())
    throw CommunicatorAborted(Format("waited in {}: {}", call, reason));
  const Slot& slot = box.slots.at(KeyOf(call, from));
  for (size_t r = 0; r < boxes_.size(); ++r) {
    if (!box.left[r] || (from >= 0 && static_cast<int>(r) != from)) continue;
    if (slot.from.empty() || !slot.from[r])
      throw CommunicatorAborted(
          Format("waits in {}, but rank {} has left without making this call", call, r));
  }
}

void LocalGroup::Leave(int rank) {
  for (const auto& box : boxes_) {
    const std::lock_guard lock(box->mutex);
    box->left[static_cast<size_t>(rank)] = true;
    box->changed.notify_all();
  }
}

void LocalGroup::WakeAll() {
  for (const auto& box : boxes_) {
    const std::lock_guard lock(box->mutex);
    box->changed.notify_all();
  }
}

}  // namespace tessera::internal
