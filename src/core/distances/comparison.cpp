#include "rounding.hpp"

#include "distances/comparison.hpp"

#include <algorithm>
#include <cstring>

namespace obp {
namespace {

// Rows with fewer units are compared by differences, because dot products would not be quicker.
constexpr std::size_t min_units_for_products = 32;

const MetricKernels& kernels_for(Metric metric, Unit unit, const Kernels& level) {
    const bool wide = unit == Unit::float64;
    switch (metric) {
        case Metric::manhattan:
            return wide ? level.manhattan_f64 : unit == Unit::eight_bytes ? level.manhattan_u8 : level.manhattan_f32;
        case Metric::chebyshev:
            return wide ? level.chebyshev_f64 : level.chebyshev_f32;
        default:
            return wide ? level.sqeuclidean_f64 : level.sqeuclidean_f32;
    }
}

bool is_squared_euclidean(Metric metric) {
    return metric == Metric::euclidean || metric == Metric::sqeuclidean || metric == Metric::cosine;
}

// Subtracts the centre from each row, and computes the squared length of the difference.
//
// centred  OUT  n_rows x n_units
// squares  OUT  n_rows
void centre_rows(const float* rows, std::size_t n_rows, const std::vector<float>& centre, const Kernels& level,
                 float* centred, float* squares) {
    const std::size_t n_units = centre.size();
    for (std::size_t i = 0; i < n_rows; ++i, rows += n_units, centred += n_units) {
        for (std::size_t u = 0; u < n_units; ++u) centred[u] = rows[u] - centre[u];
        squares[i] = level.dot_product(centred, centred, n_units);
    }
}

// Returns the mean of the rows, or zero if most of their values are zero: such rows lie around zero already, and
// centring would remove the zeros, which the kernels skip.
std::vector<float> centre_of(const std::vector<float>& rows, std::size_t n_units) {
    std::vector<float> centre(n_units);
    const auto n_zeros = static_cast<std::size_t>(std::count(rows.begin(), rows.end(), 0.0f));
    if (2 * n_zeros > rows.size()) return centre;
    std::vector<double> sums(n_units);
    for (std::size_t i = 0; i < rows.size(); ++i) sums[i % n_units] += rows[i];
    for (std::size_t u = 0; u < n_units; ++u) centre[u] = static_cast<float>(sums[u] * n_units / rows.size());
    return centre;
}

// Computes the squared length of each row of 16-bit integers.
void square_rows(const void* units, std::size_t n_rows, std::size_t n_units, std::uint32_t* squares) {
    const auto* value = static_cast<const std::uint16_t*>(units);
    for (std::size_t i = 0; i < n_rows; ++i) {
        squares[i] = 0;
        for (std::size_t v = 0; v < 2 * n_units; ++v, ++value) squares[i] += std::uint32_t{*value} * *value;
    }
}

void reserve_live_units(std::size_t n, std::size_t unit_bytes, Comparison::Scratch& scratch) {
    scratch.live_units.reserve(n);
    scratch.live_ends.reserve(n);
    scratch.live_values.reserve(n * unit_bytes);
}

// Returns scratch memory for the live units of a tile.
LiveUnits live_units(const Tile& tile, std::size_t unit_bytes, Comparison::Scratch& scratch) {
    const std::size_t n = tile.n_rows * tile.n_units;
    scratch.live_units.resize(n);
    scratch.live_ends.resize(n);
    scratch.live_values.resize(n * unit_bytes);
    return {scratch.live_units.data(), scratch.live_values.data(), scratch.live_ends.data()};
}

// The bases of a tile of dot products. They are zero, because the bases of the rows are added to the squared lengths
// instead. The same bits are zero as floats.
constexpr std::uint32_t zero_bases[max_tile_rows] = {};

class Differences : public Comparison {
public:
    using Comparison::Comparison;

