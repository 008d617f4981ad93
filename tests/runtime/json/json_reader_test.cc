#include "runtime/json/json_reader.h"

#include <gtest/gtest.h>

#include "runtime/json/json_fault.h"

namespace tessera::internal {
namespace {

std::string ErrorOf(const std::string& text, const JsonLimits& limits = {}) {
  try {
    ReadJsonText(text, limits);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(JsonReader, KeepsWhatIsThereInItsOrder) {
  for (const char* text :
       {"{}", "[]", "3", "null", R"("x")", R"({"b":1,"a":[true,null,-2,0.5,{"c":{}}],"":"é"})"})
    EXPECT_EQ(ReadJsonText(text).dump(), text);
}

TEST(JsonReader, SaysWhatIsWrong) {
  EXPECT_EQ(ErrorOf(R"({"a": 1, "b": 2, "a": 3})"), "the key \"a\" is given twice");
  EXPECT_EQ(ErrorOf(R"([{"x": {"a": 1, "a": 1}}])"), "the key \"a\" is given twice");
  EXPECT_NE(ErrorOf("{\n1").find("parse error at line 2, column 1"), std::string::npos);
  EXPECT_EQ(ErrorOf(R"({"a": 1 "b": 2})"),
            "parse error at line 1, column 11: unexpected string literal; expected '}'");
  EXPECT_EQ(ErrorOf(R"({"a": tru})"),
            "parse error at line 1, column 10: invalid literal; last read: '\"a\": tru}'");
  EXPECT_NE(ErrorOf("[1e999]").find("number overflow"), std::string::npos);
  EXPECT_NE(ErrorOf("").find("parse error"), std::string::npos);
  EXPECT_NE(ErrorOf("[] []").find("parse error"), std::string::npos);
  for (const std::string rest : {"", "x"})
    EXPECT_EQ(ErrorOf(std::string("[]\0", 3) + rest),
              "parse error at byte 3: unexpected NUL; expected end of input");
  EXPECT_LT(ErrorOf("[\"" + std::string(10'000, 'x')).size(), 300u);
}

TEST(JsonFault, IsWhereATextStopsBeingJson) {
  const auto fault = [](const std::string& text) {
    const auto found = FindJsonFault(text);
    return found ? std::to_string(found->column) + " " + found->what : "none";
  };
  EXPECT_EQ(fault(R"({"a": [1, {"b": null}], "a": "é"})"), "none");  // keys are not compared
  EXPECT_EQ(fault("[1e999]"), "none");                               // its syntax is good
  EXPECT_EQ(fault(R"({"a" 1})"), "6 unexpected number literal; expected ':'");
  EXPECT_EQ(fault(R"({"a": tru})"), "10 invalid literal");
  EXPECT_EQ(fault(R"({"a": 1)"), "8 unexpected end of input; expected '}'");
  EXPECT_EQ(fault(""), "1 unexpected end of input; expected '[', '{', or a literal");
  EXPECT_EQ(fault("\"\x80\""), "2 invalid string: ill-formed UTF-8 byte");
}

TEST(JsonReader, HasLimits) {
  EXPECT_EQ(ErrorOf(std::string(64, '[') + std::string(64, ']')), "no error");
  EXPECT_EQ(ErrorOf(std::string(65, '[')), "more than 64 levels of nesting");
  EXPECT_EQ(ErrorOf(Repeated(R"({"a":)", 65)), "more than 64 levels of nesting");
  EXPECT_EQ(ErrorOf("[1, 2]", {.values = 3}), "no error");
  EXPECT_EQ(ErrorOf("[1, 2, {}]", {.values = 3}), "more than 3 values in one document");
  EXPECT_EQ(ErrorOf("{\"" + std::string(5000, 'k') + "\": 1}"),
            "a key of 5000 bytes; at most 4096 are read");
  EXPECT_EQ(ErrorOf("[" + std::string(2000, '9') + "]").substr(0, 15), "number overflow");
  EXPECT_EQ(ErrorOf("[0." + std::string(2000, '9') + "]"),
            "a number of 2002 bytes; at most 1024 are read");
}

// Keys must not be compared with all before them: these would take 9 s, not milliseconds.
TEST(JsonReader, ManyKeysAreReadInLinearTime) {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i) text += "\"" + std::to_string(i) + "\":0,";
  text.back() = '}';
  EXPECT_EQ(ReadJsonText(text).size(), 200'000u);
  text.back() = ',';
  EXPECT_EQ(ErrorOf(text + "\"7\": 1}"), "the key \"7\" is given twice");
  const std::string many = Repeated(R"({"a": {"b": [{}]}},)", 50'000);
  EXPECT_EQ(ReadJsonText("[" + many + "0]").size(), 50'001u);
}

TEST(JsonReader, LeavesAListUnread) {
  const std::string text =
      R"({"inputs": [{"data": [1, [2, 3]], "n": [4]}, {"data": []}, {"data": 5}],
                               "data": [6]})";
  const Json json = ReadJsonText(text, {}, {.path = {"inputs", "", "data"}});
  const auto unread = [&](size_t i) {
    const Json& place = json["inputs"][i]["data"];
    return text.substr(place[0], place[1].get<size_t>() - place[0].get<size_t>());
  };
  EXPECT_EQ(unread(0), "[1, [2, 3]]");
  EXPECT_EQ(unread(1), "[]");
  EXPECT_EQ(json["inputs"][2]["data"], 5);
  EXPECT_EQ(json["inputs"][0]["n"].dump() + json["data"].dump(), "[4][6]");
  const UnreadList data{.path = {"data"}};
  EXPECT_EQ(ReadJsonText(R"({"data": [{"a": 1, "b": []}, 2]})", {.values = 2}, data).dump(),
            R"({"data":[9,31]})");
  EXPECT_THROW(ReadJsonText(R"({"data": [1,})", {}, data), Error);
  EXPECT_THROW(ReadJsonText(R"({"data": )" + std::string(65, '['), {}, data), Error);
}

}  // namespace
}  // namespace tessera::internal
