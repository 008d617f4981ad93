#include "serve/http/connection.h"

#include <algorithm>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/write.hpp>
#include <utility>

#include "serve/http/http_error.h"

namespace tessera::serve::internal {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using std::chrono::milliseconds;

constexpr size_t kPiece = 16 << 10, kBodyPiece = 64 << 10;  // bytes of one read
constexpr size_t kMaxChunkHead = 16 << 10;                  // or trailers
constexpr int64_t kFreeBodyBytes = 64 << 10;                // of a body, not charged
constexpr milliseconds kLinger{1000};
constexpr char kVersionHeader[] = "Tessera-Model-Version", kDigestHeader[] = "Tessera-Model-Digest";
constexpr char kRetrySeconds[] = "1";  // of Retry-After, with 503
constexpr char kJsonBytesHeader[] = "Inference-Header-Content-Length";
constexpr char kContinue[] = "HTTP/1.1 100 Continue\r\n\r\n";

[[noreturn]] void ThrowUnreadable(const error_code& error, size_t max_body) {
  if (error == http::error::body_limit)
    throw HttpError(413, Format("the body has more than {} bytes", max_body));
  throw HttpError(400, Format("the request is no HTTP: {}", error.message()));
}

// Media types have no case.
std::string InLowerCase(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

}  // namespace

Connection::Connection(Socket socket, InferenceService& service, ConnectionTable& table,
                       const ConnectionLimits& limits, AccessLog* log, std::string client)
    : socket_(std::move(socket)),
      service_(service),
      table_(table),
      limits_(limits),
      log_(log),
      client_(std::move(client)) {
  Enter(Phase::kIdle, limits_.idle_time);
}

Connection::~Connection() { Close(); }

template <typename Fn>
void Connection::Post(Fn fn) {
  asio::post(socket_.get_executor(),
             [self = shared_from_this(), fn = std::move(fn)]() mutable { self->Guarded(fn); });
}

template <typename Fn>
void Connection::Guarded(Fn fn) {
  try {
    try {
      fn();
    } catch (const std::exception& error) {
      Refuse(error);
    }
  } catch (...) {  // no memory for an answer
    Close();
  }
}

void Connection::Start() {
  Post([this] { Read(); });
}

void Connection::Expire() {
  if (IsLate())
    Post([this] {
      if (IsLate()) OnLate();
    });
}

void Connection::Drain() {
  Post([this] {
    error_code error;  // of bytes that are there and were not read yet, a request has begun, too
    if (phase_ == Phase::kIdle && socket_.available(error) == 0) Close();
  });
}

void Connection::Enter(Phase phase, milliseconds time) {
  phase_ = phase;
  deadline_ = (Clock::now() + time).time_since_epoch().count();
}

void Connection::Read() {
  const size_t most = phase_ == Phase::kBody ? kBodyPiece : kPiece;
  socket_.async_read_some(buffer_.prepare(most),
                          [self = shared_from_this()](const error_code& error, size_t count) {
                            self->Guarded([&] { self->OnRead(error, count); });
                          });
}

void Connection::OnRead(error_code error, size_t count) {
  if (phase_ == Phase::kClosed || phase_ == Phase::kWriting) return;  // the read ended too late
  if (error) return Close();
  if (phase_ == Phase::kLingering) return Read();  // into the same place: these bytes are dropped
  buffer_.commit(count);
  Advance();
}

void Connection::Advance() {
  if (phase_ == Phase::kIdle && buffer_.size() > 0) {
    Enter(Phase::kHead, limits_.header_time);
    scanner_ = {};
    begin_ = Clock::now();
    if (log_ != nullptr) entry_ = {.time = std::chrono::system_clock::now(), .client = client_};
  }
  if (phase_ == Phase::kHead && !ReadHead()) return Read();
  if (phase_ == Phase::kBody && !ReadBody()) return Read();
  if (phase_ == Phase::kBody) return OnRequest();
  if (phase_ == Phase::kIdle) Read();
}

bool Connection::ReadHead() {
  const auto bytes = buffer_.cdata();
  const size_t head = scanner_.Scan({static_cast<const char*>(bytes.data()), bytes.size()});
  if (std::max(head, head == 0 ? bytes.size() : 0) > limits_.max_header)
    throw HttpError(431, Format("the request's head has more than {} bytes", limits_.max_header));
  if (head == 0) return false;
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(limits_.max_header + 1));
  parser_->body_limit(limits_.max_body);
  error_code error;
  parser_->put(asio::buffer(bytes, head), error);
  buffer_.consume(head);
  if (!parser_->is_header_done()) ThrowUnreadable(error, limits_.max_body);
  is_head_ = parser_->get().method() == http::verb::head;
  version_ = parser_->get().version();
  if (log_ != nullptr) {
    entry_.method = std::string(parser_->get().method_string());
    entry_.path = std::string(parser_->get().target());
  }
  CheckHead(parser_->get());
  const auto accepts = parser_->get()[http::field::accept_encoding];
  accepts_gzip_ = AcceptsGzip({accepts.data(), accepts.size()});
  BeginBody();
  return true;
}

