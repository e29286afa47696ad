// Node's `openai` package against a running service; what it got is printed as one JSON object.
//
//   node session.mjs BASE_URL GUARDED_URL FULL_URL EMPTY_URL

import OpenAI from "openai";

const [baseURL, guardedURL, fullURL, emptyURL] = process.argv.slice(2);
const model = "cactus-sprout";
const messages = [{ role: "user", content: "What is the capital of France?" }];
const connect = (url, apiKey = "no-key") => new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
const client = connect(baseURL);
const got = {};

const answer = await client.chat.completions.create({ model, messages, temperature: 0 });
got.chat = answer.choices[0].message.content;

const stream = await client.chat.completions.create({
  model, messages, temperature: 0, stream: true, stream_options: { include_usage: true },
});
got.streamed = "";
for await (const chunk of stream) {
  got.streamed += chunk.choices[0]?.delta.content ?? "";
  got.completionTokens = chunk.usage?.completion_tokens ?? got.completionTokens;
}

const text = await client.completions.create({ model, prompt: ["The sea", "A fox"], echo: true, max_tokens: 4 });
got.texts = text.choices.map((choice) => choice.text);

const tools = [{
  type: "function",
  function: {
    name: "get_weather",
    parameters: {
      type: "object",
      properties: { unit: { type: "string", enum: ["celsius", "fahrenheit"] } },
      required: ["unit"],
      additionalProperties: false,
    },
  },
}];
const runner = client.chat.completions.stream({
  model, messages, tools, tool_choice: "required", parallel_tool_calls: false, max_tokens: 100, seed: 1,
});
got.call = (await runner.finalChatCompletion()).choices[0].message.tool_calls[0].function;

const schema = {
  type: "object",
  properties: { name: { type: "string", maxLength: 9 } },
  required: ["name"],
  additionalProperties: false,
};
const formed = await client.chat.completions.create({
  model, messages, seed: 1, response_format: { type: "json_schema", json_schema: { name: "named", schema } },
});
got.formed = formed.choices[0].message.content;

const embedded = await client.embeddings.create({ model, input: ["The sea."] });
got.length = Math.hypot(...embedded.data[0].embedding);
got.models = (await client.models.list()).data.map((one) => one.id);

const file = await client.files.create({
  file: await OpenAI.toFile(Buffer.from('{"custom_id": "a"}\n'), "lines.jsonl"), purpose: "batch",
});
got.file = await (await client.files.content(file.id)).text();
await client.files.delete(file.id);

const refusal = async (call) => {
  try {
    await call();
    return null;
  } catch (error) {
    return [error.constructor.name, error.status, error.param ?? null];
  }
};
const ask = (to, more = {}) => () => to.chat.completions.create({ model, messages, ...more });
got.refusals = [
  await refusal(ask(client, { temperature: 9 })),
  await refusal(ask(connect(guardedURL, "wrong"))),
  await refusal(() => client.models.retrieve("other")),
  await refusal(ask(connect(fullURL))),
  await refusal(ask(connect(emptyURL))),
];

const endless = await client.completions.create({
  model, prompt: "Once", max_tokens: 900, ignore_eos: true, stream: true,
});
for await (const chunk of endless) {
  got.begun = chunk.object;
  break; // which closes the connection
}

console.log(JSON.stringify(got));
