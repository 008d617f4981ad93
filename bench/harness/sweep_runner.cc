#include "bench/harness/sweep_runner.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <numeric>
#include <optional>

#include "bench/harness/cache_flusher.h"
#include "bench/harness/machine_axes.h"
#include "bench/harness/passes.h"
#include "bench/harness/rounds.h"
#include "bench/harness/samples.h"
#include "bench/harness/sweep.h"
#include "runtime/base/check.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

constexpr size_t kMaxRounds = 10'000;

// An axis that is set and that no case reads would make rows that look as if they depended on it.
// What one of several cases reads, as parts of a training do, may be set for all.
class UnreadAxes {
 public:
  UnreadAxes(const Topic& topic, size_t cases) : axes_(AxesOf(topic)), cases_(cases) {}

  // Takes note of what a case read. Throws Error, with the last case, for an axis that none has
  // read.
  void Check(const Point& watched) {
    std::erase_if(axes_, [&](const Axis& axis) { return watched.WasAsked(axis.name); });
    if (--cases_ != 0) return;
    for (const Axis& axis : axes_)
      if (watched.Text(axis.name) != axis.values[0])
        throw Error(Format("--{} {}: no case uses it; leave it out here ({})", axis.name,
                           watched.Text(axis.name), axis.help));
  }

 private:
  std::vector<Axis> axes_;
  size_t cases_;  // left
};

using Mistakes = std::map<std::string, std::string>;  // by contender

std::string MistakesText(const Mistakes& mistakes) {
  std::string text;
  for (const auto& [contender, mistake] : mistakes) text += (text.empty() ? "" : "\n") + mistake;
  return text;
}

// One point from its tables to its rows.
class PointRun {
 public:
  // mistakes: contenders that a check has refused, which are left out; others are added.
  PointRun(const Topic& topic, const Point& point, const SweepOptions& options, Mistakes& mistakes)
      : topic_(topic),
        point_(point.Watched()),
        options_(options),
        mistakes_(mistakes),
        threads_(static_cast<int>(point_.Int("threads"))),
        name_(Format("{}/{}/{}t", topic.name, point.label(), threads_)),
        ctx_({.threads = threads_, .seed = SeedOf(point_)}),
        machine_(ctx_, point_) {}

  const std::string& name() const { return name_; }

  // unread: null where a run before this one has told it what the point reads. between: called
  // before each round with its number.
  std::vector<Measurement> Run(UnreadAxes* unread, const std::function<void(int)>& between) {
    Work work = topic_.make(ctx_, point_);
    TESSERA_CHECK(!work.contenders.empty(), "the topic gives nothing to time");
    const bool few_ids = work.warm && point_.Text(kCachesAxis) == "auto";
    const bool cold = StartsCold(topic_, point_) && !few_ids;
    if (unread) unread->Check(point_);
    if (options_.note)
      for (const std::string& note : work.notes) options_.note(name_, note);
    if (work.check) work.check();
    LeaveOutWrong(work.contenders, &Contender::check);
    std::optional<CacheFlusher> flusher;
    if (cold) flusher.emplace(ctx_, options_.flush_bytes);
    Rounds rounds(ctx_, work, cold ? &*flusher : nullptr);
    std::vector<Measurement> rows = Rows(work, RepeatLongEnough(rounds, between), cold);
    if (options_.counters != nullptr) Count(rounds, rows);
    LeaveOutWrong(work.contenders, &Contender::check_after);
    std::erase_if(rows, [&](const auto& row) { return mistakes_.contains(row.contender); });
    return rows;
  }

 private:
  using Check = std::function<void()> Contender::*;

  // Throws Error where the first contender, ours, is wrong, or all others are.
  void LeaveOutWrong(std::vector<Contender>& contenders, Check check) {
    const size_t all = contenders.size();
    const std::string ours = contenders[0].name;
    std::erase_if(contenders, [&](const Contender& c) { return IsWrong(c, check); });
    if (contenders.size() == all) return;
    if (mistakes_.contains(ours) || contenders.size() < 2) throw Error(MistakesText(mistakes_));
  }

