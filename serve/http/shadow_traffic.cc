#include "serve/http/shadow_traffic.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

namespace tessera::serve {

std::optional<ShadowCounts> ShadowScores::Add(const std::vector<float>& scores, Scores& own,
                                              const Scores& other) {
  const std::lock_guard lock(mutex_);
  own = scores;
  if (!other || other->size() != own->size()) return std::nullopt;
  ShadowCounts counts{.compared = std::ssize(scores)};
  for (size_t i = 0; i < scores.size(); ++i)
    counts.difference += std::abs(double{scores[i]} - double{(*other)[i]});
  return counts;
}

std::optional<ShadowCounts> ShadowScores::AddAnswer(const std::vector<float>& scores) {
  return Add(scores, answer_, shadow_);
}
std::optional<ShadowCounts> ShadowScores::AddShadow(const std::vector<float>& scores) {
  return Add(scores, shadow_, answer_);
}

void ShadowTraffic::AddAnswer(const std::string& model, ShadowScores& scores,
                              const std::vector<float>& answer) {
  if (const auto counts = scores.AddAnswer(answer)) metrics_.CountShadow(model, *counts);
}

std::shared_ptr<ShadowScores> ShadowTraffic::SubmitRead(const std::string& model,
                                                        const std::shared_ptr<Predictor>& shadow,
                                                        PredictRequest request) {
  request.strict = false;  // it is for the answer to refuse
  auto scores = std::make_shared<ShadowScores>();
  queue_.Submit(shadow, std::move(request),
                [this, model, scores](const std::exception_ptr& error, ScoredRequest scored) {
                  const bool finite = std::ranges::all_of(
                      scored.scores, [](float score) { return std::isfinite(score); });
                  if (error || !finite) return metrics_.CountShadow(model, {.failed = 1});
                  metrics_.CountShadow(model, {.scored = 1});
                  if (const auto counts = scores->AddShadow(scored.scores))
                    metrics_.CountShadow(model, *counts);
                });
  return scores;
}

}  // namespace tessera::serve
