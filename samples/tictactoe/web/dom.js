// The few lines of help that building a page by hand needs.

export const byId = (id) => document.getElementById(id);

// element('li', { class: 'room', onclick: join }, 'text', child, ...)
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) {
      made.addEventListener(name.slice(2), value);
    } else if (value !== false && value !== null && value !== undefined) {
      made.setAttribute(name, value === true ? '' : value);
    }
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export function svgElement(tag, attributes = {}, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// Sets a text only when it differs, so that screen readers are not made to repeat it.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const TOAST_MS = 5_000;
const MOST_TOASTS = 3;

export function toast(text, kind = 'info') {
  const toasts = byId('toasts');
  // Said again, it is still said once.
  for (const other of toasts.children) if (other.textContent === text) other.remove();
  const shown = element('p', { class: `toast ${kind}` }, text);
  toasts.append(shown);
  while (toasts.children.length > MOST_TOASTS) toasts.firstElementChild.remove();
  setTimeout(() => shown.remove(), TOAST_MS);
}
