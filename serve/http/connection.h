#ifndef TESSERA_SERVE_HTTP_CONNECTION_H_
#define TESSERA_SERVE_HTTP_CONNECTION_H_
// One client's connection, HTTP/1.1 over TCP. It reads a request, has it answered, and reads the
// next one then, so that answers come in the order of requests however many were sent at once. It
// holds no thread: all of it runs in steps on its strand, but for Reply, which any thread may call.
//
//   idle -> head -> body -> answering -> writing -> idle, or, at its end, lingering -> closed
//
// An encoded body is decoded while it is in "answering".
//
// Whatever is wrong with a request is answered once, and the connection closed: what lies behind it
// is no request. Lingering reads what still comes, for a moment, so that the answer is not lost.
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "serve/http/access_log.h"
#include "serve/http/body_encoding.h"
#include "serve/http/connection_limits.h"
#include "serve/http/connection_table.h"
#include "serve/http/inference_service.h"
#include "serve/http/request_head.h"

namespace tessera::serve::internal {

// Executors of their own types: Asio's executor of any type takes memory where it can't be refused.
using Strand = boost::asio::strand<boost::asio::io_context::executor_type>;
using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Strand>;

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // The others must outlive it. log: of its requests; null: none.
  Connection(Socket socket, InferenceService& service, ConnectionTable& table,
             const ConnectionLimits& limits, AccessLog* log, std::string client);
  ~Connection();

  // Any thread may call these.
  void Start();
  // Ends what took too long.
  void Expire();
  // Closes it unless a request has begun.
  void Drain();
  // Closes it. Only where no thread runs its strand.
  void Close();

 private:
  using Clock = std::chrono::steady_clock;
  enum class Phase { kIdle, kHead, kBody, kAnswering, kWriting, kLingering, kClosed };

  // fn() on the strand; what it throws ends the connection with an answer.
  template <typename Fn>
  void Post(Fn fn);
  template <typename Fn>
  void Guarded(Fn fn);

  void Enter(Phase phase, std::chrono::milliseconds time);
  bool IsLate() const { return Clock::now().time_since_epoch().count() > deadline_; }
  void Read();
  void OnRead(boost::system::error_code error, size_t count);
  // Goes on with the bytes that are there.
  void Advance();
  bool ReadHead();
  bool ReadBody();
  void BeginBody();
  void Continue();
  // The request's body takes so many bytes by now.
  void ChargeBody(int64_t bytes);
  // All of the request is there.
  void OnRequest();
  // Decodes an encoded body, step by step, and dispatches the request then.
  void Decode();
  void Dispatch();
  // Encodes a body that is worth it, if the client takes that; on the thread that has the answer.
  void Encode(HttpResponse& response) const;
  void Reply(HttpResponse response) noexcept;
  void Refuse(const std::exception& error);
  void Write(HttpResponse response);
  void OnWritten();
  void Linger();
  void OnLate();
  // Ends the entry of a request that was answered, if there is one.
  void Log();

  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  using Message = boost::beast::http::response<boost::beast::http::string_body>;

  Socket socket_;
  InferenceService& service_;
  ConnectionTable& table_;
  const ConnectionLimits& limits_;
  AccessLog* const log_;
  const std::string client_;
  std::atomic<Phase> phase_ = Phase::kIdle;
  std::atomic<Clock::rep> deadline_ = 0;  // of the phase
  boost::beast::flat_buffer buffer_;      // came, and is not read yet
  HeadScanner scanner_;
  std::optional<Parser> parser_;
  std::optional<BodyDecoder> decoder_;  // while the body is decoded
  int64_t charged_ = 0;                 // of ConnectionLimits::max_bodies
  bool is_head_ = false, keep_alive_ = false, accepts_gzip_ = false;
  unsigned version_ = 11;
  std::optional<Message> message_;  // being written
  AccessEntry entry_;               // of the request, where there is a log; status 0: none
  Clock::time_point begin_ = {};    // of the request
};

}  // namespace tessera::serve::internal
#endif  // TESSERA_SERVE_HTTP_CONNECTION_H_
