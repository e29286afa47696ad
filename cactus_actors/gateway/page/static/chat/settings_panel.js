/** The panel of settings of a conversation. An empty field leaves the choice to the service. */

import { button, field, h } from '../parts/dom.js';
import { toolsOf } from './body.js';

const NUMBERS = [
  ['temperature', 'Temperature', { min: '0', max: '2', step: '0.05' }],
  ['top_p', 'Top p', { min: '0', max: '1', step: '0.01' }],
  ['top_k', 'Top k', { min: '-1', step: '1' }],
  ['max_tokens', 'Max tokens', { min: '1', step: '1' }],
  ['seed', 'Seed', { min: '0', step: '1' }],
];

/** A panel for `settings`, which it changes; `changed` is called after each change, `close` takes the panel away. */
export function settingsPanel(settings, changed, { isOpen, close }) {
  const set = (name) => (event) => {
    settings[name] = event.target.type === 'checkbox' ? event.target.checked : event.target.value;
    changed();
  };
  const numbers = NUMBERS.map(([name, label, limits]) =>
    field(
      label,
      h('input', {
        type: 'number',
        inputmode: 'decimal',
        value: settings[name],
        placeholder: 'default',
        ...limits,
        oninput: set(name),
      }),
    ),
  );
  const system = h('textarea', { rows: '3', value: settings.system, oninput: set('system') });
  const thinking = h(
    'select',
    { onchange: set('thinking') },
    ...[
      ['', 'default'],
      ['on', 'On'],
      ['off', 'Off'],
    ].map(([value, text]) => h('option', { value, text })),
  );
  thinking.value = settings.thinking;
  const probabilities = h('input', {
    type: 'checkbox',
    checked: settings.probabilities,
    onchange: set('probabilities'),
  });
  const handoff = h('input', {
    type: 'number',
    min: '0',
    max: '1',
    step: '0.01',
    value: settings.handoff,
    placeholder: 'never',
    oninput: set('handoff'),
  });
  const problem = h('p', { class: 'note bad', role: 'alert', hidden: true });
  const tools = h('textarea', {
    rows: '5',
    class: 'code',
    spellcheck: 'false',
    value: settings.tools,
    oninput: set('tools'),
    placeholder: '[{"name": "timer", "parameters": {…}}]',
    onchange: () => {
      problem.hidden = true;
      try {
        toolsOf(settings.tools);
      } catch (error) {
        problem.textContent = error.message;
        problem.hidden = false;
      }
    },
  });
  return h(
    'section',
    { class: 'chat-settings', id: 'chat-settings', 'aria-label': 'Settings', hidden: !isOpen },
    h(
      'div',
      { class: 'row between' },
      h('h2', { text: 'Settings' }),
      button('Close', close, { class: 'only-narrow' }),
    ),
    h(
      'div',
      { class: 'stack' },
      field('System prompt', system),
      h('div', { class: 'grid' }, ...numbers, field('Thinking', thinking)),
      h('label', { class: 'check' }, probabilities, 'Colour tokens by confidence'),
      field(
        'Hand off below',
        handoff,
        'Answers of lower confidence go to the larger model. Such requests have no token colours; an answer can ' +
          'be coloured afterwards.',
      ),
      field('Tools', tools, 'A list of functions as JSON. Calls are shown; you type in what they return.'),
      problem,
    ),
  );
}
