/**
 * The made-up half of the example: a company that rents machines of a cloud in memory. Its teams, machines, their
 * rhythm, and what it has written down as policies.
 *
 * All of it is MADE UP and says so by the label `origin` and by its account. All times are relative to one instant, the
 * hour at which the example was loaded, so that the same story ends whenever somebody starts it. Nothing here is a
 * result: what is recommended, approved, refused and measured is done by the line.
 */
import { DAY_MS, HOUR_MS, MINUTE_MS, weekdayOfDays } from '../core/time.js';
import { WEEKDAYS } from '../core/price/peak.js';

const MADE_UP = 'made up';
export const RECORDED = 'recorded';
/** Beside any other cloud of the same kind that the settings name. */
export const EXAMPLE_CONNECTION = 'fake:example';
export const EXAMPLE_ACCOUNT = 'example (made up)';
export const RECORDED_ACCOUNT = 'openb (recorded)';

/**
 * A reservation is judged by up to a year of use: what the company has used for nine months vouches for most of it.
 */
export const HISTORY_DAYS = 270;
/** Two actions were approved so long before the end: a whole day of hours has been measured since. */
export const ACTED_BEFORE_MS = 26 * HOUR_MS;
/** So long after the approvals, the owner of the third machine protects it. */
const PROTECTED_AFTER_MS = 2 * MINUTE_MS;

const labelsOf = (team: string, kind: string, interruptible = false): Readonly<Record<string, string>> => ({
  team,
  origin: MADE_UP,
  'bursar.io/workload-kind': kind,
  'bursar.io/interruptible': String(interruptible),
});

const notebook = (name: string) => ({
  name,
  sku: 'fake.l40sx4',
  region: 'fake-east',
  labels: labelsOf('research', 'notebook'),
});

export const MACHINES = [notebook('notebook-ada'), notebook('notebook-lin'), notebook('notebook-kim')];

const group = (name: string, sku: string, desired: number, labels: Readonly<Record<string, string>>) => ({
  name,
  sku,
  region: 'fake-east',
  desired,
  min: 0,
  max: 8,
  labels,
});

/** Weekday sizes of the sweep; it rests at the weekend. */
const SWEEP = { weekday: 3, weekend: 2 } as const;

export const GROUPS = [
  group('chat', 'fake.a100x8', 2, labelsOf('serving', 'inference')),
  group('embeddings', 'fake.l40sx4', 2, labelsOf('serving', 'inference')),
  group('sweep', 'fake.a100x8', SWEEP.weekend, labelsOf('training', 'training', true)),
  group('staging', 'fake.l40sx4', 4, labelsOf('platform', 'development')),
  group('rehearsal', 'fake.l40sx4', 4, labelsOf('platform', 'development')),
];

/** Machines by the order in which the cloud numbers them. */
const idOf = (name: string): string =>
  `i-${String(MACHINES.findIndex((one) => one.name === name) + 1).padStart(6, '0')}`;

export interface CompanyEvent {
  readonly at: number;
  readonly target: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly desired?: number;
}

/** How long after the example was loaded the sweep still changes its size. */
const PLANNED_DAYS = 60;

/** What the company itself did to its machines, and will do. @param began epoch milliseconds, a whole hour */
export function eventsOf(began: number): CompanyEvent[] {
  const first = Math.ceil((began - HISTORY_DAYS * DAY_MS) / DAY_MS);
  const events: CompanyEvent[] = [];
  let before: number = SWEEP.weekend;
  for (let day = first; day < first + HISTORY_DAYS + PLANNED_DAYS; day++) {
    const desired = weekdayOfDays(day) >= 5 ? SWEEP.weekend : SWEEP.weekday;
    if (desired !== before) events.push({ at: day * DAY_MS + 6 * HOUR_MS, target: 'group/sweep', desired });
    before = desired;
  }
  events.push({
    at: began - ACTED_BEFORE_MS + PROTECTED_AFTER_MS,
    target: `instance/${idOf('notebook-kim')}`,
    labels: { ...labelsOf('research', 'notebook'), 'bursar.io/protected': 'true' },
  });
  return events;
}

/**
 * A notebook is worked at for an hour of every six; where the hours lie follows from one instant at which it fell
 * quiet.
 */
const CYCLE_MS = 6 * HOUR_MS;
const WORK_MS = HOUR_MS;

/** When each notebook fell quiet for the last time before the story needs it quiet. */
const quietSince = (began: number): Readonly<Record<string, number>> => ({
  [idOf('notebook-ada')]: began - 1.5 * HOUR_MS,
  [idOf('notebook-lin')]: began - ACTED_BEFORE_MS - 4 * HOUR_MS,
  [idOf('notebook-kim')]: began - ACTED_BEFORE_MS - 4 * HOUR_MS,
});

/** How busy the cards of a machine are, from 0 to 1. @param machine as the cloud numbers it */
export function utilisationOf(began: number, machine: string, at: number): number {
  // Its owner protects it because it is needed again.
  if (machine === idOf('notebook-kim') && at >= began - ACTED_BEFORE_MS + PROTECTED_AFTER_MS) return 0.7;
  const quiet = quietSince(began)[machine];
  if (quiet === undefined) return 0.62 + 0.2 * Math.sin(at / (2 * HOUR_MS));
  const since = (((at - quiet) % CYCLE_MS) + CYCLE_MS) % CYCLE_MS;
  return since < CYCLE_MS - WORK_MS ? 0 : 0.7;
}

export const isNotebook = (began: number, machine: string): boolean => quietSince(began)[machine] !== undefined;

/** The calendar of both groups: four replicas on the morning of one day a week, one else. That day is never near. */
const calendar = (name: string, target: string, began: number) => ({
  name,
  policy: 'schedule',
  teams: ['platform'],
  mode: 'approve',
  params: {
    targets: [target],
    windows: [
      { days: [WEEKDAYS[weekdayOfDays(Math.floor(began / DAY_MS) + 3)]], from: '09:00', to: '12:00', minReplicas: 4 },
    ],
    otherwise: { maxReplicas: 1 },
  },
});

/** Documents that held when the story began. */
export const earlierPolicies = (began: number): readonly unknown[] => [
  { name: 'idle-notebooks', policy: 'idle-stop', teams: ['research'], mode: 'approve' },
  calendar('staging-hours', 'group/staging', began),
];

/** Documents that were written since. */
export const laterPolicies = (began: number): readonly unknown[] => [
  calendar('rehearsal-hours', 'group/rehearsal', began),
  { name: 'sweep-on-spot', policy: 'spot-shift', teams: ['training'], mode: 'approve' },
  { name: 'steady-serving', policy: 'reserve-baseline', teams: ['serving'], mode: 'approve' },
];

/** What the example's people approve when the story begins. */
export const APPROVED = [`instance/${idOf('notebook-lin')}`, `instance/${idOf('notebook-kim')}`, 'group/staging'];
