#include "rounding.hpp"

#include "distances/packing.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "distances/unit_length.hpp"

namespace obp {
namespace {

// Converts a row to values. Floats that stand for bytes are rounded to the nearest integer.
template <class From, class Value>
void convert(const From* row, std::size_t n_features, double byte_divisor, Value* values) {
    if constexpr (std::is_floating_point_v<From> && std::is_integral_v<Value>)
        for (std::size_t f = 0; f < n_features; ++f)
            values[f] = static_cast<Value>(static_cast<int>(row[f] * static_cast<From>(byte_divisor) + From(0.5)));
    else
        std::copy(row, row + n_features, values);
}

// Scales a row to length 1 and appends a value, which is 1 for a row of zeros and 0 otherwise. A row of zeros has no
// direction; the extra value gives it one that is at cosine distance 1 from all other directions.
template <class From, class Value>
void normalise(const From* row, std::size_t n_features, Value* values) {
    const bool has_direction = scale_to_unit_length(row, n_features, values);
    values[n_features] = has_direction ? Value(0) : Value(1);
}

// Eight bytes make one unit, and so do two 16-bit integers. A float or a double is a unit by itself.
template <class Value>
using UnitOf =
    std::conditional_t<sizeof(Value) == 1, std::uint64_t, std::conditional_t<sizeof(Value) == 2, std::uint32_t, Value>>;

template <class Value>
constexpr Unit unit_of() {
    return sizeof(Value) == 1   ? Unit::eight_bytes
           : sizeof(Value) == 2 ? Unit::pair_of_integers
           : sizeof(Value) == 4 ? Unit::float32
                                : Unit::float64;
}

// The largest numbers of features for which a sum of bytes, and one of squared bytes, fits in 32 bits.
constexpr std::size_t max_features_summed = INT32_MAX / 255, max_features_squared = UINT32_MAX / (255 * 255);

bool is_squared(Metric metric) { return metric == Metric::euclidean || metric == Metric::sqeuclidean; }

template <class From, class Value>
void to_values(Metric metric, const void* row, std::size_t n_features, double byte_divisor, Value* values) {
    if (metric == Metric::cosine)
        normalise(static_cast<const From*>(row), n_features, values);
    else
        convert(static_cast<const From*>(row), n_features, byte_divisor, values);
}

}  // namespace

Packing::Packing(Metric metric, InputType input_type, const void* columns, std::size_t n_columns,
                 std::size_t n_features, double byte_divisor)
    : metric_(metric),
      input_type_(input_type),
      n_features_(n_features),
      n_values_(n_features + (metric == Metric::cosine)),
      byte_divisor_(byte_divisor) {
    const bool as_bytes = byte_divisor != 0 || input_type == InputType::uint8;
    if (!as_bytes && input_type == InputType::float64)
        choose<double, double>(columns, n_columns);
    else if (!as_bytes)
        choose<float, float>(columns, n_columns);
    else if (input_type == InputType::float64)
        choose_bytes<double>(columns, n_columns);
    else if (input_type == InputType::float32)
        choose_bytes<float>(columns, n_columns);
    else
        choose_bytes<std::uint8_t>(columns, n_columns);
}

template <class From>
void Packing::choose_bytes(const void* columns, std::size_t n_columns) {
    if (metric_ == Metric::manhattan && n_features_ <= max_features_summed)
        choose<From, std::uint8_t>(columns, n_columns);
    else if (is_squared(metric_) && n_features_ <= max_features_squared)
        choose<From, std::uint16_t>(columns, n_columns);
    else
        choose<From, std::conditional_t<sizeof(From) == 8, double, float>>(columns, n_columns);
}

template <class From, class Value>
void Packing::choose(const void* columns, std::size_t n_columns) {
    row_bytes_ = n_features_ * sizeof(From);
    pack_row_ = pack_row<From, Value>;
    std::vector<Value> first(n_values_), other(n_values_);
    to_values<From>(metric_, columns, n_features_, byte_divisor_, first.data());
    // A single column agrees with itself in all values, but counts as varying, because the kernels are quicker than the
    // computation of the bases.
    std::vector<unsigned char> varies(n_values_, n_columns == 1);
    for (std::size_t i = 1; i < n_columns; ++i) {
        to_values<From>(metric_, static_cast<const From*>(columns) + i * n_features_, n_features_, byte_divisor_,
                        other.data());
        for (std::size_t v = 0; v < n_values_; ++v) varies[v] |= first[v] != other[v];
    }
    std::size_t n_varying = 0;
    for (std::size_t start = 0, stop = 0; start < n_values_; start = stop) {
        while (stop < n_values_ && varies[stop] == varies[start]) ++stop;
        (varies[start] ? varying_ : constant_).push_back({start, stop});
        n_varying += varies[start] ? stop - start : 0;
    }
    first_column_.resize(n_values_ * sizeof(Value));
    std::memcpy(first_column_.data(), first.data(), first_column_.size());
    unit_ = unit_of<Value>();
    unit_bytes_ = sizeof(UnitOf<Value>);
    n_units_ = (n_varying * sizeof(Value) + unit_bytes_ - 1) / unit_bytes_;
    is_identity_ = std::is_same_v<From, UnitOf<Value>> && n_units_ == n_features_ && metric_ != Metric::cosine;
}

// Returns the base of a row: its dissimilarity to the first column in the values in which all columns agree.
template <class Value, class Base>
Base Packing::base_of(const Value* values) const {
    const Value* first = reinterpret_cast<const Value*>(first_column_.data());
    using Sum = std::conditional_t<std::is_integral_v<Base>, Base, double>;
    Sum base = 0;
    for (const Run& run : constant_)
        for (std::size_t v = run.start; v < run.stop; ++v) {
            const Sum d = values[v] > first[v] ? values[v] - first[v] : first[v] - values[v];
            base = metric_ == Metric::chebyshev ? std::max(base, d) : base + (metric_ == Metric::manhattan ? d : d * d);
        }
    return static_cast<Base>(base);
}

template <class From, class Value>
void Packing::pack_row(const Packing& self, const void* row, void* units, void* base, void* values) {
    Value* const from = static_cast<Value*>(values);
    to_values<From>(self.metric_, row, self.n_features_, self.byte_divisor_, from);
    Value* to = static_cast<Value*>(units);
    for (const Run& run : self.varying_) to = std::copy(from + run.start, from + run.stop, to);
    std::fill(to, static_cast<Value*>(units) + self.n_units_ * (sizeof(UnitOf<Value>) / sizeof(Value)), Value(0));
    const auto constant_part = self.base_of<Value, UnitOf<Value>>(from);
    std::memcpy(base, &constant_part, sizeof constant_part);
}

void Packing::pack(const void* rows, std::size_t n_rows, void* units, void* bases, void* values) const {
    const auto* from = static_cast<const unsigned char*>(rows);
    auto* to = static_cast<unsigned char*>(units);
    auto* base = static_cast<unsigned char*>(bases);
    if (is_identity_) {
        std::memcpy(to, from, n_rows * row_bytes_);
        std::memset(base, 0, n_rows * unit_bytes_);
        return;
    }
    for (std::size_t i = 0; i < n_rows; ++i)
        pack_row_(*this, from + i * row_bytes_, to + i * n_units_ * unit_bytes_, base + i * unit_bytes_, values);
}

template <class T>
bool are_bytes(const T* values, std::size_t n, double byte_divisor) {
    // Values are checked in runs without a branch, so that the compiler can use vectors.
    constexpr std::size_t values_at_once = 1024;
    const T divisor = static_cast<T>(byte_divisor), largest = T(255) / divisor;
    for (std::size_t start = 0; start < n; start += values_at_once) {
        const std::size_t stop = std::min(n, start + values_at_once);
        int n_others = 0;
        for (std::size_t i = start; i < stop; ++i) {
            const bool in_range = (values[i] >= 0) & (values[i] <= largest);
            const auto byte = static_cast<int>((in_range ? values[i] : T(0)) * divisor + T(0.5));
            n_others += !in_range | (static_cast<T>(byte) / divisor != values[i]);
        }
        if (n_others) return false;
    }
    return true;
}

template bool are_bytes(const float*, std::size_t, double);
template bool are_bytes(const double*, std::size_t, double);

namespace {

// Copies a few units of all rows at a time, so that the part of the panel that is written stays in the cache.
template <std::size_t unit_bytes>
void to_panel(const unsigned char* rows, std::size_t n_rows, std::size_t n_units, std::size_t width,
              unsigned char* panel) {
    constexpr std::size_t units_at_once = 16;
    for (std::size_t start = 0; start < n_units; start += units_at_once) {
        const std::size_t stop = std::min(n_units, start + units_at_once);
        for (std::size_t row = 0; row < n_rows; ++row)
            for (std::size_t unit = start; unit < stop; ++unit)
                std::memcpy(panel + (unit * width + row) * unit_bytes, rows + (row * n_units + unit) * unit_bytes,
                            unit_bytes);
    }
}

}  // namespace

std::vector<unsigned char> to_panels(const void* rows, std::size_t n_rows, std::size_t n_units, std::size_t unit_bytes,
                                     std::size_t width) {
    const auto* from = static_cast<const unsigned char*>(rows);
    std::vector<unsigned char> panels((n_rows + width - 1) / width * width * n_units * unit_bytes);
    for (std::size_t row = 0; row < n_rows; row += width) {
        const std::size_t offset = row * n_units * unit_bytes, count = std::min(width, n_rows - row);
        (unit_bytes == 4 ? to_panel<4> : to_panel<8>)(from + offset, count, n_units, width, panels.data() + offset);
    }
    return panels;
}

}  // namespace obp
