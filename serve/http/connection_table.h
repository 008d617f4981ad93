#ifndef TESSERA_SERVE_HTTP_CONNECTION_TABLE_H_
#define TESSERA_SERVE_HTTP_CONNECTION_TABLE_H_
// The connections of a server that are open. Any thread may call.
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "serve/http/connection_limits.h"

namespace tessera::serve::internal {

class Connection;

class ConnectionTable {
 public:
  explicit ConnectionTable(const ConnectionLimits& limits) : limits_(limits) {}

  // Whether there is room for one more, of this client.
  bool HasRoom(const std::string& client) const;
  void Add(const std::shared_ptr<Connection>& connection, const std::string& client);
  void Remove(const Connection* connection) noexcept;
  size_t size() const;
  // fn for each that is open.
  void ForEach(const std::function<void(Connection&)>& fn) const;

  // Takes so many bytes of ConnectionLimits::max_bodies, or says no.
  bool TakeBytes(int64_t bytes);
  void GiveBytes(int64_t bytes) { body_bytes_ -= bytes; }

  // The server is to end: connections close after the answer that is on its way.
  std::atomic<bool> draining = false;

 private:
  struct Entry {
    std::weak_ptr<Connection> connection;
    std::string client;
  };

  const ConnectionLimits& limits_;
  std::atomic<int64_t> body_bytes_ = 0;
  mutable std::mutex mutex_;  // of what follows
  std::map<const Connection*, Entry> open_;
  std::map<std::string, int> by_client_;
};

}  // namespace tessera::serve::internal
#endif  // TESSERA_SERVE_HTTP_CONNECTION_TABLE_H_
