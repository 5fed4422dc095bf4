# Libraries from the system, each as one imported target. Why each: docs/dependencies.md.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

pkg_check_modules(zmq     REQUIRED IMPORTED_TARGET GLOBAL libzmq)
pkg_search_module(msgpack REQUIRED IMPORTED_TARGET GLOBAL msgpack-c msgpack) # Debian 13 | Debian 12
pkg_check_modules(fyaml   REQUIRED IMPORTED_TARGET GLOBAL libfyaml)
pkg_check_modules(pq      REQUIRED IMPORTED_TARGET GLOBAL libpq)
pkg_check_modules(jansson REQUIRED IMPORTED_TARGET GLOBAL jansson)
pkg_check_modules(sodium  REQUIRED IMPORTED_TARGET GLOBAL libsodium)
pkg_check_modules(xxhash  REQUIRED IMPORTED_TARGET GLOBAL libxxhash)
pkg_check_modules(curl    REQUIRED IMPORTED_TARGET GLOBAL libcurl)
pkg_check_modules(microhttpd REQUIRED IMPORTED_TARGET GLOBAL libmicrohttpd)
pkg_check_modules(lz4     REQUIRED IMPORTED_TARGET GLOBAL liblz4)
pkg_check_modules(zstd    REQUIRED IMPORTED_TARGET GLOBAL libzstd)
pkg_check_modules(jpeg    REQUIRED IMPORTED_TARGET GLOBAL libjpeg)
pkg_check_modules(png     REQUIRED IMPORTED_TARGET GLOBAL libpng)
pkg_check_modules(glib    REQUIRED IMPORTED_TARGET GLOBAL glib-2.0)

# zmq.h includes the C library alone, but libzmq.pc names the folders of its transports too, and
# pkg_check_modules sorts those differently each time it runs: every object would be compiled again.
set_target_properties(PkgConfig::zmq PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES "" INTERFACE_COMPILE_OPTIONS "")

add_library(weir_math INTERFACE)
target_link_libraries(weir_math INTERFACE m)
add_library(Weir::math ALIAS weir_math)

if(WEIR_TESTS)
  pkg_check_modules(cmocka REQUIRED IMPORTED_TARGET GLOBAL cmocka)
endif()

# The tools under tools/ and the independent decoder in the tests want Debian's own Python.
if(NOT Python3_EXECUTABLE AND EXISTS /usr/bin/python3)
  set(Python3_EXECUTABLE /usr/bin/python3)
endif()
find_package(Python3 COMPONENTS Interpreter REQUIRED OPTIONAL_COMPONENTS Development.Module)
