# Language level, warnings and floating-point rules for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(HONE_CCACHE ccache)
if(HONE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The sloppiness is what ccache's manual asks for with precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
                                  CCACHE_SLOPPINESS=pch_defines,time_macros ${HONE_CCACHE})
endif()
# The command line's own code runs once.
set(HONE_COLD_OPTIONS $<$<CONFIG:Release>:-O1>)
# Tests check values, they do not have to be fast: half the compile time.
set(HONE_TEST_OPTIONS $<$<CONFIG:Release>:-O1>)

add_library(hone_options INTERFACE)
target_compile_options(
  hone_options
  INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall
    -Wextra
    -Wshadow
    -Wconversion
    -Wno-sign-conversion
    -Wnon-virtual-dtor
    -Woverloaded-virtual
    -Werror
    # AVX2 is the floor (checked at start-up); wider kernels are separate files.
    -march=x86-64-v3
    # Contraction would make results depend on the optimizer; FMA is written out where it is meant.
    -ffp-contract=off>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports false positives of these inside libstdc++ and fmt when optimizing.
  target_compile_options(
    hone_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-stringop-overflow -Wno-stringop-overread -Wno-restrict
                           -Wno-array-bounds -Wno-maybe-uninitialized -Wno-dangling-pointer>)
endif()
target_include_directories(hone_options INTERFACE ${PROJECT_SOURCE_DIR})
if(HONE_SANITIZE)
  target_compile_options(hone_options INTERFACE -fsanitize=${HONE_SANITIZE} -fno-omit-frame-pointer
                                                -fno-sanitize-recover=all)
  target_link_options(hone_options INTERFACE -fsanitize=${HONE_SANITIZE})
endif()
