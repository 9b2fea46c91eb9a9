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

// Says whether most values are zero. The kernels then skip units that are zero in a group of rows.
template <class T>
bool are_mostly_zero(const T* values, std::size_t n) {
    return 2 * static_cast<std::size_t>(std::count(values, values + n, T(0))) > n;
}

// Returns the mean of the rows.
std::vector<float> centre_of(const std::vector<float>& rows, std::size_t n_units) {
    std::vector<float> centre(n_units);
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

// Returns the length of an array with an entry for each column, and for each column of the padding of the last panel.
std::size_t padded(std::size_t n_columns, const MetricKernels& kernels) {
    return (n_columns + kernels.panel_width - 1) / kernels.panel_width * kernels.panel_width;
}

// Allocates the scratch memory in which the kernels interleave the units of n_rows rows.
void reserve_interleaved(std::size_t n_rows, std::size_t n_units, std::size_t unit_bytes, bool skips_units,
                         Comparison::Scratch& scratch) {
    scratch.interleaved.resize(n_rows * n_units * unit_bytes);
    if (!skips_units) return;
    scratch.live_units.resize(n_rows * n_units);
    scratch.live_ends.resize(n_rows * n_units + 1);  // A run ends even where there are no units.
}

LiveUnits live_units(bool skips_units, Comparison::Scratch& scratch) {
    if (!skips_units) return {};
    return {scratch.live_units.data(), scratch.live_ends.data()};
}

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
          squares_(padded(n_columns, kernels())) {
        std::memcpy(columns_.data(), columns.data(), columns.size());
        // Rows of zeros lie around zero already, and centring would remove the zeros.
        skips_units_ = are_mostly_zero(columns_.data(), columns_.size());
        centre_ = skips_units_ ? std::vector<float>(n_units) : centre_of(columns_, n_units);
        std::vector<float> centred(columns_.size());
        centre_rows(columns_.data(), n_columns, centred.data(), squares_.data());
        std::memcpy(columns.data(), centred.data(), columns.size());
    }

    void reserve(Scratch& scratch, std::size_t n_rows, std::size_t n_units) const override {
        reserve_interleaved(n_rows, n_units, sizeof(float), skips_units_, scratch);
        scratch.centred.resize(n_rows * n_units);
        scratch.float_squares.resize(n_rows);
    }

    void prepare(Tile& tile, Scratch& scratch) const override {
        const auto* rows = static_cast<const float*>(tile.rows);
        const auto* bases = static_cast<const float*>(tile.bases);
        centre_rows(rows, tile.n_rows, scratch.centred.data(), scratch.float_squares.data());
        for (std::size_t i = 0; i < tile.n_rows; ++i) scratch.float_squares[i] += bases[i];
        tile.products = {
            scratch.float_squares.data(),     squares_.data(), rows, columns_.data(), bases, scratch.interleaved.data(),
            live_units(skips_units_, scratch)};
        tile.rows = scratch.centred.data();
    }

private:
    // Subtracts the centre from each row, and computes the squared length of the difference.
    //
    // centred  OUT  n_rows x n_units
    // squares  OUT  n_rows
    void centre_rows(const float* rows, std::size_t n_rows, float* centred, float* squares) const {
        const std::size_t n_units = centre_.size();
        for (std::size_t i = 0; i < n_rows; ++i)
            squares[i] = level_.centre_row(rows + i * n_units, centre_.data(), n_units, centred + i * n_units);
    }

    const Kernels& level_;
    bool skips_units_;
    std::vector<float> columns_;  // n_columns x n_units, before centring
    std::vector<float> centre_;   // n_units
    std::vector<float> squares_;  // n_columns, padded: squared lengths of the centred columns
};

// Dot products of 16-bit integers. They need no centre, because they are exact.
class IntegerProducts : public Comparison {
public:
    // columns  IN  n_columns x n_units pairs of integers
    IntegerProducts(const Kernels& level, std::size_t n_columns, std::size_t n_units,
                    const std::vector<unsigned char>& columns)
        : Comparison(level.sqeuclidean_by_products_u8),
          skips_units_(are_mostly_zero(reinterpret_cast<const std::uint16_t*>(columns.data()), columns.size() / 2)),
          squares_(padded(n_columns, kernels())) {
        square_rows(columns.data(), n_columns, n_units, squares_.data());
    }

    void reserve(Scratch& scratch, std::size_t n_rows, std::size_t n_units) const override {
        reserve_interleaved(n_rows, n_units, sizeof(std::uint32_t), skips_units_, scratch);
        scratch.integer_squares.resize(n_rows);
    }

    void prepare(Tile& tile, Scratch& scratch) const override {
        const auto* bases = static_cast<const std::uint32_t*>(tile.bases);
        square_rows(tile.rows, tile.n_rows, tile.n_units, scratch.integer_squares.data());
        for (std::size_t i = 0; i < tile.n_rows; ++i) scratch.integer_squares[i] += bases[i];
        tile.products = {
            scratch.integer_squares.data(),   squares_.data(), nullptr, nullptr, nullptr, scratch.interleaved.data(),
            live_units(skips_units_, scratch)};
    }

private:
    bool skips_units_;
    std::vector<std::uint32_t> squares_;  // n_columns, padded: squared lengths
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
