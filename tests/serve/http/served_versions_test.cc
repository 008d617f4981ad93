// Several models and versions behind one server, and what changes while clients ask.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "serve/export/delta_writer.h"
#include "serve/http/http_server.h"
#include "serve/versions/model_versions.h"
#include "tests/serve/http/testing/http_client.h"
#include "tests/serve/testing/small_model.h"
#include "tests/serve/versions/testing/version_folder.h"

namespace tessera::serve {
namespace {

using nlohmann::json;
using tessera::testing::AddVersion;
using tessera::testing::ExportedRun;
using tessera::testing::HttpClient;
using tessera::testing::MakeSmallModel;
using tessera::testing::OneExample;
using tessera::testing::SmallConfig;
using tessera::testing::SmallModel;
using tessera::testing::TempPath;
using tessera::testing::WriteSmallModel;

constexpr char kJson[] = "application/json";

std::string RequestBody() {
  json inputs = json::array({{{"name", "dense"},
                              {"shape", {1, 13}},
                              {"datatype", "FP32"},
                              {"data", std::vector<float>(13, 0.5f)}}});
  for (const char* name : {"cat_0", "cat_1", "cat_2", "cat_9"})
    inputs.push_back({{"name", name}, {"shape", {1}}, {"datatype", "INT64"}, {"data", {1}}});
  return json{{"inputs", inputs}}.dump();
}

float ScoreOf(Predictor& predictor) {
  return predictor.Predict(OneExample({{1}, {1}, {1}, {1}}))[0];
}

// A server of models on a free port, while this lives.
class ServerOf {
 public:
  explicit ServerOf(const std::vector<ModelVersions*>& models, HttpServerOptions options = {})
      : server_(models, ForTest(std::move(options))), thread_([this] { server_.Run(); }) {}
  ~ServerOf() {
    server_.Stop();
    thread_.join();
  }
  int port() const { return server_.port(); }

