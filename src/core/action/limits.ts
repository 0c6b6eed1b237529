/**
 * The limits of actions: a document per organisation and one per team, and their combination. A limit of 0 allows
 * nothing, an absent limit is the default cap, and nothing is unlimited. Both documents apply and the stricter limit
 * holds, so that a team's document never allows what the organisation's forbids. It decides about no action (guard.ts).
 */
import { parseDecimal } from '../decimal.js';
import { Failure, invalid, type Problem } from '../errors.js';
import { nanosOf } from '../money.js';
import { compilePeak, type PeakRule } from '../price/peak.js';

/**
 * When nothing is done. Written as a peak rule is, without a factor: local times, a window past midnight belongs to its
 * first day.
 */
export type QuietWindow = Omit<PeakRule, 'factor'>;

export interface Limits {
  /** GPUs and replicas that one action may change. */
  readonly gpusPerAction: number;
  readonly replicasPerAction: number;
  /** In any hour: of the organisation's document over all teams, of a team's over that team. */
  readonly actionsPerHour: number;
  readonly gpusPerHour: number;
  /**
   * The minimum size of each group, workload or pool, in addition to its own minimum. A single instance has no size:
   * `minTeamGpus` applies to it.
   */
  readonly minReplicas: number;
  readonly minGpus: number;
  /**
   * GPUs that a team keeps in service over all its machines, groups and workloads: no stop of any of them goes below it.
   */
  readonly minTeamGpus: number;
  /** Between two actions on one target. */
  readonly cooldownMinutes: number;
  /** The oldest evidence that is acted on. Purchases look at months; they are bound by their recommendation's end. */
  readonly evidenceMinutes: number;
  /** The oldest reading of the target that is acted on. */
  readonly readingSeconds: number;
  /** Tags or labels of targets that are left alone, by name; the value `*`: any. */
  readonly protectedLabels: Readonly<Record<string, string>>;
  readonly quietHours: readonly QuietWindow[];
  /** The author of the policy document, and the proposer, may not approve. */
  readonly separateApprover: boolean;
  /** The same for purchases alone: money that is spent for months. */
  readonly separatePurchaseApprover: boolean;
  /** The amount that may be committed per calendar month (UTC) without a person's approval; null: nothing. */
  readonly purchasesPerMonth: { readonly amount: string; readonly currency: string } | null;
}

/** The limits as set: an absent limit has its default. */
export type LimitsDocument = Partial<Limits>;

/** The limits of an action: those of its team with the organisation's, and the organisation's over all teams. */
export interface BindingLimits {
  readonly team: Limits;
  readonly organisation: Limits;
}

export const DEFAULT_LIMITS: Limits = {
  gpusPerAction: 32,
  replicasPerAction: 10,
  actionsPerHour: 30,
  gpusPerHour: 128,
  minReplicas: 0,
  minGpus: 0,
  minTeamGpus: 0,
  cooldownMinutes: 30,
  evidenceMinutes: 120,
  readingSeconds: 60,
  protectedLabels: { 'bursar.io/protected': 'true' },
  quietHours: [],
  separateApprover: false,
  separatePurchaseApprover: true,
  purchasesPerMonth: null,
};

/** Whole or broken numbers, each with the most that makes sense. */
const NUMBERS: Readonly<Partial<Record<keyof Limits, { readonly most: number; readonly whole: boolean }>>> = {
  gpusPerAction: { most: 1e6, whole: false },
  replicasPerAction: { most: 1e6, whole: true },
  actionsPerHour: { most: 1e6, whole: true },
  gpusPerHour: { most: 1e7, whole: false },
  minReplicas: { most: 1e6, whole: true },
  minGpus: { most: 1e6, whole: false },
  minTeamGpus: { most: 1e6, whole: false },
  cooldownMinutes: { most: 10_080, whole: false },
  evidenceMinutes: { most: 10_080, whole: false },
  readingSeconds: { most: 3600, whole: false },
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The document that a value is.
 * @throws Failure invalid naming every problem.
 */
export function readLimits(value: unknown): LimitsDocument {
  if (!isObject(value)) throw invalid('the limits have 1 problem(s)', [{ path: null, message: 'is not an object' }]);
  const known = Object.keys(DEFAULT_LIMITS);
  const problems: Problem[] = Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => ({ path: key, message: `is none of ${known.join(', ')}` }));
  for (const [key, { most, whole }] of Object.entries(NUMBERS)) {
    const given = value[key];
    if (given === undefined) continue;
    const fine = typeof given === 'number' && given >= 0 && given <= most && (!whole || Number.isInteger(given));
    if (!fine) problems.push({ path: key, message: `is not a ${whole ? 'whole ' : ''}number from 0 to ${most}` });
  }
  for (const path of ['separateApprover', 'separatePurchaseApprover'])
    if (value[path] !== undefined && typeof value[path] !== 'boolean')
      problems.push({ path, message: 'is neither true nor false' });
  problems.push(
    ...labelProblems(value['protectedLabels']),
    ...quietProblems(value['quietHours']),
    ...purchaseProblems(value['purchasesPerMonth']),
  );
  if (problems.length > 0) throw invalid(`the limits have ${problems.length} problem(s)`, problems);
  return value as LimitsDocument;
}

