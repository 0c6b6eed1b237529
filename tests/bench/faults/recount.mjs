/**
 * What must hold when the faults are over and the line is idle. It shares no code with the product: amounts are added
 * and rounded here, from what was accepted, and compared text by text.
 */
import { TEAMS } from './load.mjs';

const day = (ms) => new Date(ms).toISOString().slice(0, 10);

/** Half-even, of two whole numbers that are not negative. */
function divided(numerator, denominator) {
  const [quotient, rest] = [numerator / denominator, numerator % denominator];
  const twice = rest * 2n;
  return twice > denominator || (twice === denominator && quotient % 2n === 1n) ? quotient + 1n : quotient;
}

/** An amount in units of 10^-11, the finest that a bill here states. */
const unscaled = (text) => {
  const [, sign, whole, fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  if (whole === undefined || fraction.length > 11) return null;
  return (sign === '-' ? -1n : 1n) * BigInt(whole + fraction.padEnd(11, '0'));
};

/** Nanos of every team's, SKU's and day's usage: seconds of an hour times the price, rounded once. */
export function accruedOf({ seconds, prices }) {
  const sums = new Map();
  for (const [key, used] of seconds) {
    const [team, sku, hour] = key.split('|');
    const nanos = divided(used * prices[sku], 3600n);
    const at = `${team}|${sku}|${day(Number(hour) * 3_600_000)}`;
    sums.set(at, (sums.get(at) ?? 0n) + nanos * 100n);
  }
  return sums;
}

function compared(what, wanted, rows, keyOf) {
  const problems = [];
  const found = new Map();
  for (const row of rows) {
    const amount = unscaled(row.cost);
    if (amount === null) problems.push(`${what}: ${JSON.stringify(row)} has no exact amount`);
    else found.set(keyOf(row), (found.get(keyOf(row)) ?? 0n) + amount);
  }
  for (const key of new Set([...wanted.keys(), ...found.keys()])) {
    const [one, other] = [wanted.get(key) ?? 0n, found.get(key) ?? 0n];
    if (one !== other) problems.push(`${what} of ${key}: ${other} where the recount says ${one} (in 10^-11)`);
  }
  return { problems, cells: wanted.size };
}

/** Every mismatch between the accounts and the recount, in words. */
export async function checkAccounts(client, load) {
  const range = `from=${day(load.from)}&to=${day(load.to)}`;
  const billRange = `from=${day(load.billStart)}&to=${day(load.billEnd)}`;
  const costs = (query) => client.ask('GET', `/v1/costs?${query}`);
  const accrued = accruedOf(load);
  const ofTeams = (sums) =>
    [...sums].reduce((all, [key, amount]) => {
      const team = key.split('|')[0];
      return all.set(team, (all.get(team) ?? 0n) + amount);
    }, new Map());
  const [books, bill, actual] = [
    await costs(`${range}&basis=accrued&provider=Acme&group-by=team,sku,day`),
    await costs(`${billRange}&basis=billed&provider=AWS&group-by=account,team`),
    await costs(`${range}&basis=actual&provider=Acme&group-by=team`),
  ];
  const results = [
    compared('accrued', accrued, books.rows, ({ team, sku, day: of }) => `${team}|${sku}|${of}`),
    compared('billed', load.billed ?? new Map(), bill.rows, ({ account, team }) => `${account}|${team}`),
    compared('actual', ofTeams(accrued), actual.rows, ({ team }) => team),
  ];
  const problems = results.flatMap((one) => one.problems);
  const quantity = [...load.seconds.values()].reduce((all, one) => all + one, 0n);
  const gpuSeconds = books.rows.reduce((all, { gpuHours }) => all + Number(gpuHours) * 3600, 0);
  if (Math.round(gpuSeconds) !== Number(quantity))
    problems.push(`usage: ${gpuSeconds} GPU-seconds where ${quantity} were accepted`);
  for (const { rows, unpricedQuantity } of [books, actual])
    if (Number(unpricedQuantity) !== 0) problems.push(`${unpricedQuantity} of ${rows.length} rows has no price`);
  for (const [team, amount] of ofTeams(accrued)) {
    const { state } = await client.ask('GET', `/v1/budgets/${team}/state`);
    if (unscaled(state.spent) !== amount)
      problems.push(`the budget ${team} says ${state.spent}, the recount ${amount} (in 10^-11)`);
  }
  return { problems, cells: results.reduce((all, one) => all + one.cells, 0) + TEAMS.length };
}

/** Every approved action exactly once at the cloud, and nothing at the cloud that nobody approved. */
export async function checkActions(client, load, books) {
  const problems = [...books.problems];
  const actions = await client.all('/v1/actions');
  const tokens = new Set();
  const approved = actions.filter(({ recommendation, rollbackOf }) => rollbackOf === null && recommendation !== null);
  for (const id of load.approved) {
    const own = approved.filter(({ recommendation }) => recommendation === id);
    if (own.length !== 1) problems.push(`${own.length} actions of the approved recommendation ${id}`);
  }
  for (const id of load.takenBack) {
    const own = actions.filter(({ rollbackOf }) => rollbackOf === id);
    if (own.length !== 1) problems.push(`${own.length} actions that take ${id} back`);
  }
  for (const { id, state, token, recommendation, rollbackOf, takenBackBy, reasons } of actions) {
    const isWanted = rollbackOf === null ? load.approved.has(recommendation) : load.takenBack.has(rollbackOf);
    if (!isWanted) {
      if (token !== null && books.applied.has(token)) problems.push(`${id} was carried out, and nobody approved it`);
      continue;
    }
    if (token !== null) tokens.add(token);
    const fine = ['confirmed', 'measured', ...(takenBackBy === null ? [] : ['rolled-back'])];
    if (!fine.includes(state)) problems.push(`${id} is ${state}: ${JSON.stringify(reasons)}`);
    const entry = token === null ? undefined : books.applied.get(token);
    if (entry === undefined) problems.push(`${id} never reached the cloud`);
    else if (entry.done !== 1 || !entry.changed)
      problems.push(
        `${id} was done ${entry.done} times, and ${entry.changed ? 'changed' : 'did not change'} something`,
      );
  }
  for (const { token, effect } of books.applied.values())
    if (!tokens.has(token)) problems.push(`the cloud did ${effect.kind} ${effect.target}, which is no approved action`);
  const askedAgain = [...books.applied.values()].filter(({ asked }) => asked > 1).length;
  return { problems, carriedOut: tokens.size, askedAgain };
}

/** Each alert of a budget reached its receiver, none has a twin. */
export async function checkAlerts(client, books) {
  const problems = [];
  const alerts = (await client.all('/v1/alerts?kind=budget')).filter(({ state }) => state !== 'silent');
  const arrived = new Map();
  let repeated = 0;
  for (const { body, times } of books.alerts.values()) {
    arrived.set(body.data.alert, (arrived.get(body.data.alert) ?? 0) + 1);
    repeated += times - 1;
  }
  for (const { id, title } of alerts) {
    const ids = arrived.get(id) ?? 0;
    if (ids === 0) problems.push(`the alert ${id} (${title}) never arrived`);
  }
  const news = alerts.map((one) => JSON.stringify([one.team, one.news.threshold ?? one.title]));
  const twins = news.filter((one, at) => news.indexOf(one) !== at);
  for (const twin of twins) problems.push(`more than one alert of ${twin}`);
  return { problems, alerts: alerts.length, repeated };
}

/** Nothing parked, no kill switch is on, and the audit's chain is whole. */
export async function checkLine(client) {
  const problems = [];
  for (const one of await client.all('/v1/work')) problems.push(`parked: ${JSON.stringify(one)}`);
  const { stops } = await client.ask('GET', '/v1/stop');
  for (const one of stops) problems.push(`the kill switch is on: ${JSON.stringify(one)}`);
  const audit = await client.ask('GET', '/v1/audit/verification');
  if (!audit.holds) problems.push(`the audit does not hold: ${JSON.stringify(audit.problems)}`);
  return { problems, auditEntries: audit.entries };
}
