#include "serve/http/http_server.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/base/start_threads.h"
#include "serve/http/connection.h"
#include "serve/http/connection_table.h"
#include "serve/http/inference_service.h"

namespace tessera::serve {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using internal::Connection;
using internal::ConnectionTable;
using internal::Socket;
using internal::Strand;
using Acceptor = asio::basic_socket_acceptor<tcp, Strand>;

constexpr std::chrono::milliseconds kSweep{20};  // between two looks for what took too long
constexpr int kBacklog = 4096;                   // connections that wait to be accepted
constexpr char kFull[] =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: "
    "44\r\nConnection: close\r\nRetry-After: 1\r\n\r\n{\"error\":\"too many connections; try "
    "again\"}\n";

[[noreturn]] void ThrowCannotListen(const HttpServerOptions& options, const error_code& error) {
  const bool in_use = error == asio::error::address_in_use;
  throw Error(Format("cannot listen on {}:{}: {}{}", options.host, options.port, error.message(),
                     in_use ? " by another server; --port takes another one" : ""));
}

// The checked options: one body of the largest size can always be read.
HttpServerOptions Checked(HttpServerOptions options) {
  TESSERA_CHECK_GE(options.io_threads, 1, "http server: threads that move bytes");
  const auto one = static_cast<int64_t>(options.limits.max_body);
  options.limits.max_bodies = std::max(options.limits.max_bodies, one);
  return options;
}

// Asio's reuse_address lets a server start while connections of the one before it still end; it
// lets no two listen at the same time.
Acceptor Listen(asio::io_context& io, const HttpServerOptions& options) {
  error_code error;
  tcp::resolver resolver(io);
  const auto found =
      resolver.resolve(options.host, std::to_string(options.port), tcp::resolver::passive, error);
  if (error) ThrowCannotListen(options, error);
  for (const auto& entry : found) {
    Acceptor acceptor(asio::make_strand(io));
    acceptor.open(entry.endpoint().protocol(), error);
    if (!error) acceptor.set_option(Acceptor::reuse_address(true), error);
    if (!error) acceptor.bind(entry.endpoint(), error);
    if (!error) acceptor.listen(kBacklog, error);
    if (!error) return acceptor;
  }
  ThrowCannotListen(options, error);
}

}  // namespace

class HttpServer::Impl {
 public:
  Impl(const std::vector<ModelVersions*>& models, HttpServerOptions options)
      : options_(Checked(std::move(options))),
        table_(options_.limits),
        io_(options_.io_threads),
        acceptor_(Listen(io_, options_)),
        port_(acceptor_.local_endpoint().port()),
        service_(std::make_unique<InferenceService>(
            models, InferenceServiceOptions{.admin = options_.admin,
                                            .large_workers = options_.io_threads,
                                            .queue = options_.queue,
                                            .access_log = options_.access_log,
                                            .warm_up = options_.warm_up,
                                            .took_up = options_.took_up})),
        work_(asio::make_work_guard(io_)) {
    StartThreads(threads_, options_.io_threads, "thread that reads and writes",
                 [this](int) { MoveBytes(); });
  }
  ~Impl() { End(); }

  int port() const { return port_; }

  void Run() {
    while (!SweepUntilStop(std::chrono::steady_clock::now() + kSweep)) Sweep();
    Drain();
    End();
    table_.ForEach([](Connection& connection) { connection.Close(); });
  }

  void Stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
  }

 private:
  // Ends the threads that move bytes.
  void End() {
    io_.stop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  void MoveBytes() {
    service_->WarmUp();
    for (;;) {
      try {
        io_.run();
        return;
      } catch (const std::exception&) {
        // Memory ran out in one step; its connection closes when it is dropped.
      }
    }
  }

  // Waits until then; true if Stop was called.
  bool SweepUntilStop(std::chrono::steady_clock::time_point until) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, until, [this] { return stopped_; });
  }

  void Sweep() {
    try {
      if (!accepting_.exchange(true)) asio::post(acceptor_.get_executor(), [this] { Accept(); });
      table_.ForEach([](Connection& connection) { connection.Expire(); });
    } catch (const std::exception&) {
      // Memory ran out; the next sweep may have more.
    }
  }

  // Accepts connections until an error; Sweep calls it again, when a file may be free.
  void Accept() {
    acceptor_.async_accept(asio::make_strand(io_), [this](error_code error, Socket socket) {
      if (error) {
        accepting_ = false;
        return;
      }
      try {
        Open(std::move(socket));
        Accept();
      } catch (const std::exception&) {
        accepting_ = false;
      }
    });
  }

  void Open(Socket socket) {
    error_code error;
    const auto remote = socket.remote_endpoint(error);
    if (error) return;  // it has gone already
    const std::string client = remote.address().to_string();
    if (!table_.HasRoom(client)) return RefuseFull(socket, client);
    socket.set_option(tcp::no_delay(true), error);
    const auto connection = std::make_shared<Connection>(
        std::move(socket), *service_, table_, options_.limits, options_.access_log, client);
    table_.Add(connection, client);
    connection->Start();
  }

  void RefuseFull(Socket& socket, const std::string& client) {
    error_code error;
    service_->CountError(503);  // first, so that whoever has the answer finds it counted
    socket.non_blocking(true, error);
    socket.write_some(asio::buffer(kFull, sizeof kFull - 1), error);
    if (options_.access_log != nullptr)
      options_.access_log->Add(
          {.time = std::chrono::system_clock::now(), .client = client, .status = 503});
  }

  void Drain() {
    const auto until = std::chrono::steady_clock::now() + options_.drain_time;
    table_.draining = true;
    asio::post(acceptor_.get_executor(), [this] {
      error_code error;
      acceptor_.close(error);
    });
    while (table_.size() > 0 && std::chrono::steady_clock::now() < until) {
      table_.ForEach([](Connection& connection) {
        connection.Drain();
        connection.Expire();
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  const HttpServerOptions options_;
  ConnectionTable table_;
  asio::io_context io_;
  Acceptor acceptor_;
  const int port_;
  std::unique_ptr<InferenceService> service_;  // before io_: it holds replies of connections
  std::atomic<bool> accepting_ = false;
  std::mutex mutex_;  // of stopped_
  std::condition_variable changed_;
  bool stopped_ = false;
  asio::executor_work_guard<asio::io_context::executor_type> work_;  // until End
  std::vector<std::thread> threads_;                                 // move bytes
};

HttpServer::HttpServer(const std::vector<ModelVersions*>& models, HttpServerOptions options)
    : impl_(std::make_unique<Impl>(models, std::move(options))) {}
HttpServer::HttpServer(Predictor& predictor, HttpServerOptions options)
    : own_(std::make_unique<ModelVersions>(options.model_name, predictor)),
      impl_(std::make_unique<Impl>(std::vector{own_.get()}, std::move(options))) {}
HttpServer::~HttpServer() = default;

int HttpServer::port() const { return impl_->port(); }
void HttpServer::Run() { impl_->Run(); }
void HttpServer::Stop() { impl_->Stop(); }

}  // namespace tessera::serve
