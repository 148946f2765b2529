// Times llama.cpp's sampler chain. cmd/cpu starts it and talks to it, so that
// its samples are interleaved with everyone else's.
//
// Commands come a line at a time on standard input; each is answered by a line.
//
//   rows PATH ROWS VOCAB   read float32 logits [ROWS, VOCAB]    -> ok
//   chain T K P MINP       the chain of a setting; 0 is off      -> ok
//   run ROW REPS           draw REPS times from one row          -> WHOLE CHAIN KEPT
//
// WHOLE and CHAIN are nanoseconds of all REPS draws: with and without filling
// the array of candidates that the C API takes.

#include "llama.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * t.tv_sec + t.tv_nsec;
}

static void quiet(enum ggml_log_level level, const char * text, void * user) {
    (void) level; (void) text; (void) user;
}

static void fail(const char * what) {
    fprintf(stderr, "chain: %s\n", what);
    exit(1);
}

int main(void) {
    llama_log_set(quiet, NULL);
    float * logits = NULL;
    llama_token_data * data = NULL;
    struct llama_sampler * chain = NULL;
    int rows = 0, vocab = 0;
    char line[4096];

    while (fgets(line, sizeof line, stdin)) {
        char path[3000];
        float temperature, p, min_p;
        int k, row, reps;
        if (sscanf(line, "rows %2999s %d %d", path, &rows, &vocab) == 3) {
            free(logits);
            free(data);
            size_t n = (size_t) rows * vocab;
            logits = malloc(n * sizeof *logits);
            data = malloc(vocab * sizeof *data);
            FILE * f = fopen(path, "rb");
            if (!logits || !data || !f || fread(logits, sizeof *logits, n, f) != n) {
                fail("cannot read the rows");
            }
            fclose(f);
            puts("ok");
        } else if (sscanf(line, "chain %f %d %f %f", &temperature, &k, &p, &min_p) == 4) {
            if (chain) {
                llama_sampler_free(chain);
            }
            chain = llama_sampler_chain_init(llama_sampler_chain_default_params());
            if (temperature == 0) {
                llama_sampler_chain_add(chain, llama_sampler_init_greedy());
            } else {
                // The order of llama.cpp's own command line.
                if (k > 0) {
                    llama_sampler_chain_add(chain, llama_sampler_init_top_k(k));
                }
                if (p > 0) {
                    llama_sampler_chain_add(chain, llama_sampler_init_top_p(p, 1));
                }
                if (min_p > 0) {
                    llama_sampler_chain_add(chain, llama_sampler_init_min_p(min_p, 1));
                }
                llama_sampler_chain_add(chain, llama_sampler_init_temp(temperature));
                llama_sampler_chain_add(chain, llama_sampler_init_dist(1));
            }
            puts("ok");
        } else if (sscanf(line, "run %d %d", &row, &reps) == 2) {
            if (!logits || !chain || row < 0 || row >= rows) {
                fail("run before rows and chain");
            }
            const float * x = logits + (size_t) row * vocab;
            double whole = 0, only = 0;
            size_t kept = 0;
            for (int r = 0; r < reps; r++) {
                double t0 = now();
                for (int i = 0; i < vocab; i++) {
                    data[i] = (llama_token_data) { i, x[i], 0.0f };
                }
                llama_token_data_array cur = { data, vocab, -1, false };
                double t1 = now();
                llama_sampler_apply(chain, &cur);
                double t2 = now();
                if (cur.selected < 0) {
                    fail("nothing was drawn");
                }
                kept = cur.size;
                whole += t2 - t0;
                only += t2 - t1;
            }
            printf("%.0f %.0f %zu\n", whole, only, kept);
        } else {
            fail("not a command");
        }
        fflush(stdout);
    }
    return 0;
}
