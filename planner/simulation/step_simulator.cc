#include "planner/simulation/step_simulator.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "planner/simulation/shared_cores.h"
#include "runtime/base/check.h"
#include "runtime/numbers/random.h"

namespace tessera {
namespace {

using Seconds = double (*)(const RankSeconds&);

// Ranks that take part in an exchange with one of them: all, those of its node, or those that have
// its place in every node.
enum class Scope { kAll, kNode, kPlaces };

struct Exchange {
  Scope scope;
  Seconds of;
};

// A part of a step: work, then exchanges. Exchanges that take no rank any time are left out.
struct Stage {
  Seconds work;
  std::vector<Exchange> exchanges;
};

const std::vector<Stage>& Stages() {
  using R = RankSeconds;
  static const std::vector<Stage> stages = {
      {[](const R& r) { return r.update + r.input_dist; },
       {{Scope::kAll, [](const R& r) { return r.ids_wire; }}}},
      {[](const R& r) { return r.lookup + r.tiers; },
       {{Scope::kNode, [](const R& r) { return r.disk; }},
        {Scope::kAll, [](const R& r) { return r.rows_wire - r.rows_by_node.seconds(); }},
        {Scope::kNode, [](const R& r) { return r.rows_by_node.inside; }},
        {Scope::kPlaces, [](const R& r) { return r.rows_by_node.between; }}}},
      {[](const R& r) { return r.output_dist + r.dense + r.gradient_dist; },
       {{Scope::kAll, [](const R& r) { return r.gradients_wire - r.gradients_by_node.seconds(); }},
        {Scope::kPlaces, [](const R& r) { return r.gradients_by_node.between; }},
        {Scope::kNode, [](const R& r) { return r.gradients_by_node.inside; }},
        {Scope::kAll, [](const R& r) { return r.dense_wire; }}}}};
  return stages;
}

// A factor of mean 1 whose logarithm is normal: 0 or more, and now and then far above 1.
class Jitter {
 public:
  Jitter(double deviation, uint64_t seed)
      : sigma_(std::sqrt(std::log1p(deviation * deviation))), seed_(seed) {}

  double Next() {
    if (sigma_ == 0) return 1;
    const PhiloxBits bits = Philox(seed_, 0, next_++);
    const double u = 1 - UniformDouble(bits.v[0], bits.v[1]),
                 angle = 2 * std::numbers::pi * UniformDouble(bits.v[2], bits.v[3]);
    const double normal = std::sqrt(-2 * std::log(u)) * std::cos(angle);  // Box and Muller
    return std::exp(sigma_ * normal - sigma_ * sigma_ / 2);
  }

 private:
  double sigma_;
  uint64_t seed_, next_ = 0;
};

class Simulation {
 public:
  Simulation(std::span<const RankSeconds> ranks, const SimulationOptions& options)
      : ranks_(ranks),
        options_(options),
        local_(static_cast<size_t>(options.local_size)),
        jitter_(options.jitter, options.seed),
        now_(ranks.size(), 0),
        pieces_(local_) {}

  SimulatedSteps Run() {
    std::vector<double> ends = {0};
    for (int step = 0; step < options_.steps; ++step) {
      for (const Stage& stage : Stages()) {
        Work(stage.work);
        for (const Exchange& exchange : stage.exchanges) Meet(exchange);
      }
      for (double& now : now_) now += options_.overhead;
      ends.push_back(*std::max_element(now_.begin(), now_.end()));
    }
    return Report(ends);
  }

 private:
  void Work(Seconds of) {
    for (size_t node = 0; node < ranks_.size(); node += local_) {
      for (size_t i = 0; i < local_; ++i) {
        const size_t r = node + i;
        const double slow = r == 0 ? options_.slow_rank : 1;
        pieces_[i] = {now_[r], of(ranks_[r]) * jitter_.Next() * slow, 0};
      }
      RunOnCores(pieces_, AtOnce());
      for (size_t i = 0; i < local_; ++i) {
        working_ += pieces_[i].end - pieces_[i].start;
        now_[node + i] = pieces_[i].end;
      }
    }
  }
  double AtOnce() const {
    if (options_.cores == 0) return static_cast<double>(local_);
    return static_cast<double>(options_.cores) / options_.threads;
  }

