# hone_library(<leaf> [SOURCES ...] [DEPS leaf ...] [LINK external ...] [PCH kind])
#
# One static library per leaf folder, named after it ("core/base" -> hone_core_base). A dependency
# that the layer table below does not allow stops the configuration; tests/structure checks the
# #includes against the same table (cmake/layers.txt).
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/layers.txt" HONE_LAYERS REGEX "^[a-z]")

# The longest row that is `leaf` or a folder above it counts.
function(hone_allowed leaf dep result)
  set(best "")
  foreach(line IN LISTS HONE_LAYERS)
    string(REGEX MATCH "^([^ ]+) *: *(.*)$" _ "${line}")
    set(row "${CMAKE_MATCH_1}")
    set(row_allowed "${CMAKE_MATCH_2}")
    string(LENGTH "${row}" row_length)
    string(LENGTH "${best}" best_length)
    if((leaf STREQUAL row OR leaf MATCHES "^${row}/") AND row_length GREATER best_length)
      set(best "${row}")
      string(REPLACE " " ";" allowed "${row_allowed}")
    endif()
  endforeach()
  if(best STREQUAL "")
    message(FATAL_ERROR "${leaf} has no row in cmake/layers.txt")
  endif()
  set(${result} FALSE PARENT_SCOPE)
  foreach(pattern IN LISTS allowed best)
    if(dep STREQUAL pattern OR dep MATCHES "^${pattern}/")
      set(${result} TRUE PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

function(hone_library leaf)
  cmake_parse_arguments(arg "" "PCH" "SOURCES;DEPS;LINK" ${ARGN})
  if(NOT arg_PCH)
    set(arg_PCH product)
  endif()
  string(REPLACE "/" "_" target "hone_${leaf}")
  set(links)
  foreach(dep IN LISTS arg_DEPS)
    hone_allowed(${leaf} ${dep} ok)
    if(NOT ok)
      message(FATAL_ERROR "${leaf} may not depend on ${dep} (cmake/layers.txt)")
    endif()
    string(REPLACE "/" "_" dep_target "hone_${dep}")
    list(APPEND links ${dep_target})
  endforeach()
  if(arg_SOURCES)
    list(TRANSFORM arg_SOURCES PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
    add_library(${target} STATIC ${arg_SOURCES})
    target_link_libraries(${target} PUBLIC ${links} ${arg_LINK} PRIVATE hone_options)
    hone_precompiled(${target} ${arg_PCH})
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${links} ${arg_LINK})
  endif()
endfunction()

# hone_isa_sources(<leaf> file.cc ...): adds each file to the leaf twice, compiled for AVX2 and for
# AVX-512, with HONE_ISA naming the namespace that it must define (core/device/simd.h).
function(hone_isa_sources leaf)
  string(REPLACE "/" "_" target "hone_${leaf}")
  foreach(isa avx2 avx512)
    set(object "${target}_${isa}")
    list(TRANSFORM ARGN PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" OUTPUT_VARIABLE sources)
    add_library(${object} OBJECT ${sources})
    target_link_libraries(${object} PRIVATE hone_options)
    target_compile_definitions(${object} PRIVATE HONE_ISA=${isa})
    if(isa STREQUAL avx512)
      target_compile_options(
        ${object} PRIVATE -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd -mprefer-vector-width=512)
      if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # GCC 12 reports its own _mm512_undefined_*() as uninitialized.
        target_compile_options(${object} PRIVATE -Wno-uninitialized)
      endif()
    endif()
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${object}>)
  endforeach()
endfunction()

# hone_test(<folder> SOURCES a_test.cc ... [DEPS leaf ...] [LABELS ...])
# One test program per folder; its cases are ctest tests. Tests may depend on any leaf.
function(hone_test folder)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS;LINK;LABELS" ${ARGN})
  string(REPLACE "/" "_" target "test_${folder}")
  add_executable(${target} ${arg_SOURCES})
  foreach(dep IN LISTS arg_DEPS)
    string(REPLACE "/" "_" dep_target "hone_${dep}")
    target_link_libraries(${target} PRIVATE ${dep_target})
  endforeach()
  target_link_libraries(${target} PRIVATE ${arg_LINK} hone_options GTest::gmock GTest::gtest_main)
  target_compile_options(${target} PRIVATE ${HONE_TEST_OPTIONS})
  hone_precompiled(${target} tests)
  target_compile_definitions(
    ${target} PRIVATE HONE_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                      HONE_TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}")
  gtest_discover_tests(
    ${target}
    TEST_PREFIX "${folder}/"
    DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS "${folder};${arg_LABELS}" TIMEOUT 300
               # Impossible sizes must reach our own checks, not the sanitizer's.
               ENVIRONMENT "ASAN_OPTIONS=allocator_may_return_null=1")
endfunction()

# hone_bench(<name> SOURCES ... DEPS ...): a Google Benchmark program in tests/bench.
function(hone_bench name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS;LINK" ${ARGN})
  add_executable(bench_${name} ${arg_SOURCES})
  foreach(dep IN LISTS arg_DEPS)
    string(REPLACE "/" "_" dep_target "hone_${dep}")
    target_link_libraries(bench_${name} PRIVATE ${dep_target})
  endforeach()
  target_link_libraries(bench_${name} PRIVATE ${arg_LINK} hone_options benchmark::benchmark_main)
endfunction()
