// Region kernels: matrix times blocks over GF(2^8), polynomial 0x11d.
#ifndef ERS_CODE_KERNEL_H_
#define ERS_CODE_KERNEL_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace ers::code {

enum class KernelKind { kIsal, kGfComplete };

// One way to multiply regions. Every kernel gives the same bytes. Instances
// are immutable singletons; any thread.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual std::string_view name() const = 0;

  // outputs[r][0..bytes) = sum over c of coefficients[r * inputs.size() + c] *
  // inputs[c][0..bytes), overwriting. Any `bytes` (also 0), any alignment;
  // outputs alias neither inputs nor each other. A row of ones runs as XOR
  // (unless it rides along with three others for less), a row with a single
  // one as a copy, and columns of zeros are skipped.
  virtual void Multiply(std::span<const std::uint8_t> coefficients,
                        std::span<const std::uint8_t* const> inputs,
                        std::span<std::uint8_t* const> outputs,
                        std::size_t bytes) const = 0;
};

// The kernel of a kind, or nullptr where it was not built in.
const Kernel* FindKernel(KernelKind kind);
// ISA-L where built in, else gf-complete.
const Kernel& DefaultKernel();
std::vector<const Kernel*> AllKernels();

}  // namespace ers::code

#endif  // ERS_CODE_KERNEL_H_
