/**
 * From the scrapes of targets (`up`) to exporters that fell silent, each with the state of the rest of its machine.
 *
 * Pure. It states facts and judges nothing (core/fleet/silence.ts does). Targets belong to one machine if a host label
 * or an address other than the loopback names it; a target that cannot be assigned to a machine is neither a witness
 * nor evidence against one.
 */
import { HOST_LABELS, PLACE_LABELS } from '../../core/fleet/join.js';
import type { SilentExporter } from '../../core/fleet/silence.js';
import { ExporterNames, type Series } from './series.js';

type Labels = Readonly<Record<string, string>>;

/**
 * How far back scrapes are read, as a PromQL duration. An exporter that is silent for longer is not reported any more.
 */
export const SILENCE_WINDOW = '30m';
/**
 * Other targets that answered so shortly before the exporter fell silent fell silent with it: their own pace is seldom
 * above a minute.
 */
const TOGETHER_MS = 90_000;

/** An exporter that has named cards: how its series and its target call its machine. */
export class KnownExporter {
  private readonly byLabel = new Map<string, Set<string>>();

  /** @param labels of one of its series of GPUs */
  add(labels: Labels): void {
    for (const label of HOST_LABELS) {
      const name = labels[label];
      if (name !== undefined && name !== '') this.byLabel.set(label, (this.byLabel.get(label) ?? new Set()).add(name));
    }
    const address = addressOf(labels);
    if (address !== null) this.byLabel.set('address', (this.byLabel.get('address') ?? new Set()).add(address));
  }

  /** Null: it tells of several machines, so that its own silence says nothing of one. */
  get names(): readonly string[] | null {
    const sets = [...this.byLabel.values()];
    return sets.some(({ size }) => size > 1) ? null : [...new Set(sets.flatMap((names) => [...names]))].sort();
  }
}

/** The host of a target's address; null: the loopback, which is a name of every machine, or none. */
function addressOf({ instance = '' }: Labels): string | null {
  const host = instance.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  return host === '' || host === 'localhost' || host === '::1' || host.startsWith('127.') ? null : host;
}

const namesOf = (labels: Labels): string[] =>
  [...HOST_LABELS.map((label) => labels[label] ?? ''), addressOf(labels) ?? ''].filter((name) => name !== '');

interface Target {
  readonly exporter: string;
  readonly labels: Labels;
  readonly names: readonly string[];
  /** Its discovery still names it. */
  readonly isCurrent: boolean;
  /** Newest scrape, and whether it succeeded; the last that did, null: none in the window. Epoch milliseconds. */
  readonly newestAt: number;
  readonly isUp: boolean;
  readonly answeredAt: number | null;
  /** Failed scrapes since, oldest first. */
  readonly failures: readonly number[];
}

/**
 * @param known exporters that named cards, by name
 * @param now the targets as they are at `at`
 * @param window their scrapes until `at`, as they were made
 */
export function silentExporters(
  known: ReadonlyMap<string, KnownExporter>,
  now: readonly Series[],
  window: readonly Series[],
  at: number,
  exporters: ExporterNames = new ExporterNames(),
): SilentExporter[] {
  const current = new Set(now.map(({ labels }) => exporters.nameOf(labels)));
  const targets = window.flatMap((series) => targetOf(series, exporters.nameOf(series.labels), current, at) ?? []);
  const silent = targets.flatMap((own) => {
    const names = known.get(own.exporter)?.names ?? null;
    return names === null || own.isUp || own.answeredAt === null
      ? []
      : [silenceOf(own, [...new Set([...names, ...own.names])].sort(), targets)];
  });
  const wholly = new Set(
    silent.filter(({ othersAnswering }) => othersAnswering === 0).map(({ names }) => JSON.stringify(names)),
  );
  const silentNames = new Set(silent.flatMap(({ names }) => names));
  const answering = new Set(
    targets
      .filter(({ isUp, names }) => isUp && !names.some((name) => silentNames.has(name)))
      .map(({ names, exporter }) => names[0] ?? exporter),
  );
  return silent.map((one) => ({ ...one, machinesSilent: wholly.size, machinesAnswering: answering.size }));
}

function targetOf(
  { labels, points }: Series,
  exporter: string,
  current: ReadonlySet<string>,
  at: number,
): Target | null {
  const scrapes = points
    .map(([seconds, value]) => ({ at: Math.round(seconds * 1000), isUp: Number(value) === 1 }))
    .filter((scrape) => scrape.at <= at);
  const newest = scrapes.at(-1);
  if (newest === undefined) return null;
  const isCurrent = current.has(exporter);
  const answeredAt = scrapes.findLast(({ isUp }) => isUp)?.at ?? null;
  const failures = scrapes.filter((scrape) => scrape.at > (answeredAt ?? -Infinity)).map((scrape) => scrape.at);
  return {
    exporter,
    labels,
    names: namesOf(labels),
    isCurrent,
    newestAt: newest.at,
    isUp: newest.isUp && isCurrent,
    answeredAt,
    failures: isCurrent ? failures : [...failures, ...missedScrapes(scrapes, at)],
  };
}

/**
 * When a target that was withdrawn would have been scraped since, at its own pace. Of one that was scraped once no pace
 * is known.
 */
function missedScrapes(scrapes: readonly { readonly at: number }[], at: number): number[] {
  const [before, last] = scrapes.slice(-2);
  if (before === undefined || last === undefined || last.at <= before.at) return [];
  const pace = last.at - before.at;
  return Array.from({ length: Math.floor((at - last.at) / pace) }, (_, n) => last.at + (n + 1) * pace);
}

/** Whether two targets say of themselves that they are in different places: an address may be there twice. */
const isElsewhere = (one: Target, other: Target): boolean =>
  PLACE_LABELS.some((label) => {
    const [here, there] = [one.labels[label] ?? '', other.labels[label] ?? ''];
    return here !== '' && there !== '' && here !== there;
  });

/** The known facts about the machine of a silent exporter; the counts of machines are filled in when all are known. */
function silenceOf(own: Target, names: readonly string[], targets: readonly Target[]): SilentExporter {
  const since = own.failures[0] ?? own.newestAt;
  const others = targets.filter(
    (one) => one !== own && !isElsewhere(one, own) && one.names.some((name) => names.includes(name)),
  );
  // That a pod's target is withdrawn says nothing of its machine: only a scrape that failed is a witness.
  const fellSilent = others.filter(
    ({ isUp, isCurrent, answeredAt }) => isCurrent && !isUp && answeredAt !== null && answeredAt >= since - TOGETHER_MS,
  );
  const failures = [own, ...fellSilent].flatMap((one) => one.failures);
  return {
    exporter: own.exporter,
    names,
    since: failures.reduce((a, b) => Math.min(a, b), since),
    until: failures.reduce((a, b) => Math.max(a, b), since),
    ...(own.answeredAt === null ? {} : { answeredAt: own.answeredAt }),
    failures: failures.length,
    othersSilent: fellSilent.length,
    othersAnswering: others.filter(({ isUp, newestAt }) => isUp && newestAt >= since).length,
    machinesSilent: 0,
    machinesAnswering: 0,
  };
}
