#include "runtime/files/trace.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "runtime/base/check.h"
#include "tests/testing/comma_locale.h"

namespace tessera {
namespace {

using Json = nlohmann::json;

Json Written(const std::vector<std::string>& events) {
  const std::string path = ::testing::TempDir() + "/trace.json";
  Trace::Write(path, events);
  return Json::parse(std::ifstream(path)).at("traceEvents");
}

std::vector<Json> Spans(const Json& events) {
  std::vector<Json> spans;
  for (const Json& event : events)
    if (event.at("ph") == "X") spans.push_back(event);
  return spans;
}

TEST(Trace, SpansLieInsideEachOther) {
  Trace trace;
  {
    const TraceHere here(&trace.Thread(2, "step"));
    const TraceSpan outer("step", 7);
    const TraceSpan inner("say \"lookup\"");
  }
  const std::vector<Json> spans = Spans(Written({trace.Events()}));
  ASSERT_EQ(spans.size(), 2u);
  const Json &inner = spans[0], &outer = spans[1];
  EXPECT_EQ(inner.at("name"), "say \"lookup\"");
  EXPECT_EQ(outer.at("name"), "step");
  EXPECT_EQ(outer.at("args").at("batch"), 7);
  EXPECT_FALSE(inner.contains("args"));
  EXPECT_EQ(inner.at("pid"), 2);
  const double begin = outer.at("ts"), end = begin + outer.at("dur").get<double>(),
               inner_begin = inner.at("ts"),
               inner_end = inner_begin + inner.at("dur").get<double>();
  EXPECT_LE(begin, inner_begin + 0.1);
  EXPECT_LE(inner_end, end + 0.1);
}

TEST(Trace, ThreadsAndRanksHaveNames) {
  Trace first, second;
  std::thread([&] {
    const TraceHere here(&first.Thread(0, "copy"));
    const TraceSpan span("data");
    EXPECT_EQ(&TraceHere::thread()->Sibling("step"), &first.Thread(0, "step"));
  }).join();
  std::map<std::string, int> names;
  second.Thread(1, "copy");
  for (const Json& event : Written({first.Events(), second.Events()}))
    if (event.at("ph") == "M")
      ++names[event.at("name").get<std::string>() + " " +
              event.at("args").at("name").get<std::string>()];
  EXPECT_EQ(names, (std::map<std::string, int>{{"process_name rank 0", 1},
                                               {"process_name rank 1", 1},
                                               {"thread_name copy", 2},
                                               {"thread_name step", 1}}));
}

TEST(Trace, IsJsonInAnyLocale) {
  const testing::CommaLocale comma(::testing::TempDir());
  Trace trace;
  {
    const TraceHere here(&trace.Thread(0, "step"));
    const TraceSpan span("step");
  }
  EXPECT_EQ(Spans(Written({trace.Events()})).size(), 1u);
}

TEST(Trace, NothingIsRecordedWhereNobodyAsked) {
  Trace trace;
  { const TraceSpan span("step"); }
  {
    const TraceHere here(&trace.Thread(0, "step"));
    const TraceHere nowhere(nullptr);
    const TraceSpan span("step");
  }
  EXPECT_TRUE(Spans(Written({trace.Events()})).empty());
  EXPECT_EQ(TraceHere::thread(), nullptr);
}

TEST(Trace, NoEventsAtAllAreAFileToo) { EXPECT_TRUE(Written({""}).empty()); }

TEST(Trace, AFileThatCannotBeWrittenIsAnError) {
  EXPECT_THROW(Trace::Write("/no/such/folder/trace.json", {}), Error);
}

}  // namespace
}  // namespace tessera