 private:
  static HttpServerOptions ForTest(HttpServerOptions options) {
    options.port = 0;
    options.admin = true;
    options.queue.deadline = std::chrono::minutes(10);  // machines of tests are busy
    return options;
  }
  HttpServer server_;
  std::thread thread_;
};

struct Scored {
  int status = 0;
  std::string model, version;
  float score = 0;
};

Scored Ask(HttpClient& client, const std::string& model_path) {
  const auto result = client.Post("/v2/models/" + model_path + "/infer", RequestBody(), kJson);
  if (result.status != 200) return {.status = result.status, .model = {}, .version = {}};
  const json answer = json::parse(result.body);
  return {.status = 200,
          .model = answer["model_name"],
          .version = answer["model_version"],
          .score = answer["outputs"][0]["data"][0]};
}

TEST(ServedVersions, TakenUpByARequestAreToldBeforeItsAnswer) {
  const SmallModel first = MakeSmallModel("told.safetensors", 3);
  const std::string folder = AddVersion(first, "told");
  ModelVersions model("m", folder, {}, {});
  std::vector<std::string> told;
  HttpServerOptions options;
  options.took_up = [&](const ModelVersions& now) { told.push_back(VersionsText(now)); };
  const ServerOf server({&model}, options);
  HttpClient client(server.port());
  const std::string path = "/v2/repository/models/m/";
  AddVersion(first, "told");
  EXPECT_EQ(client.Post(path + "load", "", kJson).status, 200);
  EXPECT_EQ(told, std::vector<std::string>({"2"}));
  EXPECT_EQ(client.Post(path + "deltas", "", kJson).status, 200);
  EXPECT_EQ(told.size(), 1u);  // there was none
  ModelChain chain(NewestVersionOf(folder));
  Context ctx({.threads = 1});
  WriteDelta(ctx, ReadCheckpoint(first.checkpoint), {}, chain);
  EXPECT_EQ(client.Post(path + "deltas", "", kJson).status, 200);
  EXPECT_EQ(told, std::vector<std::string>({"2", "3"}));
}

TEST(ServedVersions, ThatAreBadAreInTheIndexAndTheGoodOnesAreTakenUp) {
  const SmallModel small = MakeSmallModel("index.safetensors", 3);
  const std::string folder = AddVersion(small, "index");
  ModelVersions model("m", folder, ParseVersionPolicy("latest:2"), {});
  std::vector<std::string> told;
  HttpServerOptions options;
  options.took_up = [&](const ModelVersions& now) { told.push_back(VersionsText(now)); };
  const ServerOf server({&model}, options);
  HttpClient client(server.port());
  for (int i = 0; i < 2; ++i) AddVersion(small, "index");
  std::ofstream(folder + "/3/weights-3.safetensors") << "none";
  const auto load = client.Post("/v2/repository/models/m/load", "", kJson);
  EXPECT_EQ(load.status, 400);
  EXPECT_NE(load.body.find("version 3 cannot be loaded: "), std::string::npos) << load.body;
  EXPECT_EQ(told, std::vector<std::string>({"1, 2"}));
  EXPECT_EQ(Ask(client, "m").version, "2");
  const auto index = [&](const char* body) {
    std::string text;
    for (const json& entry : json::parse(client.Post("/v2/repository/index", body, kJson).body))
      text += entry["version"].get<std::string>() + " " + entry["state"].get<std::string>() + "; ";
    return text;
  };
  EXPECT_EQ(index(""), "1 READY; 2 READY; 3 UNAVAILABLE; ");
  EXPECT_EQ(index("{}"), index(""));
  EXPECT_EQ(index(R"({"ready": true})"), "1 READY; 2 READY; ");
}

// Rows wait for their batch while a version comes that reads them otherwise.
TEST(ServedVersions, RowsThatWaitAreReadAsTheModelThatAnswersReadsThem) {
  AddVersion(MakeSmallModel("row0.safetensors", 3), "readings");
  TrainConfig config = SmallConfig();
  config.data.missing = MissingIds::kEmptyBag;
  ExportedRun other(config, "empty_bag.safetensors", 4);
  const std::string folder = TempPath("readings"), rows = R"({"cat_0": "1f", "int_0": 3})";
  ModelVersions model("m", folder, {}, {});
  HttpServerOptions options;
  options.queue.max_wait = std::chrono::seconds(1);
  const ServerOf server({&model}, options);
  const auto ask = [&] {
    const auto answer = HttpClient(server.port()).Post("/v2/models/m/infer_rows", rows, kJson);
    return answer.status == 200 ? json::parse(answer.body) : json(answer.body);
  };
  std::map<std::string, float> expected;
  const auto expect = [&](Predictor& predictor, const std::string& version) {
    expected[version] = predictor.Predict(predictor.model()->raw_rows().Read(rows, "rows"))[0];
  };
  expect(*model.current(), "1");
  json answer;
  std::thread client([&] { answer = ask(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  AddVersion({.checkpoint = other.Save().path, .request = {}, .scores = {}}, "readings");
  model.Reload();
  client.join();
  expect(*model.current(), "2");
  EXPECT_NE(expected["1"], expected["2"]);
  const std::string version = answer.at("model_version");
  EXPECT_EQ(answer["outputs"][0]["data"][0].get<float>(), expected.at(version)) << answer;
}

TEST(ServedVersions, OfSeveralModelsAnswerByTheirNames) {
  AddVersion(MakeSmallModel("v1.safetensors", 3), "a");
  ModelVersions a("a", AddVersion(MakeSmallModel("v2.safetensors", 4), "a"),
                  ParseVersionPolicy("latest:2"), {});
  ModelVersions b("b", WriteSmallModel(MakeSmallModel("b.safetensors", 5), "b"), {}, {});
  const ServerOf server({&a, &b});
  HttpClient client(server.port());
  const auto expect = [&](const std::string& path, const std::string& version,
                          const std::shared_ptr<Predictor>& predictor) {
    const Scored scored = Ask(client, path);
    EXPECT_EQ(scored.status, 200) << path;
    EXPECT_EQ(scored.model, path.substr(0, 1));
    EXPECT_EQ(scored.version, version) << path;
    EXPECT_FLOAT_EQ(scored.score, ScoreOf(*predictor)) << path;
  };
  ASSERT_NE(ScoreOf(*a.Find("1")), ScoreOf(*a.Find("2")));
  expect("a", "2", a.Find("2"));
  expect("a/versions/1", "1", a.Find("1"));
  expect("a/versions/2", "2", a.Find("2"));
  expect("b", "1", b.Find("1"));
  EXPECT_EQ(Ask(client, "c").status, 404);
  const auto none = client.Post("/v2/models/a/versions/3/infer", RequestBody(), kJson);
  EXPECT_EQ(none.status, 404);
  EXPECT_NE(none.body.find("there is no version '3', but 1, 2"), std::string::npos) << none.body;

  EXPECT_EQ(json::parse(client.Get("/v2/models/a").body)["versions"], json({"1", "2"}));
  EXPECT_EQ(json::parse(client.Post("/v2/repository/index", "", kJson).body).size(), 3u);
  const json all = json::parse(client.Get("/v2/models/stats").body)["model_stats"];
  ASSERT_EQ(all.size(), 3u);
  for (const json& each : all)
    EXPECT_EQ(each["inference_count"], each["name"] == "a" && each["version"] == "2" ? 2 : 1)
        << each;
  EXPECT_EQ(json::parse(client.Get("/v2/models/a/stats").body)["model_stats"].size(), 2u);
  const std::string metrics = client.Get("/metrics").body;
  for (const char* line :
       {"tessera_model_version{model=\"a\"} 2\n", "tessera_model_version{model=\"b\"} 1\n",
        "tessera_model_bytes{model=\"a\",version=\"1\"} ",
        "tessera_model_bytes{model=\"a\",version=\"2\"} "})
    EXPECT_NE(metrics.find(line), std::string::npos) << line;
}

VersionPolicy PolicyOf(const std::string& versions, TrafficShare canary, TrafficShare shadow = {}) {
  VersionPolicy policy = ParseVersionPolicy(versions);
  policy.canary = canary;
  policy.shadow = shadow;
  CheckShares(policy, {{1, "1"}, {2, "2"}, {3, "3"}, {4, "4"}}, "m");
  return policy;
}

// How many of `count` requests that name no version each version answered.
std::map<std::string, int> Answering(HttpClient& client, const std::string& model, int count) {
  std::map<std::string, int> answers;
  for (int i = 0; i < count; ++i) ++answers[Ask(client, model).version];
  return answers;
}

TEST(ServedVersions, ACanaryAnswersItsShareUntilItIsTakenBack) {
  AddVersion(MakeSmallModel("stable.safetensors", 3), "canary");
  const std::string folder = AddVersion(MakeSmallModel("tried.safetensors", 4), "canary");
  ModelVersions model("m", folder, PolicyOf("1,2", {.version = 2, .percent = 30}), {});
  const ServerOf server({&model});
  HttpClient client(server.port());
  using Counts = std::map<std::string, int>;
  EXPECT_EQ(Answering(client, "m", 100), (Counts{{"1", 70}, {"2", 30}}));
  EXPECT_EQ(Answering(client, "m", 10), (Counts{{"1", 7}, {"2", 3}}));  // evenly spread
  EXPECT_EQ(Answering(client, "m/versions/1", 10), (Counts{{"1", 10}}));
  EXPECT_EQ(Answering(client, "m/versions/2", 10), (Counts{{"2", 10}}));
  EXPECT_NE(client.Get("/metrics").body.find("tessera_model_version{model=\"m\"} 1\n"),
            std::string::npos);
  WithdrawAbove(folder, 1);
  EXPECT_TRUE(model.Follow());
  EXPECT_EQ(Answering(client, "m", 20), (Counts{{"1", 20}}));
}

// The value of a line of metrics.
double Metric(HttpClient& client, const std::string& line) {
  const std::string text = client.Get("/metrics").body;
  const size_t at = text.find("\n" + line + " ");
  return at == std::string::npos ? -1 : std::stod(text.substr(at + line.size() + 2));
}

TEST(ServedVersions, AShadowScoresItsShareForMetricsAlone) {
  AddVersion(MakeSmallModel("answers.safetensors", 3), "shadow");
  ModelVersions model("m", AddVersion(MakeSmallModel("shadow.safetensors", 4), "shadow"),
                      PolicyOf("1,2", {}, {.version = 2, .percent = 50}), {});
  const double difference = std::abs(ScoreOf(*model.Find("1")) - ScoreOf(*model.Find("2")));
  const std::string of = "{model=\"m\",version=\"2\"", ok = of + ",result=\"ok\"}";
  double compared = 0, sum = 0;
  {
    const ServerOf server({&model});
    HttpClient client(server.port());
    EXPECT_EQ(Answering(client, "m", 40), (std::map<std::string, int>{{"1", 40}}));
    Ask(client, "m/versions/1");
    // The shadow's last scores may come after the answer.
    while (compared < 20) {
      compared = Metric(client, "tessera_shadow_scores_total" + of + "}");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    sum = Metric(client, "tessera_shadow_difference_total" + of + "}");
    EXPECT_EQ(Metric(client, "tessera_shadow_requests_total" + ok), 20);
    EXPECT_EQ(Metric(client, "tessera_shadow_requests_total" + of + ",result=\"error\"}"), 0);
    EXPECT_EQ(Metric(client, "tessera_requests_total" + of + ",code=\"200\"}"), -1);
  }
  EXPECT_EQ(compared, 20);
  EXPECT_NEAR(sum, 20 * difference, 1e-4);
}

TEST(ServedVersions, AShadowHasItsShareOfTheCanarysRequestsAndOfOthers) {
  const SmallModel small = MakeSmallModel("beside.safetensors", 3);
  for (int i = 0; i < 2; ++i) AddVersion(small, "beside");
  const std::string folder = AddVersion(small, "beside");
  for (const int percent : {10, 50}) {
    ModelVersions model(
        "m", folder,
        PolicyOf("1,2,3", {.version = 2, .percent = percent}, {.version = 3, .percent = percent}),
        {});
    int canary = 0, shadowed = 0, of_canary = 0;
    for (int i = 0; i < 1000; ++i) {
      const std::shared_ptr<Predictor> answers = model.NextToAnswer();
      const bool by_canary = answers == model.Find("2");
      const bool shadow = model.NextShadow(*answers) != nullptr;
      canary += by_canary;
      shadowed += shadow;
      of_canary += by_canary && shadow;
    }
    EXPECT_EQ(canary, 10 * percent);
    EXPECT_EQ(shadowed, 10 * percent);
    EXPECT_EQ(of_canary, percent * percent / 10);
  }
}

// Clients ask while versions come and are taken back, and a directory beside them is loaded anew:
// each gets an answer, whose score is that of the version that it names.
TEST(ServedVersions, LoseNoRequestOverReloadsAndRollbacks) {
  const std::vector<SmallModel> models = {MakeSmallModel("even.safetensors", 6),
                                          MakeSmallModel("odd.safetensors", 7)};
  AddVersion(models[1], "busy");
  const std::string folder = AddVersion(models[0], "busy");
  ModelVersions busy("busy", folder, {}, {});
  ModelVersions plain("plain", WriteSmallModel(models[1], "plain"), {}, {});
  const float odd = ScoreOf(*plain.current()), even = ScoreOf(*busy.current());
  ASSERT_NE(odd, even);
  const ServerOf server({&busy, &plain});
  std::atomic<bool> done = false;
  std::atomic<int> answered = 0, failed = 0, wrong = 0;
  std::vector<std::thread> threads;
  for (const char* name : {"busy", "busy", "plain"})
    threads.emplace_back([&, name] {
      HttpClient client(server.port());
      while (!done || answered < 100) {
        const Scored scored = Ask(client, name);
        if (scored.status != 200) {
          ++failed;
          break;
        }
        ++answered;
        const float expected = std::stoi(scored.version) % 2 == 0 ? even : odd;
        wrong += std::abs(scored.score - expected) > 1e-6f || scored.model != name ? 1 : 0;
      }
    });
  HttpClient admin(server.port());
  int64_t newest = 2;
  for (int round = 0; round < 8; ++round) {
    WriteSmallModel(models[static_cast<size_t>(round % 2)], "plain");
    EXPECT_EQ(admin.Post("/v2/repository/models/plain/load", "", kJson).status, 200);
    AddVersion(models[static_cast<size_t>(++newest % 2)], "busy");
    EXPECT_EQ(admin.Post("/v2/repository/models/busy/load", "", kJson).status, 200);
    EXPECT_EQ(Ask(admin, "busy").version, std::to_string(newest));
    if (round % 2 == 0) continue;
    WithdrawAbove(folder, newest - 1);
    EXPECT_TRUE(busy.Follow());
    EXPECT_EQ(Ask(admin, "busy").version, std::to_string(newest - 1));
    RemoveOldVersions(folder, 1);
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(answered, 100);
}

}  // namespace
}  // namespace tessera::serve
