/**
 * Health of GPUs: rules over the measurements of one card, each with its evidence, and the transitions of open
 * findings.
 *
 * Never takes missing evidence for idle or for healthy: a rule says found, well or unknown, and only `well` clears a
 * finding. A finding that nobody can check any more is given up after a while, and says so. The thresholds are
 * defaults; each is a parameter.
 */
import type { Evidence } from '../evidence.js';
import { answeredSince, type Stretch } from './answering.js';
import type { HealthNumbers } from './health-figures.js';
import { judgeSilence, SILENCE_DEFAULTS, type Silence, type SilenceParams } from './silence.js';
import { formatInstant, MINUTE_MS } from '../time.js';

export const HEALTH_RULES = [
  'busy',
  'hot',
  'pcie-replays',
  'gone',
  'failed',
  'network-latency',
  'low-utilisation',
] as const;
export type HealthRule = (typeof HEALTH_RULES)[number];
/** `fatal`: the card does no more work. `notice`: a fact that decisions look at, nothing is wrong. */
export type HealthSeverity = 'notice' | 'warning' | 'fatal';

/** What was unknown for this long is no longer a surprise. */
const DOUBT_MS = 2 * MINUTE_MS;

const SEVERITY: Readonly<Record<HealthRule, HealthSeverity>> = {
  busy: 'notice',
  'low-utilisation': 'notice',
  hot: 'warning',
  'pcie-replays': 'warning',
  'network-latency': 'warning',
  gone: 'fatal',
  failed: 'fatal',
};

export interface HealthParams extends SilenceParams {
  /** Mean utilisation above this over `busyMinutes`: no scale-in. */
  readonly busyAboveRatio: number;
  readonly busyMinutes: number;
  readonly hotFromCelsius: number;
  readonly replayMinutes: number;
  /** The exporter has answered for so long without naming the card. */
  readonly goneAfterSeconds: number;
  /** The same where the exporter names no card at all: it may just have been started. */
  readonly goneAfterSilenceSeconds: number;
  /**
   * The same where the exporter was silent, or started, since it named the card: its machine may just have been started.
   * Answers between several such breaks add up.
   */
  readonly goneAfterReturnSeconds: number;
  /** Of that an answer that did not last counts for so long at least: an exporter that is restarted again and again. */
  readonly leastReturnSeconds: number;
  /** A card that was last seen, or whose exporter came back, longer ago is not missed any more. */
  readonly goneMinutes: number;
  readonly latencyAboveSeconds: number;
  readonly lowBelowRatio: number;
  /** Every minute of so many must have been measured, and be low. */
  readonly lowMinutes: number;
  /** Older evidence says nothing about now. */
  readonly staleSeconds: number;
  /** A finding without news for this long is given up. */
  readonly forgetMinutes: number;
}

export const HEALTH_DEFAULTS: HealthParams = {
  busyAboveRatio: 0.85,
  busyMinutes: 5,
  hotFromCelsius: 85,
  replayMinutes: 60,
  goneAfterSeconds: 10,
  goneAfterSilenceSeconds: 60,
  goneAfterReturnSeconds: 300,
  leastReturnSeconds: 60,
  goneMinutes: 30,
  latencyAboveSeconds: 0.002,
  lowBelowRatio: 0.3,
  lowMinutes: 30,
  staleSeconds: 180,
  forgetMinutes: 60,
  ...SILENCE_DEFAULTS,
};

/** The measurements of a card at one time; null: missing, blank or stale. */
export interface DeviceReading {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly gpuUtilisationRatio: number | null;
  readonly temperatureCelsius: number | null;
  readonly pcieReplays: number | null;
  readonly networkLatencySeconds: number | null;
  readonly fault: string | null;
}

