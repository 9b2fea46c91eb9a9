// The choice of a SIMD level: the best one whose instructions this processor has.
#include "rounding.hpp"

#include "kernels/table.hpp"

#include <atomic>
#include <cstdint>
#include <cstring>

#ifdef OBP_X86_LEVELS
#include <cpuid.h>
#endif

namespace obp {

namespace base {
extern const Kernels table;
}
#ifdef OBP_X86_LEVELS
namespace v3 {
extern const Kernels table;
}
namespace v4 {
extern const Kernels table;
}
#endif

#ifdef OBP_X86_LEVELS
namespace {

// The features of this processor, as far as a level needs them. They are read by the instructions for it, because
// __builtin_cpu_supports refers to a library that clang-cl does not link.
struct Processor {
    std::uint32_t basic = 0, extended = 0;  // feature bits of CPUID, leaf 1 in ECX and leaf 7 in EBX
    std::uint32_t saved = 0;                // the registers that the operating system saves, as XGETBV tells

    Processor() {
        std::uint32_t eax, ebx, ecx, edx;
        if (__get_cpuid(1, &eax, &ebx, &ecx, &edx)) basic = ecx;
        if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) extended = ebx;
        if (basic & bit_OSXSAVE) __asm__("xgetbv" : "=a"(saved), "=d"(edx) : "c"(0));
    }

    bool has(std::uint32_t of_basic, std::uint32_t of_extended, std::uint32_t of_saved) const {
        return !(of_basic & ~basic) && !(of_extended & ~extended) && !(of_saved & ~saved);
    }
};

constexpr std::uint32_t saves_avx = 0x06, saves_avx512 = 0xe6;

}  // namespace
#endif

const std::vector<const Kernels*>& available_kernels() {
    static const std::vector<const Kernels*> available = [] {
        std::vector<const Kernels*> found{&base::table};
#ifdef OBP_X86_LEVELS  // CMakeLists.txt compiles the levels for the same features
        const Processor processor;
        if (processor.has(bit_AVX | bit_FMA, bit_AVX2 | bit_BMI | bit_BMI2, saves_avx)) {
            found.push_back(&v3::table);
            if (processor.has(0, bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL, saves_avx512))
                found.push_back(&v4::table);
        }
#endif
        return found;
    }();
    return available;
}

static std::atomic<const Kernels*> forced{nullptr};

const Kernels& kernels() {
    const Kernels* table = forced.load(std::memory_order_relaxed);
    return table ? *table : *available_kernels().back();
}

bool force_kernels(const char* name) {
    for (const Kernels* table : available_kernels())
        if (std::strcmp(table->name, name) == 0) {
            forced = table;
            return true;
        }
    return false;
}

}  // namespace obp