  bool IsWrong(const Contender& contender, Check check) {
    if (mistakes_.contains(contender.name)) return true;
    try {
      if (contender.*check) (contender.*check)();
      return false;
    } catch (const Error& error) {
      mistakes_[contender.name] = error.what();
    }
    if (options_.note)
      options_.note(name_, Format("{} is wrong and is left out; the error at the end says why",
                                  contender.name));
    return true;
  }

  // options_.rounds rounds, and more until ours took min_seconds together.
  std::vector<std::vector<double>> RepeatLongEnough(Rounds& rounds,
                                                    const std::function<void(int)>& between) const {
    auto samples = rounds.Repeat(name_, options_.rounds, between);
    while (true) {
      const std::vector<double>& ours = samples[0];
      const double took = std::accumulate(ours.begin(), ours.end(), 0.0) * rounds.calls();
      if (took >= options_.min_seconds || ours.size() >= kMaxRounds) return samples;
      const double more =
          std::ceil((options_.min_seconds / took - 1) * static_cast<double>(ours.size()));
      const int count =
          static_cast<int>(std::clamp(more, 1.0, static_cast<double>(kMaxRounds - ours.size())));
      const auto next = rounds.Repeat(name_, count, [&](int) { between(options_.rounds); });
      for (size_t c = 0; c < samples.size(); ++c)
        samples[c].insert(samples[c].end(), next[c].begin(), next[c].end());
    }
  }

  void Count(Rounds& rounds, std::vector<Measurement>& rows) const {
    std::vector<CountedCalls> work;
    for (size_t c = 0; c < rows.size(); ++c) work.push_back(rounds.Counted(c));
    const std::vector<CallCounts> counts = options_.counters->Count(work);
    for (size_t c = 0; c < rows.size(); ++c) {
      for (const auto& [name, samples] : counts[c].samples)
        rows[c].facts.emplace_back(name, MedianOf(samples));
      if (counts[c].counted < 1 && !counts[c].samples.empty())
        rows[c].facts.emplace_back("counted_share", counts[c].counted);
    }
    if (options_.note)
      for (const std::string& note : options_.counters->TakeNotes())
        options_.note("counters", note);
  }

  std::vector<Measurement> Rows(const Work& work, const std::vector<std::vector<double>>& samples,
                                bool cold) const {
    Measurement row;
    row.topic = topic_.name;
    row.case_name = point_.label();
    row.threads = threads_;
    row.values = point_.values();
    if (work.limit.run) row.limit_seconds = samples.back();
    row.bytes = work.bytes;
    row.items = work.items;
    row.item = work.item;
    row.facts = work.facts;
    const auto add_facts = [](const std::vector<std::pair<std::string, double>>& facts,
                              Measurement& to) {
      to.facts.insert(to.facts.end(), facts.begin(), facts.end());
    };
    if (work.details && options_.details) add_facts(work.details(cold), row);
    row.cold = cold;
    std::vector<Measurement> rows;
    for (size_t c = 0; c < work.contenders.size(); ++c) {
      rows.push_back(row);
      rows.back().contender = work.contenders[c].name;
      rows.back().seconds = samples[c];
    }
    if (work.facts_after) add_facts(work.facts_after(), rows[0]);
    return rows;
  }

  const Topic& topic_;
  Point point_;
  const SweepOptions& options_;
  Mistakes& mistakes_;
  int threads_;
  std::string name_;
  Context ctx_;
  PointMachine machine_;
};

// Adds a pass to a point's rows. A contender that this pass left out is left out of all.
void AddPass(std::vector<Measurement> rows, std::vector<Measurement>& all) {
  for (Measurement& row : rows)
    for (Measurement& before : all)
      if (before.contender == row.contender) {
        before.AddPasses(row);
        row = std::move(before);
        break;
      }
  all = std::move(rows);
}

// Thrown through nothing but our own code.
struct Stopped {};

// A point between its passes.
struct Visited {
  std::vector<Measurement> rows;
  Mistakes mistakes;
  std::string name;
  bool done = false;
};