  void Meet(const Exchange& exchange) {
    const auto takes_time = [&](const RankSeconds& r) { return exchange.of(r) > 0; };
    if (std::none_of(ranks_.begin(), ranks_.end(), takes_time)) return;
    const size_t all = ranks_.size();
    switch (exchange.scope) {
      case Scope::kAll:
        return MeetEvery(exchange.of, 0, all, 1);
      case Scope::kNode:
        for (size_t node = 0; node < all; node += local_)
          MeetEvery(exchange.of, node, node + local_, 1);
        return;
      case Scope::kPlaces:
        for (size_t place = 0; place < local_; ++place) MeetEvery(exchange.of, place, all, local_);
    }
  }
  // Ranks begin, begin + stride, … below end.
  void MeetEvery(Seconds of, size_t begin, size_t end, size_t stride) {
    double last = 0;
    for (size_t r = begin; r < end; r += stride) last = std::max(last, now_[r]);
    for (size_t r = begin; r < end; r += stride) {
      const double seconds = of(ranks_[r]);
      waiting_ += last - now_[r];
      exchanging_ += seconds;
      now_[r] = last + seconds;
    }
  }

  // ends: of steps, from 0.
  SimulatedSteps Report(const std::vector<double>& ends) const {
    std::vector<double> steps;
    for (size_t s = 1; s < ends.size(); ++s) steps.push_back(ends[s] - ends[s - 1]);
    std::sort(steps.begin(), steps.end());
    const auto at = [&](double share) {
      return steps[static_cast<size_t>(share * static_cast<double>(steps.size() - 1) + 0.5)];
    };
    const double overhead = options_.overhead * options_.steps * static_cast<double>(ranks_.size());
    const double working = working_ + overhead,
                 all = std::max(working + waiting_ + exchanging_, 1e-300);
    return {ends.back() / options_.steps,
            at(0.5),
            at(0.99),
            working / all,
            waiting_ / all,
            exchanging_ / all};
  }

  std::span<const RankSeconds> ranks_;
  SimulationOptions options_;
  size_t local_;
  Jitter jitter_;
  std::vector<double> now_;       // of each rank
  std::vector<CoreWork> pieces_;  // of one node
  double working_ = 0, waiting_ = 0, exchanging_ = 0;
};

}  // namespace

SimulationOptions SimulationOf(const StepModel& model) {
  return {.local_size = model.layout().local_size,
          .cores = model.profile().cores,
          .threads = model.profile().threads,
          .overhead = OverheadOf(model.profile(), model.layout().world_size).seconds};
}

SimulatedSteps SimulateSteps(std::span<const RankSeconds> ranks, const SimulationOptions& options) {
  TESSERA_CHECK_GE(options.steps, 1, "simulated steps");
  TESSERA_CHECK(!ranks.empty(), "simulated steps of no ranks");
  TESSERA_CHECK(
      options.local_size >= 1 && ranks.size() % static_cast<size_t>(options.local_size) == 0,
      "simulated steps: nodes of {} ranks among {} ranks; expected a divisor", options.local_size,
      ranks.size());
  TESSERA_CHECK(options.cores >= 0 && options.threads >= 1,
                "simulated steps: {} cores and {} threads; expected at least 0 and 1",
                options.cores, options.threads);
  TESSERA_CHECK(options.overhead >= 0 && options.jitter >= 0 && options.slow_rank > 0,
                "simulated steps: overhead {}, jitter {} and slow_rank {}; expected at least 0, at "
                "least 0 and above 0",
                options.overhead, options.jitter, options.slow_rank);
  return Simulation(ranks, options).Run();
}

}  // namespace tessera
