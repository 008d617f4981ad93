#include "bench/files/google_benchmark_json.h"

#include <cmath>

#include "runtime/json/json_fields.h"

namespace tessera::bench {
namespace {

using internal::Json;

constexpr double kNanoseconds = 1e9;

Json Entry(const Measurement& row, const std::string& name, double seconds) {
  Json json = {{"name", name},
               {"run_name", row.Name() + "/" + row.contender},
               {"repetitions", row.seconds.size()},
               {"threads", row.threads},
               {"iterations", 1},
               {"real_time", seconds * kNanoseconds},
               {"cpu_time", seconds * kNanoseconds},
               {"time_unit", "ns"}};
  if (row.bytes > 0) json["bytes_per_second"] = row.bytes / seconds;
  if (row.items > 0) json["items_per_second"] = static_cast<double>(row.items) / seconds;
  return json;
}

double Mean(const std::vector<double>& samples) {
  double sum = 0;
  for (const double sample : samples) sum += sample;
  return sum / static_cast<double>(samples.size());
}

double StandardDeviation(const std::vector<double>& samples) {
  if (samples.size() < 2) return 0;
  const double mean = Mean(samples);
  double squares = 0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  return std::sqrt(squares / static_cast<double>(samples.size() - 1));
}

void AddRow(const Measurement& row, Json& benchmarks) {
  const std::string name = row.Name() + "/" + row.contender;
  for (size_t i = 0; i < row.seconds.size(); ++i) {
    Json json = Entry(row, name, row.seconds[i]);
    json["run_type"] = "iteration";
    json["repetition_index"] = i;
    benchmarks.push_back(std::move(json));
  }
  const auto aggregate = [&](const char* kind, double seconds) {
    Json json = Entry(row, name + "_" + kind, seconds);
    json["run_type"] = "aggregate";
    json["aggregate_name"] = kind;
    json["aggregate_unit"] = "time";
    benchmarks.push_back(std::move(json));
  };
  aggregate("mean", Mean(row.seconds));
  aggregate("median", row.Median());
  if (const double deviation = StandardDeviation(row.seconds); deviation > 0)
    aggregate("stddev", deviation);
}

}  // namespace

std::string RunToGoogleBenchmarkJson(const BenchRun& run) {
  Json context = {
      {"date", run.date}, {"host_name", run.machine}, {"library_build_type", "release"}};
  for (const auto& [name, value] : run.context) context[name] = value;
  if (context.contains("time")) context["date"] = context["time"];
  Json benchmarks = Json::array();
  for (const Measurement& row : run.rows) AddRow(row, benchmarks);
  return Json{{"context", std::move(context)}, {"benchmarks", std::move(benchmarks)}}.dump(1) +
         "\n";
}

}  // namespace tessera::bench
