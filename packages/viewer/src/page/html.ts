/** The page, with empty places that the client fills. */
import { sortKeys } from '../records/query.js';

const labels: Readonly<Record<(typeof sortKeys)[number], string>> = {
  id: 'stored',
  reward: 'reward',
  promptTokens: 'prompt tokens',
  responseTokens: 'response tokens',
  policyVersion: 'policy version',
  step: 'step',
};

const options = sortKeys.map((key) => `<option value="${key}">${labels[key]}</option>`).join('');

export const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Experiences</title>
<link rel="stylesheet" href="style.css">
<script type="module" src="client.js"></script>
</head>
<body>
<header>
<h1>Experiences</h1>
<select id="store" aria-label="Database"></select>
<output id="status" role="status">Loading ...</output>
</header>
<form id="filter" autocomplete="off">
<label>batch <input id="batch" name="batch" size="8"></label>
<label>task <input id="task" name="task" size="6"></label>
<label>run <input id="run" name="run" size="4" inputmode="numeric"></label>
<label>reward from <input name="minReward" size="5" inputmode="decimal"></label>
<label>to <input name="maxReward" size="5" inputmode="decimal"></label>
<label>text <input name="text" type="search" size="20"></label>
<label>sort by <select name="sort">${options}</select></label>
<label><input name="descending" type="checkbox" value="true"> descending</label>
<button type="submit">Show</button>
<label><input id="follow" type="checkbox"> follow the run</label>
</form>
<main>
<section id="list" aria-label="Experiences">
<table>
<thead><tr><th>id</th><th>reward</th><th>version</th><th>prompt</th><th>response</th><th>trained</th><th>finish</th><th>train step</th></tr></thead>
<tbody id="rows"></tbody>
</table>
<nav><button id="previous" type="button">Previous</button> <span id="place"></span> <button id="next" type="button">Next</button></nav>
</section>
<section id="detail" aria-label="Experience" aria-live="polite"><p>Choose an experience.</p></section>
</main>
</body>
</html>
`;
