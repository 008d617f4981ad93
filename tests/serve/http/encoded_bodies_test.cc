// Encoded bodies of requests and answers, over a connection.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "serve/http/body_encoding.h"
#include "tests/serve/http/testing/serving.h"

namespace tessera::serve {
namespace {

using internal::BodyDecoder;
using internal::BodyEncoding;
using internal::Gzip;
using tessera::testing::HttpAnswer;
using tessera::testing::HttpClient;
using tessera::testing::Serving;
using ::testing::HasSubstr;

constexpr char kRows[] = "/v2/models/clicks/infer_rows";
constexpr char kJson[] = "application/json";
constexpr char kGzip[] = "Content-Encoding: gzip\r\n", kAccepts[] = "Accept-Encoding: gzip\r\n";

std::string Rows(int count) {
  std::string rows;
  for (int i = 0; i < count; ++i) rows += "{\"cat_0\": \"1f\", \"int_0\": 3}\n";
  return rows;
}

std::string Unzipped(const std::string& body) {
  BodyDecoder decoder(BodyEncoding::kGzip, body, 64 << 20);
  while (!decoder.Step()) {
  }
  return decoder.Take();
}

TEST(EncodedBodies, OfRequestsAreDecoded) {
  Serving serving("decoded");
  HttpClient& client = serving.client();
  for (const int count : {1, 50, 30'000}) {  // the last takes several steps, and a large worker
    const std::string rows = Rows(count);
    const HttpAnswer plain = client.Post(kRows, rows, kJson);
    ASSERT_EQ(plain.status, 200) << plain.body;
    const std::string encoded = Gzip(rows).value_or("");
    if (encoded.empty()) continue;
    const HttpAnswer answer = client.Post(kRows, encoded, kJson, kGzip);
    EXPECT_EQ(answer.body, plain.body);
    EXPECT_EQ(answer.Header("Content-Encoding"), "");
  }
  EXPECT_EQ(client.Post("/v2/repository/index", "", kJson, kGzip).status, 200);  // no body at all
}

TEST(EncodedBodies, WithoutTheirHeaderAreCalledWhatTheyAre) {
  Serving serving("unnamed");
  for (const std::string path : {kRows, "/v2/models/clicks/infer"}) {
    HttpClient client(serving.port());  // each is closed, as after other encodings that are wrong
    const HttpAnswer answer = client.Post(path, *Gzip(Rows(50)), kJson);
    EXPECT_EQ(answer.status, 400) << path;
    EXPECT_THAT(answer.body, HasSubstr("the body is gzip data, but its head has no "
                                       "Content-Encoding: gzip"));
  }
}

// JSON's length is that of the decoded body, as Triton's clients say it.
TEST(EncodedBodies, TensorsBehindJson) {
  Serving serving("binary");
  std::string json = R"({"inputs": [{"name": "dense", "shape": [1, 13], "datatype": "FP32", )"
                     R"("parameters": {"binary_data_size": 52}})";
  for (const char* name : {"cat_0", "cat_1", "cat_2", "cat_9"})
    json += std::string(R"(, {"name": ")") + name +
            R"(", "shape": [1], "datatype": "INT64", "data": [1]})";
  json += "]}";
  const std::string body = json + std::string(52, '\0');
  const std::string length =
      "Inference-Header-Content-Length: " + std::to_string(json.size()) + "\r\n";
  HttpClient& client = serving.client();
  const std::string path = "/v2/models/clicks/infer", type = "application/octet-stream";
  const HttpAnswer plain = client.Post(path, body, type, length);
  ASSERT_EQ(plain.status, 200) << plain.body;
  EXPECT_EQ(client.Post(path, *Gzip(body), type, length + kGzip).body, plain.body);
}

TEST(EncodedBodies, LimitsAreOfWhatTheyBecome) {
  Serving serving("limits", {.limits = {.max_body = 100'000}});
  const std::string bomb = *Gzip(std::string(50 << 20, ' '));
  ASSERT_LT(bomb.size(), 300'000u);
  const std::string few = *Gzip(std::string(100'001, ' '));
  ASSERT_LT(few.size(), 1000u);
  HttpClient client(serving.port());
  const HttpAnswer answer = client.Post(kRows, few, kJson, kGzip);
  EXPECT_EQ(answer.status, 413);
  EXPECT_THAT(answer.body, HasSubstr("more than 100000 bytes once its gzip is decoded"));
  EXPECT_TRUE(client.IsClosed());
  EXPECT_EQ(serving.client().Post("/v2", *Gzip(std::string(100'000, ' ')), kJson, kGzip).status,
            405);
}

// Decoded bytes count against those of all bodies, and are given back.
TEST(EncodedBodies, ShareTheMemoryOfAllBodies) {
  Serving serving("share", {.limits = {.max_body = 1 << 20, .max_bodies = 1 << 20}});
  const auto send = [&](const std::string& fields, const std::string& body) {
    auto client = std::make_unique<HttpClient>(serving.port());
    client->Send("POST /v2 HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n" + body);
    return client;
  };
  const auto hold = [&] { return send("Content-Length: 900000\r\n", std::string(899'999, ' ')); };
  const std::string encoded = *Gzip(std::string(800'000, ' ')),
                    length = Format("Content-Length: {}\r\n", encoded.size());
  int held = 0, other = 0;
  // A body that is read while another one is decoded may be refused in its place: once more.
  while (held != 405 || other != 503) {
    const std::unique_ptr<HttpClient> holder = hold(), decoded = send(kGzip + length, encoded);
    other = decoded->Receive().status;
    holder->Send(" ");
    held = holder->Receive().status;
  }
  EXPECT_EQ(HttpClient(serving.port()).Post("/v2", encoded, kJson, kGzip).status, 405);
}

TEST(EncodedBodies, OfLargeAnswersWhereTheClientTakesThem) {
  Serving serving("answers");
  HttpClient& client = serving.client();
  EXPECT_EQ(client.Get("/v2/health/ready", kAccepts).Header("Content-Encoding"), "");  // small
  for (const int count : {300, 30'000}) {
    const std::string rows = Rows(count);
    const HttpAnswer plain = client.Post(kRows, rows, kJson);
    const HttpAnswer answer = client.Post(kRows, rows, kJson, kAccepts);
    EXPECT_EQ(plain.Header("Content-Encoding"), "");
    ASSERT_EQ(answer.Header("Content-Encoding"), "gzip");
    EXPECT_EQ(answer.Header("Vary"), "Accept-Encoding");
    EXPECT_LT(answer.body.size(), plain.body.size() / 4);
    EXPECT_EQ(Unzipped(answer.body), plain.body);
  }
  const HttpAnswer metrics = client.Get("/metrics", kAccepts);
  EXPECT_THAT(Unzipped(metrics.body), HasSubstr("tessera_requests_total"));
}

}  // namespace
}  // namespace tessera::serve
