# SPDX-License-Identifier: Apache-2.0
# c_importers: the model readers in the C library, from STOWAGE_C_IMPORTERS.
set(c_importers "")
if(STOWAGE_C AND STOWAGE_C_IMPORTERS STREQUAL ON)
  set(c_importers onnx tflite ncnn)
elseif(STOWAGE_C AND NOT STOWAGE_C_IMPORTERS STREQUAL OFF)
  set(c_importers ${STOWAGE_C_IMPORTERS})
  foreach(format IN LISTS c_importers)
    if(NOT format MATCHES "^(onnx|tflite|ncnn)$")
      message(FATAL_ERROR "STOWAGE_C_IMPORTERS is ON, OFF, or a list of onnx, tflite and ncnn, not '${STOWAGE_C_IMPORTERS}'")
    endif()
  endforeach()
endif()
