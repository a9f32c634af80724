#include "durations.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace qkprof::exec {
namespace {

// Each power of two is cut into 64 buckets of one width, so that the middle of a bucket is within 1/128 of all that is
// in it; below 128 a bucket holds a single number.
constexpr unsigned mantissa_bits = 6;
constexpr std::uint64_t per_octave = 1U << mantissa_bits;

std::uint32_t bucket_of(std::uint64_t nanoseconds) {
    const auto width = static_cast<unsigned>(std::bit_width(nanoseconds));
    const unsigned shift = width > mantissa_bits + 1 ? width - mantissa_bits - 1 : 0;
    return static_cast<std::uint32_t>(shift * per_octave + (nanoseconds >> shift));
}

std::uint64_t middle_of(std::uint32_t bucket) {
    const std::uint64_t shift = bucket < 2 * per_octave ? 0 : bucket / per_octave - 1;
    const std::uint64_t low = (bucket - shift * per_octave) << shift;
    return low + ((std::uint64_t{1} << shift) - 1) / 2;
}

}  // namespace

void Durations::add(std::uint64_t nanoseconds) {
    least_ = count_ == 0 ? nanoseconds : std::min(least_, nanoseconds);
    most_ = std::max(most_, nanoseconds);
    total_ += nanoseconds;
    ++count_;
    add(bucket_of(nanoseconds), 1);
}

void Durations::add(const Durations& others) {
    if (others.count_ == 0) {
        return;
    }
    least_ = count_ == 0 ? others.least_ : std::min(least_, others.least_);
    most_ = std::max(most_, others.most_);
    total_ += others.total_;
    count_ += others.count_;
    for (const auto& [bucket, count] : others.buckets_) {
        add(bucket, count);
    }
}

void Durations::add(std::uint32_t bucket, std::uint64_t count) {
    auto place = std::lower_bound(buckets_.begin(), buckets_.end(), std::pair<std::uint32_t, std::uint64_t>{bucket, 0});
    if (place == buckets_.end() || place->first != bucket) {
        place = buckets_.emplace(place, bucket, 0);
    }
    place->second += count;
}

std::uint64_t Durations::quantile(double part) const {
    const auto rank = std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(std::ceil(std::clamp(part, 0.0, 1.0) * static_cast<double>(count_))));
    std::uint64_t passed = 0;
    for (const auto& [bucket, count] : buckets_) {
        passed += count;
        if (passed >= rank) {
            return std::clamp(middle_of(bucket), least_, most_);
        }
    }
    return most_;
}

}  // namespace qkprof::exec
