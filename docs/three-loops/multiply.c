/* C = A B of n x n numbers by three loops: "columns" goes down the columns of B, "rows" along its rows, which lie one
   behind the other in memory, and on as many threads as OMP_NUM_THREADS says. Prints what the loops took.

   gcc -O2 -fopenmp -o multiply multiply.c */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int main(int count, char **words) {
    if (count != 3) {
        fprintf(stderr, "usage: multiply columns|rows n\n");
        return 2;
    }
    int n = atoi(words[2]);
    float *a = malloc(4L * n * n), *b = malloc(4L * n * n), *c = calloc((long)n * n, 4);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            a[i * n + j] = i % 8;
            b[i * n + j] = (j % 8) / (float)n; /* so that C[i][j] is (i % 8) (j % 8), whatever n */
        }
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    if (!strcmp(words[1], "columns"))
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                for (int k = 0; k < n; k++) c[i * n + j] += a[i * n + k] * b[k * n + j];
    else
#pragma omp parallel for
        for (int i = 0; i < n; i++)
            for (int k = 0; k < n; k++)
                for (int j = 0; j < n; j++) c[i * n + j] += a[i * n + k] * b[k * n + j];
    clock_gettime(CLOCK_MONOTONIC, &end);
    FILE *corner = fopen("corner.txt", "w");
    for (int i = 0; i < 3; i++) fprintf(corner, "%g %g %g\n", c[i * n], c[i * n + 1], c[i * n + 2]);
    fclose(corner);
    printf("n = %d: took %.6f s\n", n, end.tv_sec - start.tv_sec + 1e-9 * (end.tv_nsec - start.tv_nsec));
    return 0;
}
