/* Runs `product`, which cross_compiled.py compiles: product WEIGHTS SOURCE OUT OUTPUTS INPUTS ROWS, the first two files
   to read, the third to write. cross_attention.py gives attention the same arguments. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void product(const uint8_t *weights, uint8_t *rows, const float *source, float *out, int64_t outputs, int64_t inputs,
             int64_t num_rows, int64_t size);

static long size_of(FILE *file) {
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    return size;
}

static void *room_for(size_t size) {
    void *room = aligned_alloc(64, (size + 63) / 64 * 64);
    if (room == NULL) exit(2);
    return room;
}

static void *content_of(const char *path, long *size) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) exit(3);
    *size = size_of(file);
    void *content = room_for(*size);
    if (fread(content, 1, *size, file) != (size_t)*size) exit(4);
    fclose(file);
    return content;
}

int main(int argc, char **argv) {
    if (argc != 7) return 1;
    long outputs = atol(argv[4]), inputs = atol(argv[5]), num_rows = atol(argv[6]), size, source_size;
    uint8_t *weights = content_of(argv[1], &size);
    float *source = content_of(argv[2], &source_size);
    size_t num_out = num_rows * ((outputs + 63) / 64 * 64);
    float *out = room_for(4 * num_out);
    uint8_t *rows = room_for(4 * num_rows * ((inputs + 63) / 64 * 64));
    product(weights, rows, source, out, outputs, inputs, num_rows, size);
    FILE *file = fopen(argv[3], "wb");
    if (file == NULL || fwrite(out, 4, num_out, file) != num_out || fclose(file) != 0) return 5;
    return 0;
}
