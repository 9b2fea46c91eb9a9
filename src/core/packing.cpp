#include "packing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace obp {
namespace {

template <class From, class Unit>
void pack_values(const void* row, std::size_t n_features, void* units, std::size_t) {
    const From* from = static_cast<const From*>(row);
    std::copy(from, from + n_features, static_cast<Unit*>(units));
}

void pack_bytes(const void* row, std::size_t n_features, void* units, std::size_t n_units) {
    std::memset(static_cast<std::uint64_t*>(units) + n_units - 1, 0, sizeof(std::uint64_t));
    std::memcpy(units, row, n_features);
}

// Rows of length one: 1 - cos(a, b) is half their squared distance, without cancellation. A row of zeros has no
// direction; it gets one of its own, in an extra feature, at distance 1 from every other.
template <class From, class Unit>
void pack_direction(const void* row, std::size_t n_features, void* units, std::size_t n_units) {
    const From* from = static_cast<const From*>(row);
    Unit* to = static_cast<Unit*>(units);
    double largest = 0, squares = 0;
    for (std::size_t f = 0; f < n_features; ++f) largest = std::max(largest, std::abs(static_cast<double>(from[f])));
    const double scale = largest > 0 ? largest : 1;  // squares neither overflow nor vanish
    for (std::size_t f = 0; f < n_features; ++f) squares += (from[f] / scale) * (from[f] / scale);
    const double length = largest > 0 ? std::sqrt(squares) : 1;
    for (std::size_t f = 0; f < n_features; ++f) to[f] = static_cast<Unit>(from[f] / scale / length);
    to[n_units - 1] = largest > 0 ? Unit(0) : Unit(1);
}

}  // namespace

Packing::Packing(Metric metric, Source source, std::size_t n_features)
    : n_features(n_features), n_units(n_features), source(source) {
    switch (source) {
        case Source::float64:
            row_bytes = n_features * sizeof(double);
            unit_bytes = sizeof(double);
            pack_row_ = metric == Metric::cosine ? pack_direction<double, double> : pack_values<double, double>;
            break;
        case Source::float32:
            row_bytes = n_features * sizeof(float);
            unit_bytes = sizeof(float);
            pack_row_ = metric == Metric::cosine ? pack_direction<float, float> : pack_values<float, float>;
            break;
        case Source::uint8:
            row_bytes = n_features;
            unit_bytes = sizeof(float);
            pack_row_ =
                metric == Metric::cosine ? pack_direction<std::uint8_t, float> : pack_values<std::uint8_t, float>;
            break;
    }
    if (metric == Metric::cosine) n_units = n_features + 1;
    if (metric == Metric::manhattan && source == Source::uint8) {
        n_units = (n_features + 7) / 8;
        unit_bytes = sizeof(std::uint64_t);
        pack_row_ = pack_bytes;
    }
}

void Packing::pack(const void* rows, std::size_t n_rows, void* units) const {
    const auto* from = static_cast<const unsigned char*>(rows);
    auto* to = static_cast<unsigned char*>(units);
    for (std::size_t i = 0; i < n_rows; ++i)
        pack_row_(from + i * row_bytes, n_features, to + i * n_units * unit_bytes, n_units);
}

}  // namespace obp
