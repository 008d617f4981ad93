#include "serve/http/request_head.h"

#include <gtest/gtest.h>

#include "serve/http/http_error.h"

namespace tessera::serve::internal {
namespace {

TEST(HeadScanner, FindsTheEndHoweverTheBytesCome) {
  const std::string head = "GET / HTTP/1.1\r\nHost: x\r\n\r\n", all = head + "GET /";
  EXPECT_EQ(HeadScanner().Scan(all), head.size());
  HeadScanner scanner;
  for (size_t count = 0; count < head.size(); ++count)
    ASSERT_EQ(scanner.Scan(all.substr(0, count)), 0u) << count;
  EXPECT_EQ(scanner.Scan(all), head.size());
}

TEST(HeadScanner, RefusesWhatParsersReadDifferently) {
  for (const std::string head :
       {"GET / HTTP/1.1\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\n\n", "GET /\rx HTTP/1.1\r\n",
        "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", "GET / HTTP/1.1\r\nA: b\x01\r\n\r\n",
        "GET / HTTP/1.1\r\nA: b\x7f\r\n\r\n", " GET / HTTP/1.1\r\n\r\n",
        "\r\nGET / HTTP/1.1\r\n\r\n"})
    EXPECT_THROW(HeadScanner().Scan(head), HttpError) << head;
  EXPECT_THROW(HeadScanner().Scan(std::string("GET / HTTP/1.1\r\nA: \0\r\n\r\n", 23)), HttpError);
}

}  // namespace
}  // namespace tessera::serve::internal
