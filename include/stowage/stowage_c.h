// SPDX-License-Identifier: Apache-2.0
/* Stowage from C99, and from whatever calls C. In the library stowage_c. docs/c.md goes through it.

   Errors. Every function that can fail returns a stowage_status. What went wrong is a sentence that
   the calling thread keeps until its next failure: stowage_last_error. Where a function fails, it
   writes nothing through its pointers unless its comment says so. A null pointer where a comment
   does not allow one is STOWAGE_USAGE.

   Ownership. What a `_create` or `_open` function makes belongs to the caller, who gives it to the
   `_destroy` function of its kind; null is allowed there. Handles may be destroyed in any order: a
   session keeps what it needs of its plan, a plan of its model. Texts that are returned through a
   `char**` are UTF-8 as far as the names in the model are, end with a zero, and go to
   stowage_free_text. A `const char*` in a structure belongs to the handle that was asked.
   Functions copy what they are given, unless they are called `bind`.

   Threads. Models, plans, mappings and conversions do not change: any number of threads may use
   one at once. Options and sessions belong to one thread at a time. Destroying is never concurrent
   with use.

   Structures begin with their own size, so that later versions can add fields at the end: begin
   with the INIT macro of the structure, also where the library fills it. A size that is smaller
   than that of the first version, or fields set that this library does not know, are
   STOWAGE_USAGE.

   Units. Extents and indices count elements, `bytes` are bytes, times are microseconds. Layouts and
   the notation of shapes are those of docs/layouts.md. */
#ifndef STOWAGE_STOWAGE_C_H_
#define STOWAGE_STOWAGE_C_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define STOWAGE_API __attribute__((visibility("default")))
#else
#define STOWAGE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Largest number of axes of a tensor, and bytes of an axis's name with the zero behind it. */
#define STOWAGE_MAX_RANK 8
#define STOWAGE_AXIS_BYTES 8

/* The values are those of stowage::ErrorCode and the exit codes of the command line. */
typedef enum stowage_status {
  STOWAGE_OK = 0,
  STOWAGE_CHECK_FAILED = 1,
  STOWAGE_USAGE = 2,       /* the caller asked for something that does not make sense */
  STOWAGE_BAD_INPUT = 3,   /* a file or an input is missing, malformed or of the wrong shape */
  STOWAGE_UNSUPPORTED = 4, /* valid, but Stowage, or this build of it, cannot do it */
  STOWAGE_DEVICE = 5,      /* a device or its driver failed */
  STOWAGE_LIMIT = 6,       /* a size limit or the memory is exceeded */
  STOWAGE_INTERNAL = 7     /* a bug in Stowage */
} stowage_status;

/* Scalar types. STOWAGE_BOOL is one byte, 0 or 1. Where a caller gives one, as where it gives
   another enumeration, the type is int32_t: numbers that are none are refused. */
typedef enum stowage_dtype {
  STOWAGE_F32 = 0,
  STOWAGE_F16 = 1,
  STOWAGE_BF16 = 2,
  STOWAGE_F64 = 3,
  STOWAGE_U8 = 4,
  STOWAGE_I8 = 5,
  STOWAGE_U16 = 6,
  STOWAGE_I16 = 7,
  STOWAGE_U32 = 8,
  STOWAGE_I32 = 9,
  STOWAGE_U64 = 10,
  STOWAGE_I64 = 11,
  STOWAGE_BOOL = 12
} stowage_dtype;

/* The axes of a value in MACE's sense; NONE: it is no batch of images. */
typedef enum stowage_data_format {
  STOWAGE_FORMAT_NONE = 0,
  STOWAGE_FORMAT_NCHW = 1,
  STOWAGE_FORMAT_NHWC = 2
} stowage_data_format;

typedef struct stowage_model stowage_model;           /* a model as its file has it */
typedef struct stowage_options stowage_options;       /* what a plan is made for */
typedef struct stowage_plan stowage_plan;             /* layouts, kernels, conversions, memory */
typedef struct stowage_session stowage_session;       /* a plan with its memory */
typedef struct stowage_mapping stowage_mapping;       /* a layout bound to a shape */
typedef struct stowage_conversion stowage_conversion; /* a compiled move between two mappings */

/* The library. */

