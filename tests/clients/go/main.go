// The specification's Go client against a running service; what it got is printed as one JSON object.
//
//	session BASE_URL GUARDED_URL KEY EMPTY_URL FULL_URL
//	session stop BASE_URL

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"time"
)

const model = "cactus-sprout"

var capital = []ChatMessage{{Role: "user", Content: "What is the capital of France?"}}
var weather = []Tool{{Type: "function", Function: Function{
	Name: "get_weather",
	Parameters: PropertyDefinition{
		Type: "object",
		Properties: map[string]PropertyDefinition{
			"city": {Type: "string", MaxLength: 20},
			"unit": {Type: "string", Enum: []string{"celsius", "fahrenheit"}},
		},
		Required: []string{"city", "unit"},
	},
}}}

func pointer[T any](value T) *T { return &value }

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func greedy(req *ChatCompletionRequest) { req.Temperature = pointer(0.0) }

func seeded(req *ChatCompletionRequest) { req.RandomSeed, req.MaxTokens = pointer(1), 120 }

func oneCall(req *ChatCompletionRequest) { req.ParallelToolCalls = pointer(false) }

// heard is a stream put together.
type heard struct {
	Text         string
	Calls        []ToolCall
	FinishReason FinishReason
	Usage        UsageInfo
}

func listen(chunks <-chan *CompletionChunk) heard {
	all := heard{}
	var elapsed time.Duration
	for chunk := range chunks {
		must(chunk, chunk.Error)
		if elapsed += chunk.ChunkLatency; elapsed != chunk.TotalLatency {
			log.Fatalf("the latencies of the chunks add up to %v, not to %v", elapsed, chunk.TotalLatency)
		}
		if chunk.Usage.TotalTokens > 0 {
			all.Usage = chunk.Usage
		}
		if chunk.IsLastChunk {
			all.FinishReason = chunk.Choices[0].FinishReason
		}
		delta := chunk.DeltaMessage()
		if delta == nil {
			continue
		}
		all.Text += delta.Content
		for _, piece := range delta.ToolCalls {
			if piece.Index == len(all.Calls) {
				all.Calls = append(all.Calls, piece)
			} else {
				all.Calls[piece.Index].Function.Arguments += piece.Function.Arguments
			}
		}
	}
	return all
}

func chats(ctx context.Context, client *Client, got map[string]any) {
	whole := must(client.ChatCompletion(ctx, NewChatCompletionRequest(model, capital, greedy)))
	if whole.Latency <= 0 {
		log.Fatal("a response without its latency")
	}
	got["whole"] = whole
	stream := NewChatCompletionStreamRequest(model, capital, greedy)
	got["streamed"] = listen(must(client.ChatCompletionStream(ctx, stream)))

	asked := []ChatCompletionRequestOption{WithTools(weather), WithToolChoice(ToolChoiceAny), seeded, oneCall}
	called := must(client.ChatCompletion(ctx, NewChatCompletionRequest(model, capital, asked...)))
	got["called"] = called
	pieces := NewChatCompletionStreamRequest(model, capital, asked...)
	got["calledInPieces"] = listen(must(client.ChatCompletionStream(ctx, pieces)))
	said := called.AssistantMessage()
	result := ChatMessage{Role: "tool", Name: "get_weather", ToolCallId: said.ToolCalls[0].Id, Content: "sunny"}
	turn := append(append([]ChatMessage{}, capital...), *said, result)
	got["ended"] = must(client.ChatCompletion(ctx, NewChatCompletionRequest(model, turn, seeded))).Usage

	schema := PropertyDefinition{
		Type: "object", Required: []string{"name"},
		Properties: map[string]PropertyDefinition{"name": {Type: "string", MaxLength: 9}},
	}
	formed := NewChatCompletionRequest(model, capital, seeded, WithResponseJsonSchema(schema))
	got["formed"] = must(client.ChatCompletion(ctx, formed)).AssistantMessage().Content
	object := NewChatCompletionRequest(model, capital, seeded, WithResponseJsonObjectFormat())
	got["object"] = must(client.ChatCompletion(ctx, object)).AssistantMessage().Content
	text := NewChatCompletionRequest(model, capital, greedy, WithResponseTextFormat())
	got["text"] = must(client.ChatCompletion(ctx, text)).AssistantMessage().Content
}

func completions(ctx context.Context, client *Client, got map[string]any) {
	asked := CompletionRequest{
		Model: model, Prompt: []string{"The sea", "A fox"}, MaxTokens: 8, Seed: pointer(3), Echo: true,
		Logprobs: true, TopLogprobs: 2,
	}
	got["completions"] = must(client.Completion(ctx, &asked)).Choices
	pieces := []string{"", ""}
	must(0, client.CompletionStream(ctx, &asked, func(event *CompletionResponse) error {
		for _, choice := range event.Choices {
			pieces[choice.Index] += choice.Text
		}
		return nil
	}))
	got["pieces"] = pieces
	raw := CompletionRequest{Model: model, Prompt: "The sea", MaxTokens: 4, ReturnRawTokens: true}
	got["raw"] = must(client.Completion(ctx, &raw)).Choices[0].Tokens
	number := CompletionRequest{Model: model, Prompt: "It is ", MaxTokens: 20, GrammarRoot: "number"}
	got["number"] = must(client.Completion(ctx, &number)).Choices[0].Text
}

// refusal returns what the service refused a request with.
func refusal(client *Client, opts ...ChatCompletionRequestOption) *APIError {
	_, err := client.ChatCompletion(context.Background(), NewChatCompletionRequest(model, capital, opts...))
	refused := &APIError{}
	if !errors.As(err, &refused) {
		log.Fatalf("not refused by the service: %v", err)
	}
	return refused
}

// stop leaves an endless stream after its first event.
func stop(client *Client) (begun string, cancelled bool) {
	ctx, cancel := context.WithCancel(context.Background())
	endless := &CompletionRequest{Model: model, Prompt: "Once", MaxTokens: 900, MinTokens: 900}
	err := client.CompletionStream(ctx, endless, func(event *CompletionResponse) error {
		begun = event.Object
		cancel()
		return ctx.Err()
	})
	return begun, errors.Is(err, context.Canceled)
}

func main() {
	if os.Args[1] == "stop" {
		fmt.Println(stop(&Client{BaseURL: os.Args[2]}))
		return
	}
	base, guarded, key, empty, full := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	ctx := context.Background()
	client := &Client{BaseURL: base, Key: "no-key"}
	got := map[string]any{}
	chats(ctx, client, got)
	completions(ctx, client, got)

	keyed := &Client{BaseURL: guarded, Key: key}
	got["keyed"] = must(keyed.ChatCompletion(ctx, NewChatCompletionRequest(model, capital, greedy))).Model
	refusals := []*APIError{
		refusal(client, func(req *ChatCompletionRequest) { req.Temperature = pointer(9.0) }),
		refusal(&Client{BaseURL: guarded, Key: "wrong"}),
		refusal(&Client{BaseURL: full}),
		refusal(&Client{BaseURL: empty}),
	}
	outcomes := [][]any{}
	for _, one := range refusals {
		outcomes = append(outcomes, []any{one.Status, one.Type, one.Param})
	}
	got["refusals"] = outcomes
	must(0, json.NewEncoder(os.Stdout).Encode(got))
}