    void reserve(Scratch&, std::size_t, std::size_t) const override {}
    void prepare(Tile&, Scratch&) const override {}
};

// Dot products of floats. Rows and columns are moved to a centre first, because digits would cancel if their squared
// lengths were much larger than their distances.
class FloatProducts : public Comparison {
public:
    // columns  IN/OUT  n_columns x n_units floats, which are centred
    FloatProducts(const Kernels& level, std::size_t n_columns, std::size_t n_units, std::vector<unsigned char>& columns)
        : Comparison(level.sqeuclidean_by_products_f32),
          level_(level),
          columns_(n_columns * n_units),
          squares_(n_columns) {
        std::memcpy(columns_.data(), columns.data(), columns.size());
        centre_ = centre_of(columns_, n_units);
        std::vector<float> centred(columns_.size());
        centre_rows(columns_.data(), n_columns, centre_, level_, centred.data(), squares_.data());
        std::memcpy(columns.data(), centred.data(), columns.size());
    }

    void reserve(Scratch& scratch, std::size_t n_rows, std::size_t n_units) const override {
        reserve_live_units(n_rows * n_units, sizeof(float), scratch);
        scratch.centred.reserve(n_rows * n_units);
        scratch.float_squares.reserve(n_rows);
    }

    void prepare(Tile& tile, Scratch& scratch) const override {
        const auto* rows = static_cast<const float*>(tile.rows);
        const auto* bases = static_cast<const float*>(tile.bases);
        const LiveUnits live = live_units(tile, sizeof(float), scratch);
        scratch.centred.resize(tile.n_rows * tile.n_units);
        scratch.float_squares.resize(tile.n_rows);
        centre_rows(rows, tile.n_rows, centre_, level_, scratch.centred.data(), scratch.float_squares.data());
        for (std::size_t i = 0; i < tile.n_rows; ++i) scratch.float_squares[i] += bases[i];
        tile.products = {scratch.float_squares.data(), squares_.data(), rows, columns_.data(), bases, live};
        tile.rows = scratch.centred.data();
        tile.bases = zero_bases;
    }

private:
    const Kernels& level_;
    std::vector<float> columns_;  // n_columns x n_units, before centring
    std::vector<float> centre_;   // n_units
    std::vector<float> squares_;  // n_columns: squared lengths of the centred columns
};

// Dot products of 16-bit integers. They need no centre, because they are exact.
class IntegerProducts : public Comparison {
public:
    // columns  IN  n_columns x n_units pairs of integers
    IntegerProducts(const Kernels& level, std::size_t n_columns, std::size_t n_units,
                    const std::vector<unsigned char>& columns)
        : Comparison(level.sqeuclidean_by_products_u8), squares_(n_columns) {
        square_rows(columns.data(), n_columns, n_units, squares_.data());
    }

    void reserve(Scratch& scratch, std::size_t n_rows, std::size_t n_units) const override {
        reserve_live_units(n_rows * n_units, sizeof(std::uint32_t), scratch);
        scratch.integer_squares.reserve(n_rows);
    }

    void prepare(Tile& tile, Scratch& scratch) const override {
        const auto* bases = static_cast<const std::uint32_t*>(tile.bases);
        const LiveUnits live = live_units(tile, sizeof(std::uint32_t), scratch);
        scratch.integer_squares.resize(tile.n_rows);
        square_rows(tile.rows, tile.n_rows, tile.n_units, scratch.integer_squares.data());
        for (std::size_t i = 0; i < tile.n_rows; ++i) scratch.integer_squares[i] += bases[i];
        tile.products = {scratch.integer_squares.data(), squares_.data(), nullptr, nullptr, nullptr, live};
        tile.bases = zero_bases;
    }

private:
    std::vector<std::uint32_t> squares_;  // n_columns: squared lengths
};

}  // namespace

std::unique_ptr<const Comparison> choose_comparison(Metric metric, const Packing& packing, std::size_t n_columns,
                                                    std::vector<unsigned char>& columns) {
    const Kernels& level = kernels();
    if (packing.unit() == Unit::pair_of_integers)
        return std::make_unique<IntegerProducts>(level, n_columns, packing.n_units(), columns);
    const bool is_long = packing.unit() == Unit::float32 && packing.n_units() >= min_units_for_products;
    if (is_long && is_squared_euclidean(metric))
        return std::make_unique<FloatProducts>(level, n_columns, packing.n_units(), columns);
    return std::make_unique<Differences>(kernels_for(metric, packing.unit(), level));
}

}  // namespace obp
