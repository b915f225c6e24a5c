// SPDX-License-Identifier: Apache-2.0
// What a picture shows: a classification model and its five best scores, from C99.
//
//   classify MODEL PICTURE.ppm [THREADS]
//
// The picture has the height and width of the model's input and three channels, as `P6` files have
// them. (sample - 127.5) / 127.5 is what models/shapes.onnx wants.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stowage/stowage_c.h"

// Everything that is to be given back, wherever the program ends.
typedef struct program {
  stowage_model* model;
  stowage_options* options;
  stowage_plan* plan;
  stowage_session* session;
  unsigned char* pixels;
  float* scores;
} program;

// Whether the last three axes of a port are channels, rows and columns, and there is one picture.
static int is_picture(const stowage_port* port) {
  const int c = port->rank - 3;
  return c >= 0 && c <= 1 && port->extents[c] == 3 && (c == 0 || port->extents[0] == 1) &&
         strcmp(port->axes[c], "c") == 0 && strcmp(port->axes[c + 1], "h") == 0 &&
         strcmp(port->axes[c + 2], "w") == 0;
}

// The samples of a P6 file of that size; null where it is none.
static unsigned char* read_picture(const char* path, int width, int height) {
  const size_t bytes = (size_t)width * (size_t)height * 3;
  unsigned char* pixels = NULL;
  int w = 0, h = 0, most = 0;
  FILE* file = fopen(path, "rb");
  if (file == NULL) return NULL;
  if (fscanf(file, "P6 %d %d %d", &w, &h, &most) == 3 && fgetc(file) != EOF && w == width &&
      h == height && most == 255) {
    pixels = malloc(bytes);
    if (pixels != NULL && fread(pixels, 1, bytes, file) != bytes) {
      free(pixels);
      pixels = NULL;
    }
  }
  fclose(file);
  return pixels;
}

static stowage_status open_session(program* p, const char* path, int threads) {
  stowage_status status = stowage_model_open(path, NULL, &p->model);
  if (status == STOWAGE_OK) status = stowage_options_create(&p->options);
  if (status == STOWAGE_OK) status = stowage_options_set_threads(p->options, threads);
  if (status == STOWAGE_OK) status = stowage_plan_create(p->model, p->options, &p->plan);
  if (status == STOWAGE_OK) status = stowage_session_create(p->plan, &p->session);
  return status;
}

// Samples lie as rows of pixels of red, green and blue; the port is n, c, h, w. One pass converts
// order and type and normalises. An axis of extent 1, as n here, need not be in a layout.
static stowage_status set_picture(program* p) {
  const float mean = 127.5F, norm = 1 / 127.5F;
  stowage_view view = STOWAGE_VIEW_INIT;
  stowage_scalar_map map = STOWAGE_SCALAR_MAP_INIT;
  view.data = p->pixels;
  view.dtype = STOWAGE_U8;
  view.layout = "h w c";
  map.mean = &mean;
  map.mean_count = 1;
  map.norm = &norm;
  map.norm_count = 1;
  return stowage_session_set_input(p->session, 0, &view, &map);
}

static void print_best(float* scores, size_t count) {
  for (int line = 0; line < 5 && (size_t)line < count; ++line) {
    size_t best = 0;
    for (size_t i = 1; i < count; ++i) {
      if (scores[i] > scores[best]) best = i;
    }
    printf("%lu = %f\n", (unsigned long)best, scores[best]);
    scores[best] = -1;
  }
}

static stowage_status classify(program* p, const char* model, const char* picture, int threads) {
  stowage_port in = STOWAGE_PORT_INIT, out = STOWAGE_PORT_INIT;
  stowage_view scores = STOWAGE_VIEW_INIT;
  size_t count = 1;
  int width, height;
  stowage_status status = open_session(p, model, threads);
  if (status == STOWAGE_OK) status = stowage_session_get_input(p->session, 0, &in);
  if (status == STOWAGE_OK) status = stowage_session_get_output(p->session, 0, &out);
  if (status != STOWAGE_OK) return status;
  if (!is_picture(&in)) {
    fprintf(stderr, "classify: input '%s' is no picture of three channels\n", in.name);
    return STOWAGE_USAGE;
  }
  height = (int)in.extents[in.rank - 2];
  width = (int)in.extents[in.rank - 1];
  p->pixels = read_picture(picture, width, height);
  if (p->pixels == NULL) {
    fprintf(stderr, "classify: '%s' is no P6 picture of %d x %d\n", picture, width, height);
    return STOWAGE_BAD_INPUT;
  }
  for (int i = 0; i < out.rank; ++i) count *= (size_t)out.extents[i];
  p->scores = malloc(count * sizeof(float));
  if (p->scores == NULL) return STOWAGE_LIMIT;

  status = set_picture(p);
  if (status == STOWAGE_OK) status = stowage_session_run(p->session);
  scores.data = p->scores;
  scores.dtype = STOWAGE_F32;
  if (status == STOWAGE_OK) status = stowage_session_read_output(p->session, 0, &scores);
  if (status == STOWAGE_OK) print_best(p->scores, count);
  return status;
}

int main(int argc, char** argv) {
  program p;
  stowage_status status;
  if (argc < 3 || argc > 4) {
    fprintf(stderr, "usage: classify MODEL PICTURE.ppm [THREADS]\n");
    return STOWAGE_USAGE;
  }
  memset(&p, 0, sizeof p);
  status = classify(&p, argv[1], argv[2], argc > 3 ? atoi(argv[3]) : 1);
  if (status != STOWAGE_OK && stowage_last_status() == status) {
    fprintf(stderr, "classify: %s\n", stowage_last_error());
  }
  stowage_session_destroy(p.session);
  stowage_plan_destroy(p.plan);
  stowage_options_destroy(p.options);
  stowage_model_destroy(p.model);
  free(p.pixels);
  free(p.scores);
  return status;
}
