// The requests of the specification's Go client: chat completions and completions.

package main

// ToolChoiceType says whether the model calls a tool.
type ToolChoiceType string

const (
	ToolChoiceAuto ToolChoiceType = "auto"
	ToolChoiceNone ToolChoiceType = "none"
	ToolChoiceAny  ToolChoiceType = "any"
)

// PropertyDefinition is a JSON schema.
type PropertyDefinition struct {
	Type                 string                        `json:"type,omitempty"`
	Enum                 []string                      `json:"enum,omitempty"`
	MaxLength            int                           `json:"maxLength,omitempty"`
	Properties           map[string]PropertyDefinition `json:"properties,omitempty"`
	Required             []string                      `json:"required,omitempty"`
	AdditionalProperties bool                          `json:"additionalProperties"`
}

// Function describes what a tool does and takes.
type Function struct {
	Name        string             `json:"name"`
	Description string             `json:"description,omitempty"`
	Parameters  PropertyDefinition `json:"parameters"`
}

// Tool is a function that the model may call.
type Tool struct {
	Type     string   `json:"type"`
	Function Function `json:"function"`
}

// FunctionCall is a call of a function; its arguments are the text of a JSON object.
type FunctionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// ToolCall is one call of a message, or in a stream a piece of the call at Index.
type ToolCall struct {
	Id       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Index    int          `json:"index"`
	Function FunctionCall `json:"function"`
}

// ChatMessage is a message of any role, in both directions.
type ChatMessage struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
	ToolCallId string     `json:"tool_call_id,omitempty"`
	Name       string     `json:"name,omitempty"`
}

// JsonSchema names the schema of an answer.
type JsonSchema struct {
	Name   string             `json:"name"`
	Schema PropertyDefinition `json:"schema"`
	Strict bool               `json:"strict"`
}

// ResponseFormat is text, a JSON object, or JSON that obeys a schema.
type ResponseFormat struct {
	Type       string      `json:"type"`
	JsonSchema *JsonSchema `json:"json_schema,omitempty"`
}

// CompletionConfig has the options of an answer; a nil pointer leaves its default to the service.
type CompletionConfig struct {
	MaxTokens         int             `json:"max_tokens,omitempty"`
	Temperature       *float64        `json:"temperature,omitempty"`
	TopP              *float64        `json:"top_p,omitempty"`
	ResponseFormat    *ResponseFormat `json:"response_format,omitempty"`
	Tools             []Tool          `json:"tools,omitempty"`
	ToolChoice        ToolChoiceType  `json:"tool_choice,omitempty"`
	ParallelToolCalls *bool           `json:"parallel_tool_calls,omitempty"`
	FrequencyPenalty  float64         `json:"frequency_penalty,omitempty"`
	PresencePenalty   float64         `json:"presence_penalty,omitempty"`
	N                 int             `json:"n,omitempty"`
	PromptMode        string          `json:"prompt_mode,omitempty"`
	RandomSeed        *int            `json:"random_seed,omitempty"`
	SafePrompt        bool            `json:"safe_prompt,omitempty"`
	Stop              []string        `json:"stop,omitempty"`
	Stream            bool            `json:"stream,omitempty"`
}

// ChatCompletionRequest is the body of /v1/chat/completions.
type ChatCompletionRequest struct {
	CompletionConfig
	Model    string        `json:"model"`
	Messages []ChatMessage `json:"messages"`
}

// ChatCompletionRequestOption changes a request that is being made.
type ChatCompletionRequestOption func(*ChatCompletionRequest)

func NewChatCompletionRequest(
	model string, messages []ChatMessage, opts ...ChatCompletionRequestOption,
) *ChatCompletionRequest {
	req := &ChatCompletionRequest{Model: model, Messages: messages}
	for _, opt := range opts {
		opt(req)
	}
	return req
}

func NewChatCompletionStreamRequest(
	model string, messages []ChatMessage, opts ...ChatCompletionRequestOption,
) *ChatCompletionRequest {
	return NewChatCompletionRequest(model, messages, append(opts, WithStreaming())...)
}

func WithStreaming() ChatCompletionRequestOption {
	return func(req *ChatCompletionRequest) { req.Stream = true }
}

func WithTools(tools []Tool) ChatCompletionRequestOption {
	return func(req *ChatCompletionRequest) { req.Tools, req.ToolChoice = tools, ToolChoiceAuto }
}

func WithToolChoice(choice ToolChoiceType) ChatCompletionRequestOption {
	return func(req *ChatCompletionRequest) { req.ToolChoice = choice }
}

func WithResponseTextFormat() ChatCompletionRequestOption {
	return func(req *ChatCompletionRequest) { req.ResponseFormat = &ResponseFormat{Type: "text"} }
}

func WithResponseJsonObjectFormat() ChatCompletionRequestOption {
	return func(req *ChatCompletionRequest) { req.ResponseFormat = &ResponseFormat{Type: "json_object"} }
}

func WithResponseJsonSchema(schema PropertyDefinition) ChatCompletionRequestOption {
	named := &JsonSchema{Name: "answer", Schema: schema, Strict: true}
	return func(req *ChatCompletionRequest) {
		req.ResponseFormat = &ResponseFormat{Type: "json_schema", JsonSchema: named}
	}
}

// CompletionRequest is the body of /v1/completions; Prompt is a text, token ids, or several of either.
type CompletionRequest struct {
	Model           string   `json:"model"`
	Prompt          any      `json:"prompt"`
	MaxTokens       int      `json:"max_tokens"`
	MinTokens       int      `json:"min_tokens,omitempty"`
	GrammarRoot     string   `json:"grammar_root,omitempty"`
	Seed            *int     `json:"seed,omitempty"`
	Stop            []string `json:"stop,omitempty"`
	Temperature     *float64 `json:"temperature,omitempty"`
	TopP            *float64 `json:"top_p,omitempty"`
	Echo            bool     `json:"echo,omitempty"`
	Stream          bool     `json:"stream,omitempty"`
	ReturnRawTokens bool     `json:"return_raw_tokens,omitempty"`
	Logprobs        bool     `json:"logprobs,omitempty"`
	TopLogprobs     int      `json:"top_logprobs,omitempty"`
	User            string   `json:"user,omitempty"`
}