/* "MAJOR.MINOR.PATCH" of the library that is linked; it belongs to the library. */
STOWAGE_API const char* stowage_version(void);

/* What a build may have or not. Functions of a part that it does not have return
   STOWAGE_UNSUPPORTED. */
typedef enum stowage_part {
  STOWAGE_PART_ONNX = 0, /* readers of model files */
  STOWAGE_PART_TFLITE = 1,
  STOWAGE_PART_NCNN = 2,
  STOWAGE_PART_OPENCL = 3
} stowage_part;

/* 1 or 0; 0 for a number that is no part. */
STOWAGE_API int stowage_has_part(int32_t part);

/* Bytes of one scalar: 1, 2, 4 or 8; 0 for a number that is no type. */
STOWAGE_API size_t stowage_dtype_bytes(int32_t dtype);

/* "f32", "u8", "bool", ...; null for a number that is no type. */
STOWAGE_API const char* stowage_dtype_name(int32_t dtype);

/* What failed last in this thread, STOWAGE_OK before the first failure; calls that succeed leave it
   as it is. The texts belong to the library until the thread's next failure or its end; they are
   never null. */
STOWAGE_API stowage_status stowage_last_status(void);

/* Sentence and trail in one line. */
STOWAGE_API const char* stowage_last_error(void);

/* "axis 7 is out of range for rank 4" */
STOWAGE_API const char* stowage_last_sentence(void);

/* What was being done, innermost first: "node 'prob' (Softmax) < importing m.onnx"; may be "". */
STOWAGE_API const char* stowage_last_trail(void);

/* Null is allowed. */
STOWAGE_API void stowage_free_text(char* text);

/* Models. */

/* Reads an ONNX or a TFLite file, or a .param of ncnn; its bytes say which. `weights` is the path
   of ncnn's .bin, or null: the file of the .param's name beside it; it is null for other files. The
   files are not needed any longer when it returns. BAD_INPUT, UNSUPPORTED, LIMIT, USAGE. */
STOWAGE_API stowage_status stowage_model_open(const char* path, const char* weights,
                                              stowage_model** out);

/* The same from memory, which is not needed any longer when it returns. `weights` are the bytes of
   ncnn's .bin, or null and 0 for other files. */
STOWAGE_API stowage_status stowage_model_open_memory(const void* bytes, size_t byte_count,
                                                     const void* weights, size_t weight_bytes,
                                                     stowage_model** out);
STOWAGE_API void stowage_model_destroy(stowage_model* model);

/* An input as the file has it. */
typedef struct stowage_model_input {
  size_t size;
  const char* name;
  int32_t dtype;                     /* stowage_dtype */
  int32_t rank;                      /* -1: not known; axes beyond STOWAGE_MAX_RANK are not told */
  int64_t extents[STOWAGE_MAX_RANK]; /* negative: open, and bound by stowage_options_set_shape */
  const char* symbols[STOWAGE_MAX_RANK]; /* what the file calls an open extent; "" where nothing */
} stowage_model_input;

#define STOWAGE_MODEL_INPUT_INIT                                         \
  {                                                                      \
    sizeof(stowage_model_input), NULL, 0, 0, {0, 0, 0, 0, 0, 0, 0, 0}, { \
      NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL                     \
    }                                                                    \
  }

/* The name that the file gives the model, which belongs to it; "" for null. */
STOWAGE_API const char* stowage_model_name(const stowage_model* model);

/* 0 for null. */
STOWAGE_API size_t stowage_model_input_count(const stowage_model* model);
STOWAGE_API size_t stowage_model_output_count(const stowage_model* model);

/* In the order of the file. USAGE for a number that no input has. */
STOWAGE_API stowage_status stowage_model_get_input(const stowage_model* model, size_t index,
                                                   stowage_model_input* out);

/* The name belongs to the model. */
STOWAGE_API stowage_status stowage_model_get_output_name(const stowage_model* model, size_t index,
                                                         const char** out);

/* Memory of the caller. */

/* A tensor that the caller owns, and where its elements lie there. Axes are in the order of
   `extents`. Exactly one of `layout` and `byte_strides` is set, or neither: row-major then. */
