# The words that the CMakeLists.txt of the folders are written in:
#
#   weir_library(NAME [SOURCES …] [LIBS …])                  static library; INTERFACE while empty
#   weir_layer(NAME [SOURCES …] [DEPENDS layer…] [EXTERNAL target…])      core layer weir_NAME
#   weir_rooms(SERVICE folder…)                              its folders, lowest first
#   weir_service(NAME [MAIN main.c] [SOURCES …] [LIBS …])    library NAME_lib and executable NAME
#   weir_embed_sql(TARGET DIR SYMBOL)                        NNN_name.sql files as a table in C
#   weir_embed_page(TARGET SYMBOL PAGE.html SCRIPT.js)       a page of page/ as texts in C
#   weir_test(NAME SOURCES … [LIBS …] [LABELS …] [TIMEOUT s])
#   weir_fuzz(NAME SOURCES … CORPUS dir [LIBS …])            corpus replay always, libFuzzer if WEIR_FUZZ
#   weir_bench(NAME SOURCES … [LIBS …])                      executable bench_NAME
#
# Source lists are explicit. A folder without sources yet leaves SOURCES empty.

# Library: what the other functions are made of.
function(weir_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  weir_no_stray_arguments(${name} "${arg_UNPARSED_ARGUMENTS}")
  if(arg_SOURCES)
    add_library(${name} STATIC ${arg_SOURCES})
    target_link_libraries(${name} PUBLIC weir_compile_options ${arg_LIBS})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE weir_compile_options ${arg_LIBS})
  endif()
endfunction()

