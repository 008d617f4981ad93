#include "serve/http/connection_table.h"

#include <vector>

namespace tessera::serve::internal {

bool ConnectionTable::HasRoom(const std::string& client) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_client_.find(client);
  return open_.size() < static_cast<size_t>(limits_.connections) &&
         (found == by_client_.end() || found->second < limits_.connections_per_client);
}

void ConnectionTable::Add(const std::shared_ptr<Connection>& connection,
                          const std::string& client) {
  const std::lock_guard lock(mutex_);
  int& count = by_client_[client];
  open_.emplace(connection.get(), Entry{connection, client});
  ++count;
}

void ConnectionTable::Remove(const Connection* connection) noexcept {
  const std::lock_guard lock(mutex_);
  const auto entry = open_.find(connection);
  if (entry == open_.end()) return;
  const auto count = by_client_.find(entry->second.client);
  if (--count->second == 0) by_client_.erase(count);
  open_.erase(entry);
}

size_t ConnectionTable::size() const {
  const std::lock_guard lock(mutex_);
  return open_.size();
}

void ConnectionTable::ForEach(const std::function<void(Connection&)>& fn) const {
  std::vector<std::shared_ptr<Connection>> open;  // one may end within fn
  {
    const std::lock_guard lock(mutex_);
    open.reserve(open_.size());
    for (const auto& [key, entry] : open_)
      if (auto connection = entry.connection.lock()) open.push_back(std::move(connection));
  }
  for (const auto& connection : open) fn(*connection);
}

bool ConnectionTable::TakeBytes(int64_t bytes) {
  int64_t taken = body_bytes_;
  do {
    if (taken + bytes > limits_.max_bodies) return false;
  } while (!body_bytes_.compare_exchange_weak(taken, taken + bytes));
  return true;
}

}  // namespace tessera::serve::internal
