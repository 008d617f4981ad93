// Bytes that no honest client sends, each on a connection of its own: there is one answer, the
// connection is closed, and the server goes on.
#include <gtest/gtest.h>

#include "tests/serve/http/testing/serving.h"

namespace tessera::serve {
namespace {

using tessera::testing::HttpAnswer;
using tessera::testing::HttpClient;
using tessera::testing::Serving;

constexpr char kInfer[] = "/v2/models/clicks/infer";

std::string Post(const std::string& fields, const std::string& rest = "") {
  return std::string("POST ") + kInfer + " HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n" + rest;
}
std::string Get(const std::string& fields, const std::string& rest = "") {
  return "GET /v2 HTTP/1.1\r\n" + fields + "\r\n" + rest;
}

struct Hostile {
  std::string bytes;
  int status;
};

void ExpectRefused(Serving& serving, const std::vector<Hostile>& cases) {
  for (const auto& [bytes, status] : cases) {
    HttpClient client(serving.port());
    client.Send(bytes);
    const HttpAnswer answer = client.Receive();
    EXPECT_EQ(answer.status, status) << bytes.substr(0, 200) << "\n" << answer.body;
    EXPECT_EQ(answer.Header("Connection"), "close") << bytes.substr(0, 200);
    EXPECT_TRUE(client.IsClosed()) << bytes.substr(0, 200);
  }
  EXPECT_EQ(serving.client().Get("/v2/health/live").status, 200);
}

TEST(HostileRequests, LengthsThatAreReadInTwoWays) {
  Serving serving("lengths");
  const std::string inner = Get("Host: x\r\n");
  const std::string length = "Content-Length: ";
  ExpectRefused(
      serving,
      {{Post(length + "2\r\n" + length + "2\r\n", "{}"), 400},
       {Post(length + "2\r\n" + length + "40\r\n", "{}" + inner), 400},
       {Post(length + "2, 2\r\n", "{}"), 400},
       {Post(length + "+2\r\n", "{}"), 400},
       {Post(length + "-1\r\n"), 400},
       {Post(length + "0x2\r\n", "{}"), 400},
       {Post(length + "99999999999999999999999\r\n"), 400},
       {Post(length + "4\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n" + inner), 400},
       {Post("Transfer-Encoding: chunked\r\n" + length + "4\r\n", "0\r\n\r\n" + inner), 400},
       {Post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 400},
       {Post("Transfer-Encoding: identity\r\n", "0\r\n\r\n"), 400},
       {Post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
       {Post("Transfer-Encoding: chunked\r\n", "zz\r\n"), 400},
       {Post("Transfer-Encoding: chunked\r\n", "2\n{}\n0\n\n" + std::string(20'000, '1')), 400},
       {Post("Transfer-Encoding: chunked\r\n", "2\r\n{}xx0\r\n\r\n"), 400},
       {Post("Transfer-Encoding: chunked\r\n", std::string(100'000, '0')), 400},
       {Get("Host: x\r\n" + length + "5\r\n", "hello"), 400},
       {Get("Host: x\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400}});
}

TEST(HostileRequests, HeadsAndBodiesOfOtherKinds) {
  Serving serving("heads");
  const std::string body = "Content-Length: 2\r\n";
  ExpectRefused(serving,
                {{Get(""), 400},
                 {Get("Host: x\r\nHost: y\r\n"), 400},
                 {Get("Host: x\r\nA: b\r\n c\r\n"), 400},
                 {Get("Host: x\r\nA : b\r\n"), 400},
                 {Get("Host: x\r\nno colon\r\n"), 400},
                 {"GET /v2 HTTP/1.1\nHost: x\n\n", 400},
                 {"GET /v2 HTTP/3.0\r\nHost: x\r\n\r\n", 400},
                 {"GET v2 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
                 {"GET http://x/v2 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
                 {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400},  // TLS
                 {std::string(20'000, 'A'), 431},
                 {Get("Host: x\r\nA: " + std::string(20'000, 'b') + "\r\n"), 431},
                 {Post("Content-Encoding: br\r\n" + body, "{}"), 415},
                 {Post("Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n" + body, "{}"), 415},
                 {Post("Content-Encoding: gzip\r\n" + body, "{}"), 400},
                 {Post("Content-Type: multipart/form-data; boundary=x\r\n" + body, "{}"), 415},
                 {Post("Expect: 200-ok\r\n" + body, "{}"), 417}});
}

TEST(HostileRequests, BodiesBeyondTheLimitOnEveryRoute) {
  Serving serving("bodies", {.admin = true, .limits = {.max_body = 4000}});
  for (const std::string path : {kInfer, "/v2/repository/models/clicks/load", "/nowhere"}) {
    const std::string head = "POST " + path + " HTTP/1.1\r\nHost: x\r\n";
    ExpectRefused(
        serving,
        {{head + "Content-Length: 4001\r\n\r\n" + std::string(4001, ' '), 413},
         {head + "Content-Length: 1000000000000\r\n\r\n", 413},
         {head + "Transfer-Encoding: chunked\r\n\r\nfa1\r\n" + std::string(4001, ' '), 413},
         {head + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", 413}});
  }
}

TEST(HostileRequests, NothingOfARequestComesBackRaw) {
  Serving serving("raw");
  const std::string bad = "\x80\xff<script>\x1b";
  for (const std::string& body :
       {"[\"" + bad, "{\"" + bad + "\": 1}", R"({"inputs": [{"name": ")" + bad + "\"}]}",
        R"({"inputs": [], ")" + std::string(100'000, 'x') + "\": 1}",
        "{\"inputs\": \"" + std::string(100'000, 'x') + "\"}"}) {
    HttpClient client(serving.port());
    const HttpAnswer answer = client.Post(kInfer, body, "application/json");
    EXPECT_EQ(answer.status, 400);
    EXPECT_LT(answer.body.size(), 3'100u);
    for (const char c : answer.body) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << answer.body;
  }
}

TEST(HostileRequests, RangesAreIgnored) {
  Serving serving("range");
  const HttpAnswer whole = serving.client().Get("/v2");
  std::string ranges = "Range: bytes=0-";
  for (int i = 0; i < 1000; ++i) ranges += ",0-";
  const HttpAnswer ranged = serving.client().Get("/v2", ranges + "\r\n");
  EXPECT_EQ(ranged.status, 200);
  EXPECT_EQ(ranged.body, whole.body);
}

}  // namespace
}  // namespace tessera::serve