typedef struct stowage_view {
  size_t size;
  void* data; /* cell 0 of the layout, or element (0, 0, ...); only read where the function reads */
  int32_t dtype; /* stowage_dtype */
  int32_t rank;  /* 0: extents of the port, or of the other view, and its axes if `axes` is null */
  int64_t extents[STOWAGE_MAX_RANK];
  /* Names of the axes: "nchw", or with commas between names of more than one letter, "n,head,w".
     Null: those of the port, by position; a, b, c, ... where there is no port. */
  const char* axes;
  const char* layout; /* "NHWC", "n c/16 h w c%16": over the axes */
  /* Bytes from an element to the next, one an axis, multiples of the type's size, 0 or more.
     Elements do not overlap and axes nest: what an axis spans fits into the stride of the next
     larger one. UNSUPPORTED otherwise, as for negative strides. Strides of axes with an extent of
     1 or less do not matter. */
  const int64_t* byte_strides;
  int64_t row_pitch; /* images: their rows take a multiple of so many texels; 0 is 1 */
} stowage_view;

#define STOWAGE_VIEW_INIT \
  { sizeof(stowage_view), NULL, 0, 0, {0, 0, 0, 0, 0, 0, 0, 0}, NULL, NULL, NULL, 0 }

/* dst = cast((src - mean[c]) * norm[c]) in f32, rounded half to even and saturated where `dst` is
   an integer. Without mean and norm equal types are moved as bytes. */
typedef struct stowage_scalar_map {
  size_t size;
  const float* mean; /* `mean_count` of them: one for each index of `axis`, or one, or none (0) */
  size_t mean_count;
  const float* norm; /* likewise; multipliers, none: 1 */
  size_t norm_count;
  const char* axis; /* null: "c" */
} stowage_scalar_map;

#define STOWAGE_SCALAR_MAP_INIT \
  { sizeof(stowage_scalar_map), NULL, 0, NULL, 0, NULL }

/* Plans. */

typedef enum stowage_planner {
  STOWAGE_PLANNER_OPTIMAL = 0, /* the cheapest plan that can be found */
  STOWAGE_PLANNER_RULE = 1,    /* MACE's lists and its pass forward */
  STOWAGE_PLANNER_SOURCE = 2   /* every value in the order of the file */
} stowage_planner;

/* One thread, the CPU, the optimal planner, shapes as the file has them. */
STOWAGE_API stowage_status stowage_options_create(stowage_options** out);
STOWAGE_API void stowage_options_destroy(stowage_options* options);

/* Of an input: binds its open extents, or replaces fixed ones. 0 <= rank <= STOWAGE_MAX_RANK. */
STOWAGE_API stowage_status stowage_options_set_shape(stowage_options* options, const char* input,
                                                     const int64_t* extents, size_t rank);

/* The elements of an input are known now; it becomes a constant. Where a model takes axes, shapes
   or sizes as inputs, it can be planned only so. The view has extents of its own, if it has any
   axes; elements are copied. */
STOWAGE_API stowage_status stowage_options_set_known(stowage_options* options, const char* input,
                                                     const stowage_view* view);

/* That a session runs on, the caller included: 1 to 256, which making a plan checks. */
STOWAGE_API stowage_status stowage_options_set_threads(stowage_options* options, int threads);
STOWAGE_API stowage_status stowage_options_set_planner(stowage_options* options, int32_t planner);

/* Not 0: kernels of the CPU add up the products that the model asks for, and no convolution is
   done by Winograd's method, whose results may be off by 1e-4 of the largest of their layer. */
STOWAGE_API stowage_status stowage_options_set_exact(stowage_options* options, int exact);

/* In which layout the caller will give an input or take an output. The planner counts the
   conversion from it or to it, and has none where a kernel reads or writes it. It binds nobody. */
STOWAGE_API stowage_status stowage_options_set_layout(stowage_options* options, const char* port,
                                                      const char* layout);

/* Likewise the data format; NONE says that the tensor is no batch of images. */
STOWAGE_API stowage_status stowage_options_set_data_format(stowage_options* options,
                                                           const char* port, int32_t format);

/* "cpu"; "opencl" or "opencl:N", which opens the N-th device now and uses it beside the CPU. With
   `half` not 0 the device keeps f32 tensors as f16. DEVICE, or UNSUPPORTED without OpenCL. */
