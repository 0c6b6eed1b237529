/**
 * Quotes a run in a pull request: asks Bursar, writes the job's summary, and one comment that is written over. It never
 * makes a price up and reserves nothing. Inputs, outputs and the summary are files and variables of the runner (GitHub
 * documentation: "Workflow commands for GitHub Actions"; REST API, "Issue comments").
 */
import { randomUUID } from 'node:crypto';
import { appendFile, readFile } from 'node:fs/promises';

const input = (name) => (process.env[`INPUT_${name.toUpperCase()}`] ?? '').trim();

/** Names of clouds and machines are others' words: no Markdown of theirs takes effect. */
const plain = (value) =>
  String(value).replace(/[\\`*_{}[\]<>()#|!@\r\n]/g, (found) => (found < ' ' ? ' ' : `\\${found}`));

/** A number is sent as one; what is none is named by the server as it was written. */
const number = (text) => (text === '' || Number.isNaN(Number(text)) ? text : Number(text));

/** For people: two digits after the point, more only where an amount would vanish. The outputs keep every digit. */
function money(amount, digits = 2) {
  const isSmall = Number(amount) !== 0 && Math.abs(Number(amount)) < 0.01;
  const shown = isSmall ? { maximumSignificantDigits: 2 } : { minimumFractionDigits: 2, maximumFractionDigits: digits };
  return new Intl.NumberFormat('en-US', shown).format(amount);
}

/** As fetch; a failure names the address, without what is secret in it, and the cause. */
async function reach(address, options) {
  try {
    return await fetch(address, options);
  } catch (error) {
    const { origin, pathname } = URL.canParse(address) ? new URL(address) : { origin: address, pathname: '' };
    const cause = error.cause?.errors?.[0] ?? error.cause ?? error;
    const why = String(cause.message || cause.code || error.message).replaceAll(address, `${origin}${pathname}`);
    throw new Error(`${origin}${pathname} cannot be reached: ${why}`, { cause: error });
  }
}

async function ask() {
  const wanted = {
    provider: input('provider'),
    sku: input('sku'),
    gpus: number(input('gpus')),
    hours: number(input('hours')),
    term: input('term') || 'on-demand',
    region: input('region') || null,
    team: input('team') || null,
  };
  const response = await reach(`${input('url').replace(/\/+$/, '')}/v1/quotes`, {
    method: 'POST',
    redirect: 'error',
    headers: { authorization: `Bearer ${input('api-key')}`, 'content-type': 'application/json' },
    body: JSON.stringify(wanted),
  });
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return { quote: answer, why: null };
  // What has no price is an answer, and no failure of the step.
  if (answer.quote !== undefined) return { quote: null, why: answer.quote.message };
  const problems = (answer.problems ?? []).map(({ path, message }) => `${path ?? ''} ${message}`.trim());
  throw new Error(
    [`Bursar answered ${response.status}: ${answer.detail ?? answer.title ?? ''}`, ...problems].join('; '),
  );
}

function textOf({ quote, why }) {
  const run = `${plain(input('gpus'))} GPUs of ${plain(input('provider'))} ${plain(input('sku'))} for ${plain(input('hours'))} h`;
  if (quote === null) return `### What this run would cost\n\n${run}: **no price**. ${plain(why)}\n`;
  const { cost, currency, interval, unitPrice, term, region, budgets, alternatives } = quote;
  const [low, high] = [money(interval.low), money(interval.high)];
  const between = low === high ? '' : ` (${low} to ${high})`;
  const place = region === null ? '' : ` in ${plain(region)}`;
  const lines = [
    '### What this run would cost',
    '',
    `**${money(cost)} ${currency}**${between} for ${run}${place}, ${term}, at ${money(unitPrice, 4)} ${currency} per GPU-hour.`,
  ];
  if (budgets !== null && budgets !== undefined) {
    lines.push(
      '',
      `Budgets of ${plain(budgets.team)}: **${budgets.verdict}**`,
      '',
      '| budget | verdict | left after it | until |',
      '|---|---|---|---|',
    );
    for (const one of budgets.budgets)
      lines.push(
        `| ${plain(one.budget)} | ${one.verdict} | ${one.left == null ? 'unknown' : `${money(one.left.after)} ${one.currency}`} | ${one.periodEnd.slice(0, 10)} |`,
      );
  }
  if (alternatives.length > 0) {
    lines.push('', '| instead | region | cost |', '|---|---|---|');
    for (const one of alternatives)
      lines.push(`| ${one.term} | ${plain(one.region ?? 'any')} | ${money(one.cost)} ${currency} |`);
  }
  return `${lines.join('\n')}\n`;
}

/** One comment of a pull request, found by its mark. */
async function comment(text) {
  const token = input('github-token');
  const event = process.env.GITHUB_EVENT_PATH;
  if (token === '' || !event) return;
  const { pull_request: request } = JSON.parse(await readFile(event, 'utf8'));
  if (request === undefined) return;
  const mark = `<!-- bursar-quote ${input('provider')}/${input('sku')}/${input('team')} -->`
    .replaceAll('--', '-')
    .replace('<!-', '<!--')
    .replace(/->$/, '-->');
  const api = `${process.env.GITHUB_API_URL}/repos/${process.env.GITHUB_REPOSITORY}/issues`;
  const call = async (method, url, body) => {
    const response = await reach(url, {
      method,
      headers: { authorization: `Bearer ${token}`, accept: 'application/vnd.github+json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`GitHub answered ${response.status} to ${method} of the comment`);
    return response.json();
  };
  for (let page = 1; page <= 20; page += 1) {
    const comments = await call('GET', `${api}/${request.number}/comments?per_page=100&page=${page}`);
    const own = comments.find(({ body }) => body?.startsWith(mark));
    if (own !== undefined) return void (await call('PATCH', `${api}/comments/${own.id}`, { body: `${mark}\n${text}` }));
    if (comments.length < 100) break;
  }
  await call('POST', `${api}/${request.number}/comments`, { body: `${mark}\n${text}` });
}

/** Values have several lines in no case, but nothing of a cloud's may end one early. */
async function output(name, value) {
  const end = `end-${randomUUID()}`;
  if (process.env.GITHUB_OUTPUT) await appendFile(process.env.GITHUB_OUTPUT, `${name}<<${end}\n${value}\n${end}\n`);
}

try {
  const answer = await ask();
  const text = textOf(answer);
  const verdict = answer.quote?.budgets?.verdict ?? '';
  await output('cost', answer.quote?.cost ?? '');
  await output('currency', answer.quote?.currency ?? '');
  await output('verdict', verdict);
  if (process.env.GITHUB_STEP_SUMMARY) await appendFile(process.env.GITHUB_STEP_SUMMARY, text);
  await comment(text);
  if (input('fail-when') === 'exceeds' && verdict === 'exceeds') {
    process.stdout.write(`::error::The budgets of ${input('team').replace(/[\r\n%]/g, ' ')} do not hold this run\n`);
    process.exitCode = 1;
  }
} catch (error) {
  process.stdout.write(`::error::${String(error.message).replace(/[\r\n]/g, ' ')}\n`);
  process.exitCode = 1;
}