/** A GPU or MIG instance as one resource held it. */
export interface DeviceHistory {
  readonly resource: string;
  readonly gpu: string;
  readonly migInstance: string | null;
  readonly team: string;
  readonly workload: string | null;
  /** When its exporter answered last; null: it does not now, or the source cannot tell. */
  readonly exporterUpAt: number | null;
  /**
   * Whether its exporter named any card in that answer, or has run since before it last did, so that it was not just
   * started.
   */
  readonly exporterNamesCards: boolean;
  /**
   * When its exporter answered since it came back, or was started, within the hour, the last until now; absent or empty:
   * for long. One that has come back does not name all cards yet.
   */
  readonly exporterAnswers?: readonly Stretch[];
  /**
   * What the answer of its exporter without it says: it names other cards, as many, of the same machine (which was
   * moved, or has a new card) or of another (which has its address now); or its machine was started since it was seen.
   * Absent: nothing of that.
   */
  readonly answer?: 'another-card' | 'another-machine' | 'started-since';
  /** The last report of any part of the card, for any holder. */
  readonly cardSeenAt: number;
  /** Oldest first, at most one a minute. */
  readonly readings: readonly DeviceReading[];
  /**
   * The known facts about its exporter's silence and its machine; absent: the exporter answers, or the source does not
   * know.
   */
  readonly silence?: Silence;
}

export interface HealthFinding {
  readonly rule: HealthRule;
  readonly severity: HealthSeverity;
  readonly resource: string;
  readonly gpu: string;
  readonly migInstance: string | null;
  readonly team: string;
  readonly workload: string | null;
  readonly title: string;
  /** Nothing but silence says so, of the machine or of its cards: it may be rebooting, or out of reach. */
  readonly onlySilent?: true;
  /** Its whole machine is lost, not the card alone. */
  readonly ofMachine?: true;
  /** The numbers, by name with unit. */
  readonly numbers: Readonly<Record<string, number>>;
  readonly evidence: Evidence;
}

/** `well` and `unknown` differ: only the first is evidence. */
export type Verdict =
  | { readonly rule: HealthRule; readonly state: 'found'; readonly finding: HealthFinding }
  | { readonly rule: HealthRule; readonly state: 'well' | 'unknown' };

interface Found {
  readonly title: string;
  readonly onlySilent?: boolean;
  readonly ofMachine?: boolean;
  readonly numbers: HealthNumbers;
  readonly what: string;
  readonly from: number;
  readonly to: number;
}
type Judged = Found | 'well' | 'unknown';
type Rule = (device: DeviceHistory, now: number, params: HealthParams) => Judged;
type Measure = 'gpuUtilisationRatio' | 'temperatureCelsius' | 'pcieReplays' | 'networkLatencySeconds';

const percent = (ratio: number): string => `${Math.round(100 * ratio)} %`;

/** Known values after `from`, oldest first. Nothing that is not finite gets in. */
function known(
  device: DeviceHistory,
  measure: Measure,
  from: number,
): { readonly at: number; readonly value: number }[] {
  const { readings } = device;
  let first = readings.length;
  while (first > 0 && (readings[first - 1]?.at ?? from) > from) first -= 1;
  const values: { readonly at: number; readonly value: number }[] = [];
  for (; first < readings.length; first += 1) {
    const reading = readings[first];
    const value = reading?.[measure] ?? null;
    if (reading !== undefined && value !== null && Number.isFinite(value)) values.push({ at: reading.at, value });
  }
  return values;
}

/** The newest value if it is fresh, otherwise null. */
function newest(
  device: DeviceHistory,
  measure: Measure,
  now: number,
  { staleSeconds }: HealthParams,
): { readonly at: number; readonly value: number } | null {
  return known(device, measure, now - staleSeconds * 1000 - 1).at(-1) ?? null;
}

