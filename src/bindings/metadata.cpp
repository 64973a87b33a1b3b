#include "bindings/metadata.h"

#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace enr::bindings {

namespace {

nb::list int_list(const auto& items) {
  nb::list list;
  for (const auto item : items) list.append(static_cast<int64_t>(item));
  return list;
}

const char* kind_name(executor::ValueKind kind) {
  switch (kind) {
    case executor::ValueKind::kNone:
      return "none";
    case executor::ValueKind::kTensor:
      return "tensor";
    case executor::ValueKind::kInt:
      return "int";
    case executor::ValueKind::kFloat:
      return "float";
    case executor::ValueKind::kBool:
      return "bool";
    case executor::ValueKind::kString:
      return "str";
    case executor::ValueKind::kList:
      return "list";
  }
  return "none";
}

nb::dict value_dict(const executor::ValueSpec& spec) {
  nb::dict dict;
  dict["kind"] = kind_name(spec.kind);
  if (spec.kind == executor::ValueKind::kTensor) {
    dict["scalar_type"] = static_cast<int>(spec.dtype);
    dict["shape"] = int_list(spec.sizes);
    dict["is_memory_planned"] = spec.is_memory_planned;
    dict["dtype"] = dtype_name(spec.dtype);
    dict["dim_order"] = int_list(spec.dim_order);
    dict["dynamic"] = spec.dynamism != Dynamism::kStatic;
    dict["nbytes"] = spec.size_bytes;
    return dict;
  }
  // As version 1.x had it, for code that reads these of every input.
  dict["scalar_type"] = -1;
  dict["shape"] = nb::list();
  dict["is_memory_planned"] = false;
  if (const auto* i = std::get_if<int64_t>(&spec.traced)) dict["value"] = *i;
  if (const auto* d = std::get_if<double>(&spec.traced)) dict["value"] = *d;
  if (const auto* b = std::get_if<bool>(&spec.traced)) dict["value"] = *b;
  if (const auto* text = std::get_if<std::string>(&spec.traced)) dict["value"] = *text;
  return dict;
}

nb::list value_dicts(const std::vector<executor::ValueSpec>& specs) {
  nb::list list;
  for (const executor::ValueSpec& spec : specs) list.append(value_dict(spec));
  return list;
}

}  // namespace

nb::dict metadata_dict(const executor::MethodSpec& spec) {
  nb::dict dict;
  dict["name"] = spec.name;
  dict["num_inputs"] = spec.inputs.size();
  dict["num_outputs"] = spec.outputs.size();
  dict["inputs"] = value_dicts(spec.inputs);
  dict["outputs"] = value_dicts(spec.outputs);
  nb::list backends;
  for (const std::string& name : spec.backends) backends.append(name);
  dict["backends"] = backends;
  return dict;
}

nb::dict state_dict(const executor::StateSpec& spec) {
  nb::dict dict;
  dict["name"] = spec.name;
  dict["dtype"] = dtype_name(spec.dtype);
  dict["shape"] = int_list(spec.sizes);
  dict["has_initial_value"] = spec.has_initial_value;
  return dict;
}

}  // namespace enr::bindings
