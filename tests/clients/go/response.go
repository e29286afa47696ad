// The responses of the specification's Go client, whole and in pieces.

package main

import (
	"encoding/json"
	"fmt"
	"time"
)

type FinishReason string

const (
	FinishReasonStop        FinishReason = "stop"
	FinishReasonLength      FinishReason = "length"
	FinishReasonModelLength FinishReason = "model_length"
	FinishReasonError       FinishReason = "error"
	FinishReasonToolCalls   FinishReason = "tool_calls"
)

// UnixTime is a time that JSON has in seconds.
type UnixTime struct{ time.Time }

func (t *UnixTime) UnmarshalJSON(data []byte) error {
	var seconds int64
	if err := json.Unmarshal(data, &seconds); err != nil {
		return err
	}
	t.Time = time.Unix(seconds, 0)
	return nil
}

type UsageInfo struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

// AssistantMessage is what the model said.
type AssistantMessage = ChatMessage

type ChatCompletionChoice struct {
	FinishReason FinishReason      `json:"finish_reason"`
	Index        int               `json:"index"`
	Message      *AssistantMessage `json:"message"`
}

// ChatCompletionResponse has Confidence and CloudHandoff beyond the fields of the API that it follows.
type ChatCompletionResponse struct {
	Choices      []ChatCompletionChoice `json:"choices"`
	Created      UnixTime               `json:"created"`
	Id           string                 `json:"id"`
	Model        string                 `json:"model"`
	Object       string                 `json:"object"`
	Usage        UsageInfo              `json:"usage"`
	Confidence   *float64               `json:"confidence"`
	CloudHandoff *bool                  `json:"cloud_handoff"`
	Latency      time.Duration          `json:"-"`
}

// AssistantMessage returns the first message of the choices, or nil.
func (r *ChatCompletionResponse) AssistantMessage() *AssistantMessage {
	for _, choice := range r.Choices {
		if choice.Message != nil {
			return choice.Message
		}
	}
	return nil
}

type CompletionResponseStreamChoice struct {
	FinishReason FinishReason     `json:"finish_reason"`
	Index        int              `json:"index"`
	Delta        AssistantMessage `json:"delta"`
}

// CompletionChunk is one event of a stream.
type CompletionChunk struct {
	Choices      []CompletionResponseStreamChoice `json:"choices"`
	Created      UnixTime                         `json:"created"`
	Id           string                           `json:"id"`
	Model        string                           `json:"model"`
	Object       string                           `json:"object"`
	Usage        UsageInfo                        `json:"usage"`
	IsLastChunk  bool                             `json:"-"`
	ChunkLatency time.Duration                    `json:"-"`
	TotalLatency time.Duration                    `json:"-"`
	Error        error                            `json:"-"`
}

// DeltaMessage returns what the chunk adds to the first choice, or nil.
func (c *CompletionChunk) DeltaMessage() *AssistantMessage {
	if len(c.Choices) == 0 {
		return nil
	}
	return &c.Choices[0].Delta
}

type Logprobs struct {
	Tokens        []string             `json:"tokens"`
	TokenLogprobs []*float64           `json:"token_logprobs"`
	TopLogprobs   []map[string]float64 `json:"top_logprobs"`
	TextOffset    []int                `json:"text_offset"`
}

type CompletionChoice struct {
	FinishReason FinishReason `json:"finish_reason"`
	Index        int          `json:"index"`
	Text         string       `json:"text"`
	Tokens       []int        `json:"tokens"`
	Logprobs     *Logprobs    `json:"logprobs"`
}

// CompletionResponse is a whole response of /v1/completions, or one event of its stream.
type CompletionResponse struct {
	Choices           []CompletionChoice `json:"choices"`
	Created           UnixTime           `json:"created"`
	Id                string             `json:"id"`
	Model             string             `json:"model"`
	Object            string             `json:"object"`
	SystemFingerprint string             `json:"system_fingerprint"`
	Usage             UsageInfo          `json:"usage"`
}

// APIError is a refusal by the service.
type APIError struct {
	Status  int    `json:"-"`
	Message string `json:"message"`
	Type    string `json:"type"`
	Code    int    `json:"code"`
	Param   string `json:"param"`
}

func (e *APIError) Error() string {
	return fmt.Sprintf("%d %s: %s", e.Status, e.Type, e.Message)
}