void Connection::BeginBody() {
  Enter(Phase::kBody, limits_.body_time);
  parser_->eager(true);
  const auto length = parser_->content_length();
  if (length) parser_->get().body().reserve(*length);  // memory is touched as bytes come
  const bool asks = parser_->get().count(http::field::expect) > 0;
  if (asks && !parser_->is_done() && buffer_.size() == 0) Continue();
}

// Writes "100 Continue": its few bytes find room in an empty socket; if not, the client goes on
// without them.
void Connection::Continue() {
  error_code error;
  socket_.non_blocking(true, error);
  socket_.write_some(asio::buffer(kContinue, sizeof kContinue - 1), error);
}

bool Connection::ReadBody() {
  error_code error;
  while (!parser_->is_done() && buffer_.size() > 0) {
    const size_t used = parser_->put(buffer_.cdata(), error);
    buffer_.consume(used);
    if (error == http::error::need_more) {
      if (buffer_.size() > kMaxChunkHead)
        throw HttpError(400, Format("a chunk's head has more than {} bytes", kMaxChunkHead));
      if (used == 0) break;
    } else if (error) {
      ThrowUnreadable(error, limits_.max_body);
    }
  }
  ChargeBody(std::ssize(parser_->get().body()));
  return parser_->is_done();
}

void Connection::ChargeBody(int64_t bytes) {
  const int64_t more = bytes - kFreeBodyBytes - charged_;
  if (more <= 0) return;
  if (!table_.TakeBytes(more))
    throw HttpError(503,
                    "the bodies of other requests fill the memory that is set aside for them; "
                    "try again");
  charged_ += more;
}

void Connection::OnRequest() {
  Enter(Phase::kAnswering, std::chrono::hours(24 * 365));  // the queue has a deadline of its own
  auto& message = parser_->get();
  entry_.request_bytes = std::ssize(message.body());
  const auto name = message[http::field::content_encoding];
  const auto encoding = ParseBodyEncoding({name.data(), name.size()}).value();
  if (encoding == BodyEncoding::kIdentity) CheckIsNotEncoded(message.body());
  if (encoding == BodyEncoding::kIdentity || message.body().empty()) return Dispatch();
  decoder_.emplace(encoding, std::move(message.body()), limits_.max_body);
  Decode();
}

void Connection::Decode() {
  if (phase_ != Phase::kAnswering) return;
  const bool done = decoder_->Step();
  ChargeBody(static_cast<int64_t>(decoder_->bytes()));
  if (!done) return Post([this] { Decode(); });
  parser_->get().body() = decoder_->Take();
  decoder_.reset();
  Dispatch();
}

void Connection::Dispatch() {
  keep_alive_ = parser_->keep_alive();
  auto message = parser_->release();
  parser_.reset();
  HttpRequest request{.method = std::string(is_head_ ? "GET" : message.method_string()),
                      .target = std::string(message.target()),
                      .content_type = InLowerCase(std::string(message[http::field::content_type])),
                      .json_bytes = {},
                      .body = std::move(message.body())};
  if (message.count(kJsonBytesHeader) > 0)
    request.json_bytes = std::string(message[kJsonBytesHeader]);
  service_.Answer(std::move(request), [self = shared_from_this()](HttpResponse response) {
    self->Reply(std::move(response));
  });
}

