#ifndef TESSERA_TESTS_BENCH_HARNESS_FAKE_TOPIC_H_
#define TESSERA_TESTS_BENCH_HARNESS_FAKE_TOPIC_H_
// A topic of bench that times nothing, for tests of what runs topics.
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/sweep.h"
#include "bench/harness/sweep_runner.h"
#include "runtime/base/check.h"

namespace tessera::bench {

inline constexpr int64_t kSmallFlush = 1 << 16;  // bytes: nothing here needs cold caches

// Two contenders and a limit that note that they ran.
struct Fake {
  std::vector<std::string> log;
  Topic topic = {.name = "fake",
                 .help = "",
                 .limit = "nothing",
                 .axes = {{"dim", {"16"}, ""}},
                 .suites = {},
                 .make = [this](Context& ctx, const Point& point) { return Make(ctx, point); }};
  int threads = 0, fail_in_round = -1;
  bool warm = false;
  std::function<void()> check = [this] { log.push_back("check"); };

  Contender Noting(const std::string& name) {
    return {name, [this, name](int round) {
              log.push_back(name + std::to_string(round));
              if (round == fail_in_round) throw Error("no such row");
            }};
  }

  Work Make(Context& ctx, const Point& point) {
    point.Text("dim");
    threads = ctx.threads().threads();
    Work work;
    work.check = check;
    work.contenders = {Noting("a"), Noting("b")};
    work.contenders[0].before = [this](int round) {
      log.push_back("before" + std::to_string(round));
    };
    work.limit = Noting("limit");
    work.bytes = 100;
    work.items = 7;
    work.item = "rows";
    work.facts = {{"known", 1}};
    work.facts_after = [this] {
      return std::vector<std::pair<std::string, double>>{{"calls", log.size()}};
    };
    work.warm = warm;
    return work;
  }

  std::vector<Measurement> Run(SweepOptions options, const AxisValues& flags = {}) {
    std::vector<Measurement> all;
    options.flush_bytes = kSmallFlush;
    options.rows = [&](const std::vector<Measurement>& rows) {
      all.insert(all.end(), rows.begin(), rows.end());
    };
    RunPoints(topic, PointsOf(topic, "", flags), options);
    return all;
  }
  std::string ErrorOf(const SweepOptions& options) {
    try {
      Run(options, {{"threads", {"1"}}});
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
};

}  // namespace tessera::bench
#endif  // TESSERA_TESTS_BENCH_HARNESS_FAKE_TOPIC_H_
