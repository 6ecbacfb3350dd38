# Headers that most sources include, parsed once: a third of the build time. Sources still include
# what they use; builds with HONE_PCH=OFF (the sanitizer presets) and tests/structure keep it so.
#
# hone_precompiled(<target> product|cli|tests)
function(hone_precompiled target kind)
  if(HONE_PCH)
    target_precompile_headers(${target} REUSE_FROM hone_pch_${kind})
  endif()
endfunction()

function(hone_add_precompiled kind)
  cmake_parse_arguments(arg "" "" "HEADERS;LINK;OPTIONS" ${ARGN})
  set(source ${PROJECT_BINARY_DIR}/generated/pch_${kind}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Carries the precompiled header.\n")
  add_library(hone_pch_${kind} OBJECT ${source})
  target_link_libraries(hone_pch_${kind} PRIVATE nlohmann_json::nlohmann_json ${arg_LINK}
                                                 hone_options)
  target_compile_options(hone_pch_${kind} PRIVATE ${arg_OPTIONS})
  target_precompile_headers(hone_pch_${kind} PRIVATE ${arg_HEADERS})
endfunction()

if(HONE_PCH)
  # A precompiled header fits only where its macros (FMT_SHARED) are the same.
  target_link_libraries(hone_options INTERFACE fmt::fmt)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Without it ccache cannot use precompiled headers.
    target_compile_options(hone_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
  set(headers <algorithm> <filesystem> <functional> <map> <memory> <optional> <string> <unordered_map>
      <vector> <fmt/format.h> <nlohmann/json.hpp>)
  hone_add_precompiled(product HEADERS ${headers})
  hone_add_precompiled(cli HEADERS ${headers} <CLI/CLI.hpp> LINK CLI11::CLI11
                       OPTIONS ${HONE_COLD_OPTIONS})
  if(HONE_TESTS)
    hone_add_precompiled(tests HEADERS ${headers} <random> <sstream> <gtest/gtest.h> <gmock/gmock.h>
                         LINK GTest::gmock GTest::gtest OPTIONS ${HONE_TEST_OPTIONS})
  endif()
endif()
