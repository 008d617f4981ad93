#ifndef TESSERA_PLANNER_CALIBRATION_ROUNDS_H_
#define TESSERA_PLANNER_CALIBRATION_ROUNDS_H_
// Times the same thing on several ranks at once, again and again: the median over rounds on each
// rank, and of these the mean over ranks, which every rank gets.
#include <functional>
#include <vector>

#include "comm/communicator.h"
#include "runtime/context.h"

namespace tessera {

// REQUIRES: at least one.
double MedianOf(std::vector<double> values);

class Rounds {
 public:
  // Each measurement takes about `budget` seconds, and at least three rounds.
  Rounds(Context& ctx, Communicator& comm, double budget)
      : ctx_(ctx), comm_(comm), budget_(budget) {}

  Context& ctx() { return ctx_; }
  Communicator& comm() { return comm_; }

  // Seconds of fn until the device has done it. All ranks start together. Every rank calls.
  double Time(const std::function<void()>& fn);
  // Medians of what a round returns: as many times as it likes, by Time.
  std::vector<double> Medians(const std::function<std::vector<double>()>& round);
  double Median(const std::function<void()>& fn) {
    return Medians([&] { return std::vector<double>{Time(fn)}; })[0];
  }

 private:
  std::vector<double> MeanOverRanks(const std::vector<double>& seconds);

  Context& ctx_;
  Communicator& comm_;
  double budget_;
};

}  // namespace tessera
#endif  // TESSERA_PLANNER_CALIBRATION_ROUNDS_H_
