#pragma once

// The table of operators, and the template that turns a typed C++ function into an entry of it.
//
// An operator is written with the types its schema has, in schema order, out arguments last:
//
//   void add_out(OpContext& context, const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out);
//   ...
//   table.add<add_out>("aten::add.out", "self, other, alpha, out");
//
//   schema                                        C++ parameter
//   Tensor                                        const Tensor&
//   Tensor?                                       const Tensor*               (null for None)
//   Tensor(a!)                                    Tensor&
//   Tensor[]                                      std::span<Tensor* const>    (in and out)
//   Tensor?[]                                     OptionalTensors
//   int, SymInt, bool, float                      int64_t, int64_t, bool, double
//   int?, float?, bool?                           std::optional<...>
//   Scalar, Scalar?                               const Scalar&, std::optional<Scalar>
//   int[], SymInt[]                               Sizes
//   int[]?                                        std::optional<Sizes>
//   float[]?                                      std::optional<std::span<const double>>
//   bool[]                                        std::span<const uint8_t>
//   ScalarType, ScalarType?                       DType, std::optional<DType>
//   str, str?                                     std::string_view, std::optional<std::string_view>
//   Layout?, Device?, MemoryFormat?               Ignored
//   anything, to be read or overwritten whole     Value&
//
// The names are the schema's, for messages. What the function throws (base/error.h) is given method, instruction and
// operator by the executor.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/context.h"
#include "ops/scalar.h"
#include "ops/value.h"

namespace enr {

// An argument that does not matter here.
struct Ignored {};

// Items may be null.
struct OptionalTensors {
  std::span<Tensor* const> items;
};

using Arguments = std::span<Value* const>;
using OperatorFunction = void (*)(OpContext&, Arguments);

struct Operator {
  std::string name;
  OperatorFunction run;
  size_t arity;                // arguments the function takes; programs append the return values to them
  uint64_t written_args;       // bit i: argument i is written (lists of tensors count as written where they come last)
  const char* argument_names;  // "self, other, alpha, out"
  // bit i: of bool tensors given as argument i every byte but 0 counts as true, and none is copied as it is: inputs of
  // the method come as the caller has them. Elsewhere truth values are 0 and 1.
  uint64_t truth_args = 0;

  // Runs the function; what is wrong with an argument's kind names the argument.
  void call(OpContext& context, Arguments arguments) const;
  std::string_view argument_name(size_t argument) const noexcept;

