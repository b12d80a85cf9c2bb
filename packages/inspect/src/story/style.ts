/** Style sheet of the story page, for narrow and wide screens, light and dark. */
export const style = `
:root {
  color-scheme: light dark;
  --paper: #fff; --sheet: #f6f7f9; --line: #e1e5ea; --text: #16191d; --faint: #59636e;
  --accent: #1f5fd1; --good: #14713c; --bad: #b3261e; --wait: #8a5a00;
  --part-1: #1f5fd1; --part-2: #b9c3cf; --part-3: #6d55c7; --part-4: #2c8a83;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171a; --sheet: #1d2125; --line: #31373e; --text: #e9ecef; --faint: #a3adb8;
    --accent: #7fb0ff; --good: #5fce8d; --bad: #ff8f85; --wait: #e6b45c;
    --part-1: #5a94f2; --part-2: #4a545f; --part-3: #9c87ec; --part-4: #4db5ad;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--text);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
  font-variant-numeric: tabular-nums; overflow-wrap: anywhere;
}
main, header, footer { max-width: 1160px; margin: 0 auto; padding: 0 32px; }
header { padding-top: 40px; color: var(--faint); font-size: 14px; display: flex; flex-wrap: wrap; gap: 4px 16px; }
footer { padding-top: 24px; padding-bottom: 56px; color: var(--faint); font-size: 13px; }
section { margin-top: 56px; }
h1, h2, h3, p, figure, dl, dd, ol, ul { margin: 0; padding: 0; }
ol, ul { list-style: none; }
h1 { font-size: clamp(36px, 5.2vw, 60px); line-height: 1.06; letter-spacing: -0.025em; font-weight: 680; }
h2 { font-size: 20px; letter-spacing: -0.01em; font-weight: 640; margin-bottom: 20px; }
h3 { font-size: 15px; font-weight: 620; }
.faint { color: var(--faint); font-size: 14px; }
.learned h1 { color: var(--good); }
.worse h1, .failed h1 { color: var(--bad); }
.same h1, .unclear h1, .stopped h1 { color: var(--wait); }
.verdict { margin-top: 28px; display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 32px 64px; align-items: end; }
.verdict p { margin-top: 16px; max-width: 62ch; font-size: 17px; white-space: pre-line; }
.score { text-align: right; }
.score .numbers { font-size: 34px; font-weight: 620; letter-spacing: -0.02em; line-height: 1.2; white-space: nowrap; }
.score .numbers span { color: var(--faint); font-weight: 400; }
.score svg { display: block; margin: 8px 0 0 auto; }
.first { display: grid; grid-template-columns: minmax(0, 1fr) 340px; gap: 48px; margin-top: 48px; align-items: start; }
.first section { margin-top: 0; }
svg { max-width: 100%; height: auto; display: block; }
svg text { font-size: 12px; fill: var(--faint); font-family: inherit; }
.grid { stroke: var(--line); } .axis { stroke: var(--line); }
.curve { fill: none; stroke: var(--accent); stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.dot { fill: var(--paper); stroke: var(--text); stroke-width: 2; } .whisker { stroke: var(--text); stroke-width: 1.5; }
.dots .curve { stroke: var(--text); stroke-width: 1; stroke-dasharray: 3 4; }
.narrow { display: none; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 20px; margin-top: 8px; font-size: 13px; color: var(--faint); }
.legend span::before { content: ""; display: inline-block; width: 14px; height: 2px; background: var(--accent); vertical-align: middle; margin-right: 8px; }
.legend .evaluations::before { width: 9px; height: 9px; border: 2px solid var(--text); border-radius: 50%; background: none; }
.next li { padding: 16px 0; border-top: 1px solid var(--line); }
.next li:first-child { padding-top: 0; border-top: 0; }
.next p { margin: 2px 0 10px; font-size: 14px; color: var(--faint); }
code { display: block; font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; background: var(--sheet); border-radius: 8px; padding: 10px 12px; user-select: all; white-space: pre-wrap; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(280px, 1fr)); gap: 24px; }
.card { background: var(--sheet); border-radius: 12px; padding: 20px; min-width: 0; }
.card h3 { display: flex; justify-content: space-between; gap: 12px; font-size: 13px; color: var(--faint); font-weight: 560; }
.card .question { margin: 10px 0 16px; font-weight: 560; white-space: pre-wrap; max-height: 9.5em; overflow: auto; }
.card dt { font-size: 13px; color: var(--faint); display: flex; justify-content: space-between; border-top: 1px solid var(--line); padding-top: 10px; margin-top: 10px; }
.card dd { white-space: pre-wrap; max-height: 14em; overflow: auto; font-size: 15px; }
.card .reason { font-size: 13px; color: var(--faint); margin-top: 4px; }
.gain .change { color: var(--good); } .loss .change { color: var(--bad); }
.findings li { padding: 20px 0; border-top: 1px solid var(--line); display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 8px 48px; }
.findings h3 { font-size: 17px; grid-column: 1 / -1; }
.charts { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: 40px 32px; }
.charts figcaption { margin-bottom: 10px; } .charts figcaption p { font-size: 13px; color: var(--faint); min-height: 3.1em; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 24px; }
.figures dt { font-size: 13px; color: var(--faint); } .figures dd { font-size: 26px; font-weight: 600; letter-spacing: -0.015em; }
.times { margin-top: 32px; display: grid; gap: 24px; } .times svg { width: 100%; border-radius: 6px; margin: 8px 0; }
.parts { display: flex; flex-wrap: wrap; gap: 4px 24px; font-size: 14px; color: var(--faint); }
.parts span::before { content: ""; display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin-right: 8px; background: var(--part-2); }
.parts .active::before { background: var(--part-1); } .parts .evaluating::before { background: var(--part-3); } .parts .saving::before { background: var(--part-4); }
rect.active { fill: var(--part-1); } rect.waiting, rect.other { fill: var(--part-2); } rect.evaluating { fill: var(--part-3); } rect.saving { fill: var(--part-4); }
.setup { display: grid; grid-template-columns: repeat(auto-fit, minmax(200px, 1fr)); gap: 16px 32px; }
.setup dt { font-size: 13px; color: var(--faint); }
@media (max-width: 1040px) {
  .first { grid-template-columns: minmax(0, 1fr); }
  .charts { grid-template-columns: repeat(2, minmax(0, 1fr)); }
}
@media (max-width: 640px) {
  main, header, footer { padding-left: 20px; padding-right: 20px; }
  section { margin-top: 44px; }
  .verdict { grid-template-columns: minmax(0, 1fr); } .score { text-align: left; } .score svg { margin-left: 0; }
  .charts, .findings li { grid-template-columns: minmax(0, 1fr); }
  .charts figcaption p { min-height: 0; }
  .wide { display: none; } .narrow { display: block; }
}
@media print { .next { break-inside: avoid; } .card, figure { break-inside: avoid; } }
`;
