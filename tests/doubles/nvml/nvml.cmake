# libnvidia-ml.so.1 where there is none: a test puts its folder into LD_LIBRARY_PATH.
add_library(pp_fake_nvml SHARED doubles/nvml/fake_nvml.c)
target_compile_options(pp_fake_nvml PRIVATE -Wall -Wextra -Wshadow -Werror)
set_target_properties(pp_fake_nvml PROPERTIES
  UNITY_BUILD OFF OUTPUT_NAME nvidia-ml SUFFIX .so.1 NO_SONAME ON LINK_OPTIONS "" LINKER_LANGUAGE C
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests/doubles/nvml)
