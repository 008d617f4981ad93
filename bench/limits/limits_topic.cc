#include "bench/limits/limits_topic.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "bench/embedding/bare_loops.h"
#include "bench/harness/run_bare.h"
#include "bench/inputs/draws.h"
#include "bench/limits/fma_loop.h"
#include "bench/limits/stream_loops.h"
#include "runtime/base/check.h"
#include "runtime/base/machine.h"
#include "runtime/tensor.h"

namespace tessera::bench {
namespace {

constexpr int64_t kMoved = 64 << 20;  // bytes that a gather or an update reads in a call
constexpr int64_t kBag = 32;          // rows that a gather adds up
constexpr int64_t kFmaSteps = 1 << 21;

// "gather:256": which loop, and how long its rows are (0: it has none).
struct Kind {
  std::string name;
  int64_t row_bytes = 0;
};

Kind ParseKind(const std::string& text) {
  const size_t colon = text.find(':');
  Kind kind = {text.substr(0, colon)};
  if (colon == std::string::npos) {
    OneOf({"read", "copy", "write", "fma"})(text);
    return kind;
  }
  OneOf({"gather", "update"})(kind.name);
  kind.row_bytes = ParseWhole(text.substr(colon + 1));
  if (!IsBareDim(kind.row_bytes / 4) || kind.row_bytes % 4 != 0)
    throw Error(Format("expected rows of 64, 128, 256, 512 or 1024 bytes, got '{}'", text));
  return kind;
}

std::vector<std::string> AllKinds() {
  std::vector<std::string> kinds = {"read", "copy", "write", "fma"};
  for (const char* loop : {"gather:", "update:"})
    for (int64_t bytes = 64; bytes <= 1024; bytes *= 2)
      kinds.push_back(loop + std::to_string(bytes));
  return kinds;
}

// Memory in order.
class Streams {
 public:
  Streams(Context& ctx, int64_t bytes)
      : from_(Tensor::Full(ctx, {bytes / 4}, 1)),
        to_(Tensor::Full(ctx, {bytes / 4}, 0)),
        sums_(Tensor::Zeros(ctx, {int64_t{ctx.threads().threads()}})) {}

  void Read(Context& ctx) const {
    RunBare(ctx, StreamRead{from_.data<float>(), from_.numel(), sums_.data<float>()});
  }
  void Copy(Context& ctx) const {
    RunBare(ctx, StreamCopy{from_.data<float>(), to_.data<float>(), from_.numel()});
  }
  void Write(Context& ctx) const { RunBare(ctx, StreamWrite{to_.data<float>(), to_.numel()}); }

 private:
  Tensor from_, to_, sums_;
};

Work StreamWork(Context& ctx, const std::string& name, int64_t bytes) {
  const auto streams = std::make_shared<Streams>(ctx, bytes);
  Work work;
  work.bytes = static_cast<double>(bytes) * (name == "copy" ? 2 : 1);
  work.contenders = {{"bare", [&ctx, streams, name](int) {
                        if (name == "read") streams->Read(ctx);
                        if (name == "copy") streams->Copy(ctx);
                        if (name == "write") streams->Write(ctx);
                      }}};
  return work;
}

// One table, and rows of it to be read or changed.
class Rows {
 public:
  Rows(Context& ctx, int64_t memory, int64_t row_bytes)
      : dim_(row_bytes / 4),
        table_(Tensor::Full(ctx, {memory / row_bytes, dim_}, 1e-3)),
        ids_(static_cast<size_t>(kMoved / row_bytes)) {
    Draws draws(ctx.random().seed(), ctx.random().TakeSequence());
    for (int64_t& id : ids_) id = draws.Below(table_.dim(0));
  }

  int64_t num_ids() const { return static_cast<int64_t>(ids_.size()); }

 protected:
  int64_t dim_;
  Tensor table_;
  std::vector<int64_t> ids_;
};

class GatherRows : public Rows {
 public:
  GatherRows(Context& ctx, int64_t memory, int64_t row_bytes)
      : Rows(ctx, memory, row_bytes), out_(Tensor::Zeros(ctx, {num_ids() / kBag, dim_})) {
    for (int64_t i = 0; i <= num_ids() / kBag; ++i) offsets_.push_back(i * kBag);
  }
  void Run(Context& ctx) const {
    const LoopTable table = {table_.raw_data(), dim_, out_.raw_data(), dim_};
    RunBare(ctx, BareGather{&table, 1, num_ids() / kBag, ids_.data(), offsets_.data()});
  }

