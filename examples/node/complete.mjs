// A client in another language, from docs/protocol.md alone: submit a job in JSON, print its tokens as they come.
//
//   npm install && node complete.mjs "What is the capital of France?"
//
// The endpoints can be given in CACTUS_JOBS and CACTUS_STREAM.

import { randomBytes } from "node:crypto";
import { Dealer, Subscriber } from "zeromq";

const JOBS = process.env.CACTUS_JOBS ?? "tcp://127.0.0.1:5555";
const STREAM = process.env.CACTUS_STREAM ?? "tcp://127.0.0.1:5556";
const HEADER = Buffer.from([1, "j".charCodeAt(0)]);
const SILENCE_MS = 2000;

const question = process.argv.slice(2).join(" ") || "What is the capital of France?";
const jobId = randomBytes(16).toString("hex");

const jobs = new Dealer({ linger: 500 });
const stream = new Subscriber({ linger: 0 });
jobs.connect(JOBS);
stream.connect(STREAM);
stream.subscribe(jobId); // before the submit, so that no token can be missed for want of a subscription

const send = (message) => jobs.send([HEADER, JSON.stringify(message)]);
const resume = () => send({ type: "resume", job_id: jobId, next_index: next, credit: 1024 });

let next = 0; // the stream index that we expect
let lastHeard = Date.now();

function applyDelta(delta) {
  if (delta.index > next) return resume();
  if (delta.index + delta.token_ids.length <= next) return; // had it already
  next = delta.index + delta.token_ids.length;
  process.stdout.write(delta.text);
}

function finish({ length, result }) {
  if (length > next) return resume(); // the result is here already; ask for the tail to print all of it
  console.log(`\n\n${result.finish_reason}, ${result.usage.completion_tokens} tokens, confidence ${result.confidence}`);
  if (result.error) console.error(`${result.error.type}: ${result.error.message}`);
  process.exit(result.success ? 0 : 1);
}

function handle(message) {
  lastHeard = Date.now();
  switch (message.type) {
    case "rejected":
      console.error(`${message.error.type}: ${message.error.message}`);
      return process.exit(1);
    case "delta":
      return applyDelta(message);
    case "progress":
      return message.length > next ? resume() : undefined;
    case "replay":
      message.deltas.forEach(applyDelta);
      return message.finished ? finish(message.finished) : undefined;
    case "finished":
      return finish(message);
  }
}

async function readJobs() {
  for await (const [, payload] of jobs) handle(JSON.parse(payload.toString()));
}

async function readStream() {
  for await (const [, , payload] of stream) handle(JSON.parse(payload.toString()));
}

await send({ type: "submit", job_id: jobId, messages: [{ role: "user", content: question }], options: { temperature: 0 } });
setInterval(() => {
  if (Date.now() - lastHeard > SILENCE_MS) resume();
  if (Date.now() - lastHeard > 10 * SILENCE_MS) {
    console.error(`no answer from ${JOBS}: is \`cactus serve\` running?`);
    process.exit(69);
  }
}, SILENCE_MS / 2);
await Promise.race([readJobs(), readStream()]);
