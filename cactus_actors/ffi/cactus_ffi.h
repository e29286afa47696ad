/* Language models in this process, from C.
 *
 * Text is UTF-8 and ends with a NUL byte; JSON has the fields that docs/reference/sdk.md lists. A function that fails
 * returns -1 (or NULL); the message is then available from cactus_get_last_error. A buffer of a size above 0 is
 * always NUL-terminated, and nothing is written past its size.
 *
 * A model runs one call at a time: calls from other threads wait. cactus_stop does not wait.
 */
#ifndef CACTUS_FFI_H
#define CACTUS_FFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void *cactus_model_t;

/* One call for each token; the text may be empty. Text from a cloud has the token id 0. */
typedef void (*cactus_token_callback)(const char *token, uint32_t token_id, void *user_data);

/* A model by the name of an embedded one, a directory, a GGUF file, owner/name on the hub, or a running
 * service as tcp://HOST:PORT; NULL on failure. corpus_dir may be NULL; cache_index keeps its index on disk. */
cactus_model_t cactus_init(const char *model_path, const char *corpus_dir, bool cache_index);

/* The answer to a conversation as a JSON object. Returns the bytes written without the NUL, or -1 on failure:
 * the buffer then holds the error as JSON, or an empty string if it is too small. options_json, tools_json,
 * callback and user_data may be NULL. */
int cactus_complete(cactus_model_t model, const char *messages_json, char *response_buffer,
                    size_t buffer_size, const char *options_json, const char *tools_json,
                    cactus_token_callback callback, void *user_data);

/* Compute a conversation's prompt ahead; returns as cactus_complete does. */
int cactus_prefill(cactus_model_t model, const char *messages_json, char *response_buffer,
                   size_t buffer_size, const char *options_json, const char *tools_json);

/* The token ids of a text. Returns 0, -1, or -2 if the buffer is too small; out_token_len, the number of ids, is
 * also set in that case. */
int cactus_tokenize(cactus_model_t model, const char *text, uint32_t *token_buffer,
                    size_t token_buffer_len, size_t *out_token_len);

/* How likely tokens[start..end) are after at most `context` tokens before them, as JSON: logprob, tokens. */
int cactus_score_window(cactus_model_t model, const uint32_t *tokens, size_t token_len, size_t start,
                        size_t end, size_t context, char *response_buffer, size_t buffer_size);

/* The embedding of a text. Returns 0, -1, or -2 if `embeddings_len`, in floats, is too small; embedding_dim is
 * also set in that case. */
int cactus_embed(cactus_model_t model, const char *text, float *embeddings_buffer, size_t embeddings_len,
                 size_t *embedding_dim, bool normalize);

/* The chunks of the corpus that fit a query best, as JSON; returns as cactus_complete does, and 0 with an
 * empty list in the buffer for a model without a corpus. */
int cactus_rag_query(cactus_model_t model, const char *query, char *response_buffer, size_t buffer_size,
                     size_t top_k);

/* End the generation that runs now, in another thread or in the caller of the callback. */
void cactus_stop(cactus_model_t model);

/* Forget all earlier conversations. */
void cactus_reset(cactus_model_t model);

/* Free a model. Later calls with its handle fail. */
void cactus_destroy(cactus_model_t model);

/* The message of the last failed call; never NULL. Valid until this thread calls this function again. */
const char *cactus_get_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
