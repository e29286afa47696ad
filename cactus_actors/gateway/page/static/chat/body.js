/** A conversation as the body of a chat completion. */

const NUM_ALTERNATIVES = 5;
const NUMBERS = ['temperature', 'top_p', 'top_k', 'max_tokens', 'handoff'];

/** The tools that were typed in; raises Error with the reason. */
export function toolsOf(text) {
  if (!text.trim()) return [];
  let given;
  try {
    given = JSON.parse(text);
  } catch (error) {
    throw new Error(`Tools: this is not JSON: ${error.message}`);
  }
  const tools = Array.isArray(given) ? given : [given];
  return tools.map((tool) => {
    const definition = tool?.function ?? tool;
    if (typeof definition?.name !== 'string') throw new Error('Tools: each needs a "name"');
    return { type: 'function', function: definition };
  });
}

/** The body for an answer to the turns of `path`; a last `continued` text is the beginning of the answer. */
export function bodyOf({ settings }, path, continued = '') {
  const numbers = Object.fromEntries(
    NUMBERS.filter((name) => settings[name] !== '').map((name) => [name, Number(settings[name])]),
  );
  const { handoff = 0, ...sampling } = numbers;
  const body = {
    messages: messagesOf(settings, path),
    stream: true,
    stream_options: { include_usage: true },
    ...sampling,
  };
  if (continued) body.messages.push({ role: 'assistant', content: continued, prefix: true });
  if (settings.model) body.model = settings.model;
  if (settings.seed !== '') body.seed = settings.seed;
  if (settings.thinking) body.enable_thinking = settings.thinking === 'on';
  const tools = toolsOf(settings.tools);
  if (tools.length) body.tools = tools;
  // Jobs that ask for probabilities are never handed off: the cloud has none to give.
  if (handoff > 0) body.cloud_handoff_threshold = handoff;
  else if (settings.probabilities) Object.assign(body, { logprobs: true, top_logprobs: NUM_ALTERNATIVES });
  return body;
}

/** The same request again, with probabilities and never handed off: its seed gives the same tokens. */
export function withProbabilities(body, seed) {
  const { cloud_handoff_threshold: _, ...rest } = body;
  return { ...rest, seed, logprobs: true, top_logprobs: NUM_ALTERNATIVES, allow_cloud: false };
}

function messagesOf(settings, path) {
  const messages = settings.system.trim() ? [{ role: 'system', content: settings.system }] : [];
  for (const turn of path) messages.push(messageOf(turn));
  return messages;
}

function messageOf(turn) {
  if (turn.role === 'tool') return { role: 'tool', tool_call_id: turn.callId, content: turn.text };
  if (turn.role === 'user') {
    if (!turn.images?.length) return { role: 'user', content: turn.text };
    const pictures = turn.images.map((url) => ({ type: 'image_url', image_url: { url } }));
    return { role: 'user', content: [...pictures, { type: 'text', text: turn.text }] };
  }
  const message = { role: 'assistant', content: turn.text };
  if (turn.calls?.length) {
    message.tool_calls = turn.calls.map(({ id, name, args }) => ({
      id,
      type: 'function',
      function: { name, arguments: args },
    }));
  }
  return message;
}