function labelProblems(labels: unknown): Problem[] {
  if (labels === undefined) return [];
  const fine =
    isObject(labels) && Object.entries(labels).every(([name, text]) => name !== '' && typeof text === 'string');
  return fine ? [] : [{ path: 'protectedLabels', message: 'is not an object of names with text values' }];
}

const QUIET_FIELDS = ['from', 'to', 'days', 'zone', 'fromDate', 'untilDate'];

function quietProblems(windows: unknown): Problem[] {
  if (windows === undefined) return [];
  if (!Array.isArray(windows)) return [{ path: 'quietHours', message: 'is not a list' }];
  const shape = windows.flatMap((one: unknown, at): Problem[] => {
    if (!isObject(one)) return [{ path: `quietHours/${at}`, message: 'is not an object' }];
    const { days, ...texts } = one;
    return [
      ...Object.keys(one)
        .filter((key) => !QUIET_FIELDS.includes(key))
        .map((key) => ({ path: `quietHours/${at}/${key}`, message: `is none of ${QUIET_FIELDS.join(', ')}` })),
      ...Object.entries(texts)
        .filter(([key, text]) => QUIET_FIELDS.includes(key) && typeof text !== 'string')
        .map(([key]) => ({ path: `quietHours/${at}/${key}`, message: 'is not a text' })),
      ...(typeof one['zone'] === 'string' ? [] : [{ path: `quietHours/${at}/zone`, message: 'is missing' }]),
      ...(days === undefined || Array.isArray(days)
        ? []
        : [{ path: `quietHours/${at}/days`, message: 'is not a list' }]),
    ];
  });
  if (shape.length > 0) return shape;
  try {
    quietSchedule(windows as QuietWindow[]);
    return [];
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return error.problems.map(({ path, message }) => ({
      path: path?.replace(/^rules/, 'quietHours') ?? null,
      message,
    }));
  }
}

function purchaseProblems(limit: unknown): Problem[] {
  if (limit === undefined || limit === null) return [];
  if (!isObject(limit))
    return [{ path: 'purchasesPerMonth', message: 'is neither null nor an object with amount and currency' }];
  const { amount, currency } = limit;
  const nanos = typeof amount === 'string' ? amountNanos(amount) : null;
  return [
    ...(nanos !== null && nanos >= 0n
      ? []
      : [{ path: 'purchasesPerMonth/amount', message: 'is not an amount of 0 or more as a decimal text' }]),
    ...(typeof currency === 'string' && /^[A-Z]{3}$/.test(currency)
      ? []
      : [{ path: 'purchasesPerMonth/currency', message: 'is not an ISO 4217 code' }]),
  ];
}

/** Nanos of a decimal text; null: not a decimal. */
export function amountNanos(text: string): bigint | null {
  const decimal = parseDecimal(text);
  return decimal === null ? null : nanosOf(decimal);
}

/** Any factor but 1 marks a quiet hour. */
const quietSchedule = (windows: readonly QuietWindow[]): ReturnType<typeof compilePeak> =>
  compilePeak(windows.map((window) => ({ ...window, factor: '2' })));

/** Whether an instant lies in a quiet window. */
export function isQuiet(windows: readonly QuietWindow[], instant: number): boolean {
  const { numerator, denominator } = quietSchedule(windows).at(instant);
  return numerator !== denominator;
}

/**
 * The effective limits. A limit that the organisation does not set has its default; one that the team does not set is
 * the organisation's; if both set it, the stricter holds.
 */
export function bindingLimits(organisation: LimitsDocument, team: LimitsDocument): BindingLimits {
  const over: Limits = { ...DEFAULT_LIMITS, ...organisation };
  const least = (
    key:
      | 'gpusPerAction'
      | 'replicasPerAction'
      | 'actionsPerHour'
      | 'gpusPerHour'
      | 'evidenceMinutes'
      | 'readingSeconds',
  ): number => Math.min(over[key], team[key] ?? over[key]);
  const most = (key: 'minReplicas' | 'minGpus' | 'minTeamGpus' | 'cooldownMinutes'): number =>
    Math.max(over[key], team[key] ?? over[key]);
  return {
    organisation: over,
    team: {
      gpusPerAction: least('gpusPerAction'),
      replicasPerAction: least('replicasPerAction'),
      actionsPerHour: least('actionsPerHour'),
      gpusPerHour: least('gpusPerHour'),
      evidenceMinutes: least('evidenceMinutes'),
      readingSeconds: least('readingSeconds'),
      minReplicas: most('minReplicas'),
      minGpus: most('minGpus'),
      minTeamGpus: most('minTeamGpus'),
      cooldownMinutes: most('cooldownMinutes'),
      // Labels protected by either document are protected: the caller checks both.
      protectedLabels: team.protectedLabels ?? over.protectedLabels,
      quietHours: [...over.quietHours, ...(team.quietHours ?? [])],
      separateApprover: over.separateApprover || (team.separateApprover ?? false),
      separatePurchaseApprover: over.separatePurchaseApprover || (team.separatePurchaseApprover ?? false),
      // Not set by the team: the organisation's limit applies to it too. A team can allow nothing that the organisation
      // does not allow.
      purchasesPerMonth:
        over.purchasesPerMonth === null
          ? null
          : team.purchasesPerMonth === undefined
            ? over.purchasesPerMonth
            : team.purchasesPerMonth,
    },
  };
}
