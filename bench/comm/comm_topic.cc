#include "bench/comm/comm_topic.h"

#include <algorithm>
#include <memory>

#include "bench/comm/collectives.h"
#include "bench/comm/rank_threads.h"
#include "runtime/tensor.h"

namespace tessera::bench {
namespace {

// Ranks, and the message of each.
struct Group {
  Group(int ranks, int64_t bytes) : threads(ranks), messages(static_cast<size_t>(ranks)) {
    copies = messages;
    threads.Run([&](Communicator& comm, Context& ctx) {
      Tensor& message = messages[static_cast<size_t>(comm.rank())];
      message = MakeMessage(comm, ctx, bytes);
      copies[static_cast<size_t>(comm.rank())] = Tensor::Empty(ctx, message.shape());
    });
  }
  const Tensor& Message(const Communicator& comm) const {
    return messages[static_cast<size_t>(comm.rank())];
  }
  const Tensor& Copy(const Communicator& comm) const {
    return copies[static_cast<size_t>(comm.rank())];
  }

  RankThreads threads;
  std::vector<Tensor> messages, copies;
};

const Collective& FindCollective(const std::string& name) {
  const auto& all = Collectives();
  return *std::find_if(all.begin(), all.end(), [&](const Collective& c) { return c.name == name; });
}

Work MakeWork(Context&, const Point& point) {
  const Collective& collective = FindCollective(point.Text("collective"));
  const auto ranks = static_cast<int>(point.Int("ranks"));
  const int64_t burst = point.Int("burst");
  const auto group = std::make_shared<Group>(ranks, point.Int("size"));
  Work work;
  work.check = [=, &collective] {
    group->threads.Run([&](Communicator& comm, Context& ctx) {
      CheckResult(comm, collective, collective.run(comm, ctx, group->Message(comm)));
    });
  };
  work.contenders = {{"tessera", [=, &collective](int) {
                        group->threads.Run([&](Communicator& comm, Context& ctx) {
                          for (int64_t i = 0; i < burst; ++i)
                            collective.run(comm, ctx, group->Message(comm));
                        });
                      }}};
  work.limit = {"copy", [=](int) {
                  group->threads.Run([&](Communicator& comm, Context& ctx) {
                    for (int64_t i = 0; i < burst; ++i)
                      group->Copy(comm).CopyFrom(ctx, group->Message(comm));
                  });
                }};
  work.bytes =
      static_cast<double>(group->messages[0].nbytes() * burst) * collective.link_share(ranks);
  work.items = burst;
  work.item = "collectives";
  return work;
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const Collective& collective : Collectives()) names.push_back(collective.name);
  return names;
}

}  // namespace

const Topic& CommTopic() {
  static const Topic topic = {
      .name = "comm",
      .help = "Collectives of ranks that are threads, by the size of their messages.",
      .limit = "a copy of as many bytes by every rank at the same time",
      .axes = {{"collective", Names(), "which ones", OneOf(Names())},
               {"ranks", {"2", "4"}, "threads, a rank each", WholeFrom(1, 256)},
               {"size", {"4Ki", "64Ki", "1Mi", "16Mi"}, "bytes of a rank's message", WholeFrom(4)},
               {"burst", {"16"}, "collectives in a row, timed together", WholeFrom(1)},
               {"threads", {"1"}, "of each rank", WholeFrom(1, 1)}},
      .suites = {},
      .make = MakeWork,
      .cold = false};
  return topic;
}

}  // namespace tessera::bench