void Connection::Encode(HttpResponse& response) const {
  if (!accepts_gzip_ || response.body.size() < kSmallestEncoded) return;
  if (auto encoded = Gzip(response.body)) {
    response.body = std::move(*encoded);
    response.encoding = "gzip";
  }
}

void Connection::Reply(HttpResponse response) noexcept {
  try {
    Encode(response);
    asio::dispatch(socket_.get_executor(),
                   [self = shared_from_this(), response = std::move(response)]() mutable {
                     self->Guarded([&] {
                       if (self->phase_ == Phase::kAnswering) self->Write(std::move(response));
                     });
                   });
  } catch (...) {
    deadline_ = 0;  // Expire closes it
  }
}

void Connection::Refuse(const std::exception& error) {
  if (phase_ == Phase::kClosed || phase_ == Phase::kWriting || phase_ == Phase::kLingering)
    return Close();
  keep_alive_ = false;
  Write(ErrorResponse(error));
}

void Connection::Write(HttpResponse response) {
  Enter(Phase::kWriting, limits_.write_time);
  parser_.reset();
  decoder_.reset();
  table_.GiveBytes(std::exchange(charged_, 0));  // before a client that has the answer asks again
  keep_alive_ = keep_alive_ && !table_.draining;
  message_.emplace(static_cast<http::status>(response.status), version_);
  if (!response.content_type.empty())
    message_->set(http::field::content_type, response.content_type);
  if (response.json_bytes) message_->set(kJsonBytesHeader, std::to_string(*response.json_bytes));
  if (response.model_version)
    message_->set(kVersionHeader, std::to_string(*response.model_version));
  if (!response.encoding.empty()) {
    message_->set(http::field::content_encoding, response.encoding);
    message_->set(http::field::vary, "Accept-Encoding");
  }
  if (!response.allow.empty()) message_->set(http::field::allow, response.allow);
  if (response.status == 503) message_->set(http::field::retry_after, kRetrySeconds);
  if (!response.model_digest.empty()) message_->set(kDigestHeader, response.model_digest);
  message_->keep_alive(keep_alive_);
  message_->content_length(response.body.size());
  if (!is_head_) message_->body() = std::move(response.body);
  entry_.status = response.status;
  entry_.bytes = std::ssize(message_->body());
  entry_.inference = std::move(response.inference);
  if (response.status >= 400) service_.CountError(response.status);
  http::async_write(socket_, *message_,
                    [self = shared_from_this()](const error_code& error, size_t) {
                      self->Guarded([&] { error ? self->Close() : self->OnWritten(); });
                    });
}

void Connection::OnWritten() {
  if (phase_ == Phase::kClosed) return;
  Log();
  message_.reset();
  if (!keep_alive_) return Linger();
  if (buffer_.size() == 0) buffer_.shrink_to_fit();
  is_head_ = false;
  Enter(Phase::kIdle, limits_.idle_time);
  Advance();
}

void Connection::Linger() {
  Enter(Phase::kLingering, kLinger);
  error_code error;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, error);
  buffer_.clear();
  Read();
}

void Connection::OnLate() {
  if (phase_ != Phase::kHead && phase_ != Phase::kBody) return Close();
  const bool head = phase_ == Phase::kHead;
  const auto time = head ? limits_.header_time : limits_.body_time;
  error_code error;
  socket_.cancel(error);
  Refuse(HttpError(408, Format("the request's {} did not come within {} ms", head ? "head" : "body",
                               time.count())));
}

void Connection::Log() {
  if (log_ == nullptr || entry_.status == 0) return;
  entry_.taken = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin_);
  log_->Add(entry_);
  entry_.status = 0;
}

void Connection::Close() {
  if (phase_.exchange(Phase::kClosed) == Phase::kClosed) return;
  Log();  // of an answer that its client did not take
  table_.GiveBytes(std::exchange(charged_, 0));
  error_code error;
  socket_.close(error);
  table_.Remove(this);
}

}  // namespace tessera::serve::internal