const busy: Rule = (device, now, params) => {
  if (newest(device, 'gpuUtilisationRatio', now, params) === null) return 'unknown';
  const values = known(device, 'gpuUtilisationRatio', now - params.busyMinutes * MINUTE_MS);
  const [first, last] = [values[0], values.at(-1)];
  if (first === undefined || last === undefined) return 'unknown';
  const mean = values.reduce((sum, { value }) => sum + value, 0) / values.length;
  if (mean <= params.busyAboveRatio) return 'well';
  return {
    title: `busy: ${percent(mean)} utilised`,
    numbers: { meanUtilisationRatio: mean, aboveRatio: params.busyAboveRatio, readings: values.length },
    what: 'GPU utilisation',
    from: first.at,
    to: last.at,
  };
};

const hot: Rule = (device, now, params) => {
  const last = newest(device, 'temperatureCelsius', now, params);
  if (last === null) return 'unknown';
  if (last.value < params.hotFromCelsius) return 'well';
  return {
    title: `hot: ${last.value} C`,
    numbers: { temperatureCelsius: last.value, fromCelsius: params.hotFromCelsius },
    what: 'GPU temperature',
    from: last.at,
    to: last.at,
  };
};

/** Rises within segments only: a smaller count than before is a reset, which starts a new segment and adds nothing. */
const pcieReplays: Rule = (device, now, params) => {
  if (newest(device, 'pcieReplays', now, params) === null) return 'unknown';
  const values = known(device, 'pcieReplays', now - params.replayMinutes * MINUTE_MS);
  const [first, last] = [values[0], values.at(-1)];
  if (first === undefined || last === undefined || values.length < 2) return 'unknown';
  let [increase, resets] = [0, 0];
  values.forEach(({ value }, n) => {
    const before = values[n - 1]?.value ?? value;
    if (value < before) resets += 1;
    else increase += value - before;
  });
  if (increase === 0) return 'well';
  return {
    title: `PCIe replays rise: ${increase} more`,
    numbers: { replaysMore: increase, replaysNow: last.value, resets },
    what: 'PCIe replay counter',
    from: first.at,
    to: last.at,
  };
};

/**
 * Seen before, its exporter still answers, and no longer names the card; or lost with its whole machine. A card whose
 * exporter alone is silent is unknown, and so is one whose machine has just been started. One in whose place the machine
 * has another is not lost: a machine that is stopped and started is moved to another host, with other cards.
 * An exporter that names no card at all, and may have been started since it did, is no reason to end a machine: a driver
 * that is being built, a collector's list that is wrong and a card that is lost look the same to it.
 */
const gone: Rule = (device, now, params) => {
  const { cardSeenAt, exporterUpAt, exporterNamesCards } = device;
  if (exporterUpAt === null && device.silence !== undefined)
    return goneWithMachine(device, device.silence, now, params);
  if (exporterUpAt === null || now - exporterUpAt > params.staleSeconds * 1000) return 'unknown';
  const missingSeconds = (exporterUpAt - cardSeenAt) / 1000;
  if (missingSeconds <= 0 || device.answer === 'another-card') return 'well';
  if (device.answer !== undefined) return 'unknown';
  const answers = device.exporterAnswers ?? [];
  const since = Math.max(cardSeenAt, answers.at(-1)?.[0] ?? -Infinity);
  const sinceReturn = answeredSince(answers, cardSeenAt, exporterUpAt, 1000 * params.leastReturnSeconds);
  const waitedSeconds = sinceReturn === null ? missingSeconds : sinceReturn / 1000;
  if (waitedSeconds < patienceWith(exporterNamesCards, sinceReturn !== null, params)) return 'unknown';
  if (now - since > params.goneMinutes * MINUTE_MS) return 'unknown';
  return {
    title: exporterNamesCards
      ? 'gone: its exporter answers and no longer names it'
      : 'gone: its exporter answers, was perhaps restarted, and names no card at all',
    onlySilent: !exporterNamesCards,
    numbers: { missingSeconds },
    what: 'answers of the exporter without the card',
    from: cardSeenAt,
    to: exporterUpAt,
  };
};

