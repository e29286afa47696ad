"""The C programs of the documents, unchanged, and one for edge cases."""

BASIC = r"""
#include "cactus_ffi.h"
#include <stdio.h>

int main() {
    cactus_model_t model = cactus_init("/path/to/model", NULL, false);

    const char* messages = "["
        "{\"role\":\"user\",\"content\":\"Hello!\"}"
    "]";

    char response[8192];
    int result = cactus_complete(
        model,
        messages,
        response,
        sizeof(response),
        NULL,  // default options
        NULL,  // no tools
        NULL,  // no streaming
        NULL
    );

    if (result > 0) {
        printf("%s\n", response);
    }

    cactus_destroy(model);
    return 0;
}
"""

STREAMING = r"""
#include "cactus.h"
#include <stdio.h>

void token_handler(const char* token, uint32_t token_id, void* user_data) {
    printf("%s", token);
    fflush(stdout);
}

int main() {
    cactus_model_t model = cactus_init("/path/to/model", NULL, false);

    const char* messages = "[{\"role\":\"user\",\"content\":\"Tell a story.\"}]";
    const char* options = "{\"temperature\":0.8,\"max_tokens\":500}";

    char response[8192];
    cactus_complete(
        model,
        messages,
        response,
        sizeof(response),
        options,
        NULL,
        token_handler,
        NULL
    );

    cactus_destroy(model);
}
"""

TOOLS = r"""
#include <cactus.h>
#include <stdio.h>

const char* tools = "["
    "{"
        "\"name\":\"get_weather\","
        "\"description\":\"Get weather for a city\","
        "\"parameters\":{"
            "\"type\":\"object\","
            "\"properties\":{"
                "\"location\":{\"type\":\"string\"}"
            "},"
            "\"required\":[\"location\"]"
        "}"
    "}"
"]";

const char* messages = "[{\"role\":\"user\",\"content\":\"What's the weather in Tokyo?\"}]";
const char* options = "{\"force_tools\":true}";

int main(void) {
    cactus_model_t model = cactus_init("/path/to/model", NULL, false);
    char response[8192];
    cactus_complete(model, messages, response, sizeof(response), options, tools, NULL, NULL);
    printf("%s\n", response);
    cactus_destroy(model);
    return 0;
}
"""

# Prints one line per check: its name and its result.
EDGES = r"""
#include "cactus_ffi.h"
#include <stdio.h>
#include <string.h>

#define GUARD 0x5a

static const char *question = "[{\"role\":\"user\",\"content\":\"What is 2+2?\"}]";
static const char *symbols = "[{\"role\":\"user\",\"content\":\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x8c\xb5\"}]";
static const char *greedy = "{\"temperature\":0}";
static const char *endless = "{\"temperature\":0,\"ignore_eos\":true,\"max_tokens\":300}";
static char response[16384];

struct counts { int num_tokens; size_t num_bytes; };

static void count(const char *token, uint32_t token_id, void *user_data) {
    struct counts *counts = user_data;
    (void)token_id;
    counts->num_tokens += 1;
    counts->num_bytes += strlen(token);
}

static void stop_at_third(const char *token, uint32_t token_id, void *user_data) {
    static int num_tokens;
    (void)token; (void)token_id;
    if (++num_tokens == 3)
        cactus_stop(*(cactus_model_t *)user_data);
}

static int ask(cactus_model_t model, const char *messages) {
    return cactus_complete(model, messages, response, sizeof(response), greedy, NULL, NULL, NULL);
}

/* Whether a call with a buffer of `size` bytes returned -1, ended the text, and left what follows alone. */
static int keeps_to(cactus_model_t model, size_t size) {
    unsigned char buffer[16384];
    memset(buffer, GUARD, sizeof(buffer));
    int result = cactus_complete(model, question, (char *)buffer, size, greedy, NULL, NULL, NULL);
    for (size_t place = size; place < sizeof(buffer); place++)
        if (buffer[place] != GUARD)
            return 0;
    return result == -1 && (size == 0 || memchr(buffer, 0, size) != NULL);
}

static int streams(cactus_model_t model, cactus_token_callback callback, void *user_data) {
    return cactus_complete(model, question, response, sizeof(response), endless, NULL, callback, user_data);
}

int main(int argc, char **argv) {
    struct counts counts = {0, 0};
    (void)argc;

    printf("no model: %d\n", cactus_init("/no/such/model", NULL, false) == NULL);
    printf("its error: %s\n", cactus_get_last_error());
    printf("null path: %d\n", cactus_init(NULL, NULL, false) == NULL);
    printf("null model: %d\n", ask(NULL, question));
    printf("its answer: %s\n", response);

    cactus_model_t model = cactus_init(argv[1], NULL, true);
    int length = streams(model, count, &counts);
    printf("bytes: %d %zu\n", length, strlen(response));
    printf("streamed: %d %zu\n", counts.num_tokens, counts.num_bytes);
    printf("answer: %s\n", response);

    printf("sizes:");
    for (size_t size = 0; size < 20; size++)
        printf(" %d", keeps_to(model, size * size));
    printf("\n");
    int result = cactus_complete(model, question, NULL, 100, greedy, NULL, NULL, NULL);
    printf("null buffer: %d\n", result);
    printf("null messages: %d\n", ask(model, NULL));
    printf("not utf-8: %d\n", ask(model, "\xff\xfe"));
    printf("not json: %d\n", ask(model, "[{"));
    printf("unicode: %d\n", ask(model, symbols) > 0);
    printf("stopped: %d\n", streams(model, stop_at_third, &model) > 0);
    printf("its answer: %s\n", response);

    uint32_t tokens[64];
    size_t num_tokens = 0;
    printf("tokens: %d", cactus_tokenize(model, "Hello there", tokens, 64, &num_tokens));
    printf(" %zu\n", num_tokens);
    printf("too few: %d\n", cactus_tokenize(model, "Hello there", tokens, 1, &num_tokens));
    static float embedding[4096];
    size_t dimensions = 0;
    printf("no room: %d", cactus_embed(model, "Hello", embedding, 3, &dimensions, true));
    printf(" %zu\n", dimensions);
    double length2 = 0;
    printf("embedded: %d", cactus_embed(model, "Hello", embedding, 4096, &dimensions, true));
    for (size_t place = 0; place < dimensions; place++)
        length2 += embedding[place] * embedding[place];
    printf(" %.3f\n", length2);
    cactus_tokenize(model, "One two three four.", tokens, 64, &num_tokens);
    result = cactus_score_window(model, tokens, num_tokens, 1, 3, 2, response, sizeof(response));
    printf("scored: %d\n", result > 0);
    printf("its answer: %s\n", response);
    result = cactus_score_window(model, NULL, 3, 1, 2, 2, response, sizeof(response));
    printf("null tokens: %d\n", result);
    result = cactus_prefill(model, question, response, sizeof(response), NULL, NULL);
    printf("prefilled: %d\n", result > 0);
    result = cactus_rag_query(model, "anything", response, sizeof(response), 3);
    printf("retrieved: %d\n", result);
    printf("its answer: %s\n", response);
    cactus_reset(model);
    cactus_destroy(model);
    printf("destroyed: %d\n", ask(model, question));
    cactus_destroy(model);
    printf("its error: %s\n", cactus_get_last_error());
    cactus_destroy(NULL);
    return 0;
}
"""
