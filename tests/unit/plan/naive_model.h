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
  std::string family;  // rep, rs, srs, ers1, ers2, ers
  int k;
  int m;
  int kp;
  std::vector<int> middle = {};  // of ers: the widths between k and kp
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

  // Widths go by their place, from 0, the narrowest, to last().
  int last() const { return static_cast<int>(widths_.size()) - 1; }
  int stripes(int width) const { return l_ / widths_[width]; }
  int parity_id(int width, int stripe, int p) const;
  std::vector<int> members(int width, int stripe) const;
  int stripe_of(int data, int width) const;
  // Data and the parity of this width.
  bool stored(int id, int width) const;
  // The stripe of any block that this width stores.
  int stripe_of_block(int id, int width) const;
  int node_of(int id) const;
  const Block& content(int id) const { return contents_[id]; }

  // The parity of a stripe if its data were what `data` (l blocks) says.
  std::vector<Block> Encode(int width, int stripe,
                            const std::vector<Block>& data) const;

 private:
  // Parity blocks of one index that are numbered before those of a width.
  int ids_before(int width) const;
  int ids_per_index() const {
    const bool elastic = p_.family != "rep" && p_.family != "rs";
    return ids_before(elastic ? last() + 1 : 1);
  }
  void PlaceAll();
  void PlaceErs2();

  Parameters p_;
  std::vector<int> widths_;
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
