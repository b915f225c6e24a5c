// SPDX-License-Identifier: Apache-2.0
// Transposed convolution: inputs x (n i spatial), w (i o/group spatial), optional bias (o). Output
// pixels with the same remainder modulo the strides (a phase) see the same taps; within a phase
// it is a convolution.
#include <algorithm>
#include <optional>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "graph/import_rule.h"
#include "graph/op_def.h"
#include "kernels/gemm/tiles.h"
#include "ops/conv/pixel_conv.h"
#include "ops/conv/window.h"

namespace stowage {

namespace {

void infer(const InferRef& node) {
  node.expect_inputs(2, 3 + 2);  // the epilogue may have added a residual and a slope
  node.expect_dtype(0, {DType::f32, DType::f64});
  node.expect_dtype(1, {node.dtype(0)});
  check_spatial_rank(node);
  const Shape& x = node.shape(0);
  const Shape& w = node.shape(1);
  if (w.rank() != x.rank()) {
    fail(ErrorCode::bad_input, "weights of rank ", w.rank(), " for an input of rank ", x.rank());
  }
  const std::int64_t group = node.attrs().integer("group", 1);
  if (w[0] != x[1]) {
    fail(ErrorCode::bad_input, "the input has ", x[1], " channels, the weights take ", w[0]);
  }
  if (group < 1 || x[1] < 1 || x[1] % group != 0 || w[1] < 1) {
    fail(ErrorCode::bad_input, "group ", group, " does not divide ", x[1], " input channels into ",
         w[1], " output channels each");
  }
  const std::int64_t channels = checked_mul(w[1], group);
  const Ints kernel(w.extents().begin() + 2, w.extents().end());
  const Ints stated = node.attrs().integers("kernel_shape");
  if (!stated.empty() && stated != kernel) {
    fail(ErrorCode::bad_input, "kernel_shape is ", std::span<const std::int64_t>(stated),
         ", the weights have ", std::span<const std::int64_t>(kernel));
  }
  const bool bias = bias_input(node) >= 0;
  if (bias) node.expect_dtype(2, {node.dtype(0)});
  if (bias && !(node.rank(2) == 1 && node.shape(2)[0] == channels)) {
    fail(ErrorCode::bad_input, "a bias of shape ", node.shape(2).extents(), " for ", channels,
         " output channels");
  }
  Ints extents = infer_transposed_window(node, kernel);
  extents.insert(extents.begin(), {x[0], channels});
  node.set_output(0, node.dtype(0), extents);
}

/// Which input index and tap make output index `y`: x * stride = y + pad - tap * dilation.
std::int64_t source_index(const Window& w, std::size_t axis, std::int64_t y, std::int64_t tap) {
  const std::int64_t at = y + w.pad_begin[axis] - tap * w.dilation[axis];
  if (at < 0 || at % w.stride[axis] != 0 || at / w.stride[axis] >= w.in[axis]) return -1;
  return at / w.stride[axis];
}

template <class T>
void reference_as(const ReferenceArgs& args) {
  const Shape& xs = args.in[0].mapping.shape();
  const Shape& ws = args.in[1].mapping.shape();
  const Shape& ys = args.out[0].mapping.shape();
  const Window w = window_of(args.node.facts(), ws.extents().subspan(2), xs, ys);
  const std::int64_t group_in = ws[0] / args.node.attrs().integer("group", 1);
  const std::int64_t group_out = ws[1];
  const T* x = args.input<T>(0);
  const T* weights = args.input<T>(1);
  const T* bias = bias_input(args.node) < 0 ? nullptr : args.input<T>(2);
  T* y = args.output<T>(0);
  const auto pixel = [&](std::int64_t n, std::int64_t o, std::int64_t oz, std::int64_t oy,
                         std::int64_t ox) {
    double sum = bias == nullptr ? 0.0 : static_cast<double>(bias[o]);
    const std::int64_t first = o / group_out * group_in;
    for (std::int64_t kz = 0; kz < w.kernel[0]; ++kz) {
      for (std::int64_t ky = 0; ky < w.kernel[1]; ++ky) {
        for (std::int64_t kx = 0; kx < w.kernel[2]; ++kx) {
          const std::int64_t iz = source_index(w, 0, oz, kz), iy = source_index(w, 1, oy, ky),
                             ix = source_index(w, 2, ox, kx);
          if (iz < 0 || iy < 0 || ix < 0) continue;
          const std::int64_t at = (iz * w.in[1] + iy) * w.in[2] + ix;
          const std::int64_t tap = (kz * w.kernel[1] + ky) * w.kernel[2] + kx;
          for (std::int64_t i = first; i < first + group_in; ++i) {
            sum += static_cast<double>(x[(n * xs[1] + i) * w.in_pixels() + at]) *
                   static_cast<double>(weights[(i * group_out + o % group_out) * w.taps() + tap]);
          }
        }
      }
    }
    *y++ = static_cast<T>(sum);
  };
  for (std::int64_t n = 0; n < ys[0]; ++n) {
    for (std::int64_t o = 0; o < ys[1]; ++o) {
      for (std::int64_t oz = 0; oz < w.out[0]; ++oz) {
        for (std::int64_t oy = 0; oy < w.out[1]; ++oy) {
          for (std::int64_t ox = 0; ox < w.out[2]; ++ox) pixel(n, o, oz, oy, ox);
        }
      }
    }
  }
}

void reference(const ReferenceArgs& args) {
  if (args.node.dtype(0) == DType::f64) {
    reference_as<double>(args);
  } else {
    reference_as<float>(args);
  }
}

constexpr int kTableEntries = 2048, kMostPixels = 512;
/// Strides beyond this make too many phases.
constexpr std::int64_t kMostPhases = 256;

/// The outputs `first + j * stride` of one axis, and for each tap that they see its number and the
/// input index of j = 0.
struct PhaseAxis {
  std::int64_t first = 0, count = 0;
  std::vector<std::int64_t> taps, base;
};

struct Phase {
  std::array<PhaseAxis, 3> axes;
  PixelGemm gemm;
  TaskGrid grid;
  std::int64_t first_task = 0;  // of one image and group

