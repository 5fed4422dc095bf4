# How every C file of the tree is compiled: one INTERFACE target, no global flags.

option(WEIR_WERROR "Treat warnings as errors" OFF)
option(WEIR_COVERAGE "Count executed lines (gcc, gcovr)" OFF)
option(WEIR_FUZZ "Build libFuzzer targets (clang)" OFF)
set(WEIR_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them: address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Debug CACHE STRING "Debug or Release" FORCE)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_RUNTIME_OUTPUT_DIRECTORY)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
endif()
if(NOT CMAKE_ARCHIVE_OUTPUT_DIRECTORY)
  set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
endif()

find_program(WEIR_CCACHE ccache)
if(WEIR_CCACHE AND NOT CMAKE_C_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${WEIR_CCACHE})
endif()

include(CheckCCompilerFlag)
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)

add_library(weir_compile_options INTERFACE)
target_compile_features(weir_compile_options INTERFACE c_std_17)
target_compile_definitions(weir_compile_options INTERFACE _GNU_SOURCE)
target_include_directories(weir_compile_options INTERFACE ${PROJECT_SOURCE_DIR})
set(CMAKE_C_EXTENSIONS OFF)

target_compile_options(weir_compile_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes
  -Wold-style-definition -Wpointer-arith -Wcast-qual -Wwrite-strings -Wundef -Wvla -Wformat=2
  -Wconversion -Wimplicit-fallthrough
  -fno-omit-frame-pointer -fno-common)
# The same numbers on every machine: a fused multiply-add, where there is one, would round once less.
# Nobody asks for errno or traps of arithmetic.
target_compile_options(weir_compile_options INTERFACE
  -ffp-contract=off -fno-math-errno -fno-trapping-math)
if(WEIR_WERROR)
  target_compile_options(weir_compile_options INTERFACE -Werror)
endif()

# Hardening. _FORTIFY_SOURCE needs optimisation and would hide findings from the sanitizers.
target_compile_options(weir_compile_options INTERFACE -fstack-protector-strong)
target_link_options(weir_compile_options INTERFACE -Wl,-z,relro,-z,now -Wl,--as-needed)
# By this a program knows what a process of its own has left (core/base/program.h), whichever linker is used.
target_link_options(weir_compile_options INTERFACE -Wl,--build-id=sha1)
# What people run besides checks branch targets and stack probes, and has no uninitialised variable.
if(NOT WEIR_SANITIZE AND NOT WEIR_FUZZ)
  target_compile_options(weir_compile_options INTERFACE
    $<$<CONFIG:Release>:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3>)
  foreach(flag IN ITEMS -fstack-clash-protection -fcf-protection -ftrivial-auto-var-init=zero)
    string(MAKE_C_IDENTIFIER "WEIR_HAS${flag}" known)
    check_c_compiler_flag(${flag} ${known})
    if(${known})
      target_compile_options(weir_compile_options INTERFACE $<$<CONFIG:Release>:${flag}>)
    endif()
  endforeach()
endif()

# Points where tests make a process fail or die (core/base/fault.h) are compiled out of what people run.
option(WEIR_FAULTS "Keep the fault points of tests in a Release build" OFF)
if(NOT WEIR_FAULTS)
  target_compile_definitions(weir_compile_options INTERFACE $<$<CONFIG:Release>:WEIR_NO_FAULTS>)
endif()

if(WEIR_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "WEIR_FUZZ needs clang, found ${CMAKE_C_COMPILER_ID}: use the preset 'fuzz'")
  endif()
  target_compile_options(weir_compile_options INTERFACE -fsanitize=fuzzer-no-link)
  target_compile_definitions(weir_compile_options INTERFACE WEIR_SANITIZED)
endif()
if(WEIR_SANITIZE)
  target_compile_options(weir_compile_options INTERFACE
    -fsanitize=${WEIR_SANITIZE} -fno-sanitize-recover=all)
  target_compile_definitions(weir_compile_options INTERFACE WEIR_SANITIZED)
  target_link_options(weir_compile_options INTERFACE -fsanitize=${WEIR_SANITIZE})
endif()
if(WEIR_COVERAGE)
  target_compile_options(weir_compile_options INTERFACE --coverage)
  target_link_options(weir_compile_options INTERFACE --coverage)
endif()
