/**
 * The provider `fake`: a cloud in memory, for the demonstration, the tests and the simulation. It spends nobody's
 * money.
 *
 * Tests make a FakeCloud of their own and connect to it; `connect` makes one with a small company in it from a seed. It
 * lives as long as the process: a restart begins it again, with the same history up to the actions taken.
 */
import type { ProviderSetting } from '../../core/setting.js';
import { invalid, type Problem } from '../../core/errors.js';
import type { Provider } from '../../core/ports.js';
import { DAY_MS, type Clock } from '../../core/time.js';
import { KINDS, PROVIDER, REGIONS } from './catalogue.js';
import { FakeCloud } from './cloud.js';
import { FakeConnection } from './connection.js';
import { chance, NO_FAULTS, SOME_FAULTS } from './faults.js';
import type { GroupSpec, MachineSpec } from './machines.js';
import type { CloudOptions } from './options.js';

const WEEK_MS = 7 * DAY_MS;
const MOST_TARGETS = 1000;

const settings: readonly ProviderSetting[] = [
  {
    name: 'BURSAR_FAKE_SEED',
    description: 'A whole number from 0 on: the same one gives the same cloud',
    required: true,
    secret: false,
    use: 'read',
  },
  {
    name: 'BURSAR_FAKE_TARGETS',
    description: 'Machines and groups at the beginning, 1 to 1000; 12 where absent',
    required: false,
    secret: false,
    use: 'read',
  },
  {
    name: 'BURSAR_FAKE_FAULTS',
    description: '`some`: refusals, lost answers, late usage and the like now and then; `none` where absent',
    required: false,
    secret: false,
    use: 'read',
  },
  {
    name: 'BURSAR_FAKE_ACT',
    description: '`on`: it may be acted on; read-only where absent',
    required: false,
    secret: false,
    use: 'act',
  },
];

export const provider: Provider = {
  name: 'fake',
  providerName: PROVIDER,
  description: 'A cloud in memory, made from a seed: machines, groups, spot and commitments that cost nothing',
  abilities: {
    prices: ['fake:ReadPrices'],
    usage: ['fake:ReadUsage'],
    bill: ['fake:ReadBill'],
    spotHistory: ['fake:ReadSpot'],
    offers: ['fake:ReadOffers'],
    fleet: ['fake:ReadFleet'],
    effects: {
      stop: ['fake:Stop'],
      start: ['fake:Start'],
      terminate: ['fake:Terminate'],
      scale: ['fake:Scale'],
      'set-bounds': ['fake:Scale'],
      'set-spot-ratio': ['fake:Scale'],
      replace: ['fake:Terminate', 'fake:Start'],
      resize: ['fake:Resize'],
      move: ['fake:Stop', 'fake:Start'],
      purchase: ['fake:Purchase'],
    },
  },
  settings,
  connect(given, clock) {
    if (settings.every(({ name }) => (given[name] ?? '') === '')) return null;
    const problems: Problem[] = [];
    const seed = wholeNumber(given, 'BURSAR_FAKE_SEED', null, 0, 4_294_967_295, problems);
    const targets = wholeNumber(given, 'BURSAR_FAKE_TARGETS', 12, 1, MOST_TARGETS, problems);
    const faults = oneOf(given, 'BURSAR_FAKE_FAULTS', ['none', 'some'], problems);
    const act = oneOf(given, 'BURSAR_FAKE_ACT', ['off', 'on'], problems);
    if (problems.length > 0)
      throw invalid(
        `the settings of the fake cloud are wrong: ${problems.map((p) => `${p.path ?? ''} ${p.message}`).join('; ')}`,
        problems,
      );
    const from = Math.floor(clock.now() / WEEK_MS) * WEEK_MS - WEEK_MS;
    const cloud = new FakeCloud({
      seed,
      clock,
      from,
      faults: faults === 'some' ? SOME_FAULTS : NO_FAULTS,
      ...demonstration(seed, targets),
    });
    return connectTo(cloud, { canAct: act === 'on' });
  },
};

/** A connection to a cloud that the caller holds. */
export function connectTo(
  cloud: FakeCloud,
  { name = 'fake', canAct = true }: { readonly name?: string; readonly canAct?: boolean } = {},
): FakeConnection {
  return new FakeConnection(cloud, name, canAct);
}

/** A cloud in memory and a connection that may act on it. */
export function fakeCloud(
  seed: number,
  clock: Clock,
  over: Partial<CloudOptions> = {},
): { cloud: FakeCloud; connection: FakeConnection } {
  const cloud = new FakeCloud({ seed, clock, ...over });
  return { cloud, connection: connectTo(cloud) };
}

function wholeNumber(
  given: Readonly<Record<string, string | undefined>>,
  name: string,
  absent: number | null,
  least: number,
  most: number,
  problems: Problem[],
): number {
  const text = given[name] ?? '';
  if (text === '' && absent !== null) return absent;
  const value = Number(text);
  if (text === '') problems.push({ path: name, message: 'is missing' });
  else if (!/^\d{1,10}$/.test(text) || value < least || value > most)
    problems.push({ path: name, message: `is not a whole number from ${least} to ${most}` });
  return value;
}

/** The first word where nothing is given. */
function oneOf(
  given: Readonly<Record<string, string | undefined>>,
  name: string,
  words: readonly [string, ...string[]],
  problems: Problem[],
): string {
  const text = given[name] ?? '';
  if (text !== '' && !words.includes(text)) problems.push({ path: name, message: `is not one of ${words.join(', ')}` });
  return text === '' ? words[0] : text;
}

const TEAMS = ['research', 'serving', 'platform'] as const;
const WORK = ['training', 'inference', 'notebook'] as const;

/** A small company: half of its targets are groups, the rest machines, spread over teams, kinds and regions. */
function demonstration(seed: number, targets: number): { machines: MachineSpec[]; groups: GroupSpec[] } {
  const machines: MachineSpec[] = [];
  const groups: GroupSpec[] = [];
  for (let n = 1; n <= targets; n++) {
    const pick = <T>(what: string, from: readonly [T, ...T[]] | readonly T[]): T =>
      from[Math.floor(chance(seed, what, n) * from.length)] as T;
    const team = pick('team', TEAMS);
    const work = pick('work', WORK);
    const labels = {
      team,
      'bursar.io/workload-kind': work,
      'bursar.io/interruptible': work === 'training' ? 'true' : 'false',
    };
    const place = { sku: pick('kind', KINDS).sku, region: pick('region', REGIONS), labels };
    const name = `${team}-${work}-${n}`;
    if (n % 2 === 1)
      groups.push({
        ...place,
        name,
        desired: 1 + Math.floor(chance(seed, 'size', n) * 4),
        min: 0,
        max: 12,
        spotRatio: work === 'training' ? 0.5 : 0,
      });
    else machines.push({ ...place, name });
  }
  return { machines, groups };
}
