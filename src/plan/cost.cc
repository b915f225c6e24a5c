// SPDX-License-Identifier: Apache-2.0
#include "plan/cost.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/copy/move.h"

namespace stowage::plan {

namespace {

/// Threads share the memory, not the arithmetic.
double bandwidth_scale(const Target& target) { return std::min(target.threads, 4); }

}  // namespace

double kernel_us(const Rates& rates, const Target& target, const Offer& offer, double bytes,
                 double far) {
  constexpr double kPieceUs = 0.004;
  // Efficiency is a share of a peak that grows with the lanes. Kernels that go element by element
  // don't become slower than their reference where lanes are few.
  const double peak = rates.gflops_per_lane * target.lanes,
               reached = std::max(peak * offer.efficiency, rates.reference_gflops);
  const double compute = (offer.flops / (reached * 1e3) + kPieceUs * offer.pieces) / target.threads;
  // What two cores get from memory is half as much again as what one gets.
  const double far_rate = std::min(rates.memory_gb_per_s, rates.kernel_gb_per_s) * 1e3 *
                          std::sqrt(bandwidth_scale(target));
  const double near_rate = rates.kernel_gb_per_s * 1e3 * bandwidth_scale(target);
  const double memory = (bytes - far) / near_rate + far / far_rate;
  return rates.call_us + std::max(compute, memory);
}

double reference_us(const Rates& rates, double flops, double elements) {
  return rates.call_us + elements / rates.reference_elements_per_us +
         flops / (rates.reference_gflops * 1e3);
}

namespace {

bool on_device(const Format& format) { return format.place.device != 0; }

double cpu_us(const Rates& rates, const Target& target, const Shape& shape, const Format& from,
              const Format& to) {
  const Conversion conversion(from.dtype, from.mapping(shape), to.dtype, to.mapping(shape));
  double rate = rates.shuffle_gb_per_s;
  switch (conversion.speed()) {
    case Conversion::Speed::none:
      return 0;
    case Conversion::Speed::copy:
      rate = rates.copy_gb_per_s;
      break;
    case Conversion::Speed::single:
      rate = rates.generic_gb_per_s;
      break;
    case Conversion::Speed::shuffle:
      break;
  }
  return rates.call_us +
         static_cast<double>(conversion.bytes_moved()) / (rate * 1e3 * bandwidth_scale(target));
}

/// `there`: the format on the device.
double crossing_us(const DeviceRates& rates, const Shape& shape, const Format& there, bool up) {
  const auto bytes = static_cast<double>(there.mapping(shape).bytes());
  return rates.crossing_us + bytes / ((up ? rates.upload_gb_per_s : rates.download_gb_per_s) * 1e3);
}

}  // namespace

double device_us(const DeviceRates& rates, bool images, double flops, double efficiency,
                 double bytes) {
  const double launch = rates.launch_us * (images ? rates.image_launch : 1);
  const double gflops = rates.gflops * (images ? rates.image_compute : 1);
  const double gb_per_s = rates.gb_per_s * (images ? rates.image_bandwidth : 1);
  return launch +
         std::max(flops / (gflops * 1e3 * std::max(efficiency, 0.001)), bytes / (gb_per_s * 1e3));
}

bool converts(const DeviceTarget& device) {
  return std::ranges::find(device.avoid, kMove.name) == device.avoid.end();
}

double conversion_us(const Rates& rates, const Target& target, const Shape& shape,
                     const Format& from, const Format& to) {
  if (!on_device(from) && !on_device(to)) return cpu_us(rates, target, shape, from, to);
  const Mapping a = from.mapping(shape), b = to.mapping(shape);
  if (on_device(from) && on_device(to)) {
    if (!converts(*target.device)) return std::numeric_limits<double>::infinity();
    const bool images =
        from.place.memory == Place::Memory::image || to.place.memory == Place::Memory::image;
    return device_us(target.device->facts.rates, images, 0, 1,
                     static_cast<double>(a.bytes() + b.bytes()));
  }
  if (from.dtype != to.dtype || !a.same_bytes(b)) return std::numeric_limits<double>::infinity();
  return crossing_us(target.device->facts.rates, shape, on_device(from) ? from : to, on_device(to));
}

double port_us(const Rates& rates, const Target& target, const Shape& shape, const Format& from,
               const Format& to) {
  const double us = std::max(cpu_us(rates, target, shape, from, to) - rates.call_us, 0.0);
  if (!on_device(from) && !on_device(to)) return us;
  const DeviceFacts& facts = target.device->facts;
  // The conversion reads or writes memory that the host shares.
  if (facts.unified && us > 0) return us + facts.rates.crossing_us;
  return us +
         crossing_us(target.device->facts.rates, shape, on_device(from) ? from : to, on_device(to));
}

}  // namespace stowage::plan
