#include "bench/foreign_codes.h"

#include <cauchy.h>
#include <isa-l/erasure_code.h>
#include <jerasure.h>
#include <liberation.h>
#include <reed_sol.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace ers::bench {
namespace {

constexpr std::size_t kBytesPerTable = 32;  // ISA-L's, per coefficient
// Jerasure's manual finds packets of a few KiB fastest, and asks for whole long
// words; 16 suits SIMD, too.
constexpr std::size_t kMaxPacketBytes = 2048;
constexpr std::size_t kPacketStep = 16;

struct Free {
  void operator()(int* memory) const { std::free(memory); }
};
using Matrix = std::unique_ptr<int, Free>;

std::vector<char*> Chars(const std::vector<std::uint8_t*>& blocks) {
  std::vector<char*> chars;
  for (std::uint8_t* block : blocks) {
    chars.push_back(reinterpret_cast<char*>(block));
  }
  return chars;
}

// As Jerasure wants them: block numbers, -1 behind the last.
std::vector<int> FirstLost(int k, int m) {
  std::vector<int> lost;
  for (int i = 0; i < std::min(k, m); ++i) lost.push_back(i);
  lost.push_back(-1);
  return lost;
}

std::size_t RoundedUp(std::size_t value, std::size_t step) {
  return (value + step - 1) / step * step;
}

class NoCode : public ForeignCode {
 public:
  explicit NoCode(std::size_t bytes) : bytes_(bytes) {}
  [[nodiscard]] std::string name() const override { return "none"; }
  [[nodiscard]] int w() const override { return 0; }
  [[nodiscard]] std::size_t block_bytes() const override { return bytes_; }
  void Encode(const std::vector<std::uint8_t*>& /*data*/,
              const std::vector<std::uint8_t*>& /*parity*/) override {}
  bool Decode(const std::vector<std::uint8_t*>& /*data*/,
              const std::vector<std::uint8_t*>& /*parity*/) override {
    return false;
  }

 private:
  std::size_t bytes_;
};

// Reed-Solomon by Vandermonde matrices; gf-complete multiplies.
class JerasureRs : public ForeignCode {
 public:
  // w: 8 or 16 bits in a word.
  JerasureRs(int k, int m, int w, std::size_t bytes)
      : k_(k),
        m_(m),
        w_(w),
        bytes_(RoundedUp(bytes, kPacketStep)),
        matrix_(reed_sol_vandermonde_coding_matrix(k, m, w)) {}
  [[nodiscard]] std::string name() const override {
    return w_ == 8 ? "rs" : "rs-16";
  }
  [[nodiscard]] int w() const override { return w_; }
  [[nodiscard]] std::size_t block_bytes() const override { return bytes_; }

  void Encode(const std::vector<std::uint8_t*>& data,
              const std::vector<std::uint8_t*>& parity) override {
    jerasure_matrix_encode(k_, m_, w_, matrix_.get(), Chars(data).data(),
                           Chars(parity).data(), static_cast<int>(bytes_));
  }
  bool Decode(const std::vector<std::uint8_t*>& data,
              const std::vector<std::uint8_t*>& parity) override {
    return jerasure_matrix_decode(k_, m_, w_, matrix_.get(), 1,
                                  FirstLost(k_, m_).data(), Chars(data).data(),
                                  Chars(parity).data(),
                                  static_cast<int>(bytes_)) == 0;
  }

 protected:
  [[nodiscard]] int k() const { return k_; }
  [[nodiscard]] int m() const { return m_; }
  [[nodiscard]] const int* matrix() const { return matrix_.get(); }

 private:
  int k_;
  int m_;
  int w_;
  std::size_t bytes_;
  Matrix matrix_;
};

// The same code, encoded by ISA-L; Jerasure decodes it, which shows that.
class IsalRs : public JerasureRs {
 public:
  IsalRs(int k, int m, std::size_t bytes) : JerasureRs(k, m, 8, bytes) {
    std::vector<std::uint8_t> cells;
    for (int i = 0; i < k * m; ++i) {
      cells.push_back(static_cast<std::uint8_t>(matrix()[i]));
    }
    tables_.resize(cells.size() * kBytesPerTable);
    ec_init_tables(k, m, cells.data(), tables_.data());
  }
  [[nodiscard]] std::string name() const override { return "isal"; }

