// SPDX-License-Identifier: Apache-2.0
// A tensor from one layout to another, without a model, from C99: where its elements lie, and a
// conversion that is compiled once and run many times.
//
//   convert FROM TO SHAPE, such as: convert NCHW nChw4c n=1,c=6,h=2,w=3
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stowage/stowage_c.h"

typedef struct program {
  stowage_mapping *from, *to;
  stowage_conversion* conversion;
  float *source, *result;
  char *text, *picture;
} program;

static stowage_status convert(program* p, char** arguments) {
  stowage_mapping_info from = STOWAGE_MAPPING_INFO_INIT, to = STOWAGE_MAPPING_INFO_INIT;
  stowage_status status =
      stowage_mapping_create(arguments[0], arguments[2], sizeof(float), 0, &p->from);
  if (status == STOWAGE_OK) {
    status = stowage_mapping_create(arguments[1], arguments[2], sizeof(float), 0, &p->to);
  }
  if (status == STOWAGE_OK) status = stowage_mapping_get_info(p->from, &from);
  if (status == STOWAGE_OK) status = stowage_mapping_get_info(p->to, &to);
  if (status == STOWAGE_OK) {
    status =
        stowage_conversion_create(STOWAGE_F32, p->from, STOWAGE_F32, p->to, NULL, &p->conversion);
  }
  if (status == STOWAGE_OK) status = stowage_mapping_layout(p->to, &p->text);
  if (status == STOWAGE_OK) status = stowage_mapping_draw(p->to, &p->picture);
  if (status != STOWAGE_OK) return status;

  // Gaps are nobody's: neither the conversion nor this program writes them.
  p->source = calloc(from.bytes + 1, 1);
  p->result = calloc(to.bytes + 1, 1);
  if (p->source == NULL || p->result == NULL) return STOWAGE_LIMIT;
  for (int64_t i = 0; i < from.cells; ++i) p->source[i] = (float)i;
  for (int frame = 0; frame < 3 && status == STOWAGE_OK; ++frame) {
    status = stowage_conversion_run(p->conversion, p->source, p->result, 1);
  }
  if (status != STOWAGE_OK) return status;
  printf("%s\n%s", p->text, p->picture);
  printf("%lu bytes, %d cells of tails, %d of gaps:", (unsigned long)to.bytes, (int)to.tail_cells,
         (int)to.gap_cells);
  for (int64_t i = 0; i < to.cells; ++i) printf(" %g", (double)p->result[i]);
  printf("\n");
  return STOWAGE_OK;
}

int main(int argc, char** argv) {
  program p;
  stowage_status status;
  if (argc != 4) {
    fprintf(stderr, "usage: convert FROM TO SHAPE\n");
    return STOWAGE_USAGE;
  }
  memset(&p, 0, sizeof p);
  status = convert(&p, argv + 1);
  if (status != STOWAGE_OK) fprintf(stderr, "convert: %s\n", stowage_last_error());
  stowage_conversion_destroy(p.conversion);
  stowage_mapping_destroy(p.from);
  stowage_mapping_destroy(p.to);
  stowage_free_text(p.text);
  stowage_free_text(p.picture);
  free(p.source);
  free(p.result);
  return status;
}
