// A second, naive account of how an object is laid out and encoded, to hold
// the planners against: written from the ERS paper alone, it shares no code
// with the library's layout and plan folders. Parity comes from Jerasure's own
// jerasure_matrix_encode over whole stripes, zero blocks and all.
#ifndef ERS_TESTS_UNIT_PLAN_NAIVE_MODEL_H_
#define ERS_TESTS_UNIT_PLAN_NAIVE_MODEL_H_

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace naive {

constexpr int kBlockBytes = 16;
struct alignas(16) Block {
  std::array<std::uint8_t, kBlockBytes> bytes{};
  bool operator==(const Block&) const = default;
};

struct Parameters {
  std::string family;  // rep, rs, srs, ers1, ers2
  int k;
  int m;
  int kp;
};

class Model {
 public:
  // Random data of one group.
  Model(const Parameters& parameters, std::mt19937& random);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  int l() const { return l_; }
  int nodes() const { return p_.kp + p_.m; }
  int id_count() const { return static_cast<int>(contents_.size()); }
  const Parameters& parameters() const { return p_; }

  int stripes(bool wide) const { return l_ / (wide ? p_.kp : p_.k); }
  int parity_id(bool wide, int stripe, int p) const;
  std::vector<int> members(bool wide, int stripe) const;
  int stripe_of(int data, bool wide) const;
  // Data and the parity of this width.
  bool stored(int id, bool wide) const;
  // The stripe of any block that this width stores.
  int stripe_of_block(int id, bool wide) const;
  int node_of(int id) const;
  const Block& content(int id) const { return contents_[id]; }

  // The parity of a stripe if its data were what `data` (l blocks) says.
  std::vector<Block> Encode(bool wide, int stripe,
                            const std::vector<Block>& data) const;

 private:
  int ids_per_index() const {
    const bool elastic = p_.family != "rep" && p_.family != "rs";
    return stripes(false) + (elastic ? stripes(true) : 0);
  }
  void PlaceAll();
  void PlaceErs2();

  Parameters p_;
  int l_;
  // Of each data block.
  std::vector<int> row_;
  std::vector<int> node_;
  std::vector<int> stripe_;
  std::vector<int> logical_;  // column within its narrow stripe
  std::vector<Block> contents_;
  int* wide_matrix_;
  int* narrow_matrix_;
};

// product[a][b] in GF(2^8), by shift and add.
const std::array<std::array<std::uint8_t, 256>, 256>& Products();

}  // namespace naive

#endif  // ERS_TESTS_UNIT_PLAN_NAIVE_MODEL_H_
