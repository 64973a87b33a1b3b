#pragma once

// Rewrites that make a graph cheaper to run without changing what it computes.

#include "graph/graph.h"

namespace enr::graph {

struct PlanContext;

// Once per graph; everything here holds for all shapes the graph may get.
void optimize(Graph& graph);

// float16 and bfloat16 graphs compute in float32 between converted inputs and outputs.
void widen_halves(Graph& graph);
// Nodes that mix statically quantised values with floats or with other integers, and those without a kernel for
// integers, compute in float between conversions.
void compute_mixtures_in_float(Graph& graph);
// Quantised constants of float nodes: an exporter that meets a convolution twice leaves a float one with an integer
// bias.
void dequantize_constants(Graph& graph);
// Whether it is a constant of integers that stand for reals; and such a one as float32.
bool is_quantized_constant(const Value& value);
ValueId add_dequantized(Graph& graph, ValueId id);
// Nodes that move integers keep what they stand for: where a result has parameters of its own, a node that requantises
// follows.
void separate_requantization(Graph& graph);
// What is dequantised only to be quantised again becomes a function of the integer.
void merge_conversions(Graph& graph);
// What is computed of one 8-bit value alone, in reals, and quantised again becomes a table of its levels.
void tabulate_levels(Graph& graph);
// Factors and addends of each channel move into the weights and the bias of the convolution or product in front.
void fold_channel_constants(Graph& graph);
// x * sigmoid(x) becomes silu(x), and the like: hard sigmoids and hard swishes come in pieces too.
void merge_activations(Graph& graph);
// Clamps and activations move into the node that computes their operand.
void fuse_activations(Graph& graph);
// A transpose of a transpose is one, and copies of copies none.
void merge_transposes(Graph& graph);
// Padding with zeros moves into the convolution behind it.
void merge_padding(Graph& graph);
// 8-bit levels between nodes are stored unsigned where products read such as they lie.
void store_levels_unsigned(Graph& graph);
// Convolutions of few channels a group take some groups as one, whose filter has zeros where an output does not see an
// input: products of few outputs, or of few inputs, take as long as those of more.
void merge_groups(Graph& graph);
// Nodes nobody needs go.
void remove_dead_nodes(Graph& graph);
// Those that others have taken in.
void remove_nodes(Graph& graph, const std::vector<bool>& gone);

// For graphs of operators, before the rest: between a dequantisation and a quantisation, what has a kernel for integers
// computes in integers. It finds the level that the real result is nearest to, where operators round the sum that
// floats gave them: the two differ by a level where the result is next to the middle of two.
void compute_in_integers(Graph& graph);
// Chains of operators that quantise rows and dequantise them again become conversions.
void convert_rows(Graph& graph);
// Products of what is quantised at run time multiply its integers.
void multiply_levels(Graph& graph);

// Once per plan: what depends on the shapes.

// Transposes that move dims of size 1 only, and slices of everything, become reshapes.
void simplify_movement(Graph& graph);
// Inputs of the graph that are turned from few planes to pixels for a convolution are read by it as they are.
void read_planes(Graph& graph);
// Inputs of the graph that are quantised, then turned from planes to pixels, are read once.
void quantize_in_transposes(Graph& graph);
// Additions of equal shapes move into the convolution or fully connected node that computes an operand.
void fuse_residuals(Graph& graph);

// Convolutions that transform their windows first, as Winograd's do, read the parts of a concatenation, and large
// images that would be resized for them, from where these lie.
void read_parts(Graph& graph, PlanContext& context);

// A depthwise convolution, the pointwise one in front of it and the one behind become one node, which keeps large
// images in between in cache by working on bands of rows, and small ones with one thread by working on groups of
// channels.
void fuse_depthwise(Graph& graph);
// A 1x1 convolution that is a product of pixels.
bool is_pointwise(const Node& node);
// Whether the image between two of them is large.
bool is_worth_bands(const Value& image);

// Convolutions and fully connected nodes: inputs [activations, filter, bias?].
bool is_product(Op op) noexcept;
// Whether integers with the scales of the node's (per-tensor) operands and result have a kernel for it.
bool has_integer_binary(const Graph& graph, const Node& node);
// A value with the dtype and quantisation of `like` and the shape of `of`.
ValueId add_value_like(Graph& graph, ValueId like, ValueId of);
// The node that converts between dtypes and quantisations.
Node conversion(ValueId from, ValueId to, uint32_t origin);
// The node that requantises through the real number, as an exporter's pair of conversions rounds: converting directly
// would round differently.
Node requantization(ValueId from, ValueId to, uint32_t origin);
// Whether the function cuts to a range; and after what `post` clamps already, that too.
bool is_clamp(const UnaryAttributes& unary);
void compose_clamp(Post& post, const UnaryAttributes& clamp);

// Whether the node computes float32 from float32.
bool is_float(const Graph& graph, const Node& node);

}  // namespace enr::graph