  void Encode(const std::vector<std::uint8_t*>& data,
              const std::vector<std::uint8_t*>& parity) override {
    ec_encode_data(static_cast<int>(block_bytes()), k(), m(), tables_.data(),
                   const_cast<std::uint8_t**>(data.data()),
                   const_cast<std::uint8_t**>(parity.data()));
  }

 private:
  std::vector<std::uint8_t> tables_;
};

// A code of XORs alone, by Jerasure's smart schedule.
class XorCode : public ForeignCode {
 public:
  XorCode(std::string name, int k, int m, int w, Matrix bits,
          std::size_t min_bytes)
      : name_(std::move(name)), k_(k), m_(m), w_(w), bits_(std::move(bits)) {
    const auto words = static_cast<std::size_t>(w);
    const std::size_t rounds =
        (min_bytes + words * kMaxPacketBytes - 1) / (words * kMaxPacketBytes);
    const std::size_t packets = rounds * words;
    packet_bytes_ = RoundedUp((min_bytes + packets - 1) / packets, kPacketStep);
    bytes_ = packets * packet_bytes_;
    schedule_ = jerasure_smart_bitmatrix_to_schedule(k, m, w, bits_.get());
  }
  ~XorCode() override { jerasure_free_schedule(schedule_); }
  XorCode(const XorCode&) = delete;
  XorCode& operator=(const XorCode&) = delete;

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] int w() const override { return w_; }
  [[nodiscard]] std::size_t block_bytes() const override { return bytes_; }

  void Encode(const std::vector<std::uint8_t*>& data,
              const std::vector<std::uint8_t*>& parity) override {
    jerasure_schedule_encode(k_, m_, w_, schedule_, Chars(data).data(),
                             Chars(parity).data(), static_cast<int>(bytes_),
                             static_cast<int>(packet_bytes_));
  }
  bool Decode(const std::vector<std::uint8_t*>& data,
              const std::vector<std::uint8_t*>& parity) override {
    return jerasure_schedule_decode_lazy(
               k_, m_, w_, bits_.get(), FirstLost(k_, m_).data(),
               Chars(data).data(), Chars(parity).data(),
               static_cast<int>(bytes_), static_cast<int>(packet_bytes_),
               1) == 0;
  }

 private:
  std::string name_;
  int k_;
  int m_;
  int w_;
  Matrix bits_;
  std::size_t packet_bytes_ = 0;
  std::size_t bytes_ = 0;
  int** schedule_ = nullptr;
};

std::unique_ptr<ForeignCode> Cauchy(int k, int m, std::size_t bytes) {
  // The fewer bits in a word, the fewer XORs.
  const int w = k + m <= 16 ? 4 : 8;
  const Matrix matrix(cauchy_good_general_coding_matrix(k, m, w));
  Matrix bits(jerasure_matrix_to_bitmatrix(k, m, w, matrix.get()));
  return std::make_unique<XorCode>("cauchy-rs", k, m, w, std::move(bits),
                                   bytes);
}

bool IsPrime(int number) {
  for (int i = 2; i * i <= number; ++i) {
    if (number % i == 0) return false;
  }
  return number > 1;
}

std::unique_ptr<ForeignCode> Liberation(int k, std::size_t bytes) {
  // Defined for primes above 2 that are not below k.
  int w = std::max(3, k);
  while (!IsPrime(w)) ++w;
  return std::make_unique<XorCode>(
      "liberation", k, 2, w, Matrix(liberation_coding_bitmatrix(k, w)), bytes);
}

}  // namespace

std::vector<std::unique_ptr<ForeignCode>> ForeignCodes(int k, int m,
                                                       std::size_t min_bytes) {
  std::vector<std::unique_ptr<ForeignCode>> codes;
  codes.push_back(std::make_unique<NoCode>(min_bytes));
  codes.push_back(std::make_unique<IsalRs>(k, m, min_bytes));
  codes.push_back(std::make_unique<JerasureRs>(k, m, 8, min_bytes));
  codes.push_back(std::make_unique<JerasureRs>(k, m, 16, min_bytes));
  codes.push_back(Cauchy(k, m, min_bytes));
  if (m == 2) codes.push_back(Liberation(k, min_bytes));
  return codes;
}

}  // namespace ers::bench
