// Latency of a running `tessera serve`, over HTTP, as a client sees it:
//
//   http_bench PORT BODY.json [RATE [SECONDS]]
//
// sends the body to the model named "model": first one request after another over one connection;
// then an open loop, requests that come at random times (Poisson) at RATE (2,000) a second over 32
// connections, however long answers take. Latency is from the time a request was due.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace tessera::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kConnections = 32;

class HttpConnection {
 public:
  explicit HttpConnection(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    const int on = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      std::perror("connect"), std::exit(1);
  }
  ~HttpConnection() { close(socket_); }
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  // Whether the answer is 200.
  bool Ask(const std::string& request) {
    if (send(socket_, request.data(), request.size(), MSG_NOSIGNAL) < 0) return false;
    std::string answer;
    char piece[1 << 16];
    for (size_t whole = std::string::npos; answer.size() < whole;) {
      const ssize_t count = recv(socket_, piece, sizeof piece, 0);
      if (count <= 0) return false;
      answer.append(piece, static_cast<size_t>(count));
      const size_t head = answer.find("\r\n\r\n"), length = answer.find("Content-Length: ");
      if (head == std::string::npos || length > head) continue;
      whole = head + 4 + std::strtoul(answer.c_str() + length + 16, nullptr, 10);
    }
    return answer.starts_with("HTTP/1.1 200");
  }

 private:
  const int socket_;
};

struct Latencies {
  std::mutex mutex;
  std::vector<double> seconds;
  std::atomic<int> failed = 0;

  void Add(Clock::time_point due, bool ok) {
    const double taken = std::chrono::duration<double>(Clock::now() - due).count();
    if (!ok) ++failed;
    const std::lock_guard lock(mutex);
    seconds.push_back(taken);
  }
  void Print(const char* name) {
    std::sort(seconds.begin(), seconds.end());
    const auto at = [&](double share) {
      return 1e6 * seconds[static_cast<size_t>(share * static_cast<double>(seconds.size() - 1))];
    };
    std::printf("%-12s p50 %8.1f us  p99 %8.1f us  p99.9 %8.1f us  (%zu, %d failed)\n", name,
                at(0.5), at(0.99), at(0.999), seconds.size(), failed.load());
  }
};

void ClosedLoop(int port, const std::string& request, double seconds) {
  HttpConnection connection(port);
  Latencies latencies;
  for (const auto begin = Clock::now();
       Clock::now() - begin < std::chrono::duration<double>(seconds);) {
    const auto due = Clock::now();
    latencies.Add(due, connection.Ask(request));
  }
  latencies.Print("closed loop");
}

void OpenLoop(int port, const std::string& request, double rate, double seconds) {
  std::mt19937_64 random(11);
  std::exponential_distribution<double> pause(rate);
  std::vector<Clock::time_point> due;
  const auto begin = Clock::now() + std::chrono::milliseconds(100);
  for (double at = 0; (at += pause(random)) < seconds;)
    due.push_back(begin +
                  std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(at)));
  Latencies latencies;
  std::atomic<size_t> next = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kConnections; ++t)
    threads.emplace_back([&] {
      HttpConnection connection(port);
      for (size_t i; (i = next++) < due.size();) {
        std::this_thread::sleep_until(due[i]);
        latencies.Add(due[i], connection.Ask(request));
      }
    });
  for (std::thread& thread : threads) thread.join();
  latencies.Print("open loop");
}

int Main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "http_bench PORT BODY.json [RATE [SECONDS]]\n"), 1;
  std::ifstream file(argv[2], std::ios::binary);
  const std::string body{std::istreambuf_iterator<char>(file), {}};
  const std::string request =
      "POST /v2/models/model/infer HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body;
  const int port = std::atoi(argv[1]);
  const double rate = argc > 3 ? std::atof(argv[3]) : 2000,
               seconds = argc > 4 ? std::atof(argv[4]) : 10;
  ClosedLoop(port, request, seconds);
  OpenLoop(port, request, rate, seconds);
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) { return tessera::bench::Main(argc, argv); }