STOWAGE_API stowage_status stowage_options_set_device(stowage_options* options, const char* device,
                                                      int half);

/* Chooses layouts and kernels, inserts conversions, converts the weights. `options` may be null.
   BAD_INPUT, UNSUPPORTED, LIMIT, USAGE. */
STOWAGE_API stowage_status stowage_plan_create(const stowage_model* model,
                                               const stowage_options* options, stowage_plan** out);
STOWAGE_API void stowage_plan_destroy(stowage_plan* plan);

/* The plan as a person wants it. */
STOWAGE_API stowage_status stowage_plan_explain(const stowage_plan* plan, char** text);

/* What `stowage plan --json` prints, which docs/cli.md describes, under that name of the model.
   `step_us` are `step_count` measured times of a session of the plan, or null and 0. */
STOWAGE_API stowage_status stowage_plan_json(const stowage_plan* plan, const char* name,
                                             const double* step_us, size_t step_count, char** text);

/* The same as one self-contained page of HTML. */
STOWAGE_API stowage_status stowage_plan_html(const stowage_plan* plan, const char* name,
                                             const double* step_us, size_t step_count, char** text);

/* What it would cost to run one node in another layout than the plan of these options does. `node`
   is a name, or #N for the N-th of the plan. In words, and as JSON. USAGE for an unknown node or a
   layout that does not fit. */
STOWAGE_API stowage_status stowage_why_not(const stowage_model* model,
                                           const stowage_options* options, const char* node,
                                           const char* layout, char** text);
STOWAGE_API stowage_status stowage_why_not_json(const stowage_model* model,
                                                const stowage_options* options, const char* node,
                                                const char* layout, char** text);

/* What a run does, one after the other. The texts belong to the plan. */
typedef struct stowage_step {
  size_t size;
  const char* name;   /* of the node, or of the value that is converted */
  const char* op;     /* of the node; "" for a conversion */
  const char* kernel; /* likewise */
} stowage_step;

#define STOWAGE_STEP_INIT \
  { sizeof(stowage_step), NULL, NULL, NULL }

STOWAGE_API size_t stowage_plan_step_count(const stowage_plan* plan);
STOWAGE_API stowage_status stowage_plan_get_step(const stowage_plan* plan, size_t index,
                                                 stowage_step* out);

/* Sessions. */

/* Allocates the memory and starts the threads of the plan. LIMIT, DEVICE. */
STOWAGE_API stowage_status stowage_session_create(const stowage_plan* plan, stowage_session** out);
STOWAGE_API void stowage_session_destroy(stowage_session* session);

/* An input or output of a session. */
typedef struct stowage_port {
  size_t size;
  const char* name; /* belongs to the session */
  int32_t dtype;    /* stowage_dtype */
  int32_t rank;
  int64_t extents[STOWAGE_MAX_RANK];               /* in the order of the file */
  char axes[STOWAGE_MAX_RANK][STOWAGE_AXIS_BYTES]; /* names of the axes */
  int32_t data_format;                             /* stowage_data_format */
} stowage_port;

#define STOWAGE_PORT_INIT                                       \
  {                                                             \
    sizeof(stowage_port), NULL, 0, 0, {0, 0, 0, 0, 0, 0, 0, 0}, \
        {{0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}}, 0             \
  }

STOWAGE_API size_t stowage_session_input_count(const stowage_session* session);
STOWAGE_API size_t stowage_session_output_count(const stowage_session* session);
STOWAGE_API stowage_status stowage_session_get_input(const stowage_session* session, size_t index,
                                                     stowage_port* out);
STOWAGE_API stowage_status stowage_session_get_output(const stowage_session* session, size_t index,
                                                      stowage_port* out);

/* The number of the port of that name. USAGE, which lists the names. */
STOWAGE_API stowage_status stowage_session_find_input(const stowage_session* session,
                                                      const char* name, size_t* index);
STOWAGE_API stowage_status stowage_session_find_output(const stowage_session* session,
                                                       const char* name, size_t* index);

/* Gives an input for the next runs: reads the view here, in one conversion into the layout of the
   plan. Axes are matched by name where the view has the port's names, in whatever order, else by
   position. Any type is converted where the port is f32. `map` may be null; its axis is "c".
   BAD_INPUT where shape or type do not fit. */
