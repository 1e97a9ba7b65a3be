#include "code/field.h"

#include <array>
#include <cassert>

namespace ers::code {
namespace {

struct Tables {
  std::array<std::array<std::uint8_t, 256>, 256> product{};
  std::array<std::uint8_t, 256> inverse{};
};

// The powers of 2 run through all 255 non-zero symbols.
Tables MakeTables() {
  std::array<int, 256> logarithm{};
  std::array<std::uint8_t, 510> power{};
  int value = 1;
  for (int i = 0; i < 255; ++i) {
    power[i] = power[i + 255] = static_cast<std::uint8_t>(value);
    logarithm[value] = i;
    value <<= 1;
    if (value > 255) value ^= 0x11d;
  }
  Tables tables;
  for (int a = 1; a < 256; ++a) {
    for (int b = 1; b < 256; ++b) {
      tables.product[a][b] = power[logarithm[a] + logarithm[b]];
    }
    tables.inverse[a] = power[255 - logarithm[a]];
  }
  return tables;
}

const Tables& FieldTables() {
  static const Tables tables = MakeTables();
  return tables;
}

}  // namespace

std::uint8_t Product(std::uint8_t a, std::uint8_t b) {
  return FieldTables().product[a][b];
}

std::uint8_t Inverse(std::uint8_t a) {
  assert(a != 0);
  return FieldTables().inverse[a];
}

void AddProduct(std::uint8_t factor, const std::uint8_t* source,
                std::uint8_t* target, std::size_t count) {
  const auto& row = FieldTables().product[factor];
  for (std::size_t i = 0; i < count; ++i) target[i] ^= row[source[i]];
}

}  // namespace ers::code
