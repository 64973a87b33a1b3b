// The core without Python, on the exported programs of tests/fixtures: for the address, undefined behaviour, leak and
// thread sanitizers. Right numbers are the Python tests' business; here every thread must get the same bytes.

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "executor/method.h"
#include "executor/program.h"

namespace {

namespace fs = std::filesystem;
using enr::executor::Input;
using enr::executor::Method;
using enr::executor::Program;

// The folder of the checkout; ctest and scripts/test run from its root.
fs::path fixtures() {
  const char* given = std::getenv("ENR_FIXTURES");
  return given != nullptr ? fs::path(given) : fs::path("tests/fixtures");
}

std::shared_ptr<Program> open(const std::string& name) {
  return Program::load(enr::program::FileData::open((fixtures() / (name + ".pte")).string()), {});
}

// Inputs for a method: small numbers, traced values for the rest.
class Arguments {
 public:
  explicit Arguments(const Method& method) {
    for (const auto& spec : method.spec().inputs) {
      if (spec.kind != enr::executor::ValueKind::kTensor) {
        plain(spec);
        continue;
      }
      const size_t element = enr::dtype_size(spec.dtype);
      auto& bytes = storage_.emplace_back(spec.size_bytes + 1);
      if (spec.dtype == enr::DType::kFloat32) {
        for (size_t i = 0; i + 4 <= spec.size_bytes; i += 4)
          reinterpret_cast<float*>(bytes.data())[i / 4] = 0.01f * static_cast<float>(i % 97);
      }
      auto& strides = strides_.emplace_back(spec.sizes.size());
      auto stride = static_cast<int64_t>(element);
      for (size_t d = spec.sizes.size(); d-- > 0;) {
        strides[d] = stride;
        stride *= spec.sizes[d];
      }
      inputs_.emplace_back(
          enr::executor::TensorInput{bytes.data(), spec.dtype, spec.sizes.size(), spec.sizes.data(), strides.data()});
    }
  }

  std::span<const Input> inputs() const { return inputs_; }

 private:
  void plain(const enr::executor::ValueSpec& spec) {
    if (const auto* i = std::get_if<int64_t>(&spec.traced)) return void(inputs_.emplace_back(*i));
    if (const auto* d = std::get_if<double>(&spec.traced)) return void(inputs_.emplace_back(*d));
    if (const auto* b = std::get_if<bool>(&spec.traced)) return void(inputs_.emplace_back(*b));
    inputs_.emplace_back();
  }

  std::vector<Input> inputs_;
  std::vector<std::vector<std::byte>> storage_;
  std::vector<std::vector<int64_t>> strides_;
};

// The bytes of all tensor outputs of one run.
std::vector<std::byte> run(Method& method, const Arguments& arguments) {
  std::vector<std::byte> bytes;
  method.run(arguments.inputs(), [&](std::span<const enr::Value* const> outputs) {
    for (const enr::Value* output : outputs) {
      const auto* tensor = output->get<enr::Tensor>();
      if (tensor != nullptr) bytes.insert(bytes.end(), tensor->data, tensor->data + tensor->size_bytes());
    }
  });
  return bytes;
}

}  // namespace

TEST_SUITE_BEGIN("threads");

TEST_CASE("caches that are copied, changed and copied back are changed where they are") {
  const auto program = open("state_kv_cache_p");
  const auto plan = enr::plan::make_plan(program->decoded(), program->decoded().methods.front(), program->weights());
  CHECK(plan->in_place_updates.size() == 2);
}

TEST_CASE("one method called by many threads gives each its own outputs") {
  for (const char* name : {"cnn_p", "cnn_x", "vit_tiny_x", "mlp_p"}) {
    const auto program = open(name);
    const auto method = program->load_method("forward");
    const Arguments arguments(*method);
    const auto expected = run(*method, arguments);
    std::vector<std::thread> callers;
    std::vector<int> wrong(4);
    for (size_t c = 0; c < wrong.size(); ++c) {
      callers.emplace_back([&, c] {
        for (int round = 0; round < 5; ++round) wrong[c] += run(*method, arguments) != expected;
      });
    }
    for (std::thread& caller : callers) caller.join();
    for (const int w : wrong) CHECK_MESSAGE(w == 0, name);
  }
}

TEST_CASE("copies of a method run at the same time") {
  for (const char* name : {"cnn_x", "cnn_p", "lstm_x"}) {
    const auto program = open(name);
    const auto first = program->load_method("forward");
    const Arguments arguments(*first);
    const auto expected = run(*first, arguments);
    std::vector<std::thread> callers;
    std::vector<int> wrong(4);
    for (size_t c = 0; c < wrong.size(); ++c) {
      callers.emplace_back([&, c] {
        const auto own = program->load_method("forward", false);
        for (int round = 0; round < 5; ++round) wrong[c] += run(*own, arguments) != expected;
      });
    }
    for (std::thread& caller : callers) caller.join();
    for (const int w : wrong) CHECK_MESSAGE(w == 0, name);
  }
}

TEST_CASE("methods that share state can be called from several threads") {
  const auto program = open("state_shared_p");
  std::vector<std::thread> callers;
  for (const std::string& name : program->method_names()) {
    callers.emplace_back([&, name] {
      const auto method = program->load_method(name);
      const Arguments arguments(*method);
      for (int round = 0; round < 20; ++round) run(*method, arguments);
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST_SUITE_END();

TEST_CASE("every fixture loads, runs twice and goes away") {
  size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fixtures())) {
    if (entry.path().extension() != ".pte") continue;
    try {
      const auto program = Program::load(enr::program::FileData::open(entry.path().string()), {});
      for (const std::string& name : program->method_names()) {
        const auto method = program->load_method(name);
        const Arguments arguments(*method);
        run(*method, arguments);
        run(*method, arguments);
      }
      ++count;
    } catch (const enr::Error& error) {
      // Zeros are no valid indices for some; what counts is that nothing else happens.
      CHECK(std::string(error.what()).size() > 10);
    }
  }
  CHECK(count > 40);
}
