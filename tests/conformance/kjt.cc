// Kind `kjt`: jagged containers and sparse ops (cases/kjt/README.md).
#include "tests/conformance/kinds.h"
#include "tests/conformance/kjt_case.h"

namespace tessera::conformance {
namespace {

void Put(const std::string& name, const Tensor& tensor, Answer* answer) {
  if (tensor.defined()) answer->tensors[name] = tensor;
}

}  // namespace

std::vector<Tensor> ReadList(const Case& c, const std::string& name) {
  std::vector<Tensor> list;
  for (Tensor t = c.optional(name + ".0"); t.defined();
       t = c.optional(name + "." + std::to_string(list.size())))
    list.push_back(t);
  return list;
}

DType ReadDType(const Json& torch_name) {
  static const std::map<std::string, DType> names = {
      {"float32", DType::kF32},   {"float64", DType::kF64}, {"float16", DType::kF16},
      {"bfloat16", DType::kBF16}, {"int8", DType::kI8},     {"uint8", DType::kU8},
      {"int16", DType::kI16},     {"int32", DType::kI32},   {"int64", DType::kI64},
      {"bool", DType::kBool},
  };
  return torch_name.is_null() ? DType::kF32 : names.at(torch_name.get<std::string>());
}

KeyedJaggedTensor ReadKjt(const Case& c, const std::string& p) {
  const Json& attrs = c.attrs.at(p);
  KeyedJaggedTensorArgs args;
  args.keys = attrs.at("keys").get<std::vector<std::string>>();
  args.values = c.input(p + ".values");
  args.weights = c.optional(p + ".weights");
  args.lengths = c.optional(p + ".lengths");
  args.offsets = c.optional(p + ".offsets");
  if (attrs.contains("stride")) args.stride = attrs["stride"].get<int64_t>();
  if (attrs.contains("stride_per_key_per_rank"))
    args.stride_per_key_per_rank = attrs["stride_per_key_per_rank"].get<StridePerKeyPerRank>();
  if (const Tensor inverse = c.optional(p + ".inverse_indices"); inverse.defined())
    args.inverse_indices = {args.keys, inverse};
  return KeyedJaggedTensor(std::move(args));
}

void WriteKjt(Context& ctx, const KeyedJaggedTensor& kjt, const std::string& p, Answer* answer) {
  Put(p + ".values", kjt.values(), answer);
  Put(p + ".weights", kjt.weights_or_none(), answer);
  if (kjt.num_keys() > 0) {
    Put(p + ".lengths", kjt.lengths(ctx), answer);
    Put(p + ".offsets", kjt.offsets(ctx), answer);
  }
  if (kjt.inverse_indices_or_none() != nullptr)
    Put(p + ".inverse_indices", kjt.inverse_indices().indices, answer);
  Json expect = {{"keys", kjt.keys()},
                 {"stride", kjt.stride()},
                 {"stride_per_key", kjt.stride_per_key()},
                 {"variable_stride_per_key", kjt.variable_stride_per_key()},
                 {"length_per_key", kjt.length_per_key()},
                 {"offset_per_key", kjt.offset_per_key()}};
  if (kjt.variable_stride_per_key())
    expect["stride_per_key_per_rank"] = kjt.stride_per_key_per_rank();
  answer->expect[p] = std::move(expect);
}

JaggedTensor ReadJt(const Case& c, const std::string& p) {
  return JaggedTensor(c.input(p + ".values"), c.optional(p + ".lengths"),
                      c.optional(p + ".offsets"), c.optional(p + ".weights"));
}

void WriteJt(Context& ctx, const JaggedTensor& jt, const std::string& p, Answer* answer) {
  Put(p + ".values", jt.values(), answer);
  Put(p + ".weights", jt.weights_or_none(), answer);
  Put(p + ".lengths", jt.lengths(ctx), answer);
  Put(p + ".offsets", jt.offsets(ctx), answer);
}

Answer Differentiate(Context& ctx, const Case& c, const std::vector<std::string>& inputs,
                     const std::string& output,
                     const std::function<Variable(const std::vector<Variable>&)>& fn) {
  const Tensor grad = c.optional("grad");
  std::vector<Variable> variables;
  for (const std::string& name : inputs) variables.emplace_back(c.input(name), grad.defined());
  Tape tape(ctx);
  const Variable y = fn(variables);
  Answer answer;
  answer.tensors[output] = y.value();
  if (!grad.defined()) return answer;
  tape.Backward(y, grad);
  for (size_t i = 0; i < inputs.size(); ++i)
    answer.tensors["grad." + inputs[i]] = variables[i].grad().Contiguous(ctx);
  return answer;
}

// Inputs go to the context's device, and answers come back.
Answer RunKjt(Context& ctx, const Case& given) {
  Case c = given;
  for (auto& [name, tensor] : c.in) tensor = tensor.To(ctx, ctx.device());
  const std::string op = c.attrs.at("op").get<std::string>();
  for (const Ops* ops : {&ContainerOps(), &SegmentOps(), &JaggedOps(), &ScoreOps()})
    if (const auto found = ops->find(op); found != ops->end()) {
      Answer answer = found->second(ctx, c);
      for (auto& [name, tensor] : answer.tensors) tensor = tensor.To(ctx, Device::Cpu());
      return answer;
    }
  throw Unsupported("op " + op);
}

}  // namespace tessera::conformance
