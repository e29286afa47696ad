/** Tokens of an answer: their texts, their probabilities, and their places in the answer's text. */

import { h } from '../parts/dom.js';

const BOUNDS = [0.15, 0.4, 0.7, 0.9];

/** Turns the `logprobs.content` of chunks into tokens; a character of several tokens belongs to the last one. */
export class TokenReader {
  #decoder = new TextDecoder('utf-8', { ignoreBOM: true });

  /** `t` is the token's text, `p` its probability, `alternatives` the likeliest tokens with theirs. */
  read(entries) {
    return entries.map((entry) => ({
      t: entry.bytes ? this.#decoder.decode(new Uint8Array(entry.bytes), { stream: true }) : entry.token,
      p: Math.exp(entry.logprob),
      alternatives: (entry.top_logprobs ?? []).map((one) => [one.token, Math.exp(one.logprob)]),
    }));
  }
}

/** The class of a probability: p0, the least sure, to p4, which has no mark. */
export function levelOf(probability) {
  return `p${BOUNDS.filter((bound) => probability >= bound).length}`;
}

/** The index of the token of each character of `text`, -1 for none. */
export function tokenIndex(text, tokens) {
  const index = new Int32Array(text.length).fill(-1);
  const whole = tokens.map((token) => token.t).join('');
  const shift = alignment(text, whole);
  if (shift === null) return index;
  let at = shift;
  tokens.forEach((token, number) => {
    for (let end = at + token.t.length; at < end; at += 1) if (at >= 0 && at < text.length) index[at] = number;
  });
  return index;
}

/** Where the text of all tokens begins in the answer: before it after thoughts, after it for one that was continued. */
function alignment(text, whole) {
  if (!whole || !text) return null;
  const inside = whole.lastIndexOf(text);
  if (inside >= 0) return -inside;
  if (text.endsWith(whole)) return text.length - whole.length;
  const trimmed = whole.trimEnd();
  return trimmed && text.endsWith(trimmed) ? text.length - trimmed.length : null;
}

/** A `leaf` for Markdown that marks each token. */
export function tokenLeaf(text, tokens) {
  const index = tokenIndex(text, tokens);
  return (piece, offsets) => {
    const nodes = [];
    let from = 0;
    for (let at = 1; at <= piece.length; at += 1) {
      if (at < piece.length && index[offsets[at]] === index[offsets[from]]) continue;
      const number = index[offsets[from]];
      const run = piece.slice(from, at);
      nodes.push(
        number < 0
          ? document.createTextNode(run)
          : h('span', { class: levelOf(tokens[number].p), 'data-token': String(number), text: run }),
      );
      from = at;
    }
    return nodes;
  };
}

/** A probability in words, such as `97 %`. */
export function percent(probability) {
  if (probability > 0.9995) return '100 %';
  if (probability < 0.0005) return '< 0.1 %';
  return `${(probability * 100).toFixed(probability < 0.1 ? 1 : 0)} %`;
}

/** White space that would not be seen, made visible. */
export function shown(text) {
  return text.replaceAll('\n', '⏎').replaceAll('\t', '⇥') || '∅';
}

/** The explanation of the marks. */
export function legend() {
  const rows = [
    ['p3', '70–90 %'],
    ['p2', '40–70 %'],
    ['p1', '15–40 %'],
    ['p0', 'below 15 %'],
  ];
  return h(
    'p',
    { class: 'legend' },
    'Probability of a token: ',
    ...rows.map(([level, text]) => h('span', { class: level, text })),
  );
}
