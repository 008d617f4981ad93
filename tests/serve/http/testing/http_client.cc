#include "tests/serve/http/testing/http_client.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/check.h"

namespace tessera::testing {
namespace {

constexpr int kSeconds = 60;  // that no test sits out

}  // namespace

std::string HttpAnswer::Header(const std::string& name) const {
  const size_t at = head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return "";
  const size_t begin = at + 2 + name.size() + 2;
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

HttpClient::HttpClient(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
  const timeval limit{kSeconds, 0};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  TESSERA_CHECK(connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0,
                "no connection to port {}", port);
}

HttpClient::~HttpClient() { close(socket_); }

HttpAnswer HttpClient::Get(const std::string& path, const std::string& fields) {
  Send("GET " + path + " HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n");
  return Receive();
}

HttpAnswer HttpClient::Post(const std::string& path, const std::string& body,
                            const std::string& type, const std::string& fields) {
  Send("POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Type: " + type +
       "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + fields + "\r\n" + body);
  return Receive();
}

bool HttpClient::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool HttpClient::ReadMore() {
  char piece[1 << 16];
  const ssize_t count = recv(socket_, piece, sizeof piece, 0);
  if (count > 0) came_.append(piece, static_cast<size_t>(count));
  return count > 0;
}

HttpAnswer HttpClient::Receive(bool with_body) {
  HttpAnswer answer;
  size_t end = 0;
  while ((end = came_.find("\r\n\r\n")) == std::string::npos)
    if (!ReadMore()) return answer;
  answer.head = came_.substr(0, end + 2);
  came_.erase(0, end + 4);
  const std::string length = answer.Header("Content-Length");
  const size_t bytes = with_body && !length.empty() ? std::stoul(length) : 0;
  while (came_.size() < bytes)
    if (!ReadMore()) return answer;
  answer.status = std::stoi(answer.head.substr(answer.head.find(' ') + 1));
  answer.body = came_.substr(0, bytes);
  came_.erase(0, bytes);
  return answer;
}

bool HttpClient::IsClosed() { return came_.empty() && !ReadMore(); }

bool HttpClient::HasAnswer() const {
  pollfd one{.fd = socket_, .events = POLLIN, .revents = 0};
  return !came_.empty() || poll(&one, 1, 0) > 0;
}

HttpClient& FirstToAnswer(HttpClient& a, HttpClient& b) {
  pollfd sockets[] = {{a.socket_, POLLIN, 0}, {b.socket_, POLLIN, 0}};
  poll(sockets, 2, kSeconds * 1000);
  return sockets[0].revents == 0 && sockets[1].revents != 0 ? b : a;
}

}  // namespace tessera::testing