 private:
  Tensor out_;
  std::vector<int64_t> offsets_;
};

class UpdateRows : public Rows {
 public:
  UpdateRows(Context& ctx, int64_t memory, int64_t row_bytes)
      : Rows(ctx, memory, row_bytes), grad_(Tensor::Full(ctx, {1, dim_}, 1e-3)) {
    std::sort(ids_.begin(), ids_.end());
    ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
    table_start_ = {0, num_ids()};
    occurrence_start_.resize(ids_.size() + 1);
    std::iota(occurrence_start_.begin(), occurrence_start_.end(), 0);
    grad_rows_.resize(ids_.size());
  }
  void Run(Context& ctx) const {
    const LoopTable table = {table_.raw_data(), dim_, grad_.raw_data(), dim_};
    BareUpdate update;
    update.tables = &table;
    update.num_tables = 1;
    update.unique = ids_.data();
    update.table_start = table_start_.data();
    update.occurrence_start = occurrence_start_.data();
    update.grad_rows = grad_rows_.data();
    RunBare(ctx, update);
  }

 private:
  Tensor grad_;  // the same for every row, so that it stays in the cache
  std::vector<int64_t> table_start_, occurrence_start_;
  std::vector<int32_t> grad_rows_;
};

// stream: what is to be matched, moving as many bytes.
template <typename Loop>
Work RowsWork(Context& ctx, int64_t memory, int64_t row_bytes, int ways, const char* stream) {
  const auto rows = std::make_shared<Loop>(ctx, memory, row_bytes);
  Work work;
  work.contenders = {{"bare", [&ctx, rows](int) { rows->Run(ctx); }}};
  work.items = rows->num_ids();
  work.item = "rows";
  work.bytes = static_cast<double>(rows->num_ids() * row_bytes * ways);
  work.limit = StreamWork(ctx, stream, rows->num_ids() * row_bytes).contenders[0];
  return work;
}

// Products added up in registers.
Work FmaWork(Context& ctx) {
  const int64_t threads = ctx.threads().threads();
  const auto sums = std::make_shared<Tensor>(Tensor::Zeros(ctx, {threads}));
  Work work;
  work.contenders = {{"bare", [&ctx, sums](int) {
                        RunBare(ctx, FmaLoop{kFmaSteps, sums->data<float>()});
                      }}};
  work.items = threads * kFmaSteps * FmaLoop::OperationsOfStep();
  work.item = "operations";
  return work;
}

Work MakeWork(Context& ctx, const Point& point) {
  const Kind kind = ParseKind(point.Text("kind"));
  if (kind.name == "fma") return FmaWork(ctx);
  const int64_t memory = point.Int("memory");
  if (kind.name == "gather") return RowsWork<GatherRows>(ctx, memory, kind.row_bytes, 1, "read");
  if (kind.name == "update") return RowsWork<UpdateRows>(ctx, memory, kind.row_bytes, 2, "copy");
  return StreamWork(ctx, kind.name, memory);
}

void CheckPoint(const Point& point) {
  if (ParseKind(point.Text("kind")).name != "fma") point.Int("memory");
}

std::vector<std::string> OneAndAllThreads() {
  const int all = DefaultThreads();
  if (all == 1) return {"1"};
  return {"1", std::to_string(all)};
}

}  // namespace

const Topic& LimitsTopic() {
  static const Topic topic = {
      .name = "limits",
      .help = "What this machine allows: streams, rows read or changed, and operations a second.",
      .limit = "a stream that moves as many bytes",
      .axes =
          {{"kind", AllKinds(),
            "read, copy, write, gather:BYTES or update:BYTES of a row, or fma (operations of f32)",
            [](const std::string& text) { ParseKind(text); }},
           {"memory",
            {"512Mi"},
            "bytes that are read, or that the rows lie in",
            WholeFrom(1 << 20, int64_t{1} << 40)},
           {"threads", OneAndAllThreads(), "threads of a loop", WholeFrom(1, 4096)}},
      .suites = {},
      .make = MakeWork,
      .check = CheckPoint};
  return topic;
}

}  // namespace tessera::bench
