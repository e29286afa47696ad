// The specification's Go client over net/http.

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
)

// Client asks one service with one key.
type Client struct {
	BaseURL string
	Key     string
}

// post returns the body of a response with status 200; any other status is an APIError.
func (c *Client) post(ctx context.Context, path string, body any) (io.ReadCloser, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.BaseURL+path, bytes.NewReader(encoded))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+c.Key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	defer response.Body.Close()
	refused := struct {
		Error APIError `json:"error"`
	}{}
	if err := json.NewDecoder(response.Body).Decode(&refused); err != nil {
		return nil, err
	}
	refused.Error.Status = response.StatusCode
	return nil, &refused.Error
}

// fetch decodes a whole response into `into`.
func (c *Client) fetch(ctx context.Context, path string, body any, into any) error {
	response, err := c.post(ctx, path, body)
	if err != nil {
		return err
	}
	defer response.Close()
	return json.NewDecoder(response).Decode(into)
}

// events calls `each` with the data of every event until [DONE]; a stream without it has io.ErrUnexpectedEOF.
func events(response io.Reader, each func(data []byte) error) error {
	lines := bufio.NewScanner(response)
	for lines.Scan() {
		data := strings.TrimPrefix(lines.Text(), "data: ")
		if data == lines.Text() {
			continue
		}
		if data == "[DONE]" {
			return nil
		}
		failed := struct {
			Error *APIError `json:"error"`
		}{}
		if err := json.Unmarshal([]byte(data), &failed); err != nil {
			return err
		}
		if failed.Error != nil {
			return failed.Error
		}
		if err := each([]byte(data)); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return io.ErrUnexpectedEOF
}

// ChatCompletion calls /v1/chat/completions.
func (c *Client) ChatCompletion(ctx context.Context, req *ChatCompletionRequest) (*ChatCompletionResponse, error) {
	begun := time.Now()
	response := &ChatCompletionResponse{}
	if err := c.fetch(ctx, "/v1/chat/completions", req, response); err != nil {
		return nil, err
	}
	response.Latency = time.Since(begun)
	return response, nil
}

// ChatCompletionStream calls /v1/chat/completions with streaming; the channel closes after the last chunk or an error.
func (c *Client) ChatCompletionStream(
	ctx context.Context, req *ChatCompletionRequest,
) (<-chan *CompletionChunk, error) {
	begun := time.Now()
	response, err := c.post(ctx, "/v1/chat/completions", req)
	if err != nil {
		return nil, err
	}
	chunks := make(chan *CompletionChunk)
	go func() {
		defer close(chunks)
		defer response.Close()
		before := begun
		err := events(response, func(data []byte) error {
			chunk := &CompletionChunk{}
			if err := json.Unmarshal(data, chunk); err != nil {
				return err
			}
			now := time.Now()
			chunk.ChunkLatency, chunk.TotalLatency, before = now.Sub(before), now.Sub(begun), now
			chunk.IsLastChunk = len(chunk.Choices) > 0 && chunk.Choices[0].FinishReason != ""
			select {
			case chunks <- chunk:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		if err != nil && ctx.Err() == nil {
			chunks <- &CompletionChunk{Error: err}
		}
	}()
	return chunks, nil
}

// Completion calls /v1/completions.
func (c *Client) Completion(ctx context.Context, req *CompletionRequest) (*CompletionResponse, error) {
	response := &CompletionResponse{}
	if err := c.fetch(ctx, "/v1/completions", req, response); err != nil {
		return nil, err
	}
	return response, nil
}

// CompletionStream calls /v1/completions and gives each event to `each`, until that returns an error.
func (c *Client) CompletionStream(
	ctx context.Context, req *CompletionRequest, each func(*CompletionResponse) error,
) error {
	req.Stream = true
	response, err := c.post(ctx, "/v1/completions", req)
	if err != nil {
		return err
	}
	defer response.Close()
	return events(response, func(data []byte) error {
		event := &CompletionResponse{}
		if err := json.Unmarshal(data, event); err != nil {
			return err
		}
		return each(event)
	})
}