class Sweep {
 public:
  Sweep(const Topic& topic, const std::vector<Point>& points, const SweepOptions& options)
      : topic_(topic),
        points_(points),
        options_(options),
        passes_(std::min(options.passes, options.rounds)),
        unread_(topic, points.size()),
        visited_(points.size()) {}

  void Run() {
    try {
      for (int pass = 0; given_ < points_.size(); ++pass)
        for (size_t p = 0; p < points_.size(); ++p)
          if (!visited_[p].done) Visit(p, pass);
    } catch (const Stopped&) {
      return;
    }
    ThrowMistakes();
  }

 private:
  void Visit(size_t p, int pass) {
    Visited& visited = visited_[p];
    const SweepOptions part = PartOf(pass);
    PointRun run(topic_, points_[p], part, visited.mistakes);
    visited.name = run.name();
    const auto between = [&](int round) {
      Tell(p, pass, static_cast<double>(round) / part.rounds);
    };
    try {
      between(0);
      AddPass(run.Run(pass == 0 ? &unread_ : nullptr, between), visited.rows);
    } catch (const std::exception& error) {
      throw Error(Format("{}: {}", run.name(), error.what()));
    }
    if (pass + 1 < passes_ || WantsPass(visited.rows)) return;
    visited.done = true;
    for (const Measurement& row : visited.rows)
      if (const std::string text = ImpreciseText(row, options_.precision);
          options_.note && !text.empty())
        options_.note(run.name(), text);
    GiveRows();
  }

  bool WantsPass(const std::vector<Measurement>& rows) const {
    return std::ranges::any_of(
        rows, [&](const Measurement& row) { return bench::WantsPass(row, options_.precision); });
  }

  // The options of a pass.
  SweepOptions PartOf(int pass) const {
    SweepOptions part = options_;
    part.rounds = RoundsOfPass(options_.rounds, passes_, pass);
    part.min_seconds = options_.min_seconds / passes_;
    if (pass > 0) part.note = nullptr;
    return part;
  }

  // The rows of all points that are done, up to the first that is not.
  void GiveRows() {
    for (; given_ < points_.size() && visited_[given_].done; ++given_)
      if (options_.rows) options_.rows(visited_[given_].rows);
  }

  // part: of the point's pass that is over.
  void Tell(size_t p, int pass, double part) {
    if (options_.stop && options_.stop()) throw Stopped();
    if (!options_.progress) return;
    const auto points = static_cast<double>(points_.size());
    const double over = pass < passes_ ? (pass * points + static_cast<double>(p) + part) / passes_
                                       : static_cast<double>(given_);
    progress_ = std::max(progress_, over / points);
    options_.progress(visited_[p].name, progress_);
  }

  void ThrowMistakes() const {
    std::string text;
    for (const Visited& visited : visited_)
      if (!visited.mistakes.empty())
        text += Format("\n{}: {}", visited.name, MistakesText(visited.mistakes));
    if (!text.empty()) throw Error("contenders that are wrong were left out:" + text);
  }

  const Topic& topic_;
  const std::vector<Point>& points_;
  const SweepOptions& options_;
  const int passes_;
  UnreadAxes unread_;
  std::vector<Visited> visited_;
  size_t given_ = 0;  // of whom rows were given
  double progress_ = 0;
};

}  // namespace

void CheckPoints(const Topic& topic, const std::vector<Point>& points) {
  UnreadAxes unread(topic, points.size());
  for (const Point& point : points) {
    const Point watched = point.Watched();
    try {
      CheckMachineAxes(watched);
      StartsCold(topic, watched);
      if (!topic.check) continue;
      topic.check(watched);
      unread.Check(watched);
    } catch (const Error& error) {
      throw Error(Format("{}: {}", NameOf(topic, point), error.what()));
    }
  }
}

void RunPoints(const Topic& topic, const std::vector<Point>& points, const SweepOptions& options) {
  Sweep(topic, points, options).Run();
}

}  // namespace tessera::bench
