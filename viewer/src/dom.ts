// SPDX-License-Identifier: Apache-2.0
// Elements with attributes and children. Texts come from files, so they become text nodes only, never markup.

export type Child = Node | string | null | undefined | false;

export function el<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Record<string, string | boolean> = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(name, "");
    else if (value !== false) made.setAttribute(name, value);
  }
  append(made, ...children);
  return made;
}

export function append(parent: Node, ...children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    parent.appendChild(typeof child === "string" ? document.createTextNode(child) : child);
  }
}

export function button(label: string, text: string, act: () => void, attributes: Record<string, string> = {}): HTMLButtonElement {
  const made = el("button", { type: "button", "aria-label": label, title: label, ...attributes }, text);
  made.addEventListener("click", act);
  return made;
}

let labels = 0;
export function checkbox(text: string, on: boolean, act: (on: boolean) => void): HTMLLabelElement {
  const id = `box-${++labels}`;
  const box = el("input", { type: "checkbox", id, checked: on });
  box.addEventListener("change", () => act(box.checked));
  return el("label", { for: id, class: "check" }, box, text);
}
