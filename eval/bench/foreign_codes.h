// Erasure codes by Jerasure and ISA-L as their users call them.
#ifndef ERS_EVAL_BENCH_FOREIGN_CODES_H_
#define ERS_EVAL_BENCH_FOREIGN_CODES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ers::bench {

// One code for one k, m and size of blocks. Not for two threads at a time: so
// are Jerasure's fields.
class ForeignCode {
 public:
  virtual ~ForeignCode() = default;
  ForeignCode(const ForeignCode&) = delete;
  ForeignCode& operator=(const ForeignCode&) = delete;

  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual int w() const = 0;
  // Of a data block that holds as much: what words and packets ask for.
  [[nodiscard]] virtual std::size_t block_bytes() const = 0;
  // k and m blocks of block_bytes().
  virtual void Encode(const std::vector<std::uint8_t*>& data,
                      const std::vector<std::uint8_t*>& parity) = 0;
  // Fills the first min(k, m) data blocks from all others. False: it cannot.
  virtual bool Decode(const std::vector<std::uint8_t*>& data,
                      const std::vector<std::uint8_t*>& parity) = 0;

 protected:
  ForeignCode() = default;
};

// Those that can have this k and m (k + m <= 255): "none", "isal", "rs",
// "rs-16", "cauchy-rs", and "liberation" if m = 2. `min_bytes` is of a data
// block.
std::vector<std::unique_ptr<ForeignCode>> ForeignCodes(int k, int m,
                                                       std::size_t min_bytes);

}  // namespace ers::bench

#endif  // ERS_EVAL_BENCH_FOREIGN_CODES_H_