  bool writes(size_t argument) const noexcept { return argument < 64 && (written_args >> argument & 1) != 0; }
  bool takes_any_truth(size_t argument) const noexcept { return argument < 64 && (truth_args >> argument & 1) != 0; }
  // What is read: of what is written, arguments among the others, which are updated in place, and not those at the end,
  // which are results. Programs append these once more.
  bool reads(size_t argument) const noexcept;
};

namespace detail {

// Not constexpr: where it is reached, the names do not compile.
void names_are_not_as_many_as_arguments();

// As many names as the function takes arguments.
template <size_t arity>
struct ArgumentNames {
  consteval ArgumentNames(const char* names) : text(names) {
    size_t count = 1;
    for (const char* c = names; *c != '\0'; ++c) count += *c == ',';
    if (count != arity) names_are_not_as_many_as_arguments();
  }
  const char* text;
};

int64_t unbox_int(const Value& value, size_t index);
double unbox_double(const Value& value, size_t index);
bool unbox_bool(const Value& value, size_t index);
Scalar unbox_scalar(const Value& value, size_t index);
Tensor& unbox_tensor(Value& value, size_t index);          // throws where it has no memory
Tensor& unbox_written_tensor(Value& value, size_t index);  // throws where it is a constant
Sizes unbox_ints(Value& value, size_t index);
std::span<const double> unbox_doubles(const Value& value, size_t index);
std::span<const uint8_t> unbox_bools(const Value& value, size_t index);
std::span<Tensor* const> unbox_tensors(Value& value, size_t index, bool optional);
std::string_view unbox_string(const Value& value, size_t index);
DType unbox_dtype(const Value& value, size_t index);

template <class T>
struct Unbox;

#define ENR_UNBOX(Type, expression)                                                              \
  template <>                                                                                    \
  struct Unbox<Type> {                                                                           \
    static Type get([[maybe_unused]] Value& v, [[maybe_unused]] size_t i) { return expression; } \
  }
ENR_UNBOX(int64_t, unbox_int(v, i));
ENR_UNBOX(double, unbox_double(v, i));
ENR_UNBOX(bool, unbox_bool(v, i));
ENR_UNBOX(Scalar, unbox_scalar(v, i));
ENR_UNBOX(const Tensor&, unbox_tensor(v, i));
ENR_UNBOX(Tensor&, unbox_written_tensor(v, i));
ENR_UNBOX(const Tensor*, v.is_none() ? nullptr : &unbox_tensor(v, i));
ENR_UNBOX(Tensor*, v.is_none() ? nullptr : &unbox_written_tensor(v, i));
ENR_UNBOX(Sizes, unbox_ints(v, i));
ENR_UNBOX(std::span<const double>, unbox_doubles(v, i));
ENR_UNBOX(std::span<const uint8_t>, unbox_bools(v, i));
ENR_UNBOX(std::span<Tensor* const>, unbox_tensors(v, i, false));
ENR_UNBOX(OptionalTensors, OptionalTensors{unbox_tensors(v, i, true)});
ENR_UNBOX(std::string_view, unbox_string(v, i));
ENR_UNBOX(DType, unbox_dtype(v, i));
ENR_UNBOX(Ignored, Ignored{});
ENR_UNBOX(Value&, v);
#undef ENR_UNBOX

template <>
struct Unbox<const Scalar&> : Unbox<Scalar> {};
template <class T>
struct Unbox<std::optional<T>> {
  static std::optional<T> get(Value& v, size_t i) {
    if (v.is_none()) return std::nullopt;
    return Unbox<T>::get(v, i);
  }
};
template <class T>
struct Unbox<const std::optional<T>&> : Unbox<std::optional<T>> {};

template <auto function, class Signature = decltype(function)>
struct Boxed;

template <auto function, class... Params>
struct Boxed<function, void (*)(OpContext&, Params...)> {
  static constexpr size_t kArity = sizeof...(Params);
  static constexpr uint64_t written_args() {
    uint64_t mask = 0;
    size_t index = 0;
    ((mask |= uint64_t{is_written<Params>(index + 1 == kArity)} << index, ++index), ...);
    return mask;
  }

  static void run(OpContext& context, Arguments arguments) {
    call(context, arguments, std::index_sequence_for<Params...>());
  }

 private:
  template <class Param>
  static constexpr bool is_written(bool last) {
    return std::is_same_v<Param, Tensor&> || std::is_same_v<Param, Tensor*> || std::is_same_v<Param, Value&> ||
           (last && std::is_same_v<Param, std::span<Tensor* const>>);
  }

  template <size_t... I>
  static void call(OpContext& context, Arguments arguments, std::index_sequence<I...>) {
    function(context, Unbox<Params>::get(*arguments[I], I)...);
  }
};

}  // namespace detail

// Operator::truth_args: table.add<where_out>("aten::where.self_out", "condition, self, other, out", kTruth<0>);
template <size_t... arguments>
inline constexpr uint64_t kTruth = ((uint64_t{1} << arguments) | ...);

class OperatorTable {
 public:
  template <auto function>
  [[gnu::cold]] void add(std::string_view name, detail::ArgumentNames<detail::Boxed<function>::kArity> argument_names,
                         uint64_t truth_args = 0) {
    using Entry = detail::Boxed<function>;
    add(Operator{std::string(name), &Entry::run, Entry::kArity, Entry::written_args(), argument_names.text,
                 truth_args});
  }
  void add(Operator entry);

  // Null where there is no such operator. `name` is "namespace::name" or "namespace::name.overload".
  const Operator* find(std::string_view name) const noexcept;

  std::vector<std::string> names() const;

 private:
  std::map<std::string, Operator, std::less<>> entries_;
};

// All operators built in: every family's register function is called once, in operator_table.cpp.
const OperatorTable& operator_table();

}  // namespace enr
