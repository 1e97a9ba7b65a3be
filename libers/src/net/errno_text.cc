#include "net/errno_text.h"

#include <cctype>
#include <system_error>

namespace ers::net {

std::string ErrnoText(int error_number) {
  std::string text = std::generic_category().message(error_number);
  if (!text.empty()) {
    text[0] = static_cast<char>(std::tolower(static_cast<int>(text[0])));
  }
  return text;
}

}  // namespace ers::net
