// How a row of the input becomes the units that the kernels compare.
//
//   row --values--> converted or normalised --gather--> without the features in which all columns agree --> units
//
// Such features (the margins of images, categories that the columns do not have) add the same to all dissimilarities
// of a row: they are compared once, with the first column, and give the base from which the kernels start.
#pragma once

#include <cstddef>
#include <vector>

namespace obp {

enum class Metric { manhattan, euclidean, sqeuclidean, chebyshev, cosine };
enum class InputType { float32, float64, uint8 };
enum class Unit { float32, float64, eight_bytes, pair_of_integers };

class Packing {
public:
    // columns  IN  n_columns x n_features of type `input_type`
    // byte_divisor  if not zero, the values of columns and rows are byte / byte_divisor, and are compared as bytes
    Packing(Metric metric, InputType input_type, const void* columns, std::size_t n_columns, std::size_t n_features,
            double byte_divisor);

    // rows   IN   n_rows x n_features of type `input_type`
    // units  OUT  n_rows x n_units
    // bases  OUT  n_rows units
    void pack(const void* rows, std::size_t n_rows, void* units, void* bases) const;

    InputType input_type() const { return input_type_; }
    Unit unit() const { return unit_; }
    std::size_t n_features() const { return n_features_; }
    std::size_t row_bytes() const { return row_bytes_; }
    std::size_t n_units() const { return n_units_; }
    std::size_t unit_bytes() const { return unit_bytes_; }

private:
    template <class From, class Value>
    void choose(const void* columns, std::size_t n_columns);
    template <class From, class Value>
    static void pack_row(const Packing& self, const void* row, void* units, void* base);
    template <class From>
    void choose_bytes(const void* columns, std::size_t n_columns);
    template <class Value, class Base>
    Base base_of(const Value* values) const;

    Metric metric_;
    InputType input_type_;
    Unit unit_;
    std::size_t n_features_, n_values_, n_units_, row_bytes_, unit_bytes_;
    double byte_divisor_;
    bool is_identity_;  // units are the values as they are given
    struct Run {
        std::size_t start, stop;
    };
    std::vector<Run> varying_, constant_;      // values in which the columns differ, and in which they agree
    std::vector<unsigned char> first_column_;  // its values
    void (*pack_row_)(const Packing&, const void*, void*, void*);
};

// Whether all values are byte / byte_divisor, rounded to their type.
template <class T>
bool are_bytes(const T* values, std::size_t n, double byte_divisor);

// Panels of `width` rows each, unit after unit: panels x n_units x width; the last panel is padded with zeros.
//
// rows  IN  n_rows x n_units
std::vector<unsigned char> to_panels(const void* rows, std::size_t n_rows, std::size_t n_units, std::size_t unit_bytes,
                                     std::size_t width);

}  // namespace obp
