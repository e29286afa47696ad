/** One message of the user, which can be edited, or the result of a tool. */

import { button, h, newId } from '../parts/dom.js';

/** The element of a turn; `resend(text)` asks the edited question, and is absent for the result of a tool. */
export function questionView(turn, { resend, versions }) {
  if (turn.role === 'tool') {
    return h(
      'li',
      { class: 'turn tool' },
      h('p', { class: 'who', text: 'Result of a tool' }),
      h('div', { class: 'bubble mono', text: turn.text }),
    );
  }
  const pictures = (turn.images ?? []).map((url, number) =>
    h('li', {}, h('img', { src: url, alt: `Picture ${number + 1}` })),
  );
  const bubble = h(
    'div',
    { class: 'bubble' },
    pictures.length ? h('ul', { class: 'pictures' }, ...pictures) : null,
    turn.text,
  );
  const acts = h(
    'div',
    { class: 'acts' },
    versions(),
    button('Edit', () => edit(), { class: 'plain' }),
  );
  const element = h('li', { class: 'turn user' }, h('span', { class: 'unseen', text: 'You asked' }), bubble, acts);

  function edit() {
    const id = newId('edit');
    const text = h('textarea', { id, rows: '3', value: turn.text });
    const close = () => {
      form.replaceWith(bubble);
      acts.hidden = false;
      acts.lastElementChild.focus();
    };
    const form = h(
      'form',
      {
        class: 'bubble stack',
        onsubmit: (event) => {
          event.preventDefault();
          if (text.value.trim()) resend(text.value);
        },
        onkeydown: (event) => {
          if (event.key === 'Escape') close();
        },
      },
      h('label', { for: id, class: 'unseen', text: 'Your message' }),
      text,
      h(
        'p',
        { class: 'row end' },
        button('Cancel', close),
        h('button', { type: 'submit', class: 'main', text: 'Ask again' }),
      ),
    );
    bubble.replaceWith(form);
    acts.hidden = true;
    text.focus();
  }

  return element;
}
