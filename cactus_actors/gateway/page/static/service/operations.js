/** What operators do: scale, restart, drain. Each action asks once more, and says what came of it. */

import { ApiError, postJson } from '../parts/api.js';
import { button, field, h, say } from '../parts/dom.js';

/** The card of actions; `state` is the newest one. */
export function operationsCard(state) {
  const result = h('p', { class: 'note', role: 'status', hidden: true });
  const done = (text, kind = '') => {
    result.className = `note ${kind}`;
    result.textContent = text;
    result.hidden = false;
    say(text);
  };
  const ask = async (path, body, sentence) => {
    try {
      done(sentence(await postJson(`/v1/service/${path}`, body)));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      done(error.message, 'bad');
    }
  };
  const number = h('input', {
    type: 'number',
    min: '0',
    step: '1',
    required: true,
    value: state.desired_workers,
    inputmode: 'numeric',
  });
  const model = h('select', {}, ...state.models.map(({ name }) => h('option', { value: name, text: name })));
  const scale = (num_workers) =>
    ask(
      'scale',
      { num_workers, ...(state.models.length ? { model: model.value } : {}) },
      (told) => `${told.num_workers} workers are desired now.`,
    );
  return h(
    'section',
    { class: 'card wide' },
    h('h2', { text: 'Operations' }),
    h(
      'form',
      {
        class: 'row bottom',
        onsubmit: (event) => {
          event.preventDefault();
          scale(Number(number.value));
        },
      },
      field('Desired workers', number),
      state.models.length ? field('Model', model) : null,
      h('button', { type: 'submit', text: 'Scale' }),
      state.scaling ? button('Let the load decide', () => scale('auto')) : null,
      button('Restart all workers', () => {
        if (confirm('Replace every worker, one after the other? Running jobs lose nothing.')) {
          ask('restart', {}, (told) => `${told.num_workers} workers are being replaced.`);
        }
      }),
    ),
    result,
  );
}

/** A button that drains the node of a worker, or lets it stay. */
export function drainButton(worker, state) {
  if (worker.kind !== 'local' || !worker.node) return '–';
  const leaves = state.leaving_nodes.some(({ node }) => node === worker.node);
  const keep = leaves ? { keep: true } : {};
  return button(
    leaves ? 'Keep node' : 'Drain node',
    async () => {
      if (!leaves && !confirm(`Move the workers of ${worker.node} to other nodes?`)) return;
      try {
        const told = await postJson('/v1/service/drain', { node: worker.node, ...keep });
        say(leaves ? `${worker.node} stays.` : `${told.num_workers} workers leave ${worker.node}.`);
      } catch (error) {
        alert(error.message);
      }
    },
    { class: 'plain', 'aria-label': `${leaves ? 'Keep' : 'Drain'} node ${worker.node}` },
  );
}
