// SPDX-License-Identifier: Apache-2.0
//
// The page that `npm run build` makes in viewer/, byte by byte; the build names it where it is there.
#include "invar/report/page.hpp"

#ifdef INVAR_VIEWER_PAGE
asm(".pushsection .rodata\n"
    "invar_viewer_page_begin:\n"
    ".incbin \"" INVAR_VIEWER_PAGE
    "\"\n"
    "invar_viewer_page_end:\n"
    ".popsection\n");
extern "C" const char invar_viewer_page_begin[], invar_viewer_page_end[];
#endif

namespace invar {

std::string_view viewer_page() {
#ifdef INVAR_VIEWER_PAGE
  return {invar_viewer_page_begin, static_cast<std::size_t>(invar_viewer_page_end - invar_viewer_page_begin)};
#else
  return {};
#endif
}

}  // namespace invar