/** After a reboot cards come one by one: drivers, a fabric manager and an operator's pods start before the last. */
const patienceWith = (namesCards: boolean, isBack: boolean, params: HealthParams): number =>
  isBack ? params.goneAfterReturnSeconds : namesCards ? params.goneAfterSeconds : params.goneAfterSilenceSeconds;

/** Of the card's holders, only the last one lost it. */
function goneWithMachine(
  { cardSeenAt, readings }: DeviceHistory,
  silence: Silence,
  now: number,
  params: HealthParams,
): Judged {
  const verdict = judgeSilence(silence, now, params);
  if (
    verdict.kind !== 'lost' ||
    (readings.at(-1)?.at ?? -Infinity) < cardSeenAt ||
    now - cardSeenAt > params.goneMinutes * MINUTE_MS
  )
    return 'unknown';
  const { since, until, failures, othersSilent } = silence;
  return {
    title: `gone: its machine is silent, and ${verdict.witness}`,
    onlySilent: verdict.onlySilent,
    ofMachine: true,
    numbers: { silentSeconds: (until - since) / 1000, failedScrapes: failures, otherTargetsSilent: othersSilent },
    what: 'failed scrapes of its exporter and its machine',
    from: since,
    to: until,
  };
}

/**
 * Whether the machine of a device may be lost, or is only silent so far: the caller checks again soon, and asks its
 * cloud.
 */
export function isInDoubt(
  { exporterUpAt, silence }: DeviceHistory,
  now: number,
  params: HealthParams = HEALTH_DEFAULTS,
): boolean {
  if (exporterUpAt !== null || silence === undefined || now - silence.since > DOUBT_MS) return false;
  const verdict = judgeSilence(silence, now, params);
  return verdict.kind === 'undecided' || (verdict.kind === 'lost' && verdict.onlySilent);
}

const failed: Rule = (device, now, params) => {
  const last = device.readings.at(-1);
  if (last === undefined || now - last.at > params.staleSeconds * 1000) return 'unknown';
  if (last.fault === null) return 'well';
  return {
    title: `failed: ${last.fault}`,
    numbers: {},
    what: `what the card reports: ${last.fault}`,
    from: last.at,
    to: last.at,
  };
};

const networkLatency: Rule = (device, now, params) => {
  const last = newest(device, 'networkLatencySeconds', now, params);
  if (last === null) return 'unknown';
  if (last.value <= params.latencyAboveSeconds) return 'well';
  return {
    title: `network latency ${(1000 * last.value).toFixed(1)} ms`,
    numbers: { latencySeconds: last.value, aboveSeconds: params.latencyAboveSeconds },
    what: 'network latency as the probe reports it',
    from: last.at,
    to: last.at,
  };
};

const lowUtilisation: Rule = (device, now, params) => {
  const last = newest(device, 'gpuUtilisationRatio', now, params);
  if (last === null) return 'unknown';
  const end = Math.floor(last.at / MINUTE_MS);
  const values = known(device, 'gpuUtilisationRatio', (end - params.lowMinutes + 1) * MINUTE_MS - 1);
  if (values.some(({ value }) => value >= params.lowBelowRatio)) return 'well';
  const minutes = new Set(values.map(({ at }) => Math.floor(at / MINUTE_MS)));
  if (minutes.size < params.lowMinutes) return 'unknown';
  const mean = values.reduce((sum, { value }) => sum + value, 0) / values.length;
  return {
    title: `below ${percent(params.lowBelowRatio)} for ${params.lowMinutes} minutes`,
    numbers: { meanUtilisationRatio: mean, belowRatio: params.lowBelowRatio, minutes: minutes.size },
    what: 'GPU utilisation, every minute measured',
    from: values[0]?.at ?? last.at,
    to: last.at,
  };
};

const RULES: Readonly<Record<HealthRule, Rule>> = {
  busy,
  hot,
  'pcie-replays': pcieReplays,
  gone,
  failed,
  'network-latency': networkLatency,
  'low-utilisation': lowUtilisation,
};

