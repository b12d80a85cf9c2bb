/** The style of the page. */
export const style = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 20%, transparent); --faint: color-mix(in srgb, currentColor 60%, transparent); }
* { box-sizing: border-box; }
body { margin: 0; font: 14px/1.45 system-ui, sans-serif; height: 100vh; display: flex; flex-direction: column; }
header, form { display: flex; flex-wrap: wrap; gap: .4em 1em; align-items: center; padding: .5em 1em; border-bottom: 1px solid var(--line); }
h1 { font-size: 1.1em; margin: 0; }
h2 { font-size: 1em; margin: 1em 0 .3em; overflow-wrap: anywhere; }
main { display: grid; grid-template-columns: minmax(38em, 2fr) 3fr; flex: 1; min-height: 0; }
section { overflow: auto; padding: 0 1em 1em; }
#detail { border-left: 1px solid var(--line); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .15em .6em .15em 0; text-align: left; white-space: nowrap; }
thead th { position: sticky; top: 0; background: Canvas; }
tbody tr { cursor: pointer; border-top: 1px solid var(--line); }
tbody tr:hover, tbody tr[aria-selected="true"] { background: color-mix(in srgb, Highlight 25%, transparent); }
nav { padding: .6em 0; }
#status.problem { color: #c0392b; }
.tokens { font: 13px/1.7 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid var(--line); border-radius: 4px; padding: .6em; }
.token { border-radius: 2px; }
.token.context { color: var(--faint); }
.token.sampled { background: color-mix(in srgb, var(--heat) 35%, transparent); }
.token:hover { outline: 1px solid currentColor; }
.token.call { border-left: 2px solid Highlight; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: 0 1em; margin: 0; }
.facts dt { color: var(--faint); } .facts dd { margin: 0; overflow-wrap: anywhere; white-space: pre-wrap; }
@media (max-width: 75em) { main { grid-template-columns: 1fr; overflow: auto; } section { overflow: visible; } #detail { border-left: 0; } }
`;
