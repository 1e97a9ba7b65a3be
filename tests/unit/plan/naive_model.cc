#include "unit/plan/naive_model.h"

#include <cstdlib>
#include <numeric>
#include <stdexcept>

#include "unit/code/reference.h"

extern "C" {
#include <jerasure.h>
#include <reed_sol.h>
}

namespace naive {
namespace {

int LeastCommonMultiple(int a, int b) {
  int multiple = a;
  while (multiple % b != 0) multiple += a;
  return multiple;
}

std::vector<int> WidthsOf(const Parameters& parameters) {
  std::vector<int> widths{parameters.k};
  for (const int width : parameters.middle) widths.push_back(width);
  widths.push_back(parameters.kp);
  return widths;
}

int LeastCommonMultiple(const std::vector<int>& numbers) {
  int multiple = 1;
  for (const int number : numbers) {
    multiple = LeastCommonMultiple(multiple, number);
  }
  return multiple;
}

}  // namespace

Model::Model(const Parameters& parameters, std::mt19937& random)
    : p_(parameters),
      widths_(WidthsOf(parameters)),
      l_(LeastCommonMultiple(widths_)),
      row_(l_, -1),
      node_(l_, -1),
      stripe_(l_, -1),
      logical_(l_, -1),
      wide_matrix_(reed_sol_vandermonde_coding_matrix(p_.kp, p_.m, 8)),
      narrow_matrix_(reed_sol_vandermonde_coding_matrix(p_.k, p_.m, 8)) {
  PlaceAll();
  const bool elastic = p_.family != "rep" && p_.family != "rs";
  contents_.resize(l_ + p_.m * ids_per_index());
  for (int d = 0; d < l_; ++d) {
    for (auto& byte : contents_[d].bytes) {
      byte = static_cast<std::uint8_t>(random());
    }
  }
  const std::vector<Block> data(contents_.begin(), contents_.begin() + l_);
  for (int width = 0; width <= (elastic ? last() : 0); ++width) {
    for (int s = 0; s < stripes(width); ++s) {
      const auto blocks = Encode(width, s, data);
      for (int p = 0; p < p_.m; ++p) {
        contents_[parity_id(width, s, p)] = blocks[p];
      }
    }
  }
}

Model::~Model() {
  std::free(wide_matrix_);
  std::free(narrow_matrix_);
}

void Model::PlaceAll() {
  if (p_.family == "ers2") return PlaceErs2();
  for (int j = 0; j < l_; ++j) {
    if (p_.family == "srs") {
      // Down the columns; the logical columns likewise.
      node_[j] = j / (l_ / p_.kp);
      row_[j] = j % (l_ / p_.kp);
      logical_[j] = j / (l_ / p_.k);
      stripe_[j] = j % (l_ / p_.k);
    } else {
      row_[j] = j / p_.kp;
      node_[j] = j % p_.kp;
      stripe_[j] = j / p_.k;
      logical_[j] = j % p_.k;
    }
  }
}

// Draws the grid of the paper's figure 4 cell by cell: first the stripes that
// fit into a row, then the others into whatever cells stayed empty.
void Model::PlaceErs2() {
  const int rows = l_ / p_.kp;
  const int q = p_.kp / p_.k;
  const int r = p_.kp % p_.k;
  const int alpha = q * rows;
  const int beta = l_ / p_.k - alpha;
  std::vector<std::vector<int>> grid(rows, std::vector<int>(p_.kp, -1));
  std::vector<std::vector<int>> empty(rows);  // columns, in order of taking
  int next = 0;
  for (int i = 0; i < rows; ++i) {
    int column = i < beta ? i * (p_.k - r) : (i - beta + 1) * r;
    for (int n = 0; n < q * p_.k; ++n) grid[i][column++ % p_.kp] = next++;
    for (int n = q * p_.k; n < p_.kp; ++n) {
      empty[i].push_back(column++ % p_.kp);
    }
  }
  int row = beta;
  std::size_t used = 0;
  for (int i = 0; i < beta; ++i) {
    for (const int column : empty[i]) grid[i][column] = next++;
    for (int n = 0; n < p_.k - r; ++n) {
      grid[row][empty[row][used++]] = next++;
      if (used == empty[row].size()) {
        used = 0;
        ++row;
      }
    }
  }
  for (int i = 0; i < rows; ++i) {
    for (int column = 0; column < p_.kp; ++column) {
      const int j = grid[i][column];
      if (j < 0) throw std::logic_error("a cell stayed empty");
      row_[j] = i;
      node_[j] = column;
      stripe_[j] = j / p_.k;
      logical_[j] = j % p_.k;
    }
  }
}

int Model::ids_before(int width) const {
  int ids = 0;
  for (int narrower = 0; narrower < width; ++narrower) {
    ids += stripes(narrower);
  }
  return ids;
}

int Model::parity_id(int width, int stripe, int p) const {
  return l_ + p * ids_per_index() + ids_before(width) + stripe;
}

int Model::stripe_of(int data, int width) const {
  if (width == 0) return stripe_[data];
  // Between the two only chains have stripes, of blocks in a row.
  return width == last() ? row_[data] : data / widths_[width];
}

std::vector<int> Model::members(int width, int stripe) const {
  std::vector<int> found;
  for (int j = 0; j < l_; ++j) {
    if (stripe_of(j, width) == stripe) found.push_back(j);
  }
  return found;
}

bool Model::stored(int id, int width) const {
  if (id < l_) return true;
  const int at = (id - l_) % ids_per_index() - ids_before(width);
  return at >= 0 && at < stripes(width);
}

int Model::stripe_of_block(int id, int width) const {
  if (id < l_) return stripe_of(id, width);
  return (id - l_) % ids_per_index() - ids_before(width);
}

int Model::node_of(int id) const {
  return id < l_ ? node_[id] : p_.kp + (id - l_) / ids_per_index();
}

std::vector<Block> Model::Encode(int width, int stripe,
                                 const std::vector<Block>& data) const {
  const bool logical = width == 0 && p_.family == "srs";
  const int columns = logical ? p_.k : p_.kp;
  Block zero;
  std::vector<Block> copies = data;
  std::vector<Block> parity(p_.m);
  std::vector<char*> inputs(columns,
                            reinterpret_cast<char*>(zero.bytes.data()));
  std::vector<char*> outputs;
  for (int j = 0; j < l_; ++j) {
    if (stripe_of(j, width) != stripe) continue;
    inputs[logical ? logical_[j] : node_[j]] =
        reinterpret_cast<char*>(copies[j].bytes.data());
  }
  for (auto& block : parity) {
    outputs.push_back(reinterpret_cast<char*>(block.bytes.data()));
  }
  jerasure_matrix_encode(columns, p_.m, 8,
                         logical ? narrow_matrix_ : wide_matrix_, inputs.data(),
                         outputs.data(), kBlockBytes);
  // The last row comes second (docs/reference/format.md).
  if (p_.m > 2) {
    parity.insert(parity.begin() + 1, parity.back());
    parity.pop_back();
  }
  return parity;
}

const std::array<std::array<std::uint8_t, 256>, 256>& Products() {
  static const auto products = [] {
    std::array<std::array<std::uint8_t, 256>, 256> table{};
    for (int a = 0; a < 256; ++a) {
      for (int b = 0; b < 256; ++b) {
        table[a][b] = BitwiseProduct(static_cast<std::uint8_t>(a),
                                     static_cast<std::uint8_t>(b));
      }
    }
    return table;
  }();
  return products;
}

}  // namespace naive