/** The result of every rule for one device as of `now`. */
export function assess(device: DeviceHistory, now: number, params: HealthParams = HEALTH_DEFAULTS): Verdict[] {
  const { resource, gpu, migInstance, team, workload } = device;
  return HEALTH_RULES.map((rule) => {
    const judged = RULES[rule](device, now, params);
    if (typeof judged === 'string') return { rule, state: judged };
    const evidence = {
      what: judged.what,
      from: formatInstant(judged.from),
      to: formatInstant(judged.to),
      ageSeconds: Math.max(0, (now - judged.to) / 1000),
    };
    return {
      rule,
      state: 'found',
      finding: {
        rule,
        severity: SEVERITY[rule],
        resource,
        gpu,
        migInstance,
        team,
        workload,
        title: judged.title,
        ...(judged.onlySilent === true ? { onlySilent: true as const } : {}),
        ...(judged.ofMachine === true ? { ofMachine: true as const } : {}),
        numbers: judged.numbers as HealthFinding['numbers'],
        evidence,
      },
    };
  });
}

/** A finding that was not cleared yet. */
export interface OpenFinding {
  readonly id: string;
  readonly rule: HealthRule;
  readonly severity: HealthSeverity;
  readonly team: string;
  readonly resource: string;
  readonly gpu: string;
  readonly migInstance: string | null;
  /** When it was last found, epoch milliseconds. */
  readonly seenAt: number;
  /** As the finding said it when it was kept. */
  readonly onlySilent?: boolean;
}

export interface Settlement {
  readonly opened: readonly HealthFinding[];
  readonly renewed: readonly { readonly open: OpenFinding; readonly finding: HealthFinding }[];
  /**
   * `evidence`: it was measured to be well. `no-evidence`: nobody can tell any more, which is not the same as healthy.
   */
  readonly cleared: readonly { readonly open: OpenFinding; readonly because: 'evidence' | 'no-evidence' }[];
}

type Place = Pick<OpenFinding, 'rule' | 'resource' | 'gpu' | 'migInstance'>;
const keyOf = ({ rule, resource, gpu, migInstance }: Place): string =>
  JSON.stringify([rule, resource, gpu, migInstance]);

const placeOf = ({ resource, gpu, migInstance }: DeviceHistory, rule: HealthRule): Place => ({
  rule,
  resource,
  gpu,
  migInstance,
});

/** The next state of the open findings of a source, given all its devices. */
export function settle(
  open: readonly OpenFinding[],
  devices: readonly DeviceHistory[],
  now: number,
  params: HealthParams = HEALTH_DEFAULTS,
): Settlement {
  const verdicts = new Map(
    // A copy, for the readings may be made as they are asked for, and every rule asks.
    devices.flatMap((device) =>
      assess({ ...device }, now, params).map((verdict) => [keyOf(placeOf(device, verdict.rule)), verdict]),
    ),
  );
  const opened = new Map(
    [...verdicts].flatMap(([key, verdict]) => (verdict.state === 'found' ? [[key, verdict.finding]] : [])),
  );
  const renewed: Settlement['renewed'][number][] = [];
  const cleared: Settlement['cleared'][number][] = [];
  for (const one of open) {
    const key = keyOf(one);
    const verdict = verdicts.get(key);
    opened.delete(key);
    if (verdict?.state === 'found') renewed.push({ open: one, finding: verdict.finding });
    else if (verdict?.state === 'well') cleared.push({ open: one, because: 'evidence' });
    // Low utilisation that nobody measures any more would be taken for idle.
    else if (one.rule === 'low-utilisation' || now - one.seenAt > params.forgetMinutes * MINUTE_MS)
      cleared.push({ open: one, because: 'no-evidence' });
  }
  return { opened: [...opened.values()], renewed, cleared };
}
