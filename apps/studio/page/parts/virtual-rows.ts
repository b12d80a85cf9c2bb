/** Visible rows of a long list, computed with TanStack Virtual. */
import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
} from '@tanstack/virtual-core';
import { useEffect, useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks';

interface VirtualRow {
  readonly index: number;
  /** Distance of the row from the top of the list, in pixels. */
  readonly start: number;
}

export interface VirtualRows {
  readonly items: readonly VirtualRow[];
  /** Height of the list, in pixels. */
  readonly height: number;
  readonly scroller: { readonly current: HTMLDivElement | null };
  /** Scrolls to the row with this index, as little as possible. */
  readonly show: (index: number) => void;
  /** Number of rows that fit into the view. */
  readonly fitting: number;
}

/**
 * Maximum height of the list element in pixels. Browsers limit the height of elements to 17 to 33
 * million pixels. In longer lists, scrolling by one pixel moves by more than one.
 */
const tallest = 12_000_000;
const overscan = 6;

/**
 * Returns the rows in view.
 * @param rowHeight height of rows and of the sticky header, in pixels
 */
export function useVirtualRows(count: number, rowHeight: number): VirtualRows {
  const scroller = useRef<HTMLDivElement>(null);
  const [, redraw] = useReducer((times: number) => times + 1, 0);
  const height = Math.min(count * rowHeight, tallest);
  const view = (scroller.current?.clientHeight ?? 0) - rowHeight;
  const fitting = Math.max(1, Math.floor(view / rowHeight));
  // At the end of the scroll range, the last rows are in view, even if one pixel covers several
  // rows.
  const rowsPerPixel = Math.max(0, count - view / rowHeight) / Math.max(1, height - view);
  const [virtualizer] = useState(() => new Virtualizer<HTMLDivElement, Element>(optionsOf()));
  virtualizer.setOptions(optionsOf());
  useEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => virtualizer._willUpdate());
  const top = scroller.current?.scrollTop ?? 0;
  const first = top * rowsPerPixel;
  return {
    items: virtualizer.getVirtualItems().map(({ index }) => ({
      index,
      start: Math.round(top + (index - first) * rowHeight),
    })),
    height,
    scroller,
    fitting,
    show: (index) => {
      const { current: element } = scroller;
      if (!element) return;
      const at = element.scrollTop * rowsPerPixel;
      const [lowest, highest] = [index - view / rowHeight + 1, index];
      const wanted = Math.min(highest, Math.max(lowest, at));
      if (wanted !== at) element.scrollTop = wanted / rowsPerPixel;
    },
  };

  function optionsOf() {
    return {
      count,
      estimateSize: () => height / Math.max(1, count),
      rangeExtractor: () => rowsInView(),
      getScrollElement: () => scroller.current,
      observeElementRect,
      observeElementOffset,
      scrollToFn: elementScroll,
      onChange: () => redraw(undefined),
    };
  }

  function rowsInView(): number[] {
    const from = Math.floor((scroller.current?.scrollTop ?? 0) * rowsPerPixel) - overscan;
    const to = from + fitting + 2 * overscan + 1;
    const [least, most] = [Math.max(0, from), Math.min(count - 1, to)];
    return Array.from({ length: Math.max(0, most - least + 1) }, (_, i) => least + i);
  }
}
