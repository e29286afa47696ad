/** Elements without markup: text is always text. */

const SVG = 'http://www.w3.org/2000/svg';

/** A new element. Properties that begin with `on` are listeners; `class`, `text` and attributes are set as named. */
export function h(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

/** A new element of SVG. */
export function svg(tag, properties = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

/** A field with its label above it, and a hint below. */
export function field(label, control, hint = '') {
  control.id ||= newId('field');
  const parts = [h('label', { for: control.id, text: label }), control];
  if (hint) {
    const about = h('p', { class: 'hint', id: newId('hint'), text: hint });
    control.setAttribute('aria-describedby', about.id);
    parts.push(about);
  }
  return h('div', { class: 'field' }, ...parts);
}

/** A button with a listener. */
export function button(text, onclick, properties = {}) {
  return h('button', { type: 'button', text, onclick, ...properties });
}

let counter = 0;

/** An id that no other element has. */
export function newId(prefix) {
  counter += 1;
  return `${prefix}-${counter}`;
}

/** Say something to screen readers; sentences follow each other. */
export function say(text) {
  const said = document.getElementById('said');
  said.append(h('p', { text }));
  while (said.childElementCount > 30) said.firstElementChild.remove();
}

function filled(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'text') element.textContent = value;
    else if (name === 'value') element.value = value;
    else if (name === 'checked') element.checked = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}
