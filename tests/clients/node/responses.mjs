// Node's `openai` and Vercel's `ai`, whose models of OpenAI are responses, against a running service; what they got is
// printed as one JSON object.
//
//   node responses.mjs BASE_URL

import { createOpenAI } from "@ai-sdk/openai";
import { generateObject, generateText, stepCountIs, streamText, tool } from "ai";
import OpenAI from "openai";
import { z } from "zod";

const [url] = process.argv.slice(2);
const name = "cactus-sprout";
const question = "What is the capital of France?";
const tale = "Tell me a short story about a fox.";
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "no-key", maxRetries: 0 });
const got = { kinds: [] };

const response = await client.responses.create({ model: name, input: question, temperature: 0 });
got.whole = response.output_text;
const stream = client.responses.stream({ model: name, input: question, temperature: 0 });
stream.on("event", (event) => got.kinds.push(event.type));
got.streamed = (await stream.finalResponse()).output_text;
const more = await client.responses.create({
  model: name, input: "And of Italy?", previous_response_id: response.id, temperature: 0,
});
got.items = (await client.responses.inputItems.list(more.id)).data.length;
await client.responses.delete(response.id);

const model = createOpenAI({ baseURL: `${url}/v1`, apiKey: "no-key" })(name);
const options = { model, temperature: 0, maxRetries: 0, maxOutputTokens: 120 };
got.text = (await generateText({ ...options, prompt: question })).text;
got.pieces = "";
for await (const piece of streamText({ ...options, prompt: question }).textStream) got.pieces += piece;

const weather = tool({
  description: "The weather in a city",
  inputSchema: z.object({ city: z.string().max(20) }),
  execute: async ({ city }) => {
    got.city = city;
    return "rain, 9 degrees";
  },
});
const run = await generateText({
  ...options,
  prompt: tale,
  tools: { get_weather: weather },
  stopWhen: stepCountIs(2),
  prepareStep: ({ stepNumber }) => ({ toolChoice: stepNumber === 0 ? "required" : "none" }),
});
got.steps = run.steps.map((step) => step.finishReason);

const schema = z.object({ name: z.string().max(12), people: z.number().int().min(0).max(99) });
got.object = (await generateObject({ ...options, prompt: tale, schema })).object;

console.log(JSON.stringify(got));
