#ifndef TESSERA_TESTS_SERVE_HTTP_TESTING_HTTP_CLIENT_H_
#define TESSERA_TESTS_SERVE_HTTP_TESTING_HTTP_CLIENT_H_
// A client of HTTP/1.1 that sends whatever bytes it is told to.
#include <string>
#include <string_view>

namespace tessera::testing {

struct HttpAnswer {
  int status = 0;  // 0: the connection was closed before an answer
  std::string head, body;

  // The value of a field, "" without it.
  std::string Header(const std::string& name) const;
};

class HttpClient {
 public:
  // Connects to this machine.
  explicit HttpClient(int port);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // `fields` are lines of a head, each with its CR LF.
  HttpAnswer Get(const std::string& path, const std::string& fields = "");
  HttpAnswer Post(const std::string& path, const std::string& body, const std::string& type,
                  const std::string& fields = "");

  // Bytes as they are. False when the server takes no more.
  bool Send(std::string_view bytes);
  // The next answer; of one to a HEAD request, only the head.
  HttpAnswer Receive(bool with_body = true);
  // Whether bytes have come, or the connection was closed.
  bool HasAnswer() const;
  // Whether the server closes the connection, having sent nothing more.
  bool IsClosed();

  // Waits until one of the two has bytes to receive and returns it: `a` where both have, and where
  // neither has within a minute.
  friend HttpClient& FirstToAnswer(HttpClient& a, HttpClient& b);

 private:
  bool ReadMore();

  int socket_ = -1;
  std::string came_;
};

HttpClient& FirstToAnswer(HttpClient& a, HttpClient& b);

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_SERVE_HTTP_TESTING_HTTP_CLIENT_H_