STOWAGE_API stowage_status stowage_session_set_input(stowage_session* session, size_t index,
                                                     const stowage_view* view,
                                                     const stowage_scalar_map* map);

/* Computes. USAGE where an input was not given, BAD_INPUT for what only the data can show, DEVICE.
 */
STOWAGE_API stowage_status stowage_session_run(stowage_session* session);

/* Writes an output of the last run into the view, in its layout and type. USAGE before the first
   run and after one that failed. */
STOWAGE_API stowage_status stowage_session_read_output(const stowage_session* session, size_t index,
                                                       const stowage_view* into);

/* The memory that is bound to a port without a copy. */
typedef struct stowage_port_format {
  size_t size;
  int32_t dtype;      /* stowage_dtype */
  const char* layout; /* over the axes of the port; belongs to the session */
  int64_t row_pitch;  /* of an image, in texels; 1 otherwise */
  size_t alignment;   /* cell 0 lies at a multiple of so many bytes */
  size_t bytes; /* that the memory has: those of the cells and some behind, which may be read */
  size_t copied_bytes; /* that a run copies for the port nevertheless */
} stowage_port_format;

#define STOWAGE_PORT_FORMAT_INIT \
  { sizeof(stowage_port_format), 0, NULL, 0, 0, 0, 0 }

STOWAGE_API stowage_status stowage_session_get_input_format(const stowage_session* session,
                                                            size_t index, stowage_port_format* out);
STOWAGE_API stowage_status stowage_session_get_output_format(const stowage_session* session,
                                                             size_t index,
                                                             stowage_port_format* out);

/* Every run reads the input from this memory, of `bytes` bytes, from now on: view->data, in the
   type and layout of the port's format, cells of a last block beyond the axis zero. It stays the
   caller's, outlives the binding and changes between runs only. USAGE for another layout or type,
   memory off its alignment, too few bytes, or memory that is bound to an output. */
STOWAGE_API stowage_status stowage_session_bind_input(stowage_session* session, size_t index,
                                                      const stowage_view* view, size_t bytes);
STOWAGE_API stowage_status stowage_session_unbind_input(stowage_session* session, size_t index);

/* Likewise, every run writes the output there. */
STOWAGE_API stowage_status stowage_session_bind_output(stowage_session* session, size_t index,
                                                       const stowage_view* view, size_t bytes);
STOWAGE_API stowage_status stowage_session_unbind_output(stowage_session* session, size_t index);

/* Whether runs measure their steps from now on; off at first. */
STOWAGE_API stowage_status stowage_session_profile(stowage_session* session, int on);

/* Microseconds of the first `capacity` steps of the last measured run, in the order of
   stowage_plan_get_step; `count` gets the number of all, 0 before a run. `us` may be null where
   `capacity` is 0. */
STOWAGE_API stowage_status stowage_session_step_us(const stowage_session* session, double* us,
                                                   size_t capacity, size_t* count);

/* Layouts. */

/* Parses a layout; its long form, and the known spelling of the same, such as "nChw16c". USAGE with
   a caret under the place of an error. */
STOWAGE_API stowage_status stowage_layout_text(const char* layout, char** text);
STOWAGE_API stowage_status stowage_layout_spelling(const char* layout, char** text);

/* Binds a layout to a shape, "n=1,c=6,h=2,w=3", of elements of 1 to 16 bytes. `row_pitch` as in
   stowage_view. USAGE where they do not fit, LIMIT where the extents overflow. */
STOWAGE_API stowage_status stowage_mapping_create(const char* layout, const char* shape,
                                                  size_t element_bytes, int64_t row_pitch,
                                                  stowage_mapping** out);

/* Of explicit strides, one an axis of the shape, as in stowage_view. */
STOWAGE_API stowage_status stowage_mapping_create_strided(const char* shape, size_t element_bytes,
                                                          const int64_t* byte_strides,
                                                          stowage_mapping** out);
STOWAGE_API void stowage_mapping_destroy(stowage_mapping* mapping);

