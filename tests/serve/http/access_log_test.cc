#include "serve/http/access_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "runtime/files/files.h"
#include "runtime/files/safetensors.h"
#include "tests/serve/http/testing/serving.h"

namespace tessera::serve {
namespace {

using nlohmann::json;
using tessera::testing::HttpClient;
using tessera::testing::Serving;
using tessera::testing::TempPath;

std::string FreshPath(const std::string& name) {
  const std::string path = TempPath(name);
  std::filesystem::remove(path);
  return path;
}

std::vector<json> LinesOf(const std::string& path) {
  std::vector<json> lines;
  std::istringstream text(ReadTextFile(path));
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
  return lines;
}

// Waits until the file has so many lines.
void WaitForLines(const std::string& path, size_t count) {
  const auto has = [&] {
    const std::string text = ReadTextFile(path);
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) >= count;
  };
  while (!has()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

AccessEntry Entry(const std::string& path) {
  return {.client = "127.0.0.1", .method = "GET", .path = path, .status = 200, .bytes = 2};
}

TEST(AccessLog, ALineSaysWhatARequestWas) {
  AccessEntry entry{.time = std::chrono::system_clock::time_point(std::chrono::milliseconds(1234)),
                    .client = "::1",
                    .method = "POST",
                    .path = "/v2/\"\xff" + std::string(600, 'x'),
                    .status = 503,
                    .request_bytes = 10,
                    .bytes = 20,
                    .taken = std::chrono::microseconds(77)};
  const json line = json::parse(AccessLine(entry));
  EXPECT_EQ(line["time"], "1970-01-01T00:00:01.234Z");
  EXPECT_EQ(line["client"], "::1");
  EXPECT_EQ(line["path"].get<std::string>().substr(0, 5), "/v2/\"");
  EXPECT_LT(line["path"].get<std::string>().size(), 510u);
  EXPECT_EQ(line["status"], 503);
  EXPECT_EQ(line["us"], 77);
  EXPECT_FALSE(line.contains("model"));
}

TEST(AccessLog, HasEveryAnswerOfAServer) {
  const std::string path = FreshPath("access.log");
  {
    AccessLog log(path);
    Serving serving("logged", {.limits = {.max_header = 300}, .access_log = &log});
    Context ctx({.threads = 1});
    Safetensors content{.tensors = {{"dense", Tensor::Full(ctx, {2, 13}, 0.5)}}, .metadata = {}};
    for (const char* name : {"cat_0", "cat_1", "cat_2", "cat_9"})
      content.tensors[name] = Tensor::From<int64_t>(ctx, {1, 2});
    const std::string body = SafetensorsBytes(ctx, content);
    HttpClient& client = serving.client();
    client.Post("/v2/models/clicks/infer", body, "application/x-safetensors");
    client.Post("/v2/models/clicks/infer", "{", "application/json");
    client.Get("/nowhere?a=b");
    client.Send("HEAD /v2 HTTP/1.1\r\nHost: x\r\n\r\n");
    client.Receive(false);
    WaitForLines(path, 4);  // a line of another connection may come before it
    HttpClient(serving.port()).Get("/" + std::string(400, 'x'));
    WaitForLines(path, 5);
    EXPECT_NE(HttpClient(serving.port())
                  .Get("/metrics")
                  .body.find("tessera_access_log_dropped_lines_total 0\n"),
              std::string::npos);
  }
  const std::vector<json> lines = LinesOf(path);
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[0]["method"], "POST");
  EXPECT_EQ(lines[0]["path"], "/v2/models/clicks/infer");
  EXPECT_EQ(lines[0]["status"], 200);
  EXPECT_EQ(lines[0]["client"], "127.0.0.1");
  EXPECT_EQ(lines[0]["model"], "clicks");
  EXPECT_EQ(lines[0]["version"], "1");
  EXPECT_EQ(lines[0]["rows"], 2);
  EXPECT_GT(lines[0]["request_bytes"], 100);
  EXPECT_GT(lines[0]["bytes"], 50);
  int64_t stages = 0;
  for (const char* stage : {"read_us", "queue_us", "compute_us", "write_us"})
    stages += lines[0][stage].get<int64_t>();
  EXPECT_GT(stages, 0);
  EXPECT_LE(stages, lines[0]["us"].get<int64_t>() + 4);  // each is rounded
  EXPECT_EQ(lines[1]["status"], 400);
  EXPECT_EQ(lines[1]["rows"], 0);
  EXPECT_EQ(lines[1]["compute_us"], 0);
  EXPECT_EQ(lines[2]["path"], "/nowhere?a=b");
  EXPECT_EQ(lines[2]["status"], 404);
  EXPECT_FALSE(lines[2].contains("rows"));
  EXPECT_EQ(lines[3]["method"], "HEAD");
  EXPECT_EQ(lines[3]["bytes"], 0);
  EXPECT_EQ(lines[4]["status"], 431);
  EXPECT_EQ(lines[4]["method"], "");
}

TEST(AccessLog, MayBeCutAndRenamedWhileItIsOpen) {
  const std::string path = FreshPath("rotated.log"), old = FreshPath("rotated.log.1");
  AccessLog log(path);
  log.Add(Entry("/1"));
  WaitForLines(path, 1);
  std::filesystem::resize_file(path, 0);
  log.Add(Entry("/2"));
  WaitForLines(path, 1);
  EXPECT_EQ(LinesOf(path)[0]["path"], "/2");
  std::filesystem::rename(path, old);
  log.Add(Entry("/3"));
  WaitForLines(old, 2);
  log.Reopen();
  log.Add(Entry("/4"));
  while (!std::filesystem::exists(path)) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  WaitForLines(path, 1);
  EXPECT_EQ(LinesOf(path)[0]["path"], "/4");
  EXPECT_EQ(LinesOf(old).size(), 2u);
}

TEST(AccessLog, ADiskThatIsFullIsSaidOnce) {
  ::testing::internal::CaptureStderr();
  {
    AccessLog log("/dev/full");
    for (int64_t lost = 1; lost <= 3; ++lost) {
      log.Add(Entry("/"));
      while (log.dropped() < lost) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(said,
            "tessera: access log /dev/full: cannot be written, so that lines are lost: No space "
            "left on device\n"
            "tessera: access log /dev/full: 3 of its lines were lost\n");
  EXPECT_THROW(AccessLog("/no/such/folder/log"), Error);
}

// A reader that takes nothing costs lines, and holds up neither requests nor the end.
TEST(AccessLog, AReaderThatTakesNothingHoldsUpNobody) {
  const std::string path = FreshPath("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = open(path.c_str(), O_RDWR);
  ASSERT_GE(reader, 0);
  {
    AccessLog log(path);
    for (int i = 0; i < 40'000; ++i) log.Add(Entry("/" + std::string(400, 'x')));
    EXPECT_GT(log.dropped(), 0);
  }
  close(reader);
}

// A pipe without a reader is refused at once, and does not hold up a log that goes on.
TEST(AccessLog, APipeWithoutAReaderIsNotWaitedFor) {
  const std::string path = FreshPath("unread");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const std::string reason = "it is a pipe that nobody reads: start its reader first";
  try {
    AccessLog log(path);
    FAIL() << "it was opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), Format("{}: cannot be opened: {}", path, reason));
  }
  std::vector<std::string> said;
  std::filesystem::remove(path);
  {
    AccessLog log(path, [&](const std::string& sentence) { said.push_back(sentence); });
    std::filesystem::rename(path, path + ".1");
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    log.Reopen();
  }
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0], Format("access log {}: cannot be opened anew, so that the file before it is "
                            "written: {}",
                            path, reason));
}

// Lines that wait for a reader when the server ends are lost, and counted.
TEST(AccessLog, SaysAtTheEndHowManyLinesWereLost) {
  const std::string path = FreshPath("stalled");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = open(path.c_str(), O_RDWR | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  constexpr int kLines = 1500;
  std::vector<std::string> said;
  {
    AccessLog log(path, [&](const std::string& sentence) { said.push_back(sentence); });
    for (int i = 0; i < kLines; ++i) log.Add(Entry("/" + std::string(400, 'x')));
    EXPECT_EQ(log.dropped(), 0);
  }
  std::string taken(1 << 20, '\0');
  const ssize_t bytes = read(reader, taken.data(), taken.size());
  close(reader);
  ASSERT_GT(bytes, 0);
  const auto lines = std::count(taken.begin(), taken.begin() + bytes, '\n');
  EXPECT_GT(lines, 0);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0], Format("access log {}: {} of its lines were lost", path, kLines - lines));
}

}  // namespace
}  // namespace tessera::serve
