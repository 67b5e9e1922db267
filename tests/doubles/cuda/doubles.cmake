# The doubles of CUDA's libraries, laid out as wheels lay them out: build/bin/tests/cuda/VERSION/site-packages/nvidia/…, one
# tree per version of CUPTI that is played, with the driver's double beside them where only $ORIGIN-relative paths lead.
set(PP_DOUBLE_FLAGS -O2 -g -fno-strict-aliasing -pthread -Wall -Wextra)
if(PP_WERROR)
  list(APPEND PP_DOUBLE_FLAGS -Werror)
endif()
set(PP_DOUBLE_ROOT ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests/cuda)

# Which calls a version of CUPTI lacks.
set(PP_DOUBLE_SINCE_24 cuptiActivityEnableRuntimeApi cuptiActivityEnableDriverApi)
set(PP_DOUBLE_SINCE_130000 cuptiSubscribe_v2)

function(pp_double_exports version soname file)
  set(hidden "")
  foreach(since 24 130000)
    if(version LESS since)
      list(APPEND hidden ${PP_DOUBLE_SINCE_${since}})
    endif()
  endforeach()
  list(APPEND hidden "*")
  list(JOIN hidden "; " hidden)
  file(CONFIGURE OUTPUT ${file} CONTENT "${soname} { global: cupti*; double_*; InitializeInjectionNvtx2; local: ${hidden}; };\n")
endfunction()

# No sanitizer: they are loaded into interpreters that have none.
function(pp_double_options target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  set_target_properties(${target} PROPERTIES C_STANDARD 11 C_EXTENSIONS ON C_VISIBILITY_PRESET hidden
    POSITION_INDEPENDENT_CODE ON COMPILE_OPTIONS "${PP_DOUBLE_FLAGS}")
endfunction()

function(pp_double_objects name)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/)
  add_library(cuda_double_${name} OBJECT ${ARGN})
  pp_double_options(cuda_double_${name})
endfunction()

function(pp_double target soname folder)
  add_library(${target} SHARED ${ARGN})
  pp_double_options(${target})
  set_target_properties(${target} PROPERTIES
    PREFIX "" SUFFIX "" OUTPUT_NAME ${soname} NO_SONAME ON LINKER_LANGUAGE C
    LIBRARY_OUTPUT_DIRECTORY ${PP_DOUBLE_ROOT}/${folder} BUILD_RPATH "\$ORIGIN/../../../../driver"
    LINK_OPTIONS "-pthread;-Wl,-soname,${soname};-Wl,--no-undefined;-Wl,--enable-new-dtags")
  target_link_libraries(${target} PRIVATE dl)
  add_dependencies(cuda_double ${target})
endfunction()

pp_double_objects(cupti cupti_subscriber.c cupti_control.c cupti_calls.c cupti_records.c cupti_buffers.c cupti_nvtx.c
  cupti_names_table.c cupti_sizes_table.c pending.c)
pp_double_objects(driver driver.c device_model.c truth.c)
pp_double_objects(runtime runtime.c graphs.c libraries.c)
pp_double_objects(engine engine.c)
pp_double_objects(nvtx nvtx.c)

add_custom_target(cuda_double ALL)
# What pip puts beside the packages of wheels whose file does not say which update of CUDA 13.0 it is of.
file(MAKE_DIRECTORY ${PP_DOUBLE_ROOT}/130000/site-packages/nvidia_cuda_cupti-13.0.48.dist-info
  ${PP_DOUBLE_ROOT}/130001/site-packages/nvidia_cuda_cupti-13.0.85.dist-info)
# version of CUPTI, its SONAME, its folder and cudart's in site-packages/nvidia, SONAME of cudart
foreach(row
    "17 libcupti.so.11.7 cuda_cupti cuda_runtime libcudart.so.11.0"
    "18 libcupti.so.11.8 cuda_cupti cuda_runtime libcudart.so.11.0" "22 libcupti.so.12 cuda_cupti cuda_runtime libcudart.so.12"
    "24 libcupti.so.12 cuda_cupti cuda_runtime libcudart.so.12" "28 libcupti.so.12 cuda_cupti cuda_runtime libcudart.so.12"
    "130000 libcupti.so.13 cu13 cu13 libcudart.so.13"
    "130001 libcupti.so.13 cu13 cu13 libcudart.so.13" "130300 libcupti.so.13 cu13 cu13 libcudart.so.13"
    "130400 libcupti.so.13 cu13 cu13 libcudart.so.13"
    "130500 libcupti.so.13 cu13 cu13 libcudart.so.13")
  separate_arguments(row)
  list(GET row 0 version)
  list(GET row 1 cupti)
  list(GET row 2 cupti_folder)
  list(GET row 3 cudart_folder)
  list(GET row 4 cudart)
  set(exports ${CMAKE_CURRENT_BINARY_DIR}/cuda_double_${version}.map)
  pp_double_exports(${version} ${cupti} ${exports})
  pp_double(cuda_double_cupti_${version} ${cupti} ${version}/site-packages/nvidia/${cupti_folder}/lib 
    $<TARGET_OBJECTS:cuda_double_cupti> ${CMAKE_CURRENT_LIST_DIR}/cupti_personality.c)
  target_compile_definitions(cuda_double_cupti_${version} PRIVATE DOUBLE_VERSION=${version})
  pp_double(cuda_double_cudart_${version} ${cudart} ${version}/site-packages/nvidia/${cudart_folder}/lib 
    $<TARGET_OBJECTS:cuda_double_runtime>)
  target_link_options(cuda_double_cupti_${version} PRIVATE -Wl,--version-script=${exports})
  pp_double(cuda_double_driver_${version} libcuda.so.1 ${version}/driver $<TARGET_OBJECTS:cuda_double_driver>)
  pp_double(cuda_double_torch_${version} libtorch_cuda.so ${version}/site-packages/torch/lib 
    $<TARGET_OBJECTS:cuda_double_engine>)
  set(runtime_folder nvidia/${cudart_folder}/lib)
  add_dependencies(cuda_double_torch_${version} cuda_double_cudart_${version})
  target_link_libraries(cuda_double_torch_${version} PRIVATE
    -L${PP_DOUBLE_ROOT}/${version}/site-packages/${runtime_folder} -l:${cudart})
  set_target_properties(cuda_double_torch_${version} PROPERTIES BUILD_RPATH "\$ORIGIN/../../${runtime_folder}")
endforeach()
# Two libraries of a job that have NVTX in them.
foreach(name libdouble_nvtx.so libdouble_nvtx_other.so)
  pp_double(cuda_${name} ${name} . $<TARGET_OBJECTS:cuda_double_nvtx>)
endforeach()
