// Kind `quant`, stored tables: FBGEMM's inference lookups, TorchRec's quantized modules.
#include "embedding/quantized/quantize_tables.h"
#include "models/layers/interaction.h"
#include "models/layers/over_arch.h"
#include "runtime/ops/arithmetic.h"
#include "tests/conformance/dense_modules.h"
#include "tests/conformance/embedding_case.h"
#include "tests/conformance/quant_case.h"

namespace tessera::conformance {
namespace {

// FP32 … INT2 as rows of TorchRec's modules, or as FBGEMM's quantize_embs writes them.
RowCodec CodecOf(const std::string& type, int64_t alignment, bool fbgemm) {
  static const std::map<std::string, std::string> names = {{"FP32", "f32"},  {"FP16", "f16"},
                                                           {"FP8", "hfp8"},  {"INT8", "int8"},
                                                           {"INT4", "int4"}, {"INT2", "int2"}};
  const auto found = names.find(type);
  if (found == names.end()) throw Unsupported("rows of type " + type);
  RowCodec codec = ParseRowCodec(fbgemm && found->second == "int8" ? "int8_exact" : found->second);
  codec.alignment = alignment;
  return codec;
}

DType OutputOf(const Json& attrs) {
  static const std::map<std::string, DType> types = {
      {"FP32", DType::kF32}, {"FP16", DType::kF16}, {"BF16", DType::kBF16}, {"INT8", DType::kU8}};
  return types.at(attrs.at("output_dtype").get<std::string>());
}

// ---- FBGEMM's tables

// The rows; zeros if the case has none since it expects an error.
QuantizedTable TbeTable(Context& ctx, const Case& c, size_t i) {
  const Json& attrs = c.attrs.at("tables").at(i);
  QuantizedTable table;
  table.name = std::to_string(i);
  table.embedding_dim = attrs.at("dim").get<int64_t>();
  table.num_embeddings = attrs.at("rows").get<int64_t>();
  table.pooling = ParsePoolingType(c.attrs.at("pooling").get<std::string>());
  table.codec = CodecOf(attrs.at("weight_ty").get<std::string>(),
                        c.attrs.at("row_alignment").get<int64_t>(), true);
  table.rows = c.optional("rows." + table.name);
  if (!table.rows)
    table.rows = Tensor::Zeros(
        ctx, {table.num_embeddings, RowBytes(table.codec, table.embedding_dim)}, DType::kU8);
  if (const Tensor map = c.optional("remap." + table.name))
    table.index_remap = std::make_shared<IndexRemap>(IndexRemap::FromMap(
        ctx, c.attrs.at("remap") == "hash" ? RemapKind::kHash : RemapKind::kArray, map,
        table.num_embeddings));
  return table;
}

std::vector<EmbeddingFeature> TbeFeatures(const Case& c) {
  std::vector<EmbeddingFeature> features;
  for (const Json& table : c.attrs.at("feature_table_map")) {
    const std::string name = std::to_string(features.size());
    features.push_back({name, table.get<int>(), name});
  }
  return features;
}

KeyedJaggedTensor TbeBatch(const Case& c, const std::vector<EmbeddingFeature>& features) {
  KeyedJaggedTensorArgs args;
  for (const EmbeddingFeature& f : features) args.keys.push_back(f.key);
  args.values = c.input("indices");
  args.offsets = c.input("offsets");
  args.stride = c.attrs.at("B").get<int64_t>();
  if (const Tensor weights = c.optional("per_sample_weights")) args.weights = Variable(weights);
  return KeyedJaggedTensor(std::move(args));
}

// [N, D], which is one tensor only where all tables have one dim.
Tensor Joined(Context& ctx, const std::vector<Tensor>& sequences) {
  std::vector<Tensor> rows(sequences.begin(), sequences.end());
  int64_t n = 0;
  for (const Tensor& s : rows) {
    TESSERA_CHECK_EQ(s.dim(1), rows[0].dim(1), "rows of tables that are to be one tensor");
    n += s.dim(0);
  }
  const Tensor all = Tensor::Empty(ctx, {n, rows[0].dim(1)}, rows[0].dtype());
  int64_t at = 0;
  for (const Tensor& s : rows) {
    all.Rows(at, at + s.dim(0)).CopyFrom(ctx, s);
    at += s.dim(0);
  }
  return all;
}

// ---- TorchRec's modules

std::string Pooling(const Json& table) {
  return table.at("pooling").is_null() ? "NONE" : table["pooling"].get<std::string>();
}

// The tables of attrs, whose rows are in.<prefix><name><suffix>.
quant::QuantizedTables ModuleTables(Context& ctx, const Case& c, const std::string& prefix,
                                    const std::string& suffix) {
  std::vector<quant::FloatTable> tables;
  quant::TablesQuantization how;
  for (const Json& t : c.attrs.at("tables")) {
    const std::string name = t.at("name").get<std::string>();
    tables.push_back({name, t.at("features").get<std::vector<std::string>>(),
                      ParsePoolingType(Pooling(t)), nullptr,
                      SourceOf(name, c.input(prefix + name + suffix))});
    how.tables[name].codec =
        CodecOf(t.at("weight_ty").get<std::string>(), c.attrs.value("row_alignment", 16), false);
    how.tables[name].kept_rows = t.value("rows_kept", int64_t{-1});
  }
  return quant::QuantizeTables(ctx, tables, how);
}

void AnswerRows(const quant::QuantizedTables& made, Answer& answer) {
  for (const QuantizedTable& table : made.tables) answer.tensors["rows." + table.name] = table.rows;
}

// Gives the module's parameters the values of the case, by their names.
void Load(Context& ctx, const Case& c, const std::string& prefix, const Module& module) {
  for (const NamedParameter& p : module.Parameters())
    p.variable.value().CopyFrom(ctx, c.input(prefix + p.name));
}

}  // namespace

Answer RunTbeRows(Context& ctx, const Case& c) {
  Answer answer;
  int64_t at = 0;
  const auto dims = c.attrs.at("dims").get<std::vector<int64_t>>();
  for (size_t i = 0; i < dims.size(); ++i) {
    const RowCodec codec = CodecOf(c.attrs.at("weight_ty").get<std::string>(),
                                   c.attrs.at("row_alignment").get<int64_t>(), true);
    const std::string name = std::to_string(i);
    const Tensor rows = QuantizeTable(ctx, SourceOf(name, c.input("x." + name)), codec).rows;
    TESSERA_CHECK_EQ(rows.dim(1), c.attrs.at("row_bytes").at(i).get<int64_t>(), "bytes of a row");
    TESSERA_CHECK_EQ(at, c.attrs.at("table_offsets").at(i).get<int64_t>(), "bytes of tables");
    answer.tensors["rows." + name] = rows;
    at += (rows.numel() + 127) / 128 * 128;
  }
  return answer;
}

Answer RunTbeLookup(Context& ctx, const Case& c) {
  std::vector<QuantizedTable> tables;
  for (size_t i = 0; i < c.attrs.at("tables").size(); ++i) tables.push_back(TbeTable(ctx, c, i));
  const std::vector<EmbeddingFeature> features = TbeFeatures(c);
  const QuantizedTableBatchedEmbedding embedding(
      ctx, std::move(tables), features,
      {.weighted = c.attrs.at("weighted").get<bool>(),
       .bounds_check = ParseBoundsCheckMode(c.attrs.at("bounds_check").get<std::string>()),
       .output_type = OutputOf(c.attrs)});
  const QuantizedOutputs outputs = embedding.Forward(ctx, TbeBatch(c, features));
  return {{{"y", outputs.pooled ? outputs.pooled : Joined(ctx, outputs.sequences)}}, {}, {}};
}

Answer RunQuantEbc(Context& ctx, const Case& c) {
  Answer answer;
  const quant::QuantizedTables made = ModuleTables(ctx, c, "weight.", "");
  AnswerRows(made, answer);
  const quant::EmbeddingBagCollection collection(
      ctx, made.tables,
      {.weighted = c.attrs.at("weighted").get<bool>(), .output_type = OutputOf(c.attrs)});
  TESSERA_CHECK(
      collection.embedding_names() == c.attrs.at("out_keys").get<std::vector<std::string>>(),
      "the order of the features");
  const std::vector<NamedTensor> state = collection.StateDict();
  for (const Json& t : c.attrs.at("tables"))
    TESSERA_CHECK(std::any_of(state.begin(), state.end(),
                              [&](const NamedTensor& s) { return t["state_dict_key"] == s.name; }),
                  "{} is not in the state dict", t["state_dict_key"].get<std::string>());
  answer.tensors["values"] =
      collection.Forward(ctx, ReadKjt(c, "kjt", /*weights_grad=*/false)).values().value();
  return answer;
}

Answer RunQuantEc(Context& ctx, const Case& c) {
  Answer answer;
  const quant::QuantizedTables made = ModuleTables(ctx, c, "weight.", "");
  AnswerRows(made, answer);
  const quant::EmbeddingCollection collection(ctx, made.tables, {.output_type = OutputOf(c.attrs)});
  for (const auto& [name, rows] :
       collection.Forward(ctx, ReadKjt(c, "kjt", /*weights_grad=*/false))) {
    answer.tensors[name + ".values"] = rows.values().value();
    answer.tensors[name + ".lengths"] = rows.lengths(ctx);
  }
  return answer;
}

Answer RunQuantDlrm(Context& ctx, const Case& c) {
  const quant::QuantizedTables made =
      ModuleTables(ctx, c, "param.sparse_arch.embedding_bag_collection.embedding_bags.", ".weight");
  const quant::EmbeddingBagCollection collection(ctx, made.tables,
                                                 {.output_type = OutputOf(c.attrs)});
  const Json& arch = c.attrs.at("arch");
  const Mlp dense_arch(ctx, arch.at("dense_in").get<int64_t>(),
                       arch.at("dense_arch").get<std::vector<int64_t>>());
  const auto f = static_cast<int64_t>(collection.embedding_names().size());
  const OverArch over_arch(ctx, dense_arch.out_size() + f * (f + 1) / 2,
                           arch.at("over_arch").get<std::vector<int64_t>>());
  Load(ctx, c, "param.dense_arch.model.", dense_arch);
  Load(ctx, c, "param.over_arch.", over_arch);

  std::vector<std::string> table_order;  // of the features, which the interaction takes
  for (const Json& t : c.attrs.at("tables"))
    for (const Json& feature : t.at("features")) table_order.push_back(feature.get<std::string>());
  const KeyedTensor pooled = collection.Forward(ctx, ReadKjt(c, "kjt", /*weights_grad=*/false));
  const Variable sparse = KeyedTensor::Regroup(ctx, {pooled}, {table_order})[0];
  const Variable z =
      DotInteraction(ctx, dense_arch.Forward(ctx, Variable(c.input("dense"))), sparse);
  return {{{"logits", over_arch.Forward(ctx, z).value().Reshape({-1})}}, {}, {}};
}

}  // namespace tessera::conformance
