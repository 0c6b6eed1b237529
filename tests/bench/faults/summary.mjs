/** The report of a run of kills in words: recovery by victim and by moment, and what was recounted. */

const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];

/** Median, ninth tenth and most of what was measured, in seconds. */
function times(values) {
  const sorted = values.filter((one) => one !== null).sort((a, b) => a - b);
  if (sorted.length === 0) return 'not measured';
  return [0.5, 0.9, 1].map((q) => (quantile(sorted, q) / 1000).toFixed(1)).join(' / ');
}

function table(measured, nameOf) {
  const names = [...new Set(measured.map(nameOf))];
  return names.map((name) => {
    const own = measured.filter((one) => nameOf(one) === name);
    const columns = ['apiMs', 'movedMs', 'caughtUpMs'].map((field) => times(own.map((one) => one[field])));
    return `| ${name} | ${own.length} | ${columns.join(' | ')} |`;
  });
}

export function summaryOf({ measured, problems, ...rest }) {
  const head = '| | kills | a write accepted (s) | the line moves (s) | all that was due is done (s) |';
  return [
    JSON.stringify(rest, null, 2),
    'Median / ninth tenth / most:',
    head,
    '|---|---|---|---|---|',
    ...table(measured, ({ victim }) => victim),
    ...table(measured, ({ moment }) => `in ${moment}`),
    ...(problems.length === 0 ? ['Everything holds.'] : [`${problems.length} problems:`, ...problems]),
    '',
  ].join('\n');
}
