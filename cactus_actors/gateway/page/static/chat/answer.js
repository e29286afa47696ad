/** An answer as it comes: the chunks of a stream are added to a turn. */

import { ApiError, post } from '../parts/api.js';
import { eventsOf } from '../parts/events.js';
import { TokenReader } from './tokens.js';

/** A turn of the assistant before its first token. */
export const newAnswer = () => ({
  role: 'assistant',
  text: '',
  thoughts: '',
  tokens: [],
  calls: [],
  state: 'streaming',
});

/** Fill `turn` from the service; `changed` is called after each chunk. It raises nothing. */
export async function receive(turn, body, signal, changed) {
  const reader = new TokenReader();
  try {
    const response = await post('/v1/chat/completions', body, { signal });
    for await (const data of eventsOf(response)) {
      if (data === '[DONE]') break;
      take(turn, JSON.parse(data), reader);
      changed();
    }
    if (turn.state === 'streaming') {
      if (turn.finish) turn.state = 'done';
      else fail(turn, 'The answer broke off.');
    }
  } catch (error) {
    if (signal.aborted) turn.state = 'stopped';
    else fail(turn, error.message);
  }
  changed();
}

function take(turn, chunk, reader) {
  if (chunk.error) {
    if (chunk.handoff?.local_text) turn.localText = chunk.handoff.local_text;
    throw new ApiError(chunk.error.code, chunk.error.message);
  }
  if (chunk.model) turn.model = chunk.model;
  for (const field of ['confidence', 'handoff', 'timings', 'usage', 'seed', 'seed_text', 'sources']) {
    if (chunk[field] !== undefined) turn[field] = chunk[field];
  }
  const [choice] = chunk.choices;
  if (!choice) return;
  const { delta } = choice;
  turn.text += delta.content ?? '';
  turn.thoughts += delta.reasoning_content ?? '';
  for (const call of delta.tool_calls ?? []) addCall(turn, call);
  turn.tokens.push(...reader.read(choice.logprobs?.content ?? []));
  if (choice.finish_reason) turn.finish = choice.finish_reason;
}

function addCall(turn, { index, id, function: given }) {
  turn.calls[index] ??= { id, name: '', args: '' };
  turn.calls[index].name += given?.name ?? '';
  turn.calls[index].args += given?.arguments ?? '';
}

function fail(turn, message) {
  turn.state = 'failed';
  turn.error = message;
}