  std::int64_t pixels() const { return axes[0].count * axes[1].count * axes[2].count; }
};

struct Deconv {
  Window w;
  std::int64_t batch = 1, group = 1, group_channels = 1;
  std::int64_t in_image = 0, in_group = 0, in_pixel = 0;
  std::int64_t out_image = 0, out_group = 0, out_pixel = 0;
  std::int64_t w_group = 0;
  std::vector<Phase> phases;
  std::int64_t tasks = 0;  // of one image and group
  EpiloguePorts ports;
};

PhaseAxis phase_axis(const Window& w, std::size_t axis, std::int64_t first) {
  PhaseAxis p;
  p.first = first;
  p.count = first < w.out[axis] ? (w.out[axis] - 1 - first) / w.stride[axis] + 1 : 0;
  for (std::int64_t k = 0; k < w.kernel[axis]; ++k) {
    const std::int64_t at = first + w.pad_begin[axis] - k * w.dilation[axis];
    if (at % w.stride[axis] != 0) continue;
    p.taps.push_back(k);
    p.base.push_back(at / w.stride[axis]);
  }
  return p;
}

/// Table and output offsets for pixels [begin, begin + count) of a phase.
void fill_table(const Deconv& d, const Phase& phase, const float* image, std::int64_t begin,
                std::int64_t count, std::int64_t pitch, const float** table, std::int64_t* at) {
  const Window& w = d.w;
  const auto& [az, ay, ax] = phase.axes;
  std::int64_t jx = begin % ax.count, jy = begin / ax.count % ay.count,
               jz = begin / ax.count / ay.count;
  for (std::int64_t p = 0; p < count; ++p) {
    const std::int64_t oz = az.first + jz * w.stride[0], oy = ay.first + jy * w.stride[1],
                       ox = ax.first + jx * w.stride[2];
    at[p] = ((oz * w.out[1] + oy) * w.out[2] + ox) * d.out_pixel;
    const float** entry = table + p;
    for (const std::int64_t bz : az.base) {
      for (const std::int64_t by : ay.base) {
        const std::int64_t z = bz + jz, y = by + jy;
        const bool row_inside = z >= 0 && z < w.in[0] && y >= 0 && y < w.in[1];
        const float* row = image + (z * w.in[1] + y) * w.in[2] * d.in_pixel;
        for (const std::int64_t bx : ax.base) {
          const std::int64_t x = bx + jx;
          const bool inside = row_inside && x >= 0 && x < w.in[2];
          *entry = inside ? row + x * d.in_pixel : zero_run();
          entry += pitch;
        }
      }
    }
    if (++jx == ax.count) {
      jx = 0;
      if (++jy == ay.count) {
        jy = 0;
        ++jz;
      }
    }
  }
}

void run_task(const Deconv& d, const KernelArgs& args, std::int64_t task) noexcept {
  const std::int64_t n = task / d.tasks / d.group, g = task / d.tasks % d.group;
  task %= d.tasks;
  const auto next =
      std::upper_bound(d.phases.begin(), d.phases.end(), task,
                       [](std::int64_t t, const Phase& phase) { return t < phase.first_task; });
  const Phase& phase = *(next - 1);
  task -= phase.first_task;
  const std::int64_t share = task % phase.grid.shares, block = task / phase.grid.shares;

  const std::int64_t out = n * d.out_image + g * d.out_group, channel = g * d.group_channels;
  PixelGemmCall call;
  call.weights = args.input<float>(1) + g * d.w_group;
  call.bias = args.optional_input<float>(d.ports.bias, channel);
  call.residual = args.optional_input<float>(d.ports.residual, out);
  call.slope = args.optional_input<float>(d.ports.slope, d.ports.one_slope ? 0 : channel);
  call.out = args.output<float>(0) + out;
  const std::int64_t panels = phase.gemm.panels(tile_lanes());
  call.panel_begin = panels * share / phase.grid.shares;
  call.panel_end = panels * (share + 1) / phase.grid.shares;

  const float* table[kTableEntries];
  std::int64_t at[kMostPixels];
  const std::int64_t taps = std::max(phase.gemm.taps(), 1);
  const std::int64_t most = std::min<std::int64_t>(kMostPixels, kTableEntries / taps);
  const float* image = args.input<float>(0) + n * d.in_image + g * d.in_group;
  const std::int64_t end = std::min((block + 1) * phase.grid.block, phase.pixels());
  for (std::int64_t begin = block * phase.grid.block; begin < end; begin += most) {
    call.count = static_cast<int>(std::min(most, end - begin));
    fill_table(d, phase, image, begin, call.count, most, table, at);
    call.pixels = table;
    call.pixel_stride = most;
    call.out_at = at;
    pixel_gemm(phase.gemm, call);
  }
}

/// Phases of all axes; false when there are too many, or too many taps.
bool add_phases(const PixelGemm& gemm, std::int64_t tap_floats, int threads, Deconv& d) {
  const Extents3& s = d.w.stride;
  if (checked_mul(checked_mul(s[0], s[1]), s[2]) > kMostPhases) return false;
  for (std::int64_t i = 0; i < s[0] * s[1] * s[2]; ++i) {
    Phase phase;
    phase.axes = {phase_axis(d.w, 0, i / s[2] / s[1]), phase_axis(d.w, 1, i / s[2] % s[1]),
                  phase_axis(d.w, 2, i % s[2])};
    if (phase.pixels() == 0) continue;
    phase.gemm = gemm;
    for (const std::int64_t kz : phase.axes[0].taps) {
      for (const std::int64_t ky : phase.axes[1].taps) {
        for (const std::int64_t kx : phase.axes[2].taps) {
          phase.gemm.w_tap.push_back(((kz * d.w.kernel[1] + ky) * d.w.kernel[2] + kx) * tap_floats);
        }
      }
    }
    const std::int64_t taps = phase.gemm.taps();
    if (taps > kTableEntries) return false;
    const std::int64_t most_taps = std::max<std::int64_t>(taps, 1);
    const std::int64_t phases = s[0] * s[1] * s[2];
    phase.grid =
        share_pixels(phase.pixels(), gemm.panels(tile_lanes()), d.batch * d.group * phases, threads,
                     std::min<std::int64_t>(kMostPixels, kTableEntries / most_taps), false);
    phase.first_task = d.tasks;
    d.tasks += phase.grid.blocks * phase.grid.shares;
    d.phases.push_back(std::move(phase));
  }
  return true;
}

struct DeconvParams {
  Window w;
  std::int64_t batch = 1, group = 1;
  std::int64_t in_channels = 1, out_channels = 1;  ///< of one group
  bool blocked = true;
  EpiloguePorts ports;
  Activation activation;
  int threads = 1;

