// Limits of what a client may take of a server, and what others get meanwhile.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "runtime/files/safetensors.h"
#include "tests/serve/http/testing/serving.h"

namespace tessera::serve {
namespace {

using std::chrono::milliseconds;
using tessera::testing::HttpAnswer;
using tessera::testing::HttpClient;
using tessera::testing::MakeSmallModel;
using tessera::testing::Serving;
using tessera::testing::SmallModel;
using tessera::testing::TempPath;
using tessera::testing::WriteSmallModel;

constexpr char kInfer[] = "/v2/models/clicks/infer";
constexpr char kHead[] = "GET /v2/health/live HTTP/1.1\r\nHost: x\r\n";

using Clients = std::vector<std::unique_ptr<HttpClient>>;

// Error answers that /metrics has counted, by their status.
std::map<int, int64_t> CountedErrors(Serving& serving) {
  std::map<int, int64_t> counts;
  const std::string text = serving.client().Get("/metrics").body, name = "\ntessera_http_errors_";
  for (size_t at = 0; (at = text.find(name, at + 1)) != std::string::npos;) {
    const size_t code = text.find("code=\"", at) + 6, count = text.find("\"} ", at) + 3;
    if (const int64_t n = std::stoll(text.substr(count))) counts[std::stoi(text.substr(code))] = n;
  }
  return counts;
}

// Sends the bytes on a connection of their own; the status of the answer.
int StatusOf(const Serving& serving, const std::string& bytes) {
  HttpClient client(serving.port());
  client.Send(bytes);
  return client.Receive().status;
}

// Clients that have sent this text, and send no more.
Clients Hanging(int port, int count, const std::string& sent) {
  Clients clients;
  for (int i = 0; i < count; ++i) {
    clients.push_back(std::make_unique<HttpClient>(port));
    clients.back()->Send(sent);
  }
  return clients;
}

TEST(ServerLimits, ClientsThatHangKeepNobodyOut) {
  Serving serving("hang");
  const Clients idle = Hanging(serving.port(), 40, "");
  const Clients heads = Hanging(serving.port(), 40, "GET /v2 HT");
  const Clients bodies =
      Hanging(serving.port(), 40,
              std::string("POST ") + kInfer + " HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{");
  EXPECT_EQ(serving.client().Get("/v2/health/ready").status, 200);
  EXPECT_EQ(HttpClient(serving.port()).Get("/v2/health/ready").status, 200);
}

TEST(ServerLimits, TimesOfEachPart) {
  Serving idling("idle", {.limits = {.idle_time = milliseconds(50)}});
  EXPECT_TRUE(HttpClient(idling.port()).IsClosed());
  Serving serving("times",
                  {.limits = {.header_time = milliseconds(50), .body_time = milliseconds(60)}});
  HttpClient head(serving.port()), body(serving.port());
  head.Send("GET /v2");
  body.Send("POST /v2 HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{");
  const HttpAnswer late_head = head.Receive(), late_body = body.Receive();
  EXPECT_EQ(late_head.status, 408);
  EXPECT_EQ(late_head.body, R"({"error":"the request's head did not come within 50 ms"})");
  EXPECT_EQ(late_body.status, 408);
  EXPECT_EQ(late_body.body, R"({"error":"the request's body did not come within 60 ms"})");
  EXPECT_TRUE(head.IsClosed());
}

TEST(ServerLimits, AnswersThatNobodyTakesEnd) {
  Serving serving("take", {.limits = {.write_time = milliseconds(100)}});
  HttpClient greedy(serving.port());
  std::string many;
  for (int i = 0; i < 300; ++i) many += "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
  while (greedy.Send(many)) {
  }  // until the server closes
  EXPECT_EQ(HttpClient(serving.port()).Get("/v2").status, 200);
}

TEST(ServerLimits, ConnectionsInAllAndOfAClient) {
  for (const ConnectionLimits& limits :
       {ConnectionLimits{.connections = 3}, ConnectionLimits{.connections_per_client = 3}}) {
    Serving serving("connections", {.limits = limits});
    EXPECT_EQ(serving.client().Get("/v2").status, 200);
    {
      HttpClient second(serving.port()), third(serving.port());
      EXPECT_EQ(second.Get("/v2").status + third.Get("/v2").status, 400);
      HttpClient fourth(serving.port());
      const HttpAnswer refused = fourth.Receive();
      EXPECT_EQ(refused.status, 503);
      EXPECT_EQ(refused.Header("Retry-After"), "1");
      EXPECT_EQ(refused.body, "{\"error\":\"too many connections; try again\"}\n");
    }
    int status = 0;  // the others are forgotten soon
    while (status != 200) status = HttpClient(serving.port()).Get("/v2").status;
  }
}

// One of two bodies that do not fit beside each other is refused before either has ended, and its
// memory is given back. A small one always fits.
TEST(ServerLimits, BodiesTogether) {
  Serving serving("together", {.limits = {.max_body = 300'000, .max_bodies = 300'000}});
  const std::string body(300'000, ' '), json = "application/json";
  const std::string head = "POST /v2 HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n";
  {
    HttpClient first(serving.port()), second(serving.port());
    first.Send(head + body.substr(1000));
    second.Send(head + body.substr(1000));
    EXPECT_EQ(HttpClient(serving.port()).Post("/v2", body.substr(240'000), json).status, 405);
    HttpClient& refused = FirstToAnswer(first, second);
    HttpClient& other = &refused == &first ? second : first;
    const HttpAnswer answer = refused.Receive();
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.Header("Retry-After"), "1");
    other.Send(body.substr(299'000));
    const int status = other.Receive().status;  // 503 when both met the limit at once
    EXPECT_TRUE(status == 405 || status == 503) << status;
  }
  EXPECT_EQ(HttpClient(serving.port()).Post("/v2", body, json).status, 405);
}

// Refusals before an inference, on whatever path, inferences that fail and other errors.
TEST(ServerLimits, EveryErrorIsCountedOnce) {
  Serving serving("counted", {.limits = {.max_header = 1000, .max_body = 4000}});
  EXPECT_TRUE(CountedErrors(serving).empty());
  EXPECT_NE(serving.client().Get("/metrics").body.find("tessera_http_errors_total{code=\"413\"} 0"),
            std::string::npos);
  std::map<int, int64_t> seen;
  for (const std::string path : {kInfer, "/v2/models/clicks/infer_rows", "/metrics", "/nowhere"}) {
    const std::string head = "POST " + path + " HTTP/1.1\r\nHost: x\r\n";
    const std::string two = "Content-Length: 2\r\n", chunked = "Transfer-Encoding: chunked\r\n\r\n";
    for (const std::string& bytes :
         {std::string("no HTTP\r\n\r\n"), head + chunked + std::string(20'000, '0'),
          head + chunked + "fa1\r\n" + std::string(4001, ' '),
          head + "Content-Encoding: gzip\r\n" + two + "\r\n{}",
          head + "Content-Encoding: br\r\n" + two + "\r\n{}", head + std::string(2000, 'x'),
          head + "Content-Length: 4001\r\n\r\n", head + "Expect: x\r\n" + two + "\r\n{}",
          head + two + "\r\n[]"})
      ++seen[StatusOf(serving, bytes)];
  }
  for (const int status : {400, 404, 405, 413, 415, 417, 431}) EXPECT_GT(seen[status], 0) << status;
  EXPECT_EQ(CountedErrors(serving), seen);
}

TEST(ServerLimits, RefusalsForTimeAndRoomAreCounted) {
  using Counts = std::map<int, int64_t>;
  Serving late("late",
               {.limits = {.header_time = milliseconds(50), .body_time = milliseconds(50)}});
  EXPECT_EQ(StatusOf(late, "GET /v2"), 408);
  EXPECT_EQ(StatusOf(late, "POST /v2 HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"), 408);
  EXPECT_EQ(CountedErrors(late), (Counts{{408, 2}}));

  Serving full("full", {.limits = {.connections = 1}});
  EXPECT_EQ(full.client().Get("/v2").status, 200);
  EXPECT_EQ(HttpClient(full.port()).Receive().status, 503);
  EXPECT_EQ(CountedErrors(full), (Counts{{503, 1}}));

  Serving room("room", {.limits = {.max_body = 300'000, .max_bodies = 300'000}});
  const std::string head = "POST /v2 HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n";
  Counts seen;
  HttpClient holder(room.port());
  holder.Send(head + std::string(299'999, ' '));
  // Until the server has read what the holder sent; it is refused itself if others were first.
  while (seen[503] == 0 && !holder.HasAnswer())
    ++seen[StatusOf(room, head + std::string(300'000, ' '))];
  if (!holder.HasAnswer()) holder.Send(" ");
  ++seen[holder.Receive().status];
  EXPECT_EQ(CountedErrors(room), seen);
}

TEST(ServerLimits, RequestsSentAtOnceAreAnsweredInOrder) {
  Serving serving("pipeline");
  HttpClient& client = serving.client();
  std::string bytes;
  for (int i = 0; i < 50; ++i) {
    const std::string path = "/v2/models/m" + std::to_string(i);
    bytes += i % 2 == 0 ? "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n"
                        : "POST " + path +
                              "/infer HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
                              "chunked\r\n\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\n\r\n";
  }
  client.Send(bytes + "HEAD /v2 HTTP/1.1\r\nHost: x\r\n\r\n" + kHead + "Connection: close\r\n\r\n");
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(client.Receive().body,
              "{\"error\":\"there is no model 'm" + std::to_string(i) + "'\"}");
  EXPECT_EQ(client.Receive(false).status, 200);
  EXPECT_EQ(client.Receive().body, "{}");
  EXPECT_TRUE(client.IsClosed());
}

TEST(ServerLimits, ContinuesWhenAsked) {
  Serving serving("continue");
  HttpClient& client = serving.client();
  client.Send(
      "POST /nowhere HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.Receive().status, 100);
  client.Send("{}");
  EXPECT_EQ(client.Receive().status, 404);
}

TEST(ServerLimits, StoppedItAnswersWhatHasBegun) {
  Serving serving("drain", {.drain_time = std::chrono::minutes(10)});
  HttpClient begun(serving.port());
  EXPECT_EQ(begun.Get("/v2").status, 200);  // so it is accepted
  begun.Send(kHead);
  EXPECT_EQ(serving.client().Get("/v2").status, 200);
  std::thread stopping([&] { serving.Stop(); });
  EXPECT_TRUE(serving.client().IsClosed());  // no request of it had begun
  begun.Send("\r\n");
  const HttpAnswer last = begun.Receive();
  stopping.join();
  EXPECT_EQ(last.status, 200);
  EXPECT_EQ(last.Header("Connection"), "close");
}

TEST(ServerLimits, StoppedItWaitsAWhileForWhatDoesNotEnd) {
  Serving serving("dripping", {.drain_time = milliseconds(50)});
  HttpClient dripping(serving.port());
  EXPECT_EQ(dripping.Get("/v2").status, 200);
  dripping.Send("GET /v2 HT");
  serving.Stop();
  EXPECT_TRUE(dripping.IsClosed());
}

TEST(ServerLimits, TwoServersOnOnePort) {
  Serving serving("port");
  try {
    HttpServer second(serving.predictor(), {.port = serving.port()});
    FAIL() << "it was made";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("Address already in use"), std::string::npos);
  }
}

TEST(ServerLimits, OnlyAdministratorsTakeModels) {
  Serving serving("admin", {.admin = false});
  for (const char* what : {"load", "deltas"}) {
    const HttpAnswer answer = serving.client().Post(
        std::string("/v2/repository/models/clicks/") + what, "", "application/json");
    EXPECT_EQ(answer.status, 403);
    EXPECT_NE(answer.body.find("--admin"), std::string::npos);
  }
}

// One request waits for a batch that does not fill, so that the queue is full.
TEST(ServerLimits, AFullQueueHoldsUpNothingButInferences) {
  Serving serving("full", {.queue = {.max_wait = std::chrono::minutes(10), .max_queued = 1}});
  Context ctx({.threads = 1});
  Safetensors content{.tensors = {{"dense", Tensor::Full(ctx, {2, 13}, 0.5)}}, .metadata = {}};
  for (const char* name : {"cat_0", "cat_1", "cat_2", "cat_9"})
    content.tensors[name] = Tensor::From<int64_t>(ctx, {1, 2});
  const std::string body = SafetensorsBytes(ctx, content), type = "application/x-safetensors";
  HttpClient waiting(serving.port());
  waiting.Send(std::string("POST ") + kInfer + " HTTP/1.1\r\nHost: x\r\nContent-Type: " + type +
               "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  HttpClient& client = serving.client();
  while (client.Get("/metrics").body.find("tessera_queued_requests 1\n") == std::string::npos) {
  }
  const HttpAnswer refused = client.Post(kInfer, body, type);
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.Header("Retry-After"), "1");
  for (const char* path : {"/v2/health/live", "/v2/health/ready", "/v2/models/clicks/ready",
                           "/v2/models/clicks", "/v2/repository/index", "/metrics"})
    EXPECT_EQ(client.Get(path).status, 200) << path;
}

TEST(ServerLimits, ALoadWithoutABodyIsAnsweredAtOnce) {
  Serving serving("load");
  serving.client().Send("POST /v2/repository/models/clicks/load HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(serving.client().Receive().status, 200);
}

TEST(ServerLimits, ScoresThatAreNotFiniteAreAnError) {
  Serving serving("finite");
  Context ctx({.threads = 1});
  Safetensors content{.tensors = {{"dense", Tensor::Full(ctx, {2, 13}, 0.5)}}, .metadata = {}};
  content.tensors["dense"].data<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  for (const char* name : {"cat_0", "cat_1", "cat_2", "cat_9"})
    content.tensors[name] = Tensor::From<int64_t>(ctx, {1, 2});
  const HttpAnswer answer =
      serving.client().Post(kInfer, SafetensorsBytes(ctx, content), "application/x-safetensors");
  EXPECT_EQ(answer.status, 500);
  EXPECT_NE(answer.body.find("model 'clicks', version 1: 1 of 2 scores are not finite"),
            std::string::npos)
      << answer.body;
  const std::string metrics = serving.client().Get("/metrics").body;
  EXPECT_NE(metrics.find("tessera_not_finite_scores_total{model=\"clicks\",version=\"1\"} 1\n"),
            std::string::npos)
      << metrics;
}

}  // namespace
}  // namespace tessera::serve
