#ifndef TESSERA_SERVE_HTTP_CONNECTION_LIMITS_H_
#define TESSERA_SERVE_HTTP_CONNECTION_LIMITS_H_
// Limits on what a client may take from a server: sizes, times, and its share of connections.
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace tessera::serve {

struct ConnectionLimits {
  size_t max_header = 16 << 10;  // bytes of a request's head; beyond: 431
  size_t max_body = 16 << 20;    // bytes, also of chunked and of decoded ones; beyond: 413
  // Bytes of all bodies beyond their first 64 KiB, read or being answered; beyond: 503.
  int64_t max_bodies = int64_t{256} << 20;
  int connections = 1024;                         // the next is answered by 503 and closed
  int connections_per_client = 256;               // by address
  std::chrono::milliseconds header_time{10'000};  // from a request's first byte to its head's last
  std::chrono::milliseconds body_time{60'000};    // from there to its body's last; beyond: 408
  std::chrono::milliseconds write_time{30'000};   // in which an answer is taken
  std::chrono::milliseconds idle_time{60'000};    // between two requests
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_HTTP_CONNECTION_LIMITS_H_
