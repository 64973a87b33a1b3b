#pragma once

// What exporters mix up about the layout of images. Convolutions and their kind take and give pixels (NHWC), and so do
// the nodes behind them, up to where the program's planes (NCHW) are needed.

#include "delegates/xnnpack/payload.h"

namespace enr::delegates::xnnpack {

// The permutations that turn an image from one layout to the other.
inline constexpr uint32_t kToPlanes[] = {0, 3, 1, 2}, kToPixels[] = {0, 2, 3, 1};

bool takes_pixels(NodeType type);  // its first input; it gives them, too
bool needs_planes(NodeType type);

bool is_float(const Value& value);
bool is_quantised(const Value& value);  // with one scale

// A quantised image is turned to planes where it leaves the graph in floats, or where a node needs planes. Other nodes
// that read the same floats are given the planes too, although all else in them - dims, axes, the way back to planes -
// speaks of pixels: gives them the image in pixels, by a conversion of its own. Whether there were any. What the graph
// then computes has the declared shapes, or else it was meant as it was.
bool read_outputs_as_pixels(Payload& payload);

// The other way round: a quantised image is turned to pixels for a node that needs them or where it leaves the graph in
// pixels, and nodes in front of that, which were written for planes, are given the pixels too. Gives them the planes.
// Whether there were any.
bool read_turned_as_planes(Payload& payload);

// A linear layer and a convolution that quantise one image at run time are given one conversion, the convolution's,
// which has no rows for the linear layer: gives that a conversion of its own. Whether there were any.
bool quantise_rows_beside_images(Payload& payload);

// In front of a convolution that quantises its image at run time, the image is turned to pixels where it comes from, as
// far back as it does, for all who read it; the nodes in between are written for planes, or, where it comes from
// pixels, it is not turned at all. Turns it in front of the convolution instead. Whether there were any.
bool turn_in_front_of_convolutions(Payload& payload);

// A softmax along the program's last dim, the columns, is left along the last dim of the pixels, the channels: turns
// the image before and after it.
void turn_softmax_of_pixels(Payload& payload);

}  // namespace enr::delegates::xnnpack
