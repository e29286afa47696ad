// A client in another language, from docs/reference/protocol.md alone: submit a job, print its tokens as they come.
//
//   npm install && node complete.mjs "What is the capital of France?"
//
// The endpoints can be given in CACTUS_ENDPOINT and CACTUS_STREAM_ENDPOINT.

import { randomBytes } from "node:crypto";
import { Dealer, Subscriber } from "zeromq";

const JOBS = process.env.CACTUS_ENDPOINT ?? "tcp://127.0.0.1:5555";
const STREAM = process.env.CACTUS_STREAM_ENDPOINT ?? "tcp://127.0.0.1:5556";
const HEADER = Buffer.from([1, "j".charCodeAt(0)]);
const SILENCE_MS = 2000;

const question = process.argv.slice(2).join(" ") || "What is the capital of France?";
const jobId = randomBytes(16).toString("hex");
const job = {
  type: "submit",
  job_id: jobId,
  messages: [{ role: "user", content: question }],
  options: { temperature: 0 }, // no seed to keep: the same job always makes the same tokens
};

const jobs = new Dealer({ linger: 500 });
const stream = new Subscriber({ linger: 0 });
jobs.connect(JOBS);
stream.connect(STREAM);
stream.subscribe(jobId); // the subscription must exist before the first token

let next = 0; // the stream index that we expect
let printed = 0; // how much of the result's text was printed
let isResuming = false; // at most one resume waits for its replay
let epoch = null; // the run of the router that knows our job
let lastHeard = Date.now();

// zeromq.js allows one pending send per socket
let sent = Promise.resolve();
const send = (message) => (sent = sent.then(() => jobs.send([HEADER, JSON.stringify(message)])));

function resume() {
  if (isResuming) return;
  isResuming = true;
  send({ type: "resume", job_id: jobId, next_index: next, credit: 1024 });
}

function submit() {
  epoch = null;
  isResuming = false;
  send(job);
}

function applyDelta({ index, token_ids, text }) {
  if (index + token_ids.length <= next) return; // had it already, or text without tokens: the result brings it
  if (index !== next) return resume(); // a gap, or an overlap whose text cannot be cut; a replay begins at `next`
  next += token_ids.length;
  printed += text.length;
  process.stdout.write(text);
}

function applyReplay({ deltas, length, finished }) {
  isResuming = false;
  deltas.forEach(applyDelta);
  if (finished) return finish(finished);
  if (deltas.length > 0 && next < length) resume();
}

function finish({ result }) {
  // the result has the whole text, so no missing tokens are fetched
  process.stdout.write((result.stream_text ?? result.text).slice(printed));
  console.log(`\n\n${result.finish_reason}, ${result.usage.completion_tokens} tokens, confidence ${result.confidence}`);
  if (result.error) console.error(`${result.error.type}: ${result.error.message}`);
  process.exit(result.success ? 0 : 1);
}

function reject({ error }) {
  if (error.type === "not_found_error") return submit(); // the router was restarted
  console.error(`${error.type}: ${error.message}`);
  process.exit(1);
}

function handle(message) {
  lastHeard = Date.now();
  if (message.epoch !== undefined) {
    if (epoch !== null && message.epoch !== epoch) return submit(); // the router was restarted
    epoch = message.epoch;
  }
  switch (message.type) {
    case "rejected":
      return reject(message);
    case "delta":
      return applyDelta(message);
    case "progress":
      return message.length > next ? resume() : undefined;
    case "replay":
      return applyReplay(message);
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

submit();
setInterval(() => {
  const silence = Date.now() - lastHeard;
  if (silence > SILENCE_MS) {
    isResuming = false; // the answer was lost with a connection
    resume();
  }
  if (silence > 10 * SILENCE_MS) {
    console.error(`no answer from ${JOBS}: is \`cactus serve\` running?`);
    process.exit(69);
  }
}, SILENCE_MS / 2);
await Promise.race([readJobs(), readStream()]);
