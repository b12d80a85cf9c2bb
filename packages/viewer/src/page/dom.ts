/** The part of the DOM that the client uses: TypeScript's DOM types would apply to every package. */
interface Style {
  setProperty(name: string, value: string): void;
}

export interface PageElement {
  textContent: string | null;
  className: string;
  title: string;
  value: string;
  checked: boolean;
  disabled: boolean;
  readonly style: Style;
  append(...children: readonly (PageElement | string)[]): void;
  replaceChildren(...children: readonly PageElement[]): void;
  setAttribute(name: string, value: string): void;
  addEventListener(
    event: string,
    listener: (event: { preventDefault(): void; readonly key?: string }) => void,
  ): void;
}

export interface Page {
  getElementById(id: string): PageElement | null;
  createElement(name: string): PageElement;
  querySelectorAll(selector: string): Iterable<PageElement>;
}

export interface PageLocation {
  readonly hash: string;
}

/** Names and values of a form's fields. */
export type FormFields = new (form: PageElement) => Iterable<readonly [string, string]>;
