#include "kernels/elementwise/driver.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/thread_pool.h"
#include "kernels/convert/convert.h"
#include "kernels/elementwise/strided.h"

namespace enr::kernels {

namespace {

constexpr size_t kTileBytes = 4096;
constexpr size_t kMaxOperands = kMaxLoopInputs + 1;
// Work, in additions, that pays for waking a thread.
constexpr size_t kGrain = 32768;
// An innermost dimension shorter than this is not looped over by itself: tiles span several of its runs.
constexpr int64_t kShortRun = 48;

struct Operand {
  std::byte* data;
  const int64_t* strides;
  size_t size;        // bytes of an element in memory
  size_t loop_size;   // and as the loop sees it
  ConvertFn convert;  // between the two, null where they are the same dtype
  bool is_dense;      // consecutive over the whole iteration
  bool is_repeated;   // one element for all of it
  bool is_periodic;   // one run of the innermost dimension for all of it
};

struct Iteration {
  const Loop* loop;
  const LoopParams* params;
  LoopNest<kMaxOperands> nest;  // operand 0 is the output
  Operand operands[kMaxOperands];
  size_t inputs;
  size_t tile;  // elements

  int64_t inner() const { return nest.sizes[nest.rank - 1]; }
};

struct Tiles {
  // As in memory and as the loop sees them, for each operand.
  alignas(64) std::byte raw[kMaxOperands][kTileBytes];
  alignas(64) std::byte ready[kMaxOperands][kTileBytes];
};

Operand make_operand(const LoopNest<kMaxOperands>& nest, size_t index, void* data, DType dtype, DType loop_dtype,
                     bool is_output) {
  Operand operand{};
  operand.data = static_cast<std::byte*>(data);
  operand.strides = nest.strides[index];
  operand.size = dtype_size(dtype);
  operand.loop_size = dtype_size(loop_dtype);
  if (dtype != loop_dtype) operand.convert = is_output ? convert_fn(loop_dtype, dtype) : convert_fn(dtype, loop_dtype);
  operand.is_dense = operand.is_repeated = operand.is_periodic = true;
  int64_t dense = 1;
  for (size_t d = nest.rank; d-- > 0;) {
    operand.is_dense &= operand.strides[d] == dense;
    operand.is_repeated &= operand.strides[d] == 0;
    operand.is_periodic &= d + 1 == nest.rank || operand.strides[d] == 0;
    dense *= nest.sizes[d];
  }
  return operand;
}

// Runs the loop over `count` elements of one run of the innermost dimension, from element `start` of it; `offsets` are
// those of the run's first elements.
void run_segment(const Iteration& it, const int64_t* offsets, int64_t start, size_t count, Tiles& tiles) {
  const void* in[kMaxLoopInputs];
  uint8_t step[kMaxLoopInputs];
  const size_t last = it.nest.rank - 1;
  for (size_t k = 0; k < it.inputs; ++k) {
    const Operand& operand = it.operands[k + 1];
    const int64_t stride = operand.strides[last];
    const std::byte* from = operand.data + (offsets[k + 1] + start * stride) * static_cast<int64_t>(operand.size);
    step[k] = stride != 0;
    const size_t needed = stride == 0 ? 1 : count;
    if (stride != 0 && stride != 1) {
      gather(from, stride, operand.size, tiles.raw[k + 1], needed);
      from = tiles.raw[k + 1];
    }
    if (operand.convert != nullptr) {
      operand.convert(from, tiles.ready[k + 1], needed);
      from = tiles.ready[k + 1];
    }
    in[k] = from;
  }
  const Operand& out = it.operands[0];
  const int64_t stride = out.strides[last];
  std::byte* to = out.data + (offsets[0] + start * stride) * static_cast<int64_t>(out.size);
  if (stride == 1 && out.convert == nullptr) return it.loop->run(to, in, step, count, *it.params);
  it.loop->run(tiles.ready[0], in, step, count, *it.params);
  const std::byte* result = tiles.ready[0];
  if (out.convert != nullptr) {
    std::byte* target = stride == 1 ? to : tiles.raw[0];
    out.convert(result, target, count);
    result = target;
  }
  if (stride != 1) scatter(result, to, stride, out.size, count);
}

// Elements [begin, end) of the iteration, run by run.
void run_runs(const Iteration& it, size_t begin, size_t end) {
  Tiles tiles;
  bool whole = true;  // no operand needs a tile
  const size_t last = it.nest.rank - 1;
  for (size_t k = 0; k <= it.inputs; ++k) {
    const int64_t stride = it.operands[k].strides[last];
    whole &= (stride == 1 || (stride == 0 && k != 0)) && it.operands[k].convert == nullptr;
  }
  const size_t inner = static_cast<size_t>(it.inner());
  LoopPosition<kMaxOperands> position(it.nest, begin / inner, it.inputs + 1);
  size_t start = begin % inner;
  for (size_t done = begin; done < end;) {
    const size_t run = std::min(inner - start, end - done);
    const size_t step = whole ? run : it.tile;
    for (size_t i = 0; i < run; i += step) {
      run_segment(it, position.offsets, static_cast<int64_t>(start + i), std::min(step, run - i), tiles);
    }
    done += run;
    start = 0;
    if (done < end) position.advance(it.nest, it.inputs + 1);
  }
}

// The same where runs are short, in whole runs [begin, end): operands that are not consecutive over the iteration are
// copied into tiles of several runs.
void run_tiles(const Iteration& it, size_t begin, size_t end) {
  Tiles tiles;
  const size_t inner = static_cast<size_t>(it.inner());
  const size_t runs_per_tile = it.tile / inner;
  const void* in[kMaxLoopInputs];
  uint8_t step[kMaxLoopInputs];
  for (size_t run = begin; run < end; run += runs_per_tile) {
    const size_t runs = std::min(runs_per_tile, end - run);
    const size_t count = runs * inner;
    for (size_t k = 0; k < it.inputs; ++k) {
      const Operand& operand = it.operands[k + 1];
      step[k] = !operand.is_repeated;
      const std::byte* from = operand.data;
      const bool keeps = (operand.is_repeated || operand.is_periodic) && run != begin;
      if (operand.is_dense) {
        from += run * inner * operand.size;
      } else if (!operand.is_repeated) {
        if (!keeps) gather_runs(it.nest, k + 1, operand.data, operand.size, run, runs, tiles.raw[k + 1]);
        from = tiles.raw[k + 1];
      }
      if (operand.convert != nullptr) {
        if (!keeps) operand.convert(from, tiles.ready[k + 1], operand.is_repeated ? 1 : count);
        from = tiles.ready[k + 1];
      }
      in[k] = from;
    }
    const Operand& out = it.operands[0];
    std::byte* to = out.is_dense ? out.data + run * inner * out.size : tiles.raw[0];
    std::byte* result = out.convert != nullptr ? tiles.ready[0] : to;
    it.loop->run(result, in, step, count, *it.params);
    if (out.convert != nullptr) out.convert(result, to, count);
    if (!out.is_dense) scatter_runs(it.nest, 0, to, out.size, run, runs, out.data);
  }
}

}  // namespace

void run_elementwise(const Loop& loop, const LoopParams& params, std::span<const int64_t> sizes, const Strided& out,
                     std::span<const ConstStrided> in) noexcept {
  assert(loop && in.size() == loop.inputs);
  Iteration it;
  it.loop = &loop;
  it.params = &params;
  it.inputs = in.size();
  const int64_t* strides[kMaxOperands] = {out.strides};
  for (size_t k = 0; k < in.size(); ++k) strides[k + 1] = in[k].strides;
  it.nest.assign(sizes, {strides, in.size() + 1});
  const size_t total = it.nest.count();
  if (total == 0) return;

  it.operands[0] = make_operand(it.nest, 0, out.data, out.dtype, loop.out, true);
  for (size_t k = 0; k < in.size(); ++k) {
    it.operands[k + 1] = make_operand(it.nest, k + 1, const_cast<void*>(in[k].data), in[k].dtype, loop.in[k], false);
  }
  size_t widest = 1;
  for (size_t k = 0; k <= it.inputs; ++k) widest = std::max({widest, it.operands[k].size, it.operands[k].loop_size});
  it.tile = kTileBytes / widest;

  const size_t grain = std::max<size_t>(kGrain / std::max<size_t>(loop.cost, 1), 1024);
  if (it.nest.rank > 1 && it.inner() < kShortRun) {
    const size_t inner = static_cast<size_t>(it.inner());
    parallel_ranges(total / inner, std::max<size_t>(grain / inner, 1),
                    [&](size_t begin, size_t end) { run_tiles(it, begin, end); });
  } else {
    parallel_ranges(total, grain, [&](size_t begin, size_t end) { run_runs(it, begin, end); });
  }
}

void broadcast_strides(std::span<const int64_t> sizes, std::span<const int64_t> operand_sizes,
                       const int64_t* operand_strides, int64_t* strides) noexcept {
  const size_t missing = sizes.size() - operand_sizes.size();
  int64_t dense = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (d < missing) {
      strides[d] = 0;
      continue;
    }
    const int64_t size = operand_sizes[d - missing];
    const int64_t stride = operand_strides != nullptr ? operand_strides[d - missing] : dense;
    strides[d] = size == 1 ? 0 : stride;
    dense *= size;
  }
}

}  // namespace enr::kernels
