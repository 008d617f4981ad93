#include "serve/http/http_server.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "runtime/files/files.h"
#include "runtime/files/safetensors.h"
#include "serve/export/delta_writer.h"
#include "serve/http/inference_protocol.h"
#include "tests/serve/http/testing/serving.h"

namespace tessera::serve {
namespace {

using nlohmann::json;
using tessera::testing::HttpAnswer;
using tessera::testing::HttpClient;
using tessera::testing::MakeSmallModel;
using tessera::testing::Serving;
using tessera::testing::SmallModel;
using tessera::testing::TempPath;
using tessera::testing::WriteSmallModel;

constexpr char kInfer[] = "/v2/models/clicks/infer";
constexpr char kJson[] = "application/json";

// Two examples; the second has an id that table b lacks.
std::string RequestBody() {
  json inputs = json::array({{{"name", "dense"},
                              {"shape", {2, 13}},
                              {"datatype", "FP32"},
                              {"data", std::vector<float>(26, 0.5f)}}});
  for (const char* name : {"cat_0", "cat_1", "cat_2", "cat_9"})
    inputs.push_back({{"name", name}, {"shape", {2}}, {"datatype", "INT64"}, {"data", {1, 2}}});
  inputs[2]["data"][1] = 50;
  return json{{"id", "7"}, {"inputs", inputs}}.dump();
}

std::vector<float> ExpectedScores(Predictor& predictor) {
  const auto model = predictor.model();
  return predictor.Predict(ParseInferJson(RequestBody(), std::nullopt, model->spec()).predict);
}

TEST(HttpServer, SpeaksTheProtocol) {
  Serving serving("protocol");
  HttpClient& client = serving.client();
  for (const char* path : {"/v2/health/live", "/v2/health/ready", "/v2/models/clicks/ready",
                           "/v2/models/clicks/versions/1/ready"})
    EXPECT_EQ(client.Get(path).status, 200) << path;
  EXPECT_EQ(json::parse(client.Get("/v2").body)["name"], "tessera");
  const json metadata = json::parse(client.Get("/v2/models/clicks").body);
  EXPECT_EQ(metadata["inputs"].size(), 5u);
  EXPECT_EQ(metadata["outputs"][0]["name"], "score");

  const auto result = client.Post(kInfer, RequestBody(), kJson);
  ASSERT_EQ(result.status, 200) << result.body;
  const json answer = json::parse(result.body);
  EXPECT_EQ(answer["id"], "7");
  EXPECT_EQ(answer["model_version"], "1");
  EXPECT_EQ(answer["outputs"][0]["data"].get<std::vector<float>>(),
            ExpectedScores(serving.predictor()));
}

TEST(HttpServer, TakesSafetensors) {
  Serving serving("safetensors");
  Context ctx({.threads = 1});
  Safetensors content{.tensors = {{"dense", Tensor::Full(ctx, {2, 13}, 0.5)}}, .metadata = {}};
  for (const char* name : {"cat_0", "cat_1", "cat_2", "cat_9"})
    content.tensors[name] = Tensor::From<int64_t>(ctx, {1, 2});
  content.tensors["cat_1"].data<int64_t>()[1] = 50;
  const auto result =
      serving.client().Post(kInfer, SafetensorsBytes(ctx, content), kSafetensorsType);
  ASSERT_EQ(result.status, 200) << result.body;
  const SafetensorsFile file(result.body, "answer");
  EXPECT_EQ(file.Read(ctx, file.entries().at("score")).ToVector<float>(),
            ExpectedScores(serving.predictor()));
}

TEST(HttpServer, SaysWhatIsWrong) {
  Serving serving("wrong", {.limits = {.max_body = 4000}});
  HttpClient& client = serving.client();
  const auto error_of = [](const HttpAnswer& result, int status) {
    EXPECT_EQ(result.status, status) << result.body;
    return json::parse(result.body)["error"].get<std::string>();
  };
  EXPECT_NE(error_of(client.Post(kInfer, "{", kJson), 400).find("parse error"), std::string::npos);
  EXPECT_EQ(error_of(client.Post(kInfer, R"({"inputs": []})", kJson), 400),
            "input dense is missing");
  EXPECT_EQ(error_of(client.Post("/v2/models/other/infer", RequestBody(), kJson), 404),
            "there is no model 'other'");
  EXPECT_EQ(error_of(client.Post("/v2/models/clicks/versions/9/infer", RequestBody(), kJson), 404),
            "there is no version '9', but 1");
  EXPECT_EQ(error_of(client.Get("/v3"), 404), "there is no such path");
  EXPECT_EQ(error_of(client.Get("/v2/models/clicks/infer"), 405), "this path takes POST");
  const auto get_only = client.Post("/metrics", "", kJson);
  EXPECT_EQ(error_of(get_only, 405), "this path takes GET");
  EXPECT_EQ(get_only.Header("Allow"), "GET");
  const auto neither = client.Get("/v2/repository/models/clicks/load");
  EXPECT_EQ(error_of(neither, 405), "this path takes POST");
  EXPECT_EQ(neither.Header("Allow"), "POST");
  EXPECT_NE(error_of(client.Post(kInfer, RequestBody(), "text/html"), 415).find("text/html"),
            std::string::npos);
  EXPECT_EQ(
      error_of(
          HttpClient(serving.port()).Post(kInfer, RequestBody(), kJson, "Content-Encoding: br\r\n"),
          415),
      "Content-Encoding br: expected one of gzip, deflate and identity");
  error_of(HttpClient(serving.port()).Post(kInfer, std::string(5000, ' '), kJson), 413);
  EXPECT_EQ(client.Post(kInfer, RequestBody(), kJson).status, 200);  // it goes on
}

TEST(HttpServer, StrictRequestsAreRefusedForIdsOutOfRange) {
  Serving serving("strict");
  HttpClient& client = serving.client();
  json body = json::parse(RequestBody());
  const auto status = [&](const std::string& query = "") {
    return client.Post(kInfer + query, body.dump(), kJson).status;
  };
  const std::string refused =
      R"({"error":"feature cat_1, row 1: expected an id from 0 to 49, got 50"})";
  body["parameters"] = {{"strict", true}, {"priority", 3}};
  EXPECT_EQ(client.Post(kInfer, body.dump(), kJson).body, refused);
  EXPECT_EQ(status(), 400);
  body["parameters"] = {{"strict", "yes"}};
  EXPECT_EQ(status(), 400);
  body["parameters"] = {{"strict", false}};
  EXPECT_EQ(status(), 200);
  EXPECT_EQ(status("?strict=false&"), 200);
  EXPECT_EQ(status("?strict=true"), 400);
  EXPECT_EQ(status("?strct=false"), 400);
  EXPECT_EQ(client.Post(std::string(kInfer) + "?strict=false&strct=true", body.dump(), kJson).body,
            R"({"error":"the query: unknown word 'strct'; known here: strict"})");
  EXPECT_EQ(client.Post(std::string(kInfer) + "?strict=true&foo=1", body.dump(), kJson).body,
            R"({"error":"the query: unknown word 'foo'; known here: strict"})");
  EXPECT_EQ(client.Post(std::string(kInfer) + "?strict=true&strict=false", body.dump(), kJson).body,
            R"({"error":"the query: the word 'strict' is given twice"})");
  EXPECT_EQ(client.Post(std::string(kInfer) + "?strict=1", body.dump(), kJson).body,
            R"({"error":"?strict: expected true or false, got '1'"})");
  Context ctx({.threads = 1});
  Safetensors content{.tensors = {{"dense", Tensor::Full(ctx, {2, 13}, 0.5)}},
                      .metadata = {{"strict", "true"}}};
  for (const char* name : {"cat_0", "cat_1", "cat_2", "cat_9"})
    content.tensors[name] = Tensor::From<int64_t>(ctx, {1, 2});
  const auto send = [&] {
    return client.Post(kInfer, SafetensorsBytes(ctx, content), kSafetensorsType);
  };
  EXPECT_EQ(send().status, 200);
  content.tensors["cat_1"].data<int64_t>()[1] = 50;
  EXPECT_EQ(send().body, refused);
  // Each of the four that were refused for it, and the two that were not, is counted.
  EXPECT_NE(
      client.Get("/metrics")
          .body.find("tessera_out_of_range_ids_total{model=\"clicks\",feature=\"cat_1\"} 6\n"),
      std::string::npos);
}

TEST(HttpServer, CountsAndReloads) {
  Serving serving("metrics");
  HttpClient& client = serving.client();
  client.Post(kInfer, RequestBody(), kJson);
  client.Post(kInfer, "{", kJson);
  WriteSmallModel(MakeSmallModel("next.safetensors", 5), "metrics");
  EXPECT_EQ(client.Post("/v2/repository/models/clicks/load", "", kJson).status, 200);
  EXPECT_EQ(client.Post("/v2/repository/models/other/load", "", kJson).status, 404);
  const std::string text = client.Get("/metrics").body;
  for (const char* line :
       {"tessera_requests_total{model=\"clicks\",version=\"1\",code=\"200\"} 1\n",
        "tessera_requests_total{model=\"clicks\",version=\"1\",code=\"400\"} 1\n",
        "tessera_request_seconds_bucket{model=\"clicks\",version=\"1\",le=\"+Inf\"} 2\n",
        "tessera_request_seconds_count{model=\"clicks\",version=\"1\"} 2\n",
        "tessera_examples_total{model=\"clicks\",version=\"1\"} 2\n",
        "tessera_table_ids_total{model=\"clicks\",table=\"a\",result=\"hit\"} 2\n",
        "tessera_table_ids_total{model=\"clicks\",table=\"b\",result=\"hit\"} 3\n",
        "tessera_table_ids_total{model=\"clicks\",table=\"b\",result=\"miss\"} 1\n",
        "tessera_unknown_ids_total{model=\"clicks\"} 1\n",
        "tessera_model_reloads_total{model=\"clicks\",result=\"ok\"} 1\n",
        "tessera_model_reloads_total{model=\"clicks\",result=\"error\"} 0\n",
        "tessera_model_version{model=\"clicks\"} 2\n",
        "tessera_stage_seconds_count{model=\"clicks\",version=\"1\",stage=\"compute\"} 1\n",
        "tessera_stage_seconds_bucket{model=\"clicks\",version=\"1\",stage=\"read\",le=\"+Inf\"} "
        "1\n",
        "tessera_not_finite_scores_total{model=\"clicks\",version=\"1\"} 0\n",
        "tessera_out_of_range_ids_total{model=\"clicks\",feature=\"cat_0\"} 0\n",
        "tessera_out_of_range_ids_total{model=\"clicks\",feature=\"cat_1\"} 1\n",
        "# TYPE process_resident_memory_bytes gauge\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "in\n" << text;
}

TEST(HttpServer, DescribesItsModelsAsTritonDoes) {
  Serving serving("triton");
  HttpClient& client = serving.client();
  const json entry = {{"name", "clicks"}, {"version", "1"}, {"state", "READY"}, {"reason", ""}};
  for (const char* body : {"", "{}", R"({"ready": true})"})
    EXPECT_EQ(json::parse(client.Post("/v2/repository/index", body, kJson).body),
              json::array({entry}));
  EXPECT_EQ(json::parse(client.Get("/v2/repository/index").body), json::array({entry}));
  EXPECT_EQ(client.Post("/v2/repository/index", R"({"ready": 1})", kJson).status, 400);

  const json config = json::parse(client.Get("/v2/models/clicks/config").body);
  EXPECT_EQ(config["platform"], "tessera_dlrm");
  EXPECT_EQ(config["max_batch_size"], 2048);
  const json dense = {{"name", "dense"}, {"data_type", "TYPE_FP32"}, {"dims", {13}}};
  EXPECT_EQ(config["input"][0], dense);
  EXPECT_EQ(config["input"].size(), 5u);
  EXPECT_EQ(config["output"][0]["name"], "score");
  EXPECT_EQ(client.Get("/v2/models/other/config").status, 404);
  EXPECT_EQ(client.Post("/v2/models/clicks/config", "", kJson).status, 405);

  client.Post(kInfer, RequestBody(), kJson);
  client.Post(kInfer, RequestBody(), kJson);
  client.Post(kInfer, "{", kJson);
  for (const char* path :
       {"/v2/models/stats", "/v2/models/clicks/stats", "/v2/models/clicks/versions/1/stats"}) {
    const json stats = json::parse(client.Get(path).body)["model_stats"][0];
    EXPECT_EQ(stats["version"], "1");
    EXPECT_EQ(stats["inference_count"], 4);  // examples
    EXPECT_EQ(stats["execution_count"], 2);
    EXPECT_GT(stats["last_inference"], 1'600'000'000'000);
    const json& of = stats["inference_stats"];
    EXPECT_EQ(of["success"]["count"], 2);
    EXPECT_EQ(of["fail"]["count"], 1);
    int64_t stages = 0;
    for (const char* stage : {"compute_input", "queue", "compute_infer", "compute_output"}) {
      EXPECT_EQ(of[stage]["count"], 2) << stage;
      stages += of[stage]["ns"].get<int64_t>();
    }
    EXPECT_GT(of["compute_infer"]["ns"], 0);
    EXPECT_LE(stages, of["success"]["ns"].get<int64_t>() + 8);  // each is rounded
  }
  EXPECT_EQ(client.Get("/v2/models/clicks/versions/2/stats").status, 404);
}

TEST(HttpServer, MeasuresWhatItServes) {
  Serving serving("ages");
  const std::string text = serving.client().Get("/metrics").body;
  const auto value_of = [&](const std::string& metric) {
    const size_t at = text.find("\n" + metric + " ");
    EXPECT_NE(at, std::string::npos) << metric << " in\n" << text;
    return std::stod(text.substr(at + metric.size() + 2));
  };
  const std::string labels = "{model=\"clicks\",version=\"1\"}";
  int64_t bytes = 0;
  for (const TableSpec& table : serving.predictor().model()->spec().tables) bytes += table.nbytes();
  EXPECT_EQ(value_of("tessera_model_bytes" + labels), static_cast<double>(bytes));
  const double age = value_of("tessera_model_age_seconds" + labels);
  EXPECT_LT(age, 1e6);  // not since 1970
  EXPECT_GE(age + 1, value_of("tessera_model_loaded_seconds" + labels));
  EXPECT_GT(value_of("process_resident_memory_bytes"), 1e6);
  EXPECT_EQ(text.find("tessera_access_log_dropped_lines_total"), std::string::npos);
}

TEST(HttpServer, MayBeStoppedBeforeItRuns) {
  Predictor predictor(WriteSmallModel(MakeSmallModel("early.safetensors"), "early"));
  HttpServer server(predictor, {.port = 0});
  server.Stop();
  server.Run();
}

TEST(HttpServer, TakesDeltasAndNamesVersions) {
  Serving serving("deltas");
  HttpClient& client = serving.client();
  constexpr char kDeltas[] = "/v2/repository/models/clicks/deltas";
  EXPECT_EQ(client.Post(kDeltas, "", kJson).body, R"({"taken":0,"model_version":"1"})");
  Context ctx({.threads = 1});
  ModelChain chain(TempPath("deltas"));
  const SmallModel other = MakeSmallModel("deltas_other.safetensors", 4);
  WriteDelta(ctx, ReadCheckpoint(other.checkpoint), {}, chain);
  EXPECT_EQ(client.Post(kInfer, RequestBody(), kJson).Header("Tessera-Model-Version"), "1");
  EXPECT_EQ(client.Post(kDeltas, "", kJson).body, R"({"taken":1,"model_version":"2"})");
  EXPECT_EQ(client.Post(kInfer, RequestBody(), kJson).Header("Tessera-Model-Version"), "2");
  EXPECT_EQ(client.Post("/v2/models/clicks/versions/1/infer", RequestBody(), kJson).status, 404);
  ReplaceTextFile(PathIn(TempPath("deltas"), DeltaFileName(3)), "no delta");
  EXPECT_EQ(client.Post(kDeltas, "", kJson).status, 400);
  EXPECT_EQ(client.Post("/v2/repository/models/other/deltas", "", kJson).status, 404);
  const std::string metrics = client.Get("/metrics").body;
  for (const char* line : {"tessera_model_deltas_total{model=\"clicks\",result=\"ok\"} 1\n",
                           "tessera_model_deltas_total{model=\"clicks\",result=\"error\"} 1\n"})
    EXPECT_NE(metrics.find(line), std::string::npos) << line;
}

// Clients ask while models change: each gets an answer, all of it from the model that it names.
TEST(HttpServer, LosesNoRequestOverAReload) {
  Serving serving("hot");
  std::vector<std::vector<float>> scores_of = {{}, ExpectedScores(serving.predictor())};
  for (int version = 2; version <= 4; ++version) {
    const SmallModel next = MakeSmallModel("v.safetensors", 10 + static_cast<uint64_t>(version));
    Predictor alone(WriteSmallModel(next, "alone" + std::to_string(version)));
    scores_of.push_back(ExpectedScores(alone));
  }
  std::vector<std::thread> threads;
  std::atomic<int> answered = 0, wrong = 0;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      HttpClient client(serving.port());
      for (int i = 0; i < 60; ++i) {
        const auto result = client.Post(kInfer, RequestBody(), kJson);
        if (result.status != 200) break;
        ++answered;
        const json answer = json::parse(result.body);
        const auto version =
            static_cast<size_t>(std::stoi(answer["model_version"].get<std::string>()));
        const auto got = answer["outputs"][0]["data"].get<std::vector<float>>();
        for (size_t b = 0; b < 2; ++b)  // batches may differ in size, and so in rounding
          wrong += std::abs(got[b] - scores_of[version][b]) > 1e-6f ? 1 : 0;
      }
    });
  for (int version = 2; version <= 4; ++version) {
    WriteSmallModel(MakeSmallModel("v.safetensors", 10 + static_cast<uint64_t>(version)), "hot");
    EXPECT_EQ(serving.client().Post("/v2/repository/models/clicks/load", "", kJson).status, 200);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answered, 120);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tessera::serve