function(weir_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;EXTERNAL")
  weir_no_stray_arguments(${name} "${arg_UNPARSED_ARGUMENTS}")
  list(TRANSFORM arg_DEPENDS PREPEND weir_)
  weir_library(weir_${name} SOURCES ${arg_SOURCES} LIBS ${arg_DEPENDS} ${arg_EXTERNAL})
endfunction()

# No include goes up: tools/check_layers holds the files of a service to the list.
function(weir_rooms service)
  foreach(room IN LISTS ARGN)
    if(NOT IS_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/${room})
      message(FATAL_ERROR "${service}: there is no room ${room}")
    endif()
  endforeach()
endfunction()

function(weir_service name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "MAIN" "SOURCES;LIBS")
  weir_no_stray_arguments(${name} "${arg_UNPARSED_ARGUMENTS}")
  weir_library(${name}_lib SOURCES ${arg_SOURCES} LIBS ${arg_LIBS})
  if(arg_MAIN)
    add_executable(${name} ${arg_MAIN})
    target_link_libraries(${name} PRIVATE ${name}_lib weir_wiping weir_bounded)
    add_dependencies(weir_programs ${name})
  endif()
endfunction()

# Compiles DIR/NNN_name.sql into `const struct weir_migration SYMBOL[]` and `SYMBOL_count`, sorted
# by number. The files are found by their numbers: the numbers are the list.
function(weir_embed_sql target dir symbol)
  cmake_path(ABSOLUTE_PATH dir BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  file(GLOB files CONFIGURE_DEPENDS ${dir}/[0-9][0-9][0-9]_*.sql)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.c)
  add_custom_command(
    OUTPUT ${generated}
    COMMAND ${PROJECT_SOURCE_DIR}/tools/embed_sql ${symbol} ${generated} ${files}
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/tools/embed_sql
    COMMENT "Embedding SQL as ${symbol}" VERBATIM)
  set_source_files_properties(${generated} PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
  target_sources(${target} PRIVATE ${generated})
endfunction()

# Compiles the frame, a page, the style, the scripts that all pages share and the one that starts this one into texts
# (tools/embed_page).
function(weir_embed_page target symbol page script)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.c)
  set(files frame.html ${page} style.css rows.js figure.js pictures.js views.js ${script})
  list(TRANSFORM files PREPEND ${PROJECT_SOURCE_DIR}/page/)
  add_custom_command(
    OUTPUT ${generated}
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/embed_page ${symbol} ${generated} ${files}
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/tools/embed_page
    COMMENT "Embedding ${page} as ${symbol}" VERBATIM)
  target_sources(${target} PRIVATE ${generated})
endfunction()

# Tests find the tree and the executables through WEIR_SOURCE_DIR and WEIR_BIN_DIR.
function(weir_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;LIBS;LABELS")
  weir_no_stray_arguments(${name} "${arg_UNPARSED_ARGUMENTS}")
  weir_test_program(${name} SOURCES ${arg_SOURCES} LIBS ${arg_LIBS} PkgConfig::cmocka)
  weir_add_test(NAME ${name} COMMAND ${name})
  weir_test_properties(${name} "${arg_TIMEOUT}" "${arg_LABELS}")
endfunction()

function(weir_fuzz name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "CORPUS" "SOURCES;LIBS")
  weir_no_stray_arguments(${name} "${arg_UNPARSED_ARGUMENTS}")
  cmake_path(ABSOLUTE_PATH arg_CORPUS BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  if(WEIR_FUZZ)
    weir_test_program(${name} SOURCES ${arg_SOURCES} LIBS ${arg_LIBS})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    add_dependencies(weir_fuzzers ${name})
    set(found ${CMAKE_BINARY_DIR}/corpus/${name}) # what libFuzzer finds stays out of the tree
    file(MAKE_DIRECTORY ${found})
    math(EXPR timeout "${WEIR_FUZZ_SECONDS} + 60")
    weir_add_test(NAME ${name} COMMAND ${name} -max_total_time=${WEIR_FUZZ_SECONDS} -timeout=10
             -rss_limit_mb=2048 -print_final_stats=1 ${found} ${arg_CORPUS})
    weir_test_properties(${name} ${timeout} fuzz)
  else()
    weir_test_program(${name}_replay SOURCES ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/tests/fuzz/replay.c
                      LIBS ${arg_LIBS})
    weir_add_test(NAME ${name}_replay COMMAND ${name}_replay ${arg_CORPUS})
    weir_test_properties(${name}_replay "" fuzz)
  endif()
endfunction()
set(WEIR_FUZZ_SECONDS 60 CACHE STRING "How long ctest fuzzes each target when WEIR_FUZZ is on")

function(weir_bench name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  weir_no_stray_arguments(${name} "${arg_UNPARSED_ARGUMENTS}")
  add_executable(bench_${name} ${arg_SOURCES})
  target_link_libraries(bench_${name} PRIVATE weir_compile_options ${arg_LIBS})
  add_dependencies(weir_benches bench_${name})
endfunction()

# The rest is for the functions above.

function(weir_test_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/bin)
  target_link_libraries(${name} PRIVATE weir_compile_options ${arg_LIBS})
  target_compile_definitions(${name} PRIVATE
    WEIR_SOURCE_DIR="${PROJECT_SOURCE_DIR}" WEIR_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
endfunction()

# The same as add_test(); in builds with sanitizers the test fails, too, if these report anything of a process of it
# (tests/support/reporting).
function(weir_add_test _name name _command program) # argument…
  set(reporting)
  if(WEIR_SANITIZE)
    set(reporting ${PROJECT_SOURCE_DIR}/tests/support/reporting ${CMAKE_BINARY_DIR}/reports/${name})
  endif()
  if(TARGET ${program})
    set(program $<TARGET_FILE:${program}>)
  endif()
  add_test(NAME ${name} COMMAND ${reporting} ${program} ${ARGN})
endfunction()

# SKIP_RETURN_CODE 77: a test that cannot run here says why and is counted as skipped.
function(weir_test_properties name timeout labels)
  if(NOT timeout)
    set(timeout 900) # for what hangs: a slow machine takes long, too
  endif()
  if(NOT labels)
    set(labels unit)
  endif()
  set_tests_properties(${name} PROPERTIES
    TIMEOUT ${timeout} LABELS "${labels}" SKIP_RETURN_CODE 77
    ENVIRONMENT "UBSAN_OPTIONS=print_stacktrace=1;TSAN_OPTIONS=second_deadlock_stack=1:suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp")
endfunction()

function(weir_no_stray_arguments name stray)
  if(stray)
    message(FATAL_ERROR "${name}: unknown arguments: ${stray}")
  endif()
endfunction()
