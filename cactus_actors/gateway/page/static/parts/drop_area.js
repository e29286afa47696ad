/** A place for one file: dropped on it, or chosen. */

import { button, h } from './dom.js';

/** The element; `take` gets a file. */
export function dropArea(text, accept, take) {
  const input = h('input', {
    type: 'file',
    accept,
    class: 'unseen',
    tabindex: '-1',
    'aria-label': text,
    onchange: () => {
      if (input.files[0]) take(input.files[0]);
      input.value = '';
    },
  });
  const area = h(
    'div',
    { class: 'drop-area' },
    h('p', { text }),
    button('Choose a file', () => input.click()),
    input,
  );
  area.addEventListener('dragover', (event) => {
    event.preventDefault();
    area.classList.add('dropping');
  });
  area.addEventListener('dragleave', () => area.classList.remove('dropping'));
  area.addEventListener('drop', (event) => {
    event.preventDefault();
    area.classList.remove('dropping');
    if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
  });
  return area;
}
