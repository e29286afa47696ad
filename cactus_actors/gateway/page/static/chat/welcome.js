/** What an empty conversation shows. */

import { button, h } from '../parts/dom.js';

const QUESTIONS = ['What is the capital of France?', 'What is 17 + 25?', 'Which planet is the largest?'];

/** The element; `choose` gets the text of a question. */
export function welcome(choose) {
  return h(
    'div',
    { class: 'welcome' },
    h('img', { src: 'page/icon.svg', alt: '' }),
    h('h2', { text: 'Ask the model on this machine' }),
    h('p', {
      class: 'muted',
      text: 'Words that it was unsure of are marked. Point at one for its probability, click it for the alternatives.',
    }),
    h(
      'ul',
      {},
      ...QUESTIONS.map((text) =>
        h(
          'li',
          {},
          button(text, () => choose(text)),
        ),
      ),
    ),
  );
}