typedef struct stowage_mapping_info {
  size_t size;
  int32_t rank;  /* of the shape */
  int32_t image; /* 1: y, x and lane are the extents of an image; 0: linear memory */
  int64_t cells; /* of the linear view, padding included, in which image rows follow each other */
  size_t bytes;
  int64_t y, x, lane; /* extents of the image; 1 where the layout does not use the space */
  int64_t data_cells; /* that hold elements */
  int64_t tail_cells; /* of a last block beyond the axis: zero */
  int64_t gap_cells;  /* that nobody reads */
} stowage_mapping_info;

#define STOWAGE_MAPPING_INFO_INIT \
  { sizeof(stowage_mapping_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

STOWAGE_API stowage_status stowage_mapping_get_info(const stowage_mapping* mapping,
                                                    stowage_mapping_info* out);

/* Where an element lies. */
typedef struct stowage_place {
  size_t size;
  int64_t cell;       /* of the linear view; times the bytes of an element it is the address */
  int64_t y, x, lane; /* of an image; 0 otherwise */
} stowage_place;

#define STOWAGE_PLACE_INIT \
  { sizeof(stowage_place), 0, 0, 0, 0 }

/* `index` has one coordinate an axis of the shape, inside its extent. USAGE otherwise. */
STOWAGE_API stowage_status stowage_mapping_locate(const stowage_mapping* mapping,
                                                  const int64_t* index, size_t rank,
                                                  stowage_place* out);

typedef enum stowage_cell {
  STOWAGE_CELL_DATA = 0, /* an element */
  STOWAGE_CELL_TAIL = 1, /* of a last block beyond the axis */
  STOWAGE_CELL_GAP = 2   /* alignment */
} stowage_cell;

/* What a cell of the linear view holds. `index` has room for `rank` coordinates, that of the shape;
   it gets those of an element or a tail, and is left alone for a gap. */
STOWAGE_API stowage_status stowage_mapping_get_cell(const stowage_mapping* mapping, int64_t cell,
                                                    stowage_cell* kind, int64_t* index,
                                                    size_t rank);

/* The layout of a mapping; a picture of its cells as text; the same as SVG. */
STOWAGE_API stowage_status stowage_mapping_layout(const stowage_mapping* mapping, char** text);
STOWAGE_API stowage_status stowage_mapping_draw(const stowage_mapping* mapping, char** text);
STOWAGE_API stowage_status stowage_mapping_draw_svg(const stowage_mapping* mapping, char** text);

/* Conversions. */

/* Compiles a move between two mappings of the same axes and extents, in any order, whose elements
   have the sizes of the types. `map` may be null. The mappings are not needed any longer when it
   returns. USAGE where they differ, UNSUPPORTED for types without a cast. */
STOWAGE_API stowage_status stowage_conversion_create(int32_t src_dtype, const stowage_mapping* src,
                                                     int32_t dst_dtype, const stowage_mapping* dst,
                                                     const stowage_scalar_map* map,
                                                     stowage_conversion** out);
STOWAGE_API void stowage_conversion_destroy(stowage_conversion* conversion);

/* `src` and `dst` are cell 0 of memory of as many bytes as the mappings have, but for gaps behind
   the last element; they do not overlap. Tails of `dst` become zero, gaps stay. `threads` is 1 to
   256, the caller included; the calling thread keeps the others for its next conversion. USAGE,
   LIMIT when the system refuses threads. */
STOWAGE_API stowage_status stowage_conversion_run(const stowage_conversion* conversion,
                                                  const void* src, void* dst, int threads);

/* Bytes read and written; 0 for null. */
STOWAGE_API size_t stowage_conversion_bytes(const stowage_conversion* conversion);

/* 1: the bytes are the same on both sides, and nothing need move. 0 for null. */
STOWAGE_API int stowage_conversion_is_alias(const stowage_conversion* conversion);

/* A line for each part that the conversion is made of, in words. */
STOWAGE_API stowage_status stowage_conversion_explain(const stowage_conversion* conversion,
                                                      char** text);

/* One conversion of one tensor, on the calling thread. `dst->rank` may be 0: the extents of `src`.
   `map` may be null. Errors are those of mappings and conversions. */
STOWAGE_API stowage_status stowage_convert(const stowage_view* src, const stowage_view* dst,
                                           const stowage_scalar_map* map);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* STOWAGE_STOWAGE_C_H_ */
