/** Calls of tools, and the fields for what they return. */

import { field, h } from '../parts/dom.js';

/** The calls of an answer; `send` gets the results, one for each call, while they are wanted. */
export function callsElement(calls, send) {
  const inputs = [];
  const cards = calls.map((call) => {
    const card = h(
      'div',
      { class: 'call' },
      h(
        'p',
        { class: 'row' },
        h('span', { class: 'badge', text: 'call' }),
        h('strong', { class: 'mono', text: call.name }),
      ),
      h('pre', { text: pretty(call.args) }),
    );
    if (send) {
      const input = h('textarea', { rows: '2', class: 'code', spellcheck: 'false', placeholder: '{"ok": true}' });
      inputs.push(input);
      card.append(field(`Result of ${call.name}`, input));
    }
    return card;
  });
  if (!send) return h('div', {}, ...cards);
  return h(
    'form',
    {
      onsubmit: (event) => {
        event.preventDefault();
        send(inputs.map((input) => input.value));
      },
    },
    ...cards,
    h('p', { class: 'row end' }, h('button', { type: 'submit', class: 'main', text: 'Send results' })),
  );
}

function pretty(args) {
  try {
    return JSON.stringify(JSON.parse(args), null, 2);
  } catch {
    return args;
  }
}