  void fields(Archive& a) {
    a("w", w)("batch", batch)("group", group);
    a("in_channels", in_channels)("out_channels", out_channels)("blocked", blocked);
    a("ports", ports)("activation", activation)("threads", threads);
  }
};

/// Floats of a row of weights: a panel of output channels.
std::int64_t weights_row(std::int64_t out_channels) {
  const std::int64_t lanes = tile_lanes();
  return tile_panel(ceil_div(out_channels, lanes)) * lanes;
}

/// Nothing when there are too many phases or taps.
std::optional<Deconv> place(const DeconvParams& p) {
  const std::int64_t lanes = tile_lanes();
  const std::int64_t all_in = p.in_channels * p.group, all_out = p.out_channels * p.group;
  const std::int64_t out_blocks = ceil_div(p.out_channels, lanes);
  const std::int64_t in_blocks = ceil_div(p.in_channels, lanes);
  Deconv d;
  d.w = p.w;
  d.batch = p.batch;
  d.group = p.group;
  d.group_channels = p.out_channels;
  d.ports = p.ports;
  PixelGemm g;
  g.channels = p.out_channels;
  g.panel = tile_panel(out_blocks);
  g.w_row = weights_row(p.out_channels);
  g.activation = p.activation;
  g.one_slope = p.ports.one_slope;
  std::int64_t tap_floats = 0;
  if (p.blocked) {
    const std::int64_t plane = d.w.in_pixels() * lanes;
    d.in_pixel = d.out_pixel = lanes;
    d.in_image = ceil_div(all_in, lanes) * plane;
    d.in_group = in_blocks * plane;
    g.outer = in_blocks;
    g.in_outer = plane;
    g.run = in_blocks == 1 ? p.in_channels : lanes;
    g.last_run = p.in_channels - (in_blocks - 1) * lanes;
    tap_floats = lanes * g.w_row;
    g.w_outer = d.w.taps() * tap_floats;
    g.w_panel = ceil_div(all_in, lanes) * g.w_outer;
    d.w_group = in_blocks * g.w_outer;
    g.out_block = d.w.out_pixels() * lanes;
    d.out_image = ceil_div(all_out, lanes) * g.out_block;
    d.out_group = out_blocks * g.out_block;
  } else {
    d.in_pixel = all_in;
    d.in_image = d.w.in_pixels() * all_in;
    d.in_group = p.in_channels;
    g.run = g.last_run = p.in_channels;
    tap_floats = all_in * g.w_row;
    g.w_panel = d.w.taps() * tap_floats;
    d.w_group = p.in_channels * g.w_row;
    g.out_block = lanes;
    g.out_padded = false;
    d.out_pixel = all_out;
    d.out_image = d.w.out_pixels() * all_out;
    d.out_group = p.out_channels;
  }
  if (!add_phases(g, tap_floats, p.threads, d)) return std::nullopt;
  return d;
}

Deconv bind(const DeconvParams& p) { return *place(p); }

void run(const Deconv& d, const KernelArgs& args) noexcept {
  parallel(args.pool, static_cast<std::size_t>(d.batch * d.group * d.tasks),
           [&](std::size_t i) { run_task(d, args, static_cast<std::int64_t>(i)); });
}

constexpr KernelDef kBlocked = kernel_def<DeconvParams, bind, run>("conv_transpose_blocked");
constexpr KernelDef kChannelsLast =
    kernel_def<DeconvParams, bind, run>("conv_transpose_channels_last");
constexpr const KernelDef* kKernels[] = {&kBlocked, &kChannelsLast};

void offer(const OfferRequest& request, bool blocked, std::vector<Offer>& offers) {
  const NodeRef& node = request.node;
  const Shape& x = node.shape(0);
  const Shape& k = node.shape(1);
  const Shape& y = node.output().shape;
  const std::int64_t lanes = tile_lanes(), group = node.attrs().integer("group", 1);
  const std::int64_t group_in = k[0] / group, group_out = k[1];
  if (blocked && group > 1 && (group_in % lanes != 0 || group_out % lanes != 0)) return;
  if (!blocked && group_in > kZeroRun) return;

  DeconvParams params;
  params.w = window_of(node.facts(), k.extents().subspan(2), x, y);
  params.batch = x[0];
  params.group = group;
  params.in_channels = group_in;
  params.out_channels = group_out;
  params.blocked = blocked;
  params.ports = epilogue_ports(node);
  params.activation = node.node().epilogue.activation;
  params.threads = request.target.threads;
  const auto d = place(params);
  if (!d) return;

  Offer o;
  o.call = {blocked ? kBlocked : kChannelsLast, params};
  o.in.resize(node.node().inputs.size());
  const int block = static_cast<int>(lanes);
  const std::int64_t row = weights_row(group_out);
  const std::string taps = spatial_text(k);
  o.in[0] = blocked ? Layout::blocked(x, 1, block) : channels_last(x);
  o.in[1] = layout_by_position(
      k, blocked ? text("$1/", row, " $0/", lanes, taps, " $0%", lanes, " $1%", row)
                 : text("$1/", row, taps, " $0 $1%", row));
  if (params.ports.bias >= 0) o.in[2] = padded_vector(node.shape(2), lanes);
  o.out = {blocked ? Layout::blocked(y, 1, block) : channels_last(y)};
  add_epilogue_layouts(node, o.out[0].layout, lanes, o.in);
  o.flops = 2.0 * static_cast<double>(x.elements()) * static_cast<double>(group_out * d->w.taps());
  TileWork work;
  for (const Phase& phase : d->phases) {
    const TileWork part = tile_work(phase.gemm, phase.pixels());
    work.useful += part.useful;
    work.spent += part.spent;
  }
  o.efficiency = work.efficiency();
  offers.push_back(std::move(o));
}

void offers(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  if (node.dtype(0) != DType::f32 || request.target.lanes != tile_lanes() ||
      node.output().shape.elements() == 0 || node.shape(0).elements() == 0) {
    return;
  }
  offer(request, true, out);
  offer(request, false, out);
}

void axes(const NodeRef& node, AxisLinks& links) { link_convolution(node, links, "i", "o"); }

/// TFLite's inputs: extents of the output, weights o h w i, x, bias. What the extents leave out of
/// the full result is cut, with SAME evenly, else at the end.
void import_transpose_conv(ImportNode& node) {
  node.expect(3, 4);
  const Ints wanted = node.ints(0);
  const ValueId x = node.image(2), weights = node.in(1);
  if (node.shape(weights).rank() != 4) {
    fail(ErrorCode::bad_input, "the weights have rank ", node.shape(weights).rank(), ", not 4");
  }
  const ValueId w = node.emit("transpose", {weights}, {{"perm", Ints{3, 0, 1, 2}}});
  if (wanted.size() != 4) fail(ErrorCode::bad_input, "its output has rank ", wanted.size());
  const bool same = node.attrs.string("auto_pad", "") == "SAME_UPPER";
  const Ints strides = node.attrs.integers("strides");
  Ints pads(4, 0), extra(2, 0);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto axis = static_cast<int>(i) + 2;
    const std::int64_t full =
        checked_add(checked_mul(node.shape(x)[axis] - 1, strides[i]), node.shape(w)[axis]);
    const std::int64_t cut =
        full - std::clamp<std::int64_t>(wanted[i + 1], 0, std::int64_t{1} << 40);
    extra[i] = std::max<std::int64_t>(-cut, 0);
    pads[i] = same ? std::max<std::int64_t>(cut, 0) / 2 : 0;
    pads[i + 2] = std::max<std::int64_t>(cut, 0) - pads[i];
  }
  node.out_image(node.emit("conv_transpose", {x, w, node.optional(3)},
                           {{"strides", strides}, {"pads", pads}, {"output_padding", extra}}));
}

constexpr ForeignName kNames[] = {{"onnx", "ConvTranspose"},
                                  {"tflite", "TRANSPOSE_CONV", import_transpose_conv}};

constexpr OpDef kOps[] = {{
    .name = "conv_transpose",
    .aliases = kNames,
    .category = Category::fixed,
    .infer = infer,
    .reference = reference,
    .offers = offers,
    .kernels = kKernels,
    .axes = axes,
    .posts = Posts::all,
}};

}  // namespace

extern const std::span<const OpDef> ops_conv_transpose;
const std::span<const OpDef> ops_conv_transpose = kOps;

}  // namespace stowage
