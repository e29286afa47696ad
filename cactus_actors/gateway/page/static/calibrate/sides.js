/** The answers on either side of a threshold, those next to it first. */

import { button, h } from '../parts/dom.js';

const STEP = 25;

/** A list of answers; `title` names its side. */
export function side(title, answers, signal, summary) {
  const list = h('ol', { class: 'judged' });
  const more = button('Show more', () => grow(), { class: 'plain' });
  let shown = 0;
  function grow() {
    list.append(...answers.slice(shown, shown + STEP).map((one) => item(one, signal)));
    shown += STEP;
    more.hidden = shown >= answers.length;
  }
  grow();
  return h(
    'section',
    { class: 'card stack' },
    h('h2', { text: title }),
    h('p', { class: 'muted', text: summary }),
    answers.length ? list : h('p', { class: 'muted', text: 'None.' }),
    more,
  );
}

function item({ question, answer, expected, is_right: isRight, scores, group }, signal) {
  return h(
    'li',
    {},
    h(
      'p',
      { class: 'row' },
      h('span', { class: `badge ${isRight ? 'good' : 'bad'}`, text: isRight ? 'right' : 'wrong' }),
      h('code', { text: scores[signal].toFixed(4) }),
      group ? h('span', { class: 'badge', text: group }) : null,
    ),
    h('p', { class: 'asked', text: question }),
    h('p', { text: answer || '(nothing)' }),
    isRight || !expected ? null : h('p', { class: 'muted small', text: `Right would have been: ${expected}` }),
  );
}
